//! Claims about members that are no longer in the table, so that late gossip cannot bring them back.
//!
//! Bounded: the oldest tomb falls out. Then a very late `alive` may resurrect its subject for one suspicion timeout.

use std::collections::{BTreeMap, VecDeque};

use hyperscale_types::NodeId;

use crate::claim::Claim;

/// Tombs kept; the oldest falls out and is counted.
pub const TOMBS_MAX: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(crate) struct Tombs {
    claims: BTreeMap<NodeId, Claim>,
    order: VecDeque<NodeId>,
    /// That fell out.
    dropped: u64,
}

impl Tombs {
    /// What was last known about a node that is gone.
    pub(crate) fn get(&self, node: NodeId) -> Option<Claim> {
        self.claims.get(&node).copied()
    }

    /// Remembers a claim, merged with what is remembered already.
    pub(crate) fn bury(&mut self, node: NodeId, claim: Claim) {
        if let Some(known) = self.claims.get_mut(&node) {
            *known = known.merge(claim);
            return;
        }
        if self.order.len() >= TOMBS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.claims.remove(&oldest);
            self.dropped += 1;
        }
        self.claims.insert(node, claim);
        self.order.push_back(node);
    }

    /// Opens the tomb of a node that came back with a newer identity.
    pub(crate) fn open(&mut self, node: NodeId) {
        if self.claims.remove(&node).is_some() {
            self.order.retain(|other| *other != node);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Incarnation, Status};
    use hyperscale_types::BootEpoch;

    fn dead(incarnation: u32) -> Claim {
        Claim { boot: BootEpoch(1), incarnation: Incarnation(incarnation), status: Status::Dead }
    }

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    #[test]
    fn tomb_keeps_the_highest_incarnation_heard() {
        let mut tombs = Tombs::default();
        tombs.bury(node(1), dead(10));
        tombs.bury(node(1), dead(1));
        assert_eq!(tombs.get(node(1)), Some(dead(10)));
        tombs.open(node(1));
        assert_eq!((tombs.get(node(1)), tombs.len()), (None, 0));
    }

    #[test]
    fn oldest_tomb_falls_out_when_there_are_too_many() {
        let mut tombs = Tombs::default();
        for number in 1..=TOMBS_MAX as u64 + 5 {
            tombs.bury(node(number), dead(1));
        }
        assert_eq!((tombs.len(), tombs.dropped()), (TOMBS_MAX, 5));
        assert_eq!(tombs.get(node(5)), None);
        assert!(tombs.get(node(6)).is_some());
    }
}
