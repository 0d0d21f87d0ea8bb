//! What happened so often in this life of a manager, for metrics. Nothing is decided by it.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::register::Outcome;

use super::{JobMachine, Manager};
use crate::message::DispatchRefusal;

/// Upper bounds of the commit latencies that are told apart.
pub const LATENCIES: [Duration; 8] = [
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Times that were counted, by upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// How many were at most each of [`LATENCIES`], and not at most the one before; the last: longer than all.
    pub counts: [u64; LATENCIES.len() + 1],
    /// All of them.
    pub sum: Duration,
}

impl Latencies {
    pub(super) fn add(&mut self, time: Duration) {
        self.counts[LATENCIES.partition_point(|bound| *bound < time)] += 1;
        self.sum += time;
    }
}

/// Counters of a manager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commands proposed here that were applied.
    pub proposals_applied: u64,
    /// Commands proposed here that the register refused.
    pub proposals_refused: u64,
    /// Commands proposed here of which nothing is known, or that never reached the log.
    pub proposals_failed: u64,
    /// From the proposal to its application.
    pub commit_latencies: Latencies,
    /// Dispatches sent, repetitions included.
    pub dispatches: u64,
    /// Dispatches that were sent again as there was no response.
    pub dispatches_repeated: u64,
    /// Dispatches that were not answered in spite of their repetitions.
    pub dispatches_unanswered: u64,
    /// Dispatches that were refused, by reason.
    pub refusals: BTreeMap<&'static str, u64>,
    /// Attempts of jobs led here that were lost with their workers.
    pub attempts_lost: u64,
    /// Ends of attempts that do not count, as the attempt was lost or replaced before.
    pub attempts_superseded: u64,
    /// Jobs that this manager was given to lead.
    pub transfers_received: u64,
    /// Of those, jobs that it read and drives.
    pub transfers_accepted: u64,
    /// Of those, jobs that it could not read.
    pub transfers_unreadable: u64,
    /// Answers of workers that obey a leader with a newer token.
    pub transfers_stale: u64,
    /// From the grant of a job to when its core runs here.
    pub transfer_latencies: Latencies,
    /// Requests of clients that were sent to the manager that leads the job.
    pub requests_rerouted: u64,
    /// Windows of attempts that had ended or were lost.
    pub windows_late: u64,
    /// Windows that workers say they dropped.
    pub windows_lost: u64,
    /// Windows that were told before.
    pub windows_duplicate: u64,
}

impl Counters {
    pub(super) fn refused(&mut self, refusal: &DispatchRefusal) {
        *self.refusals.entry(refusal.word()).or_default() += 1;
    }

    pub(super) fn proposed(&mut self, outcome: Option<&Outcome>, took: Duration) {
        match outcome {
            Some(Outcome::Refused(_)) => self.proposals_refused += 1,
            Some(_) => self.proposals_applied += 1,
            None => self.proposals_failed += 1,
        }
        if outcome.is_some() {
            self.commit_latencies.add(took);
        }
    }
}

impl<M: JobMachine> Manager<M> {
    /// What happened so often.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Workers that are given nothing new as they do not answer.
    pub fn circuits_open(&self) -> usize {
        self.circuits.open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_counted_below_their_bounds() {
        let mut latencies = Latencies::default();
        for ms in [0, 1, 2, 5, 6, 5_000, 5_001] {
            latencies.add(Duration::from_millis(ms));
        }
        assert_eq!(latencies.counts, [2, 2, 1, 0, 0, 0, 0, 1, 1]);
        assert_eq!(latencies.sum, Duration::from_millis(10_015));
    }
}
