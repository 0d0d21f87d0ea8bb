//! A disk in memory that fails the way disks do.

use crate::storage::{Batch, Loaded, LogStorage, StorageError};

/// A disk in memory. What was written is lost with [`MemoryDisk::crash`] unless it was synced.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    durable: Loaded,
    /// Written, not synced, in order.
    cached: Vec<Batch>,
    is_full: bool,
    is_stalled: bool,
}

/// What a crash does to writes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// They are gone.
    All,
    /// The first so many batches reached the disk.
    After(usize),
    /// The first so many batches reached the disk, and of the next one the first so many entries, without its term and
    /// vote: the tail is torn.
    Torn {
        /// Whole batches.
        batches: usize,
        /// Entries of the next one.
        entries: usize,
    },
}

impl MemoryDisk {
    /// The machine loses power.
    pub fn crash(&mut self, loss: Loss) {
        let cached = std::mem::take(&mut self.cached);
        let (whole, torn) = match loss {
            Loss::All => (0, 0),
            Loss::After(batches) => (batches, 0),
            Loss::Torn { batches, entries } => (batches, entries),
        };
        for batch in cached.iter().take(whole) {
            store(&mut self.durable, batch);
        }
        if let Some(batch) = cached.get(whole).filter(|batch| torn > 0 && batch.snapshot.is_none()) {
            let entries = batch.entries.iter().take(torn).cloned().collect();
            store(&mut self.durable, &Batch { entries, ..Batch::default() });
        }
        self.is_stalled = false;
    }

    /// Writes fail from now on, or do no longer.
    pub fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Syncs do not return from now on, or do again.
    pub fn set_stalled(&mut self, is_stalled: bool) {
        self.is_stalled = is_stalled;
    }

    /// What would be left if everything that was not synced were lost now.
    pub fn durable(&self) -> &Loaded {
        &self.durable
    }

    /// Batches that were written and not synced, in order.
    pub fn cached(&self) -> &[Batch] {
        &self.cached
    }

    /// The oldest write that was not synced becomes durable: what a sync does, batch by batch. False if there is none.
    pub fn sync_next(&mut self) -> bool {
        if self.cached.is_empty() {
            return false;
        }
        store(&mut self.durable, &self.cached.remove(0));
        true
    }

    /// Batches that would be lost now.
    pub fn unsynced(&self) -> usize {
        self.cached.len()
    }
}

impl LogStorage for MemoryDisk {
    fn load(&mut self) -> Result<Loaded, StorageError> {
        let mut seen = self.durable.clone();
        self.cached.iter().for_each(|batch| store(&mut seen, batch));
        Ok(seen)
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StorageError> {
        if self.is_full {
            return Err(StorageError::Full);
        }
        self.cached.push(batch.clone());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if self.is_stalled {
            return Err(StorageError::Stalled);
        }
        for batch in std::mem::take(&mut self.cached) {
            store(&mut self.durable, &batch);
        }
        Ok(())
    }
}

fn store(image: &mut Loaded, batch: &Batch) {
    if let Some(write) = &batch.snapshot {
        image.entries.retain(|entry| !write.replaces_log && entry.index > write.drop_to);
        image.snapshot = write.snapshot.clone();
    }
    if let Some(first) = batch.entries.first() {
        image.entries.retain(|entry| entry.index < first.index);
        image.entries.extend(batch.entries.iter().cloned());
    }
    if let Some(state) = batch.hard_state {
        image.hard_state = state;
    }
    image.raft_id = batch.raft_id.or(image.raft_id);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Entry, EntryBody, HardState};

    fn batch(indexes: std::ops::RangeInclusive<u64>, term: u64) -> Batch {
        let entries = indexes.map(|index| Entry { index, term, body: EntryBody::Empty }).collect();
        Batch { entries, hard_state: Some(HardState { term, ..HardState::default() }), ..Batch::default() }
    }

    fn disk() -> MemoryDisk {
        let mut disk = MemoryDisk::default();
        disk.write(&batch(1..=2, 1)).unwrap();
        disk.sync().unwrap();
        disk.write(&batch(3..=5, 2)).unwrap();
        disk.write(&batch(6..=6, 3)).unwrap();
        disk
    }

    fn seen(mut disk: MemoryDisk) -> (u64, usize) {
        let loaded = disk.load().unwrap();
        (loaded.hard_state.term, loaded.entries.len())
    }

    #[test]
    fn crash_loses_what_was_not_synced() {
        for (loss, left) in [
            (Loss::All, (1, 2)),
            (Loss::After(1), (2, 5)),
            (Loss::After(9), (3, 6)),
            (Loss::Torn { batches: 0, entries: 2 }, (1, 4)),
            (Loss::Torn { batches: 1, entries: 1 }, (2, 6)),
        ] {
            let mut disk = disk();
            disk.crash(loss);
            assert_eq!(seen(disk), left, "{loss:?}");
        }
    }

    #[test]
    fn full_disk_refuses_writes_and_stalled_disk_refuses_to_sync() {
        let mut disk = disk();
        disk.set_full(true);
        assert!(matches!(disk.write(&batch(7..=7, 3)), Err(StorageError::Full)));
        disk.set_stalled(true);
        assert!(matches!(disk.sync(), Err(StorageError::Stalled)));
        assert_eq!(disk.unsynced(), 2);
        disk.set_stalled(false);
        disk.sync().unwrap();
        assert_eq!(disk.unsynced(), 0);
    }

    #[test]
    fn newer_entries_replace_the_tail() {
        let mut disk = disk();
        disk.write(&batch(2..=2, 9)).unwrap();
        let loaded = disk.load().unwrap();
        assert_eq!(loaded.entries.iter().map(|e| (e.index, e.term)).collect::<Vec<_>>(), [(1, 1), (2, 9)]);
    }
}
