//! Claims about members that are no longer in the table, so that late gossip cannot bring them back, and the last state they
//! embedded, so that one that comes back in the same life does not come back with an older state.
//!
//! Bounded: the oldest tomb falls out. Then a very late `alive` may resurrect its subject for one suspicion timeout.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hyperscale_types::{BootEpoch, NodeId};

use crate::claim::Claim;
use crate::embedded::Embedded;

/// Tombs kept; the oldest falls out and is counted.
pub const TOMBS_MAX: usize = 4096;

#[derive(Clone, Debug)]
struct Tomb {
    claim: Claim,
    /// Of the life that the claim is about.
    embedded: Option<Arc<Embedded>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tombs {
    buried: BTreeMap<NodeId, Tomb>,
    order: VecDeque<NodeId>,
    /// That fell out.
    dropped: u64,
}

impl Tombs {
    /// What was last known about a node that is gone.
    pub(crate) fn get(&self, node: NodeId) -> Option<Claim> {
        self.buried.get(&node).map(|tomb| tomb.claim)
    }

    /// Remembers a claim, merged with what is remembered already, and the state that the node embedded in that life.
    pub(crate) fn bury(&mut self, node: NodeId, claim: Claim, embedded: Option<Arc<Embedded>>) {
        if let Some(known) = self.buried.get_mut(&node) {
            let merged = known.claim.merge(claim);
            if merged.boot != known.claim.boot {
                known.embedded = embedded;
            }
            known.claim = merged;
            return;
        }
        if self.order.len() >= TOMBS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.buried.remove(&oldest);
            self.dropped += 1;
        }
        self.buried.insert(node, Tomb { claim, embedded });
        self.order.push_back(node);
    }

    /// Opens the tomb of a node that came back with a newer identity; the state it embedded, if it comes back in the same life.
    pub(crate) fn open(&mut self, node: NodeId, boot: BootEpoch) -> Option<Arc<Embedded>> {
        let tomb = self.buried.remove(&node)?;
        self.order.retain(|other| *other != node);
        tomb.embedded.filter(|_| tomb.claim.boot == boot)
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
    use crate::embedded::{EmbeddedState, GateLoad, Phase};

    fn dead(incarnation: u32) -> Claim {
        Claim { boot: BootEpoch(1), incarnation: Incarnation(incarnation), status: Status::Dead }
    }

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    #[test]
    fn tomb_keeps_the_highest_incarnation_heard() {
        let mut tombs = Tombs::default();
        tombs.bury(node(1), dead(10), None);
        tombs.bury(node(1), dead(1), None);
        assert_eq!(tombs.get(node(1)), Some(dead(10)));
        tombs.open(node(1), BootEpoch(1));
        assert_eq!((tombs.get(node(1)), tombs.len()), (None, 0));
    }

    #[test]
    fn state_is_that_of_the_life_that_is_buried() {
        let state = GateLoad { leader: false, term: 1, phase: Phase::Active, jobs_owned: 0, lhm: 0 };
        let embedded = Arc::new(Embedded { version: 7, state: EmbeddedState::Gate(state) });
        let buried = || {
            let mut tombs = Tombs::default();
            tombs.bury(node(1), dead(0), Some(Arc::clone(&embedded)));
            tombs.bury(node(1), dead(1), None);
            tombs
        };
        assert_eq!(buried().open(node(1), BootEpoch(1)), Some(Arc::clone(&embedded)));
        assert_eq!(buried().open(node(1), BootEpoch(2)), None, "it comes back in another life");
        let mut tombs = buried();
        tombs.bury(node(1), Claim { boot: BootEpoch(2), ..dead(0) }, None);
        assert_eq!(tombs.open(node(1), BootEpoch(2)), None, "it lived once more, and died");
    }

    #[test]
    fn oldest_tomb_falls_out_when_there_are_too_many() {
        let mut tombs = Tombs::default();
        for number in 1..=TOMBS_MAX as u64 + 5 {
            tombs.bury(node(number), dead(1), None);
        }
        assert_eq!((tombs.len(), tombs.dropped()), (TOMBS_MAX, 5));
        assert_eq!(tombs.get(node(5)), None);
        assert!(tombs.get(node(6)).is_some());
    }
}
