//! What a manager asks for before it calls itself active: the worker lists of all its peers.
//!
//! ```text
//! Waiting ─joined─► Asking{peers} ─each answered, died or left─► Done
//!    └─────────────joined, no other manager─────────────────────►─┘
//! ```

use std::collections::BTreeSet;

use hyperscale_types::NodeId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Intake {
    /// Not in the cluster yet.
    Waiting,
    /// These managers have not answered yet.
    Asking(BTreeSet<NodeId>),
    /// Knows what its peers knew.
    Done,
}

impl Intake {
    /// Starts asking, or has nothing to ask; true when that completes it.
    pub(crate) fn begin(&mut self, managers: BTreeSet<NodeId>) -> bool {
        if *self == Intake::Waiting {
            *self = Intake::Asking(managers);
        }
        self.complete()
    }

    /// Another manager turned up while asking; true if it must be asked too.
    pub(crate) fn add(&mut self, manager: NodeId) -> bool {
        match self {
            Intake::Asking(pending) => pending.insert(manager),
            Intake::Waiting | Intake::Done => false,
        }
    }

    /// A manager answered, died or left; true when that completes it.
    pub(crate) fn settle(&mut self, manager: NodeId) -> bool {
        match self {
            Intake::Asking(pending) => pending.remove(&manager) && self.complete(),
            Intake::Waiting | Intake::Done => false,
        }
    }

    /// Whom to ask again.
    pub(crate) fn pending(&self) -> impl Iterator<Item = NodeId> + '_ {
        match self {
            Intake::Asking(pending) => Some(pending.iter().copied()),
            Intake::Waiting | Intake::Done => None,
        }
        .into_iter()
        .flatten()
    }

    pub(crate) fn is_done(&self) -> bool {
        *self == Intake::Done
    }

    fn complete(&mut self) -> bool {
        let complete = matches!(self, Intake::Asking(pending) if pending.is_empty());
        if complete {
            *self = Intake::Done;
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(numbers: &[u64]) -> BTreeSet<NodeId> {
        numbers.iter().filter_map(|number| NodeId::new(*number)).collect()
    }

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    #[test]
    fn active_only_after_every_peer_answered_or_is_gone() {
        let mut intake = Intake::Waiting;
        assert!(!intake.settle(node(1)));
        assert!(!intake.begin(nodes(&[1, 2])));
        assert!(intake.add(node(3)));
        assert!(!intake.add(node(3)));
        assert!(!intake.settle(node(1)));
        assert!(!intake.settle(node(1)));
        assert!(!intake.settle(node(3)));
        assert!(!intake.is_done());
        assert!(intake.settle(node(2)));
        assert!(intake.is_done());
    }

    #[test]
    fn lone_manager_has_nobody_to_ask() {
        let mut intake = Intake::Waiting;
        assert!(intake.begin(nodes(&[])));
        assert!(!intake.begin(nodes(&[1])));
        assert!(intake.is_done());
    }
}
