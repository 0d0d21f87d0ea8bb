//! A circuit breaker per worker: one that does not answer dispatches gets nothing new for a while.
//!
//! ```text
//! closed ── 3 dispatches within 30 s without any response ──► open ── 10 s ──► half open ── a response ──► closed
//!                                                              ▲                  └── none again ──┘
//! ```
//! It holds back new work only. What was assigned stays with its worker until that one refused it, confirmed a cancel, or its lease
//! has ended.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

/// Failures that open a circuit.
const FAILURES_MAX: usize = 3;
/// Within this time.
const FAILURES_WITHIN: Duration = Duration::from_secs(30);
/// After this time one more is tried.
const HALF_OPEN_AFTER: Duration = Duration::from_secs(10);

/// Circuits of all workers; one that never failed has none.
#[derive(Debug, Default)]
pub(super) struct Circuits {
    of: BTreeMap<NodeId, Circuit>,
}

#[derive(Debug)]
enum Circuit {
    Closed { failures: VecDeque<Now> },
    Open { until: Now },
    HalfOpen,
}

impl Circuits {
    /// Whether a worker is given nothing new.
    pub(super) fn is_open(&self, worker: NodeId) -> bool {
        matches!(self.of.get(&worker), Some(Circuit::Open { .. }))
    }

    /// How many are open.
    pub(super) fn open(&self) -> usize {
        self.of.values().filter(|it| matches!(it, Circuit::Open { .. })).count()
    }

    /// A worker has said something: it can be reached.
    pub(super) fn answered(&mut self, worker: NodeId) -> bool {
        self.of.remove(&worker).is_some_and(|it| matches!(it, Circuit::Open { .. }))
    }

    /// A dispatch was not answered, nor were its repetitions. True if the circuit opens.
    pub(super) fn failed(&mut self, now: Now, worker: NodeId) -> bool {
        let circuit = self.of.entry(worker).or_insert(Circuit::Closed { failures: VecDeque::new() });
        let opens = match circuit {
            Circuit::Closed { failures } => {
                failures.push_back(now);
                while failures.front().is_some_and(|at| now.since(*at) > FAILURES_WITHIN) {
                    failures.pop_front();
                }
                failures.len() >= FAILURES_MAX
            }
            Circuit::HalfOpen => true,
            Circuit::Open { .. } => false,
        };
        if opens {
            *circuit = Circuit::Open { until: now.plus(HALF_OPEN_AFTER) };
        }
        opens
    }

    /// Lets time pass. True if a worker may be tried again.
    pub(super) fn pass_time(&mut self, now: Now) -> bool {
        let mut has_news = false;
        for circuit in self.of.values_mut() {
            if matches!(circuit, Circuit::Open { until } if now >= *until) {
                (*circuit, has_news) = (Circuit::HalfOpen, true);
            }
        }
        has_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_unanswered_dispatches_open_the_circuit_and_a_response_closes_it() {
        let at = |seconds| Now::after_start(Duration::from_secs(seconds));
        let worker = NodeId::new(7).unwrap();
        let mut circuits = Circuits::default();
        assert!(!circuits.failed(at(0), worker) && !circuits.failed(at(20), worker));
        assert!(!circuits.failed(at(40), worker), "the first is too long ago");
        assert!(circuits.failed(at(41), worker) && circuits.is_open(worker));
        assert!(!circuits.pass_time(at(50)) && circuits.is_open(worker));
        assert!(circuits.pass_time(at(51)) && !circuits.is_open(worker), "one is tried");
        assert!(circuits.failed(at(53), worker) && circuits.is_open(worker), "and fails");
        assert!(circuits.answered(worker) && !circuits.is_open(worker));
        assert!(!circuits.failed(at(54), worker), "it counts from zero again");
    }
}
