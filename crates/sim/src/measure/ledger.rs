//! Takes down when entries were committed, who led, and what workers began and obeyed.

use std::cell::RefCell;
use std::rc::Rc;

use hyperscale_consensus::register::JobId;
use hyperscale_types::Token;

use crate::invariants::{Invariant, Logged, Seen, Verdict, What};
use crate::moment::Moment;

/// What is taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Somebody applied this entry first.
    Committed(u64),
    /// A replica began to lead.
    Leads,
    /// A worker starts the first attempt of a segment of this job.
    Starts(JobId),
    /// A worker starts a later one.
    Restarts(JobId),
    /// A worker obeyed a leader of this job with this token.
    Obeyed(JobId, Token),
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

    /// The last line that matches.
    pub(super) fn last(&self, matches: impl Fn(Line) -> bool) -> Option<Line> {
        self.0.borrow().iter().rev().map(|(_, line)| *line).find(|line| matches(*line))
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
            What::Log(Logged::Starts { attempt }) if attempt.attempt.number == 1 => Line::Starts(attempt.job),
            What::Log(Logged::Starts { attempt }) => Line::Restarts(attempt.job),
            What::Log(Logged::Obeyed { job, token }) => Line::Obeyed(*job, *token),
            _ => return Ok(()),
        };
        self.0.borrow_mut().push((seen.at, line));
        Ok(())
    }
}
