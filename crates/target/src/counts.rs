//! The books: how many requests were seen, by path and by status, and how many connections.
//!
//! Each serving thread writes to a shard of its own, so its lock is never contended while load runs; a snapshot locks
//! one shard after the other. A request is counted when its head was read completely, a status when the answer's
//! head is about to be written. Nothing here may lose or repeat a count.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// Distinct paths kept per thread; requests to further ones are counted under [`OTHER_PATHS`], so that a load with
/// random paths cannot fill the memory. The total stays exact.
const PATHS_MAX: usize = 10_000;

/// Name under which requests beyond [`PATHS_MAX`] are counted.
const OTHER_PATHS: &str = "(other)";

/// What the target saw since its start or the last reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Requests whose head was read completely, those of the `/__` routes left out.
    pub requests: u64,
    /// The same by path, without the query.
    pub by_path: BTreeMap<String, u64>,
    /// Answers whose head was written, by status code. Faults that answer nothing are in `requests` only.
    pub by_status: BTreeMap<u16, u64>,
    /// Heads that were no HTTP; not part of `requests`.
    pub malformed: u64,
    /// Connections; one that begins with a `/__` route is left out.
    pub connections: Connections,
}

/// Connections as the target saw them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// Accepted since the start or the last reset.
    pub opened: u64,
    /// Open now; not touched by a reset.
    pub open: u64,
    /// Reset at once because `max_connections` were open.
    pub refused: u64,
    /// Given up during the TLS handshake.
    pub tls_failed: u64,
}

/// Request counts of one serving thread.
#[derive(Debug, Default)]
pub(crate) struct Shard(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    requests: u64,
    by_path: HashMap<Box<str>, u64>,
    by_status: BTreeMap<u16, u64>,
    malformed: u64,
}

impl Shard {
    /// Counts one request by the path of its head.
    pub(crate) fn request(&self, path: &str) {
        let mut counts = self.lock();
        counts.requests += 1;
        if let Some(count) = counts.by_path.get_mut(path) {
            *count += 1;
            return;
        }
        let known = if counts.by_path.len() < PATHS_MAX { path } else { OTHER_PATHS };
        *counts.by_path.entry(known.into()).or_default() += 1;
    }

    /// Counts one answer whose head is about to be written.
    pub(crate) fn status(&self, status: u16) {
        *self.lock().by_status.entry(status).or_default() += 1;
    }

    /// Counts one head that was no HTTP.
    pub(crate) fn malformed(&self) {
        self.lock().malformed += 1;
    }

    /// A number that grows with every event on this thread, to see whether anything happened meanwhile.
    pub(crate) fn progress(&self) -> u64 {
        let counts = self.lock();
        counts.requests + counts.malformed
    }

    fn add_to(&self, stats: &mut Stats) {
        let counts = self.lock();
        stats.requests += counts.requests;
        stats.malformed += counts.malformed;
        for (path, count) in &counts.by_path {
            *stats.by_path.entry(path.to_string()).or_default() += count;
        }
        for (status, count) in &counts.by_status {
            *stats.by_status.entry(*status).or_default() += count;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Counters are whole after every statement, so a panic elsewhere does not spoil them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All shards of a target and its connection counters.
#[derive(Debug)]
pub(crate) struct Books {
    shards: Vec<Arc<Shard>>,
    opened: AtomicU64,
    open: AtomicU64,
    refused: AtomicU64,
    tls_failed: AtomicU64,
}

impl Books {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            shards: (0..threads).map(|_| Arc::default()).collect(),
            opened: AtomicU64::new(0),
            open: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            tls_failed: AtomicU64::new(0),
        }
    }

    /// The shard of one serving thread.
    pub(crate) fn shard(&self, thread: usize) -> Arc<Shard> {
        Arc::clone(&self.shards[thread])
    }

    /// Everything counted so far.
    pub(crate) fn snapshot(&self) -> Stats {
        let mut stats = Stats {
            connections: Connections {
                opened: self.opened.load(Ordering::Relaxed),
                open: self.open.load(Ordering::Relaxed),
                refused: self.refused.load(Ordering::Relaxed),
                tls_failed: self.tls_failed.load(Ordering::Relaxed),
            },
            ..Stats::default()
        };
        for shard in &self.shards {
            shard.add_to(&mut stats);
        }
        stats
    }

    /// Sets every count back to zero; connections that are open stay open.
    pub(crate) fn reset(&self) {
        for shard in &self.shards {
            *shard.lock() = Counts::default();
        }
        self.opened.store(0, Ordering::Relaxed);
        self.refused.store(0, Ordering::Relaxed);
        self.tls_failed.store(0, Ordering::Relaxed);
    }

    pub(crate) fn open_now(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts a connection as opened until the guard is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> OpenGuard {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenGuard { books: Arc::clone(self), counted: true }
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn tls_failed(&self) {
        self.tls_failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections accepted or refused so far, to see whether anything happened meanwhile.
    pub(crate) fn accept_progress(&self) -> u64 {
        self.opened.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }
}

/// One open connection in the books.
#[derive(Debug)]
pub(crate) struct OpenGuard {
    books: Arc<Books>,
    counted: bool,
}

impl OpenGuard {
    /// Takes the connection out of the books again: it turned out to belong to somebody who only asks for them.
    pub(crate) fn forget(&mut self) {
        if std::mem::take(&mut self.counted) {
            // A reset between the two may have set the counter to zero already.
            let _ =
                self.books.opened.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            self.books.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        if self.counted {
            self.books.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_adds_up_all_shards() {
        let books = Arc::new(Books::new(2));
        books.shard(0).request("/a");
        books.shard(1).request("/a");
        books.shard(1).request("/b");
        books.shard(1).status(200);
        let stats = books.snapshot();
        assert_eq!(stats.requests, 3);
        assert_eq!(stats.by_path, BTreeMap::from([("/a".to_owned(), 2), ("/b".to_owned(), 1)]));
        assert_eq!(stats.by_status, BTreeMap::from([(200, 1)]));
    }

    #[test]
    fn paths_beyond_the_limit_share_one_name_and_the_total_stays_exact() {
        let books = Books::new(1);
        let shard = books.shard(0);
        for n in 0..PATHS_MAX + 5 {
            shard.request(&format!("/{n}"));
        }
        let stats = books.snapshot();
        assert_eq!(stats.requests, PATHS_MAX as u64 + 5);
        assert_eq!(stats.by_path[OTHER_PATHS], 5);
        assert_eq!(stats.by_path.values().sum::<u64>(), stats.requests);
    }

    #[test]
    fn forgotten_connections_leave_no_trace() {
        let books = Arc::new(Books::new(1));
        let kept = books.open();
        let mut asked = books.open();
        asked.forget();
        drop(asked);
        assert_eq!(
            books.snapshot().connections,
            Connections { opened: 1, open: 1, ..Connections::default() }
        );
        drop(kept);
        assert_eq!(books.open_now(), 0);
    }

    #[test]
    fn reset_keeps_open_connections() {
        let books = Arc::new(Books::new(1));
        let _open = books.open();
        books.shard(0).request("/");
        books.refused();
        books.reset();
        let stats = books.snapshot();
        assert_eq!(
            stats,
            Stats { connections: Connections { open: 1, ..Connections::default() }, ..Stats::default() }
        );
    }
}
