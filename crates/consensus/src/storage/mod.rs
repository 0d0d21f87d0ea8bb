//! Where a replica keeps what must survive it: log, term and vote, snapshot.
//!
//! One trait, two disks: [`RedbStorage`] in a node, [`MemoryDisk`] in the simulator, which can lose what was not synced,
//! tear the tail, stall and fill up. The core never calls a storage: it hands out [`Batch`]es, and the host says when they
//! are durable.

mod blobs;
mod handle;
mod memory;
mod redb;
#[cfg(test)]
mod tests;

pub use blobs::{BlobStore, FileBlobs};
pub use memory::{Loss, MemoryDisk};
pub use redb::{DirectoryOwner, RedbStorage};

use crate::id::{RaftId, Ticket};
use crate::message::{Entry, HardState, Snapshot};

/// A write of a replica.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Handed back when it is durable.
    pub ticket: Ticket,
    /// The raft id that the directory is bound to from now on. A directory is bound once.
    pub raft_id: Option<RaftId>,
    /// Term, vote, commit.
    pub hard_state: Option<HardState>,
    /// Entries; whatever is stored at and after the index of the first of them goes.
    pub entries: Vec<Entry>,
    /// A snapshot, in place of an older one.
    pub snapshot: Option<SnapshotWrite>,
}

/// A snapshot to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotWrite {
    /// What replaces all entries up to its index.
    pub snapshot: Snapshot,
    /// Entries up to this index go. Those after it stay, unless the snapshot came from the leader: then it is the whole
    /// log, and `replaces_log` says so.
    pub drop_to: u64,
    /// Every stored entry goes.
    pub replaces_log: bool,
}

/// What a storage held when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The raft id that the directory is bound to, once it is.
    pub raft_id: Option<RaftId>,
    /// Term, vote, commit.
    pub hard_state: HardState,
    /// The snapshot; index 0 if there is none.
    pub snapshot: Snapshot,
    /// Entries without a gap; the first is at most one after the snapshot.
    pub entries: Vec<Entry>,
}

impl Loaded {
    /// Whether there is no log: the replica may found a group or join one. It may be bound to a raft id already.
    pub fn is_empty(&self) -> bool {
        self.snapshot.index == 0 && self.entries.is_empty() && self.hard_state == HardState::default()
    }
}

/// A disk.
pub trait LogStorage {
    /// Everything that is stored.
    fn load(&mut self) -> Result<Loaded, StorageError>;

    /// Takes a batch. It is not durable before [`LogStorage::sync`], which makes all of them durable at once: a host takes
    /// what waits, then syncs.
    fn write(&mut self, batch: &Batch) -> Result<(), StorageError>;

    /// Makes everything written durable.
    fn sync(&mut self) -> Result<(), StorageError>;
}

/// What a disk could not do.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// No room. A batch that was refused does not count, and the host writes it again; a sync that was refused is asked for
    /// again, and loses nothing of what was written. The replica goes on when there is room.
    #[error("disk is full")]
    Full,
    /// Does not answer. Try again.
    #[error("disk does not answer")]
    Stalled,
    /// What is stored contradicts itself. The replica must not run on it: it is removed and added as new.
    #[error("stored log is damaged: {0}")]
    Damaged(String),
    /// The directory belongs to another cluster, group or node. Nothing was changed.
    #[error("data directory belongs to {found}, not to {wanted}; give this node a directory of its own")]
    Foreign {
        /// Cluster, group and node that the directory was made for.
        found: String,
        /// Cluster, group and node that opened it.
        wanted: String,
    },
    /// The database refused, and will refuse whatever comes: the process has to end.
    #[error("storage failed: {0}")]
    Backend(String),
}
