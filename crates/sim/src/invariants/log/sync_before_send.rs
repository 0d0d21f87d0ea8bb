//! A vote or an entry is on disk before anything that depends on it leaves.
//!
//! What a message of term t promises must be durable in the order in which it was written, not at the moment it leaves: several
//! batches become durable in one sync, and the last of them may belong to a later term whose leader replaced entries that the
//! message acknowledges (seed 42528). That is what the sender would have done with one sync per batch and a slow network, so it
//! is no less safe. Within a term no entry that was acknowledged is taken back and no vote is changed: the last durable state of
//! term t must hold both.

use hyperscale_consensus::{Message, MessageKind, RaftId};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};
use crate::log::Terms;

#[derive(Debug)]
pub(in crate::invariants) struct SyncBeforeSend;

impl Invariant for SyncBeforeSend {
    fn name(&self) -> &'static str {
        "sync_before_send"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Sends { message, terms }) = &seen.what else { return Ok(()) };
        let is_kept = match message.kind {
            MessageKind::Vote => has_vote(terms, message.term, message.from),
            MessageKind::VoteResponse if message.rejection.is_none() => {
                has_vote(terms, message.term, message.to)
            }
            MessageKind::AppendResponse if message.rejection.is_none() => {
                terms.get(&message.term).is_some_and(|end| end.last_index >= message.index)
            }
            _ => true,
        };
        if is_kept { Ok(()) } else { Err(describe(message, terms)) }
    }
}

fn has_vote(terms: &Terms, term: u64, candidate: RaftId) -> bool {
    terms.get(&term).is_some_and(|end| end.vote == Some(candidate))
}

fn describe(message: &Message, terms: &Terms) -> String {
    let (kind, term, index) = (message.kind, message.term, message.index);
    let (kept, now) = (terms.get(&term), terms.last_key_value());
    format!(
        "sends {kind:?} of term {term} about entry {index} with {kept:?} on disk in that term, {now:?} now"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::disk::TermEnd;

    #[test]
    fn vote_of_a_term_counts_only_if_that_term_ended_with_it() {
        let (one, two) = (RaftId::new(1).unwrap(), RaftId::new(2).unwrap());
        let end = |vote| TermEnd { vote, last_index: 0 };
        let terms = Terms::from([(1, end(Some(one))), (3, end(None))]);
        assert!(has_vote(&terms, 1, one));
        for (term, candidate) in [(1, two), (2, one), (3, one), (4, one)] {
            assert!(!has_vote(&terms, term, candidate), "{term} {candidate}");
        }
    }
}
