//! Members that were given up because nobody could reach them: forgotten, but tried on.
//!
//! Most of them ended before anybody now living met them. Some live behind a cut that only others see through; two that
//! gave each other up would never meet again if neither spoke first.

use std::collections::VecDeque;

use fastrand::Rng;
use hyperscale_types::NodeId;

use crate::message::Peer;

/// Peers that are tried on. Beyond it the one that was given up first is not tried any more, and counted.
pub const ASTRAY_MAX: usize = 256;

/// The peers that are tried on, in the order they were given up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Astray {
    peers: VecDeque<Peer>,
}

impl Astray {
    /// A peer is given up; the number of others that are not tried any more for it.
    pub(crate) fn add(&mut self, peer: Peer) -> u64 {
        self.remove(peer.node);
        let full = self.peers.len() >= ASTRAY_MAX;
        if full {
            self.peers.pop_front();
        }
        self.peers.push_back(peer);
        u64::from(full)
    }

    /// It is a member again, or known to be dead.
    pub(crate) fn remove(&mut self, node: NodeId) {
        self.peers.retain(|peer| peer.node != node);
    }

    /// Whom to try next.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<Peer> {
        (!self.peers.is_empty()).then(|| self.peers[rng.usize(..self.peers.len())])
    }

    pub(crate) fn len(&self) -> usize {
        self.peers.len()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use hyperscale_types::Role;

    use super::*;

    fn peer(number: u64) -> Peer {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        Peer { node: NodeId::new(number).unwrap(), addr, role: Role::Worker }
    }

    #[test]
    fn oldest_falls_out_when_there_are_too_many_and_is_counted() {
        let mut astray = Astray::default();
        let dropped: u64 = (1..=ASTRAY_MAX as u64 + 3).map(|number| astray.add(peer(number))).sum();
        assert_eq!((dropped, astray.len()), (3, ASTRAY_MAX));
        assert_eq!(astray.add(peer(9)), 0, "it is there already");
        astray.remove(peer(4).node);
        assert_eq!(astray.len(), ASTRAY_MAX - 1);
    }

    #[test]
    fn everybody_has_a_turn() {
        let (mut astray, mut rng) = (Astray::default(), Rng::with_seed(1));
        assert_eq!(astray.draw(&mut rng), None);
        for number in 1..=3 {
            astray.add(peer(number));
        }
        let drawn: std::collections::BTreeSet<_> =
            (0..100).filter_map(|_| astray.draw(&mut rng)).map(|peer| peer.node).collect();
        assert_eq!(drawn.len(), 3);
    }
}
