//! A learner becomes a voter only when it has the log, but for a few entries.

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(in crate::invariants) struct LearnersCaughtUp;

impl Invariant for LearnersCaughtUp {
    fn name(&self) -> &'static str {
        "learners_caught_up"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Promotes { id, behind, allowed }) = &seen.what else { return Ok(()) };
        if behind <= allowed {
            return Ok(());
        }
        Err(format!("makes {id} a voter, whose disk is {behind} entries behind; {allowed} are allowed"))
    }
}
