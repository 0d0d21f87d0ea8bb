//! A learner becomes a voter only when it has the log, but for a few entries.
//!
//! What it may be behind is counted up to the entry before the one that promotes it: that is the log the leader decided by, and
//! neither the promotion nor what is proposed after it can be there yet. Its disk has at least what it acknowledged, so the
//! bound holds without tolerance. A learner without anything is never close, however short the log is: it needs a snapshot,
//! of any size.

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(in crate::invariants) struct LearnersCaughtUp;

impl Invariant for LearnersCaughtUp {
    fn name(&self) -> &'static str {
        "learners_caught_up"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Promotes { id, entry, last, allowed }) = seen.what else { return Ok(()) };
        let behind = (entry - 1).saturating_sub(last);
        if last == 0 {
            return Err(format!("makes {id} a voter by entry {entry}, whose disk is empty"));
        }
        if behind <= allowed {
            return Ok(());
        }
        Err(format!("makes {id} a voter, whose disk is {behind} entries behind; {allowed} are allowed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::scene::Scene;
    use hyperscale_consensus::RaftId;

    fn verdict(entry: u64, last: u64) -> Verdict {
        let promotes = Logged::Promotes { id: RaftId::FIRST, entry, last, allowed: 20 };
        Scene::of(&[0]).ask(&mut LearnersCaughtUp, 0, 1, What::Log(promotes))
    }

    #[test]
    fn promotion_itself_is_not_missing() {
        assert_eq!(verdict(31, 10), Ok(()));
        assert!(verdict(32, 10).is_err());
    }

    #[test]
    fn learner_without_anything_is_objected_to_however_short_the_log_is() {
        assert!(verdict(5, 0).is_err());
        assert_eq!(verdict(5, 1), Ok(()));
    }
}
