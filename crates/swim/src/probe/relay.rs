//! Probes made on behalf of others. Bounded; a request beyond the bound is dropped and counted by the caller.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hyperscale_types::NodeId;

/// Requests served at once. Every member probes once per period and asks three helpers only when that fails, so a
/// healthy cluster needs a handful.
pub const RELAYS_MAX: usize = 256;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relay {
    pub(crate) origin: NodeId,
    pub(crate) origin_addr: SocketAddr,
    /// Number of the request at its origin.
    pub(crate) origin_seq: u32,
    pub(crate) target: NodeId,
}

/// Running requests by the number of this node's own probe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relays(BTreeMap<u32, Relay>);

impl Relays {
    /// False if there are too many.
    pub(crate) fn add(&mut self, seq: u32, relay: Relay) -> bool {
        let room = self.0.len() < RELAYS_MAX;
        if room {
            self.0.insert(seq, relay);
        }
        room
    }

    /// The target answered.
    pub(crate) fn ack(&mut self, seq: u32, from: NodeId) -> Option<Relay> {
        if self.0.get(&seq)?.target != from {
            return None;
        }
        self.0.remove(&seq)
    }

    /// The time is up: the request, if the target has not answered.
    pub(crate) fn expire(&mut self, seq: u32) -> Option<Relay> {
        self.0.remove(&seq)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn relay() -> Relay {
        let origin_addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        Relay { origin: node(1), origin_addr, origin_seq: 5, target: node(2) }
    }

    #[test]
    fn ack_of_the_target_ends_a_relay_and_its_nack() {
        let mut relays = Relays::default();
        assert!(relays.add(9, relay()));
        assert_eq!(relays.ack(9, node(3)), None);
        assert_eq!(relays.ack(9, node(2)), Some(relay()));
        assert_eq!(relays.expire(9), None);
    }

    #[test]
    fn relays_are_bounded() {
        let mut relays = Relays::default();
        assert!((0..RELAYS_MAX as u32).all(|seq| relays.add(seq, relay())));
        assert!(!relays.add(u32::MAX, relay()));
        assert_eq!(relays.len(), RELAYS_MAX);
    }
}
