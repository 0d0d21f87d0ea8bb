//! What happened so often in this life of a worker, for metrics. Nothing is decided by it.

use std::collections::BTreeMap;

use super::Worker;
use super::attempts::Running;

/// Counters of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Dispatches that were taken.
    pub taken: u64,
    /// Dispatches that were refused, by reason.
    pub refusals: BTreeMap<&'static str, u64>,
    /// Times that another manager said that it leads a job.
    pub transfers_received: u64,
    /// Of those, times that it was obeyed.
    pub transfers_accepted: u64,
    /// What was said under a token that is no longer in force.
    pub stale_tokens: u64,
    /// Attempts that were cut off as nobody led their job for too long.
    pub orphans_cut_off: u64,
    /// Attempts that were cut off with the lease or the grant.
    pub lease_cut_off: u64,
    /// Windows that were dropped as they could not be sent.
    pub windows_dropped: u64,
}

impl Worker {
    /// What happened so often.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Attempts that run and whose job nobody leads.
    pub fn orphans(&self) -> usize {
        let running = self.attempts.iter().filter(|(_, running)| Running::runs(running));
        running.filter(|(it, _)| self.leaders.is_orphaned(it.job)).count()
    }
}
