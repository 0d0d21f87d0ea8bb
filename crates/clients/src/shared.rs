//! What the clients of one core share, whatever their protocol.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::SystemTime;

use hyperscale_types::{Now, split_mix};

use crate::clock;
use crate::dns::Names;
use crate::lease::LeaseDeadline;
use crate::network::Network;

/// Bytes that one read takes at most. Shared by all connections of a core, so an idle connection holds no buffer.
const READ_BYTES: usize = 64 << 10;

/// Settings of the clients of a core.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// Seed of everything random here: multipart boundaries, digest client nonces, which address comes first.
    pub seed: u64,
    /// Until when requests may leave.
    pub lease: LeaseDeadline,
}

/// What the clients of one core share: the way out, resolved names, the lease, a read buffer. Never leaves its thread.
pub struct Shared {
    pub(crate) network: Network,
    pub(crate) names: Names,
    pub(crate) lease: LeaseDeadline,
    /// Where reads go before they are parsed. Borrowed within one poll only.
    pub(crate) read: RefCell<Box<[u8]>>,
    random: Cell<u64>,
    /// One point in time on both clocks.
    epoch: (Now, SystemTime),
}

impl Shared {
    /// The shared part of the clients of a core.
    pub fn new(network: impl Into<Network>, options: ClientOptions) -> Rc<Self> {
        Rc::new(Shared {
            network: network.into(),
            names: Names::default(),
            lease: options.lease,
            read: RefCell::new(vec![0; READ_BYTES].into()),
            random: Cell::new(options.seed),
            epoch: (clock::now(), SystemTime::now()),
        })
    }

    /// A point in time in Unix seconds.
    pub(crate) fn unix_s(&self, at: Now) -> u64 {
        let time = self.epoch.1 + at.since(self.epoch.0);
        time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    /// The next number of the core's generator (SplitMix64). Not for secrets.
    pub(crate) fn random(&self) -> u64 {
        let (state, number) = split_mix::step(self.random.get());
        self.random.set(state);
        number
    }
}
