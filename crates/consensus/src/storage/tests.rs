//! The disk of a node when there is no room: a backend of redb that fails where a file system does.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use hyperscale_types::NodeId;
use redb::{Database, DatabaseError, StorageBackend};

use super::{Batch, DirectoryOwner, LogStorage, RedbStorage, StorageError};
use crate::id::DirectoryId;
use crate::message::{Entry, EntryBody};

/// What fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fault {
    #[default]
    Nothing,
    /// The file cannot grow.
    Growth,
    /// The file grows without blocks behind it; writing them fails.
    Writes,
    /// The device is broken.
    Device,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    fault: Fault,
    syncs: usize,
}

/// A small disk; clones are the same one.
#[derive(Clone, Debug, Default)]
struct SmallDisk(Arc<Mutex<State>>);

impl SmallDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn fail(&self, fault: Fault) {
        self.state().fault = fault;
    }

    fn open(&self) -> std::result::Result<Database, DatabaseError> {
        Database::builder().create_with_backend(self.clone())
    }

    fn storage(&self) -> RedbStorage {
        let identity =
            DirectoryOwner { cluster: "c".into(), group: "g".into(), node: NodeId::new(1).unwrap() };
        let again = self.clone();
        RedbStorage::claimed(self.open().unwrap(), move || again.open(), &identity, DirectoryId([1; 16]))
            .unwrap()
    }
}

impl StorageBackend for SmallDisk {
    fn len(&self) -> Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let (state, offset) = (self.state(), offset as usize);
        let found = state.bytes.get(offset..offset + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let mut state = self.state();
        if state.fault == Fault::Growth && len as usize > state.bytes.len() {
            return Err(ErrorKind::StorageFull.into());
        }
        state.bytes.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        self.state().syncs += 1;
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let (mut state, offset) = (self.state(), offset as usize);
        match state.fault {
            Fault::Writes => return Err(ErrorKind::StorageFull.into()),
            Fault::Device => return Err(Error::other("device is broken")),
            Fault::Nothing | Fault::Growth => {}
        }
        let place = state.bytes.get_mut(offset..offset + data.len()).ok_or(ErrorKind::UnexpectedEof)?;
        place.copy_from_slice(data);
        Ok(())
    }
}

fn batch(index: u64) -> Batch {
    let body = EntryBody::Command(Bytes::from(vec![7; 100_000]));
    Batch { entries: vec![Entry { index, term: 1, body }], ..Batch::default() }
}

/// Writes and syncs batches until that fails; returns the index of the last one and why.
fn fill(storage: &mut RedbStorage, from: u64) -> (u64, StorageError) {
    let mut tried = (from..from + 1000).map(|index| {
        storage.write(&batch(index)).unwrap();
        (index, storage.sync())
    });
    tried.find_map(|(index, done)| Some((index, done.err()?))).unwrap()
}

fn indexes(storage: &mut RedbStorage) -> Vec<u64> {
    storage.load().unwrap().entries.iter().map(|entry| entry.index).collect()
}

#[test]
fn full_disk_is_waited_out_and_nothing_that_was_written_is_lost() {
    for fault in [Fault::Growth, Fault::Writes] {
        let disk = SmallDisk::default();
        let mut storage = disk.storage();
        storage.write(&batch(1)).unwrap();
        storage.sync().unwrap();
        for _ in 0..2 {
            let next = indexes(&mut storage).len() as u64 + 1;
            disk.fail(fault);
            let (failed, error) = fill(&mut storage, next);
            assert!(matches!(error, StorageError::Full), "{fault:?}: {error}");
            let again = storage.sync();
            assert!(matches!(again, Err(StorageError::Full)), "{fault:?}: still no room: {again:?}");
            disk.fail(Fault::Nothing);
            storage.sync().unwrap();
            let written: Vec<u64> = (1..=failed).collect();
            assert_eq!(indexes(&mut storage), written, "{fault:?}");
            drop(storage);
            storage = disk.storage();
            assert_eq!(indexes(&mut storage), written, "{fault:?}: after a restart");
        }
    }
}

#[test]
fn broken_device_is_not_written_to_again() {
    let disk = SmallDisk::default();
    let mut storage = disk.storage();
    disk.fail(Fault::Device);
    let (_, error) = fill(&mut storage, 1);
    assert!(matches!(error, StorageError::Backend(_)), "{error}");
    disk.fail(Fault::Nothing);
    assert!(matches!(storage.sync(), Err(StorageError::Backend(_))));
}

#[test]
fn batches_between_two_syncs_are_one_transaction() {
    let disk = SmallDisk::default();
    let mut storage = disk.storage();
    let synced = disk.state().syncs;
    for index in 1..=50 {
        storage.write(&batch(index)).unwrap();
    }
    assert_eq!(disk.state().syncs, synced, "nothing is durable yet");
    storage.sync().unwrap();
    // One for the transaction, and a few for a file that grows.
    assert!(disk.state().syncs - synced <= 5, "{} for fifty batches", disk.state().syncs - synced);
    let before = disk.state().syncs;
    storage.write(&batch(51)).unwrap();
    storage.sync().unwrap();
    assert_eq!(disk.state().syncs - before, 1);
    assert_eq!(indexes(&mut storage).len(), 51);
}
