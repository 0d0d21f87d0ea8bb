//! The configured peers: dialled until each was reached once.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use hyperscale_types::Now;

use crate::transport::TransportHandle;

/// How often peers that were not reached yet are dialled; the transport's back-off comes on top.
const DIAL_EVERY: Duration = Duration::from_millis(200);

/// Addresses that were not reached yet.
#[derive(Debug)]
pub(crate) struct Contacts {
    unreached: BTreeSet<SocketAddr>,
    next: Now,
}

impl Contacts {
    pub(crate) fn new(addresses: impl Iterator<Item = SocketAddr>) -> Self {
        Self { unreached: addresses.collect(), next: Now::ZERO }
    }

    /// When some are dialled again.
    pub(crate) fn next(&self) -> Now {
        if self.unreached.is_empty() { Now::NEVER } else { self.next }
    }

    pub(crate) fn dial(&mut self, now: Now, transport: &TransportHandle) {
        if now < self.next() {
            return;
        }
        self.next = now.plus(DIAL_EVERY);
        for address in &self.unreached {
            // Tried again in a moment.
            let _ = transport.connect(*address);
        }
    }

    /// Whether somebody who says to be at this address is a configured peer that was not reached before.
    pub(crate) fn reached(&mut self, address: SocketAddr) -> bool {
        self.unreached.remove(&address)
    }
}
