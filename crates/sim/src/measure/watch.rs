//! Takes down what cores tell the layers above.

use std::cell::RefCell;
use std::rc::Rc;

use hyperscale_swim::Event;
use hyperscale_types::NodeId;

use crate::invariants::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;

/// What is taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransitionKind {
    Joined,
    Suspected,
    Died,
}

/// One event: who says what about whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub(super) at: Moment,
    pub(super) observer: usize,
    pub(super) kind: TransitionKind,
    pub(super) about: NodeId,
}

/// Everything that was taken down. Clones look at the same list.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Rc<RefCell<Vec<Noted>>>);

impl Watch {
    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Those that match, in the order they happened.
    pub(super) fn all(&self, matches: impl Fn(&Noted) -> bool) -> Vec<Noted> {
        self.0.borrow().iter().filter(|it| matches(it)).copied().collect()
    }
}

impl Invariant for Watch {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let (kind, about) = match &seen.what {
            What::Event(Event::Joined { peer, .. }) => (TransitionKind::Joined, peer.node),
            What::Event(Event::Suspected { node, .. }) => (TransitionKind::Suspected, *node),
            What::Event(Event::Died { node, .. }) => (TransitionKind::Died, *node),
            _ => return Ok(()),
        };
        self.0.borrow_mut().push(Noted { at: seen.at, observer: seen.node, kind, about });
        Ok(())
    }
}
