//! A vote or an entry is on disk before anything that depends on it leaves.

use hyperscale_consensus::storage::Loaded;
use hyperscale_consensus::{Message, MessageKind};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(in crate::invariants) struct SyncBeforeSend;

impl Invariant for SyncBeforeSend {
    fn name(&self) -> &'static str {
        "sync_before_send"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Sends { message, durable }) = &seen.what else { return Ok(()) };
        let is_kept = match message.kind {
            MessageKind::Vote => has_vote(durable, message.term, message.from.get()),
            MessageKind::VoteResponse if message.rejection.is_none() => {
                has_vote(durable, message.term, message.to.get())
            }
            MessageKind::AppendResponse if message.rejection.is_none() => {
                last_index(durable) >= message.index
            }
            _ => true,
        };
        if is_kept { Ok(()) } else { Err(describe(message, durable)) }
    }
}

fn has_vote(durable: &Loaded, term: u64, candidate: u64) -> bool {
    let kept = durable.hard_state;
    kept.term > term || kept.term == term && kept.vote.is_some_and(|vote| vote.get() == candidate)
}

fn last_index(durable: &Loaded) -> u64 {
    durable.entries.last().map_or(0, |entry| entry.index).max(durable.snapshot.index)
}

fn describe(message: &Message, durable: &Loaded) -> String {
    let (kind, term, index) = (message.kind, message.term, message.index);
    let (kept, last) = (durable.hard_state, last_index(durable));
    format!(
        "sends {kind:?} of term {term} about entry {index} with {kept:?} and entries up to {last} on disk"
    )
}
