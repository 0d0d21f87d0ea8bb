//! What is on its way to the disk, and the messages that wait for it: a vote or an entry is durable before anything that
//! depends on it leaves.

use std::collections::VecDeque;

use crate::id::Ticket;
use crate::message::Message;
use crate::storage::{Loaded, StorageError};

/// Batches under way, in order.
#[derive(Debug, Default)]
pub(super) struct Disk {
    last: u64,
    held: VecDeque<Held>,
    /// Messages whose batch is durable.
    released: Vec<Message>,
}

/// A batch under way.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) ticket: Ticket,
    /// Number by which raft-rs knows it; none for a snapshot of this node's own.
    pub(super) number: Option<u64>,
    /// What must not leave before.
    pub(super) messages: Vec<Message>,
    /// Index of a snapshot that came from the leader.
    pub(super) installed: Option<u64>,
}

impl Disk {
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// A new batch.
    pub(super) fn begin(&mut self, mut held: Held) -> Ticket {
        self.last += 1;
        held.ticket = Ticket(self.last);
        let ticket = held.ticket;
        self.held.push_back(held);
        ticket
    }

    /// Messages that depend on no batch of their own wait for those before.
    pub(super) fn follow(&mut self, number: u64, messages: Vec<Message>) {
        let last = self.held.back_mut().expect("called while batches are under way");
        last.number = Some(number);
        last.messages.extend(messages);
    }

    /// These may leave.
    pub(super) fn release(&mut self, messages: Vec<Message>) {
        self.released.extend(messages);
    }

    pub(super) fn take_released(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.released)
    }

    /// Takes out the batches that are durable.
    pub(super) fn finish(&mut self, ticket: Ticket) -> impl Iterator<Item = Held> + use<> {
        let done = self.held.iter().take_while(|held| held.ticket <= ticket).count();
        self.held.drain(..done).collect::<Vec<_>>().into_iter()
    }
}

/// What was loaded, if it can be. The commit index is written with entries only, so a snapshot may be ahead of it.
pub(super) fn checked(mut loaded: Loaded) -> Result<Loaded, StorageError> {
    let index = loaded.snapshot.index;
    let follows = |first: u64| first <= index + 1;
    if loaded.entries.first().is_some_and(|entry| !follows(entry.index)) {
        return Err(StorageError::Damaged(format!(
            "entries after the snapshot of entry {index} are missing"
        )));
    }
    if loaded.entries.windows(2).any(|pair| pair[1].index != pair[0].index + 1 || pair[1].term < pair[0].term)
    {
        return Err(StorageError::Damaged("entries have gaps or terms that fall".to_owned()));
    }
    let last = loaded.entries.last().map_or(index, |entry| entry.index.max(index));
    if loaded.hard_state.commit > last {
        let message = format!("entry {} was committed, the last one is {last}", loaded.hard_state.commit);
        return Err(StorageError::Damaged(message));
    }
    loaded.hard_state.commit = loaded.hard_state.commit.max(index);
    loaded.hard_state.term = loaded.hard_state.term.max(loaded.snapshot.term);
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Entry, EntryBody, HardState, Snapshot};

    fn loaded(snapshot: u64, entries: &[u64], commit: u64) -> Loaded {
        let entry = |index: &u64| Entry { index: *index, term: 1, body: EntryBody::Empty };
        Loaded {
            raft_id: None,
            hard_state: HardState { term: 1, vote: None, commit },
            snapshot: Snapshot { index: snapshot, term: 1, ..Snapshot::default() },
            entries: entries.iter().map(entry).collect(),
        }
    }

    #[test]
    fn damaged_logs_are_refused() {
        for (name, loaded) in [
            ("gap after the snapshot", loaded(5, &[7, 8], 5)),
            ("gap between entries", loaded(5, &[6, 8], 5)),
            ("commit beyond the log", loaded(5, &[6, 7], 9)),
        ] {
            assert!(matches!(checked(loaded), Err(StorageError::Damaged(_))), "{name}");
        }
    }

    #[test]
    fn snapshot_may_be_ahead_of_the_commit_index() {
        assert_eq!(checked(loaded(5, &[4, 5, 6], 2)).unwrap().hard_state.commit, 5);
    }

    #[test]
    fn messages_wait_for_their_batch_and_those_before() {
        let mut disk = Disk::default();
        let first = disk.begin(Held { number: Some(1), ..Held::default() });
        disk.follow(2, Vec::new());
        let second = disk.begin(Held { number: Some(3), ..Held::default() });
        let numbers = |held: Vec<Held>| held.into_iter().map(|held| held.number).collect::<Vec<_>>();
        assert_eq!(numbers(disk.finish(first).collect()), [Some(2)]);
        assert!(!disk.is_idle());
        assert_eq!(numbers(disk.finish(second).collect()), [Some(3)]);
        assert!(disk.is_idle());
    }
}
