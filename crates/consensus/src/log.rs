//! The log as raft-rs reads it: entries since the last compaction, the last snapshot, term and vote as they were loaded.
//!
//! It is a copy in memory of what is on disk or on its way there: raft-rs sees an entry here at once, and learns later that
//! it is durable. Its size is bounded by the snapshot limits of the configuration.

use std::cell::Cell;
use std::collections::VecDeque;

use raft::eraftpb;
use raft::{GetEntriesContext, RaftState, StorageError};

use crate::convert;
use crate::id::RaftId;
use crate::message::{Configuration, Entry, HardState, Snapshot};

pub(crate) struct Log {
    hard_state: HardState,
    /// The configuration at the index the group starts from; raft-rs asks for it once.
    configuration: Configuration,
    /// Index and term of the entry before the first one kept.
    base: (u64, u64),
    entries: VecDeque<eraftpb::Entry>,
    snapshot: Snapshot,
    /// A follower needs a newer snapshot than there is. raft-rs asks through a shared reference.
    is_snapshot_wanted: Cell<bool>,
}

impl Log {
    /// What was loaded. Entries up to the snapshot's are dropped; a gap after it was refused by the storage.
    pub(crate) fn new(hard_state: HardState, snapshot: Snapshot, entries: Vec<Entry>) -> Self {
        let kept = entries.into_iter().filter(|entry| entry.index > snapshot.index);
        Self {
            hard_state,
            configuration: snapshot.configuration.clone(),
            base: (snapshot.index, snapshot.term),
            entries: kept.map(convert::entry_in).collect(),
            snapshot,
            is_snapshot_wanted: Cell::new(false),
        }
    }

    pub(crate) fn last(&self) -> u64 {
        self.base.0 + self.entries.len() as u64
    }

    /// Whether a newer snapshot was asked for since the last call.
    pub(crate) fn take_wanted(&self) -> bool {
        self.is_snapshot_wanted.take()
    }

    pub(crate) fn snapshot_index(&self) -> u64 {
        self.snapshot.index
    }

    /// Takes new entries; those at and after the first of them are replaced.
    pub(crate) fn append(&mut self, entries: &[eraftpb::Entry]) {
        let Some(first) = entries.first() else { return };
        debug_assert!(first.index > self.base.0 && first.index <= self.last() + 1, "no gap");
        self.entries.truncate((first.index - self.base.0 - 1) as usize);
        self.entries.extend(entries.iter().cloned());
    }

    /// A snapshot from the leader replaces everything.
    pub(crate) fn install(&mut self, snapshot: Snapshot) {
        self.base = (snapshot.index, snapshot.term);
        self.entries.clear();
        self.snapshot = snapshot;
    }

    /// A snapshot of this node's own state: entries before it are dropped but for the last `trailing`. Returns the last
    /// dropped index.
    pub(crate) fn keep(&mut self, snapshot: Snapshot, trailing: u64) -> u64 {
        let dropped_to = snapshot.index.saturating_sub(trailing).max(self.base.0);
        for _ in self.base.0..dropped_to {
            let dropped = self.entries.pop_front().expect("a snapshot is of applied entries, which are kept");
            self.base = (dropped.index, dropped.term);
        }
        self.snapshot = snapshot;
        dropped_to
    }

    /// Term of the entry at this index, if known.
    pub(crate) fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.base.0 {
            return Some(self.base.1);
        }
        if index == self.snapshot.index {
            return Some(self.snapshot.term);
        }
        let place = index.checked_sub(self.base.0 + 1)?;
        self.entries.get(usize::try_from(place).ok()?).map(|entry| entry.term)
    }
}

impl raft::Storage for Log {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let configuration = convert::configuration_in(&self.configuration);
        Ok(RaftState::new(convert::hard_state_in(self.hard_state), configuration))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<eraftpb::Entry>> {
        if low <= self.base.0 {
            return Err(StorageError::Compacted.into());
        }
        if high > self.last() + 1 {
            return Err(StorageError::Unavailable.into());
        }
        let range = (low - self.base.0 - 1) as usize..(high - self.base.0 - 1) as usize;
        let mut found: Vec<eraftpb::Entry> = self.entries.range(range).cloned().collect();
        raft::util::limit_size(&mut found, max_size.into());
        Ok(found)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let missing = if index < self.base.0 { StorageError::Compacted } else { StorageError::Unavailable };
        self.term_at(index).ok_or_else(|| missing.into())
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.base.0 + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last())
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<eraftpb::Snapshot> {
        // A newcomer takes only a snapshot that knows it.
        let knows = RaftId::new(to).is_some_and(|to| self.snapshot.configuration.contains(to));
        if self.snapshot.index < request_index || !knows {
            self.is_snapshot_wanted.set(true);
            return Err(StorageError::SnapshotTemporarilyUnavailable.into());
        }
        Ok(convert::snapshot_in(self.snapshot.clone()))
    }
}

#[cfg(test)]
mod tests {
    use raft::Storage;

    use super::*;
    use crate::message::EntryBody;

    fn log(entries: std::ops::RangeInclusive<u64>) -> Log {
        let snapshot = Snapshot { index: 10, term: 2, ..Snapshot::default() };
        let entries = entries.map(|index| Entry { index, term: 3, body: EntryBody::Empty }).collect();
        Log::new(HardState::default(), snapshot, entries)
    }

    #[test]
    fn entries_covered_by_the_snapshot_are_dropped_on_load() {
        let log = log(8..=14);
        assert_eq!((log.first_index().unwrap(), log.last_index().unwrap()), (11, 14));
        assert_eq!((log.term(10).unwrap(), log.term(11).unwrap()), (2, 3));
    }

    #[test]
    fn append_replaces_the_tail() {
        let mut log = log(11..=14);
        let entry = Entry { index: 12, term: 5, body: EntryBody::Empty };
        log.append(&[convert::entry_in(entry)]);
        assert_eq!((log.last(), log.term_at(12), log.term_at(13)), (12, Some(5), None));
    }

    #[test]
    fn own_snapshot_keeps_trailing_entries_for_slow_followers() {
        let mut log = log(11..=20);
        let snapshot = Snapshot { index: 18, term: 3, ..Snapshot::default() };
        assert_eq!(log.keep(snapshot, 4), 14);
        assert_eq!((log.first_index().unwrap(), log.last()), (15, 20));
        assert_eq!(log.term(14).unwrap(), 3);
        assert!(matches!(log.term(13), Err(raft::Error::Store(StorageError::Compacted))));
    }

    #[test]
    fn installed_snapshot_replaces_everything() {
        let mut log = log(11..=20);
        log.install(Snapshot { index: 40, term: 7, ..Snapshot::default() });
        assert_eq!((log.first_index().unwrap(), log.last(), log.term_at(40)), (41, 40, Some(7)));
    }
}
