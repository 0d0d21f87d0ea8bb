//! Appends that fit on the wire.
//!
//! raft-rs joins whatever waits for a follower into one append, without a limit: its own limit holds for each of the pieces.
//! Batching is worth having – hundreds of small entries leave as one message – so it stays on, and what got too large is
//! taken apart again. A follower cannot tell: each part names the entry before it, as any append does.

use crate::config::APPEND_BYTES_MAX;
use crate::message::{Entry, Message, MessageKind};

/// The message, in parts if it is an append with more entries than one message may have.
pub(crate) fn split(message: Message) -> Vec<Message> {
    if message.kind != MessageKind::Append || bytes(&message.entries) <= APPEND_BYTES_MAX {
        return vec![message];
    }
    let mut parts = Vec::new();
    let mut next = message;
    loop {
        let rest = next.entries.split_off(fitting(&next.entries));
        let Some(last) = next.entries.last().filter(|_| !rest.is_empty()) else { break };
        let following =
            Message { index: last.index, log_term: last.term, entries: rest, ..without_entries(&next) };
        parts.push(std::mem::replace(&mut next, following));
    }
    parts.push(next);
    parts
}

fn without_entries(message: &Message) -> Message {
    Message { context: message.context.clone(), entries: Vec::new(), snapshot: None, ..*message }
}

fn bytes(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| entry.body.size() as u64).sum()
}

/// How many entries fit into one message; at least one, for a command is never that large.
fn fitting(entries: &[Entry]) -> usize {
    let mut total = 0;
    let fits = |entry: &&Entry| {
        total += entry.body.size() as u64;
        total <= APPEND_BYTES_MAX
    };
    entries.iter().take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::id::RaftId;

    fn append(sizes: &[usize]) -> Message {
        let entry = |(place, size): (usize, &usize)| Entry {
            index: 8 + place as u64,
            term: 3 + place as u64 / 2,
            body: crate::message::EntryBody::Command(Bytes::from(vec![b'x'; *size])),
        };
        Message {
            kind: MessageKind::Append,
            to: RaftId::FIRST,
            from: RaftId::FIRST.next(),
            term: 9,
            log_term: 2,
            index: 7,
            entries: sizes.iter().enumerate().map(entry).collect(),
            commit: 6,
            commit_term: 2,
            snapshot: None,
            rejection: None,
            context: Bytes::new(),
            priority: 0,
            proof: None,
            lacks_blobs: false,
        }
    }

    #[test]
    fn append_that_fits_is_left_alone() {
        for message in [append(&[]), append(&[100]), append(&[250_000, 250_000])] {
            assert_eq!(split(message.clone()), [message]);
        }
    }

    #[test]
    fn parts_of_an_append_follow_each_other_and_have_every_entry_once() {
        let whole = append(&[300_000, 300_000, 10, 500_000, 600_000, 1]);
        let parts = split(whole.clone());
        let places: Vec<_> = parts.iter().map(|m| (m.index, m.log_term, m.entries.len())).collect();
        assert_eq!(places, [(7, 2, 1), (8, 3, 2), (10, 4, 1), (11, 4, 1), (12, 5, 1)]);
        assert!(parts.iter().all(|part| part.commit == 6 && part.term == 9));
        let joined: Vec<Entry> = parts.into_iter().flat_map(|part| part.entries).collect();
        assert_eq!(joined, whole.entries);
    }
}
