//! What a node counts, for its metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// How much was added since the node started.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a node did since it started, for itself and for workers that use its API.
#[derive(Debug, Default)]
pub struct Counters {
    /// Tasks that were leased.
    pub claims: Counter,
    /// Leases that were extended.
    pub renewals: Counter,
    /// Attempts that ended with their report accepted.
    pub finished: Counter,
    /// Attempts whose lease was lost; their results were dropped.
    pub leases_lost: Counter,
    /// Reports that were rejected because their lease was gone.
    pub stale_reports: Counter,
    /// Sweeps over expired leases, as the leader.
    pub sweeps: Counter,
    /// Leases that sweeps took.
    pub swept: Counter,
    /// Runs of schedules that were submitted, as the leader.
    pub fires: Counter,
}
