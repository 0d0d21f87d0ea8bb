//! The thread that writes the log: it takes what waits, writes all of it, and syncs once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender as Queue, channel};
use std::thread::{self, JoinHandle};

use hyperscale_consensus::Ticket;
use hyperscale_consensus::storage::{Batch, LogStorage, StorageError};
use tokio::sync::mpsc::Sender;

use super::{DiskEvent, DiskName, DiskOverrun, DiskStartError, FULL_RETRY, QUEUE_MAX};

/// Batches of one sync. More would make the first of them wait for the last.
const SYNC_BATCHES_MAX: usize = 1_024;

/// Handle of the thread; it ends when this is dropped, after everything handed over was written.
#[derive(Debug)]
pub struct LogDisk {
    /// As many as [`QUEUE_MAX`], counted in `backlog`.
    queue: Option<Queue<Batch>>,
    backlog: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl LogDisk {
    /// Starts the thread on an open storage.
    pub fn start(
        storage: impl LogStorage + Send + 'static,
        events: Sender<DiskEvent>,
    ) -> Result<Self, DiskStartError> {
        let (queue, batches) = channel();
        let backlog = Arc::new(AtomicUsize::new(0));
        let mut writer = Writer { storage, events, backlog: Arc::clone(&backlog), is_full: false };
        let thread =
            thread::Builder::new().name("log-disk".to_owned()).spawn(move || writer.run(&batches))?;
        Ok(Self { queue: Some(queue), backlog, thread: Some(thread) })
    }

    /// Hands a batch over. Never blocks.
    pub fn persist(&self, batch: Batch) -> Result<(), DiskOverrun> {
        let queue = self.queue.as_ref().ok_or(DiskOverrun)?;
        if self.backlog.fetch_add(1, Ordering::Relaxed) >= QUEUE_MAX {
            return Err(DiskOverrun);
        }
        queue.send(batch).map_err(|_| DiskOverrun)
    }

    /// Batches that are not durable yet.
    pub fn backlog(&self) -> usize {
        self.backlog.load(Ordering::Relaxed)
    }
}

impl Drop for LogDisk {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It has reported what was wrong with it.
            let _ = thread.join();
        }
    }
}

struct Writer<S> {
    storage: S,
    events: Sender<DiskEvent>,
    backlog: Arc<AtomicUsize>,
    is_full: bool,
}

impl<S: LogStorage> Writer<S> {
    fn run(&mut self, batches: &Receiver<Batch>) {
        while let Ok(first) = batches.recv() {
            let waiting = batches.try_iter().take(SYNC_BATCHES_MAX - 1);
            let waiting: Vec<Batch> = std::iter::once(first).chain(waiting).collect();
            let done = self.write(&waiting);
            self.backlog.fetch_sub(waiting.len(), Ordering::Relaxed);
            let event = match done {
                Ok(Some(ticket)) => DiskEvent::Persisted(ticket),
                Ok(None) => return,
                Err(error) => DiskEvent::Failed(DiskName::Log, error),
            };
            let is_over = matches!(event, DiskEvent::Failed(..));
            // A host that has ended is not told; what it handed over is written all the same.
            let _ = self.events.blocking_send(event);
            if is_over {
                return;
            }
        }
    }

    /// Writes and syncs; `None` if nobody waits for it any more.
    fn write(&mut self, batches: &[Batch]) -> Result<Option<Ticket>, StorageError> {
        for batch in batches {
            if !self.until_done(|storage| storage.write(batch))? {
                return Ok(None);
            }
        }
        let is_done = self.until_done(S::sync)?;
        let last = batches.last().map(|batch| batch.ticket);
        Ok(last.filter(|_| is_done))
    }

    /// Tries again while there is no room; `false` if nobody waits for it any more.
    fn until_done(
        &mut self,
        mut work: impl FnMut(&mut S) -> Result<(), StorageError>,
    ) -> Result<bool, StorageError> {
        loop {
            match work(&mut self.storage) {
                Ok(()) => {
                    self.is_full = false;
                    return Ok(true);
                }
                Err(StorageError::Full | StorageError::Stalled) => {}
                Err(error) => return Err(error),
            }
            if !std::mem::replace(&mut self.is_full, true) {
                tracing::warn!("no room for the log; trying again until there is");
                // A host that is behind hears of it with the next shortage.
                let _ = self.events.try_send(DiskEvent::Full(DiskName::Log));
            }
            if self.events.is_closed() {
                return Ok(false);
            }
            thread::sleep(FULL_RETRY);
        }
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_consensus::storage::{Loaded, MemoryDisk};
    use hyperscale_consensus::{Entry, EntryBody};

    use super::*;
    use crate::disk::events;

    fn batch(number: u64) -> Batch {
        let entries = vec![Entry { index: number, term: 1, body: EntryBody::Empty }];
        Batch { ticket: Ticket(number), entries, ..Batch::default() }
    }

    /// Refuses as many syncs as it is told, in one way.
    struct Refusing(MemoryDisk, Vec<StorageError>);

    impl LogStorage for Refusing {
        fn load(&mut self) -> Result<Loaded, StorageError> {
            self.0.load()
        }
        fn write(&mut self, batch: &Batch) -> Result<(), StorageError> {
            self.0.write(batch)
        }
        fn sync(&mut self) -> Result<(), StorageError> {
            self.1.pop().map_or_else(|| self.0.sync(), Err)
        }
    }

    #[test]
    fn last_ticket_of_what_waited_is_reported_after_one_sync() {
        let (sender, mut events) = events();
        let disk = LogDisk::start(MemoryDisk::default(), sender).unwrap();
        for number in 1..=100 {
            disk.persist(batch(number)).unwrap();
        }
        let mut last = Ticket(0);
        while last < Ticket(100) {
            let DiskEvent::Persisted(ticket) = events.blocking_recv().unwrap() else { panic!("it failed") };
            assert!(ticket > last);
            last = ticket;
        }
        assert_eq!(disk.backlog(), 0);
    }

    #[test]
    fn full_disk_is_said_once_and_tried_again() {
        let (sender, mut events) = events();
        let refusals = vec![StorageError::Full, StorageError::Full];
        let disk = LogDisk::start(Refusing(MemoryDisk::default(), refusals), sender).unwrap();
        disk.persist(batch(1)).unwrap();
        assert!(matches!(events.blocking_recv(), Some(DiskEvent::Full(DiskName::Log))));
        assert!(matches!(events.blocking_recv(), Some(DiskEvent::Persisted(Ticket(1)))));
    }

    #[test]
    fn any_other_failure_is_reported_and_ends_the_thread() {
        let (sender, mut events) = events();
        let refusals = vec![StorageError::Backend("broken".to_owned())];
        let disk = LogDisk::start(Refusing(MemoryDisk::default(), refusals), sender).unwrap();
        disk.persist(batch(1)).unwrap();
        let Some(DiskEvent::Failed(DiskName::Log, error)) = events.blocking_recv() else {
            panic!("it did not fail")
        };
        assert_eq!(error.to_string(), "storage failed: broken");
        assert!(events.blocking_recv().is_none(), "the thread has ended");
    }
}
