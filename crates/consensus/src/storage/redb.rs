//! The disk of a node: one `redb` file per group.
//!
//! All batches between two syncs are one transaction, so that one sync serves them all and a crash leaves each of them or
//! nothing. The identity of the directory – cluster, group, node,
//! directory id – is written first and compared at every start. A full disk is waited out: see `handle`.

use std::path::Path;

use bytes::Bytes;
use hyperscale_types::NodeId;
use hyperscale_wire::messages as wire;
use prost::Message;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition};

use crate::id::{DirectoryId, RaftId};
use crate::message::Entry;
use crate::record;
use crate::storage::handle::{Handle, backend};
use crate::storage::{Batch, Loaded, LogStorage, StorageError};

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Batches that wait for a sync; one more is synced with them, whether the host asks for it or not.
const UNSYNCED_MAX: usize = 1024;

const IDENTITY: &str = "identity";
const RAFT_ID: &str = "raft_id";
const HARD_STATE: &str = "hard_state";
const SNAPSHOT: &str = "snapshot";

/// Whom a directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryOwner {
    /// Name of the cluster.
    pub cluster: String,
    /// The group in it: a datacenter's name, or the gates.
    pub group: String,
    /// The node that wrote the log in it.
    pub node: NodeId,
}

impl DirectoryOwner {
    fn describe(&self) -> String {
        format!("node {} of group '{}' in cluster '{}'", self.node, self.group, self.cluster)
    }

    pub(crate) fn parse(text: &str) -> Option<(Self, DirectoryId)> {
        let mut lines = text.lines();
        let (cluster, group) = (lines.next()?.to_owned(), lines.next()?.to_owned());
        let node = lines.next()?.parse().ok()?;
        let number = u128::from_str_radix(lines.next()?, 16).ok()?;
        Some((Self { cluster, group, node }, DirectoryId(number.to_be_bytes())))
    }

    pub(crate) fn text(&self, directory: DirectoryId) -> String {
        format!("{}\n{}\n{}\n{directory}\n", self.cluster, self.group, self.node)
    }
}

/// A log on disk.
#[derive(Debug)]
pub struct RedbStorage {
    handle: Handle,
    directory: DirectoryId,
    /// Written and not synced, in order.
    unsynced: Vec<Batch>,
}

impl RedbStorage {
    /// Opens the file, or makes it. `fresh` is the id of the directory if it is made now; drawn at random by the caller.
    pub fn open(path: &Path, identity: &DirectoryOwner, fresh: DirectoryId) -> Result<Self, StorageError> {
        let named = [&identity.cluster, &identity.group];
        if named.iter().any(|name| name.contains('\n')) {
            return Err(StorageError::Backend("names of cluster and group have one line".to_owned()));
        }
        let database = Database::create(path).map_err(backend)?;
        // Not made anew: a file that is gone is no empty log.
        let path = path.to_owned();
        Self::claimed(database, move || Database::open(&path), identity, fresh)
    }

    pub(super) fn claimed(
        database: Database,
        open_again: impl Fn() -> Result<Database, DatabaseError> + Send + Sync + 'static,
        identity: &DirectoryOwner,
        fresh: DirectoryId,
    ) -> Result<Self, StorageError> {
        let directory = claim(&database, identity, fresh)?;
        Ok(Self { handle: Handle::new(database, open_again), directory, unsynced: Vec::new() })
    }

    /// The id of the directory.
    pub fn directory(&self) -> DirectoryId {
        self.directory
    }

    fn raft_id(&mut self) -> Result<Option<RaftId>, StorageError> {
        let bytes = self.meta(RAFT_ID)?;
        let number = bytes.map(|bytes| <[u8; 8]>::try_from(&bytes[..]).map(u64::from_be_bytes));
        let number = number.transpose().map_err(|_| StorageError::Damaged("raft id".to_owned()))?;
        Ok(number.and_then(RaftId::new))
    }

    fn meta(&mut self, name: &str) -> Result<Option<Bytes>, StorageError> {
        self.handle.with(|database| {
            let transaction = database.begin_read().map_err(backend)?;
            let table = transaction.open_table(META).map_err(backend)?;
            let found = table.get(name).map_err(backend)?;
            Ok(found.map(|bytes| Bytes::copy_from_slice(bytes.value())))
        })
    }

    fn transact(
        &mut self,
        change: impl FnOnce(&mut LogTable<'_>, &mut MetaTable<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.handle.with(|database| {
            let transaction = database.begin_write().map_err(backend)?;
            {
                let mut log = transaction.open_table(LOG).map_err(backend)?;
                let mut meta = transaction.open_table(META).map_err(backend)?;
                change(&mut log, &mut meta)?;
            }
            transaction.commit().map_err(backend)
        })
    }
}

type LogTable<'a> = redb::Table<'a, u64, &'static [u8]>;
type MetaTable<'a> = redb::Table<'a, &'static str, &'static [u8]>;

impl LogStorage for RedbStorage {
    fn load(&mut self) -> Result<Loaded, StorageError> {
        self.sync()?;
        let hard_state = self.meta(HARD_STATE)?;
        let hard_state =
            hard_state.map(|bytes| decode::<wire::HardState>(&bytes, "hard state")).transpose()?;
        let snapshot = self.meta(SNAPSHOT)?;
        let snapshot = snapshot.map(|bytes| decode::<wire::RaftSnapshot>(&bytes, "snapshot")).transpose()?;
        let snapshot = snapshot.map(record::snapshot_in).transpose();
        Ok(Loaded {
            raft_id: self.raft_id()?,
            hard_state: hard_state.as_ref().map(record::hard_state_in).unwrap_or_default(),
            snapshot: snapshot.map_err(|error| StorageError::Damaged(error.to_string()))?.unwrap_or_default(),
            entries: self.handle.with(entries)?,
        })
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StorageError> {
        if self.unsynced.len() >= UNSYNCED_MAX {
            self.sync()?;
        }
        self.unsynced.push(batch.clone());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if self.unsynced.is_empty() {
            return Ok(());
        }
        let batches = std::mem::take(&mut self.unsynced);
        let done = self.transact(|log, meta| batches.iter().try_for_each(|batch| put(log, meta, batch)));
        if done.is_err() {
            self.unsynced = batches;
        }
        done
    }
}

fn put(log: &mut LogTable<'_>, meta: &mut MetaTable<'_>, batch: &Batch) -> Result<(), StorageError> {
    if let Some(id) = batch.raft_id {
        bind(meta, id)?;
    }
    if let Some(write) = &batch.snapshot {
        let drop_to = if write.replaces_log { u64::MAX } else { write.drop_to };
        log.retain_in(..=drop_to, |_, _| false).map_err(backend)?;
        let bytes = record::snapshot_out(write.snapshot.clone()).encode_to_vec();
        meta.insert(SNAPSHOT, &bytes[..]).map_err(backend)?;
    }
    if let Some(first) = batch.entries.first() {
        log.retain_in(first.index.., |_, _| false).map_err(backend)?;
    }
    for entry in &batch.entries {
        let bytes = record::entry_out(entry.clone()).encode_to_vec();
        log.insert(entry.index, &bytes[..]).map_err(backend)?;
    }
    if let Some(state) = batch.hard_state {
        let bytes = record::hard_state_out(state).encode_to_vec();
        meta.insert(HARD_STATE, &bytes[..]).map_err(backend)?;
    }
    Ok(())
}

/// Whose directory it is: ours from now on if it is new, or refused if it is somebody else's.
fn claim(
    database: &Database,
    identity: &DirectoryOwner,
    fresh: DirectoryId,
) -> Result<DirectoryId, StorageError> {
    let transaction = database.begin_write().map_err(backend)?;
    let directory = {
        transaction.open_table(LOG).map_err(backend)?;
        let mut meta = transaction.open_table(META).map_err(backend)?;
        let stored = meta.get(IDENTITY).map_err(backend)?.map(|bytes| bytes.value().to_vec());
        match stored {
            None => {
                meta.insert(IDENTITY, identity.text(fresh).as_bytes()).map_err(backend)?;
                fresh
            }
            Some(bytes) => {
                let text = std::str::from_utf8(&bytes).ok().and_then(DirectoryOwner::parse);
                let (found, directory) = text.ok_or_else(|| StorageError::Damaged("identity".to_owned()))?;
                if found != *identity {
                    return Err(StorageError::Foreign {
                        found: found.describe(),
                        wanted: identity.describe(),
                    });
                }
                directory
            }
        }
    };
    transaction.commit().map_err(backend)?;
    Ok(directory)
}

/// Binds the directory to a raft id, for ever.
fn bind(meta: &mut MetaTable<'_>, id: RaftId) -> Result<(), StorageError> {
    let bytes = id.get().to_be_bytes();
    let known = meta.insert(RAFT_ID, &bytes[..]).map_err(backend)?.map(|known| known.value().to_vec());
    match known {
        Some(known) if known != bytes => Err(StorageError::Foreign {
            found: "another raft id".to_owned(),
            wanted: format!("raft id {id}"),
        }),
        _ => Ok(()),
    }
}

fn entries(database: &Database) -> Result<Vec<Entry>, StorageError> {
    let transaction = database.begin_read().map_err(backend)?;
    let table = transaction.open_table(LOG).map_err(backend)?;
    let mut entries = Vec::new();
    for row in table.iter().map_err(backend)? {
        let (index, bytes) = row.map_err(backend)?;
        let entry = decode::<wire::LogEntry>(bytes.value(), "entry")?;
        let entry = record::entry_in(entry).map_err(|error| StorageError::Damaged(error.to_string()))?;
        if entry.index != index.value() {
            let message = format!("entry {} stands at {}", entry.index, index.value());
            return Err(StorageError::Damaged(message));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn decode<T: Message + Default>(bytes: &[u8], what: &str) -> Result<T, StorageError> {
    T::decode(bytes).map_err(|_| StorageError::Damaged(format!("{what} cannot be read")))
}
