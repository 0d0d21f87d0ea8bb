//! What a manager asks for before it calls itself active: the worker lists of all its peers.
//!
//! ```text
//! Waiting ─joined─► Asking{peers} ─each answered, died, left, or was never reached─► Done
//! ```
//!
//! Hearsay may name a manager that ended before anybody now living met it. Failure detection does not cover it, as it was
//! never reached: it is asked [`UNREACHED_ASKS_MAX`] times and then not waited for.
//!
//! Whether all are settled is looked at after an input, never within one: the datagram that tells of the last one's death
//! may name a manager that has not been asked yet.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::NodeId;

/// How often a manager that was never reached is asked. With a request every four periods it gets at least 20 periods to
/// respond: longer than a suspicion lasts (α·β = 18 periods in a small cluster), so that a manager which lives is not treated
/// worse for being unknown.
pub(crate) const UNREACHED_ASKS_MAX: u32 = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Intake {
    /// Not in the cluster yet.
    Waiting,
    /// These managers have not answered yet; how often each was asked since it joined or came back.
    Asking(BTreeMap<NodeId, u32>),
    /// Knows what its peers knew.
    Done,
}

impl Intake {
    /// Starts asking these.
    pub(crate) fn begin(&mut self, managers: BTreeSet<NodeId>) {
        if *self == Intake::Waiting {
            *self = Intake::Asking(managers.into_iter().map(|manager| (manager, 0)).collect());
        }
    }

    /// Another manager turned up while asking, or one that is asked in a new life; true if it must be asked too.
    pub(crate) fn add(&mut self, manager: NodeId) -> bool {
        match self {
            Intake::Asking(pending) => pending.insert(manager, 0).is_none(),
            Intake::Waiting | Intake::Done => false,
        }
    }

    /// A manager is about to be asked; false if it was asked so often that one which was never reached is not waited for.
    pub(crate) fn ask(&mut self, manager: NodeId) -> bool {
        let Intake::Asking(pending) = self else { return false };
        let Some(asks) = pending.get_mut(&manager) else { return false };
        *asks = asks.saturating_add(1);
        *asks <= UNREACHED_ASKS_MAX
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
            Intake::Asking(pending) => Some(pending.keys().copied()),
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
    fn manager_that_came_back_is_asked_as_often_as_a_new_one() {
        let mut intake = Intake::Waiting;
        intake.begin(nodes(&[1]));
        let asks = |intake: &mut Intake| (0..10).take_while(|_| intake.ask(node(1))).count();
        assert_eq!(asks(&mut intake), 6);
        assert!(!intake.add(node(1)));
        assert_eq!(asks(&mut intake), 6);
        assert!(!intake.ask(node(2)));
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
