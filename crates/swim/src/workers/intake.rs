//! What a manager asks for before it calls itself active: the worker lists of all its peers.
//!
//! ```text
//! Waiting ─joined─► Asking{peers} ─each answered, died or left─► Done
//! ```
//!
//! Whether all are settled is looked at after an input, never within one: the datagram that tells of the last one's death
//! may name a manager that has not been asked yet.

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
    /// Starts asking these.
    pub(crate) fn begin(&mut self, managers: BTreeSet<NodeId>) {
        if *self == Intake::Waiting {
            *self = Intake::Asking(managers);
        }
    }

    /// Another manager turned up while asking; true if it must be asked too.
    pub(crate) fn add(&mut self, manager: NodeId) -> bool {
        match self {
            Intake::Asking(pending) => pending.insert(manager),
            Intake::Waiting | Intake::Done => false,
        }
    }

    /// A manager answered, died or left.
    pub(crate) fn settle(&mut self, manager: NodeId) {
        if let Intake::Asking(pending) = self {
            pending.remove(&manager);
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

    /// After an input: true once, when nobody is left to ask.
    pub(crate) fn complete(&mut self) -> bool {
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
        intake.settle(node(1));
        assert!(!intake.complete());
        intake.begin(nodes(&[1, 2]));
        assert!(intake.add(node(3)));
        assert!(!intake.add(node(3)));
        for manager in [1, 1, 3] {
            intake.settle(node(manager));
            assert!(!intake.complete() && !intake.is_done());
        }
        intake.settle(node(2));
        assert!(!intake.is_done());
        assert!(intake.complete() && intake.is_done());
        assert!(!intake.complete());
    }

    #[test]
    fn lone_manager_has_nobody_to_ask() {
        let mut intake = Intake::Waiting;
        intake.begin(nodes(&[]));
        assert!(intake.complete());
        intake.begin(nodes(&[1]));
        assert!(!intake.complete() && intake.is_done());
    }
}
