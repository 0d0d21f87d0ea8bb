//! The thread that keeps blobs and encodes snapshots: everything that may take long and that no vote waits for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender as Queue, channel};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use hyperscale_cluster::manager::ReadNumber;
use hyperscale_consensus::storage::{BlobStore, StorageError};
use hyperscale_consensus::{BlobId, SnapshotJob};
use hyperscale_types::NodeId;
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;

use super::{DiskEvent, DiskName, DiskOverrun, DiskStartError, FULL_RETRY, QUEUE_MAX};

/// Blobs that wait for room. A replica has at most 64 writes under way.
const WAITING_MAX: usize = 256;

/// Who wants to read a blob.
#[derive(Debug)]
pub enum BlobReader {
    /// The replica, for this peer or for itself.
    Replica(NodeId),
    /// The core of the manager.
    Manager(ReadNumber),
    /// A worker that runs the plan.
    Worker(NodeId),
    /// Somebody who waits.
    Caller(oneshot::Sender<Option<Bytes>>),
}

/// Something for the thread to do.
#[derive(Debug)]
pub enum BlobWork {
    /// Store a blob; answered with [`DiskEvent::BlobStored`].
    Put {
        /// The id that it is stored under.
        blob: BlobId,
        /// Its content.
        bytes: Bytes,
    },
    /// Read a blob; answered with [`DiskEvent::BlobRead`].
    Read {
        /// The blob that is wanted.
        blob: BlobId,
        /// Who wants it.
        reader: BlobReader,
    },
    /// Remove a blob.
    Remove(BlobId),
    /// Encode a snapshot; answered with [`DiskEvent::SnapshotMade`].
    MakeSnapshot(SnapshotJob),
}

/// Handle of the thread; it ends when this is dropped, after what was handed over was done; blobs that
/// still wait for room then are not stored.
#[derive(Debug)]
pub struct BlobDisk {
    /// As many as [`QUEUE_MAX`], counted in `backlog`.
    queue: Option<Queue<BlobWork>>,
    backlog: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl BlobDisk {
    /// Starts the thread on an open store.
    pub fn start(
        store: impl BlobStore + Send + 'static,
        events: Sender<DiskEvent>,
    ) -> Result<Self, DiskStartError> {
        let (queue, orders) = channel();
        let backlog = Arc::new(AtomicUsize::new(0));
        let mut keeper = Keeper { store, events, backlog: Arc::clone(&backlog), waiting: VecDeque::new() };
        let thread =
            thread::Builder::new().name("blob-disk".to_owned()).spawn(move || keeper.run(&orders))?;
        Ok(Self { queue: Some(queue), backlog, thread: Some(thread) })
    }

    /// Hands an order over. Never blocks.
    pub fn order(&self, work: BlobWork) -> Result<(), DiskOverrun> {
        let queue = self.queue.as_ref().ok_or(DiskOverrun)?;
        if self.backlog.fetch_add(1, Ordering::Relaxed) >= QUEUE_MAX {
            return Err(DiskOverrun);
        }
        queue.send(work).map_err(|_| DiskOverrun)
    }
}

impl Drop for BlobDisk {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It has reported what was wrong with it.
            let _ = thread.join();
        }
    }
}

struct Keeper<S> {
    store: S,
    events: Sender<DiskEvent>,
    backlog: Arc<AtomicUsize>,
    /// Blobs for which there was no room.
    waiting: VecDeque<(BlobId, Bytes)>,
}

impl<S: BlobStore> Keeper<S> {
    fn run(&mut self, orders: &Receiver<BlobWork>) {
        loop {
            let order = if self.waiting.is_empty() {
                orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                orders.recv_timeout(FULL_RETRY)
            };
            let done = match order {
                Ok(work) => {
                    self.backlog.fetch_sub(1, Ordering::Relaxed);
                    self.perform(work)
                }
                Err(RecvTimeoutError::Timeout) => self.try_again(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let event = match done {
                Ok(None) => continue,
                Ok(Some(event)) => event,
                Err(error) => DiskEvent::Failed(DiskName::Blobs, error),
            };
            let is_over = matches!(event, DiskEvent::Failed(..));
            // A host that has ended is not told; what it handed over is done all the same.
            let _ = self.events.blocking_send(event);
            if is_over {
                return;
            }
        }
    }

    fn perform(&mut self, work: BlobWork) -> Result<Option<DiskEvent>, StorageError> {
        match work {
            BlobWork::Put { blob, bytes } => self.put(blob, bytes),
            BlobWork::Read { blob, reader } => {
                let bytes = self.store.get(blob)?;
                Ok(Some(DiskEvent::BlobRead { blob, reader, bytes }))
            }
            BlobWork::Remove(blob) => {
                self.waiting.retain(|(waiting, _)| *waiting != blob);
                self.store.remove(blob).map(|()| None)
            }
            BlobWork::MakeSnapshot(job) => Ok(Some(DiskEvent::SnapshotMade(job.run()))),
        }
    }

    fn put(&mut self, blob: BlobId, bytes: Bytes) -> Result<Option<DiskEvent>, StorageError> {
        match self.store.put(blob, &bytes) {
            Ok(()) => Ok(Some(DiskEvent::BlobStored(blob))),
            Err(error @ (StorageError::Full | StorageError::Stalled)) => {
                let is_first = self.waiting.is_empty();
                if self.waiting.len() >= WAITING_MAX {
                    return Err(error);
                }
                self.waiting.push_back((blob, bytes));
                Ok(is_first.then(|| {
                    tracing::warn!("no room for blobs; trying again until there is");
                    DiskEvent::Full(DiskName::Blobs)
                }))
            }
            Err(error) => Err(error),
        }
    }

    fn try_again(&mut self) -> Result<Option<DiskEvent>, StorageError> {
        let Some((blob, bytes)) = self.waiting.front() else { return Ok(None) };
        let blob = *blob;
        match self.store.put(blob, bytes) {
            Ok(()) => {
                self.waiting.pop_front();
                Ok(Some(DiskEvent::BlobStored(blob)))
            }
            Err(StorageError::Full | StorageError::Stalled) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_consensus::storage::FileBlobs;

    use super::*;
    use crate::disk::events;

    #[test]
    fn blobs_are_stored_read_and_removed_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (sender, mut events) = events();
        let disk = BlobDisk::start(FileBlobs::open(folder.path()).unwrap(), sender).unwrap();
        let bytes = Bytes::from_static(b"values");
        let blob = BlobId::of(&bytes);
        let read = || BlobWork::Read { blob, reader: BlobReader::Worker(NodeId::new(7).unwrap()) };
        disk.order(BlobWork::Put { blob, bytes: bytes.clone() }).unwrap();
        disk.order(read()).unwrap();
        disk.order(BlobWork::Remove(blob)).unwrap();
        disk.order(read()).unwrap();
        assert!(matches!(events.blocking_recv(), Some(DiskEvent::BlobStored(stored)) if stored == blob));
        let Some(DiskEvent::BlobRead { bytes: read, .. }) = events.blocking_recv() else {
            panic!("not read")
        };
        assert_eq!(read, Some(bytes));
        let Some(DiskEvent::BlobRead { bytes: read, .. }) = events.blocking_recv() else {
            panic!("not read")
        };
        assert_eq!(read, None);
    }
}
