//! Takes down when entries were committed and who led.

use std::cell::RefCell;
use std::rc::Rc;

use crate::invariants::{Invariant, Logged, Seen, Verdict, What};
use crate::moment::Moment;

/// What is taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Somebody applied this entry first.
    Committed(u64),
    /// A replica began to lead.
    Leads,
}

/// Everything that was taken down. Clones look at the same list.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger(Rc<RefCell<Vec<(Moment, Line)>>>);

impl Ledger {
    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// When the first line was written that matches.
    pub(super) fn first(&self, matches: impl Fn(Line) -> bool) -> Option<Moment> {
        self.0.borrow().iter().find(|(_, line)| matches(*line)).map(|(at, _)| *at)
    }

    /// How many lines match.
    pub(super) fn count(&self, matches: impl Fn(Line) -> bool) -> usize {
        self.0.borrow().iter().filter(|(_, line)| matches(*line)).count()
    }
}

impl Invariant for Ledger {
    fn name(&self) -> &'static str {
        "ledger"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let line = match &seen.what {
            What::Log(Logged::Committed { index, .. }) => Line::Committed(*index),
            What::Log(Logged::Leads { .. }) => Line::Leads,
            _ => return Ok(()),
        };
        self.0.borrow_mut().push((seen.at, line));
        Ok(())
    }
}
