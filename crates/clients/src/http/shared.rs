//! What the calls of one core share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::SystemTime;

use hyperscale_types::Now;

use crate::clock;
use crate::dns::Names;
use crate::http::auth::token::Tokens;
use crate::http::route::Routes;
use crate::network::Network;

/// Bytes that one read takes at most. Shared by all connections of a core, so an idle connection holds no buffer.
const READ_BYTES: usize = 64 << 10;
/// A larger scratch buffer is given back after use: one huge body must not stay allocated for the whole run.
const SCRATCH_BYTES_KEPT: usize = 1 << 20;

/// Settings of a core.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoreOptions {
    /// Seed of everything random here: multipart boundaries, digest client nonces, which address comes first.
    pub seed: u64,
}

/// What the calls of one core share: buffers, resolved names, TLS configurations, routes. One per core thread.
pub struct HttpCore {
    pub(crate) network: Network,
    pub(crate) scratch: RefCell<Scratch>,
    /// Where reads go before they are parsed. Borrowed within one poll only.
    pub(crate) read: RefCell<Box<[u8]>>,
    pub(crate) names: Names,
    pub(crate) routes: Routes,
    pub(crate) tokens: Tokens,
    random: Cell<u64>,
    /// One point in time on both clocks.
    epoch: (Now, SystemTime),
}

/// Buffers that a request is filled into. Borrowed within one poll only: the next call overwrites them.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The whole request.
    pub(crate) request: Vec<u8>,
    /// Its body, while its length is not known.
    pub(crate) body: Vec<u8>,
    /// Its URL, while its origin is not known.
    pub(crate) url: Vec<u8>,
    /// Fields that only the call knows.
    pub(crate) extra: Vec<u8>,
}

impl Scratch {
    /// Makes the buffers empty, and small if they have become huge.
    pub(crate) fn clear(&mut self) {
        for buffer in [&mut self.request, &mut self.body, &mut self.url, &mut self.extra] {
            buffer.clear();
            if buffer.capacity() > SCRATCH_BYTES_KEPT {
                buffer.shrink_to(SCRATCH_BYTES_KEPT);
            }
        }
    }
}

impl HttpCore {
    /// The shared part of the clients of a core.
    pub fn new(network: impl Into<Network>, options: CoreOptions) -> Rc<Self> {
        Rc::new(HttpCore {
            network: network.into(),
            scratch: RefCell::default(),
            read: RefCell::new(vec![0; READ_BYTES].into()),
            names: Names::default(),
            routes: Routes::default(),
            tokens: Tokens::default(),
            random: Cell::new(options.seed),
            epoch: (clock::now(), SystemTime::now()),
        })
    }

    /// A point in time in Unix seconds, for cookies.
    pub(crate) fn unix_s(&self, at: Now) -> u64 {
        let time = self.epoch.1 + at.since(self.epoch.0);
        time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    /// The next number of the core's generator (SplitMix64). Not for secrets.
    pub(crate) fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
