//! A vote that is on disk is not taken back within its term, whatever happens in between.

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(in crate::invariants) struct VoteKept;

impl Invariant for VoteKept {
    fn name(&self) -> &'static str {
        "vote_kept"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Persists { batch, durable }) = &seen.what else { return Ok(()) };
        let (Some(after), before) = (batch.hard_state, durable.hard_state) else { return Ok(()) };
        if after.term < before.term {
            return Err(format!("writes term {} after term {}", after.term, before.term));
        }
        if after.term == before.term && before.vote.is_some() && after.vote != before.vote {
            return Err(format!("in term {} voted {:?}, then {:?}", after.term, before.vote, after.vote));
        }
        Ok(())
    }
}
