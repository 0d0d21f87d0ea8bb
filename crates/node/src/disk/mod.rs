//! The disks of a node: one thread writes the log, one the blobs, so that a large blob never delays a vote.
//!
//! A full disk is waited out and said once; any other failure ends the thread with [`DiskEvent::Failed`], and the process
//! has to end: what a disk that failed still holds is not known.

mod blobs;
mod log;

use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::storage::StorageError;
use hyperscale_consensus::{BlobId, Snapshot, Ticket};
use tokio::sync::mpsc;

pub use blobs::{BlobDisk, BlobReader, BlobWork};
pub use log::LogDisk;

/// Batches and orders that a thread has not taken yet. The replica waits for its disk long before: a leader has at most
/// 16 384 proposals open and 64 appends under way per follower. One more ends the process rather than take memory.
pub const QUEUE_MAX: usize = 32_768;
/// Events that the host has not taken yet; a disk waits for its host beyond.
pub const EVENTS_MAX: usize = 1_024;
/// How often a full disk is tried again.
const FULL_RETRY: Duration = Duration::from_millis(200);

/// What a disk reports.
#[derive(Debug)]
pub enum DiskEvent {
    /// Every batch up to this one is durable.
    Persisted(Ticket),
    /// A blob is durable.
    BlobStored(BlobId),
    /// A blob was read; nothing if it is not there.
    BlobRead {
        /// The blob that was asked for.
        blob: BlobId,
        /// Who wanted it.
        reader: BlobReader,
        /// Its content, compared with its id.
        bytes: Option<Bytes>,
    },
    /// A snapshot was encoded.
    SnapshotMade(Snapshot),
    /// There is no room; tried again until there is. Said once per shortage.
    Full(DiskName),
    /// The disk failed, and its thread has ended.
    Failed(DiskName, StorageError),
}

/// Which of the two disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskName {
    /// Log, term and vote.
    Log,
    /// Blobs.
    Blobs,
}

/// The thread of a disk took too little for too long, or has ended. The process has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the disk does not keep up or has stopped")]
pub struct DiskOverrun;

/// Why a disk's thread could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the thread of a disk could not be started: {0}")]
pub struct DiskStartError(#[from] std::io::Error);

/// Makes the channel of events that both disks report to.
pub fn events() -> (mpsc::Sender<DiskEvent>, mpsc::Receiver<DiskEvent>) {
    mpsc::channel(EVENTS_MAX)
}
