//! The disk of a node: what is written is there after a reopen, all of a batch or nothing, and nobody else's.

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use hyperscale_consensus::storage::{
    Batch, BlobStore, DirectoryOwner, FileBlobs, LogStorage, RedbStorage, SnapshotWrite, StorageError,
};
use hyperscale_consensus::{
    Action, BlobId, Config, Entry, EntryBody, HardState, LogGroup, ProposalId, RaftGroup, Snapshot, founding,
};
use hyperscale_types::{NodeId, Now};

use crate::cluster::{Notes, directory, founders, id};

fn identity() -> DirectoryOwner {
    DirectoryOwner { cluster: "default".to_owned(), group: "dc-a".to_owned(), node: NodeId::new(1).unwrap() }
}

fn open(folder: &Path) -> RedbStorage {
    RedbStorage::open(&folder.join("log.redb"), &identity(), directory(1)).unwrap()
}

fn entries(indexes: std::ops::RangeInclusive<u64>, term: u64) -> Batch {
    let entry = |index| Entry { index, term, body: EntryBody::Command(Bytes::from_static(b"x")) };
    let hard_state = Some(HardState { term, vote: Some(id(2)), commit: 0 });
    Batch { entries: indexes.map(entry).collect(), hard_state, ..Batch::default() }
}

#[test]
fn new_directory_is_empty_and_everything_written_is_there_after_a_reopen() {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = open(folder.path());
    assert!(storage.load().unwrap().is_empty());
    storage.write(&entries(1..=3, 4)).unwrap();
    storage.sync().unwrap();
    drop(storage);
    let loaded = open(folder.path()).load().unwrap();
    assert_eq!(loaded.hard_state, HardState { term: 4, vote: Some(id(2)), commit: 0 });
    assert_eq!(loaded.entries, entries(1..=3, 4).entries);
}

#[test]
fn newer_entries_replace_the_tail_and_snapshots_the_head() {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = open(folder.path());
    storage.write(&entries(1..=6, 1)).unwrap();
    storage.write(&entries(5..=5, 2)).unwrap();
    let snapshot = Snapshot { index: 4, term: 1, ..Snapshot::default() };
    let write = |drop_to, replaces_log| {
        let snapshot = Some(SnapshotWrite { snapshot: snapshot.clone(), drop_to, replaces_log });
        Batch { snapshot, ..Batch::default() }
    };
    storage.write(&write(2, false)).unwrap();
    let loaded = storage.load().unwrap();
    let places: Vec<_> = loaded.entries.iter().map(|entry| (entry.index, entry.term)).collect();
    assert_eq!(places, [(3, 1), (4, 1), (5, 2)]);
    assert_eq!(loaded.snapshot, snapshot);
    storage.write(&write(4, true)).unwrap();
    assert_eq!(storage.load().unwrap().entries, []);
}

#[test]
fn directory_of_another_cluster_group_or_node_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let path = folder.path().join("log.redb");
    for other in [
        DirectoryOwner { cluster: "other".to_owned(), ..identity() },
        DirectoryOwner { group: "dc-b".to_owned(), ..identity() },
        DirectoryOwner { node: NodeId::new(2).unwrap(), ..identity() },
    ] {
        let error = RedbStorage::open(&path, &other, directory(2)).unwrap_err();
        assert!(matches!(error, StorageError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains("cluster 'default'"), "{error}");
    }
    assert_eq!(open(folder.path()).directory(), directory(1), "and keeps its id");
}

#[test]
fn directory_is_bound_to_one_raft_id_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = open(folder.path());
    let bound = |number| Batch { raft_id: Some(id(number)), ..Batch::default() };
    assert_eq!(storage.load().unwrap().raft_id, None);
    storage.write(&bound(3)).unwrap();
    storage.write(&bound(3)).unwrap();
    storage.sync().unwrap();
    storage.write(&bound(4)).unwrap();
    assert!(matches!(storage.sync(), Err(StorageError::Foreign { .. })));
    drop(storage);
    assert_eq!(open(folder.path()).load().unwrap().raft_id, Some(id(3)));
}

#[test]
fn file_that_was_cut_short_is_refused_and_not_read_as_empty() {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = open(folder.path());
    storage.write(&entries(1..=500, 1)).unwrap();
    storage.sync().unwrap();
    drop(storage);
    let path = folder.path().join("log.redb");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 3]).unwrap();
    let opened = RedbStorage::open(&path, &identity(), directory(1));
    let is_refused = opened.is_err() || opened.unwrap().load().is_err();
    assert!(is_refused);
}

#[test]
fn file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log.redb"), b"not a database, but somebody's notes").unwrap();
    assert!(RedbStorage::open(&folder.path().join("log.redb"), &identity(), directory(1)).is_err());
}

#[test]
fn blobs_are_kept_by_their_hash() {
    let folder = tempfile::tempdir().unwrap();
    let blob = BlobId::of(b"values");
    let mut blobs = FileBlobs::open(folder.path()).unwrap();
    assert_eq!(blobs.get(blob).unwrap(), None);
    blobs.put(blob, b"values").unwrap();
    blobs.put(blob, b"values").unwrap();
    std::fs::write(folder.path().join("new-half"), b"val").unwrap();
    let mut blobs = FileBlobs::open(folder.path()).unwrap();
    assert_eq!(blobs.list().unwrap(), BTreeSet::from([blob]), "what was not finished is gone");
    assert!(blob.matches(&blobs.get(blob).unwrap().unwrap()));
    blobs.remove(blob).unwrap();
    blobs.remove(blob).unwrap();
    assert_eq!((blobs.get(blob).unwrap(), blobs.list().unwrap()), (None, BTreeSet::new()));
}

#[test]
fn damaged_blob_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let blob = BlobId::of(b"values");
    let mut blobs = FileBlobs::open(folder.path()).unwrap();
    blobs.put(blob, b"values").unwrap();
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, b"valueS").unwrap();
    assert_eq!(blobs.get(blob).unwrap(), None);
    assert!(blobs.list().unwrap().is_empty(), "so that it is fetched again");
}

/// A group of one on a real file.
struct Host {
    storage: RedbStorage,
    group: RaftGroup<Notes>,
    now: Now,
}

impl Host {
    fn start(folder: &Path, config: Config) -> Self {
        let mut storage = open(folder);
        if storage.load().unwrap().is_empty() {
            storage.write(&Batch { raft_id: Some(id(1)), ..founding(&founders(1)) }).unwrap();
        }
        let loaded = storage.load().unwrap();
        let raft_id = loaded.raft_id.unwrap();
        let group = RaftGroup::open(Now::ZERO, config, raft_id, loaded, Notes::default()).unwrap();
        let mut host = Self { storage, group, now: Now::ZERO };
        while !host.group.is_established() {
            host.now = host.group.next_tick();
            host.group.tick(host.now);
            host.work();
        }
        host
    }

    fn work(&mut self) {
        loop {
            let mut actions = Vec::new();
            self.group.ready(self.now, &mut actions);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                if let Action::Persist(batch) = action {
                    self.storage.write(&batch).unwrap();
                    self.storage.sync().unwrap();
                    self.group.persisted(batch.ticket);
                }
            }
        }
    }
}

#[test]
fn group_comes_back_from_its_file_with_and_without_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    for round in 1..=3u64 {
        let mut host =
            Host::start(folder.path(), Config { snapshot_entries: 25, trailing_entries: 5, ..Config::lan() });
        let before = host.group.machine().lines.len() as u64;
        assert_eq!(before, (round - 1) * 20);
        for number in 0..20 {
            host.group.propose(host.now, ProposalId(number), Bytes::from_static(b"x")).unwrap();
        }
        host.work();
        assert_eq!(host.group.machine().lines.len() as u64, round * 20);
    }
}
