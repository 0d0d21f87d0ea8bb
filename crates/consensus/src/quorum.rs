//! What callers are told when the voters do not agree in time, and the circuit that stops asking.
//!
//! ```text
//! closed ── 3 failures within 30 s ──► open ── 10 s ──► half-open ── a success ──► closed
//!                                       ▲                   │ ▲
//!                                       └──── a failure ────┘ └── 10 s without either: another attempt
//! ```
//!
//! Whoever is refused may try again with the same idempotency key; that never makes a second job.

use std::collections::VecDeque;
use std::time::Duration;

use hyperscale_types::Now;

/// Failures that open the circuit.
pub const FAILURES_MAX: usize = 3;
/// Within this time.
pub const FAILURES_WITHIN: Duration = Duration::from_secs(30);
/// An open circuit lets one attempt through after this time.
pub const HALF_OPEN_AFTER: Duration = Duration::from_secs(10);

/// How many voters are in reach, and how many it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Voters heard of lately, this node included.
    pub reachable: usize,
    /// Voters that must agree.
    pub needed: usize,
}

impl Reach {
    /// Whether a decision is possible.
    pub fn is_enough(self) -> bool {
        self.reachable >= self.needed
    }
}

/// Why the quorum gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError {
    /// Not enough voters are reachable. Nothing was proposed.
    #[error("quorum unavailable: {} of {} needed voters reachable", .0.reachable, .0.needed)]
    Unavailable(Reach),
    /// Asked, but no majority in time. The outcome is not known: it may still be applied.
    #[error("quorum timed out: {} of {} needed voters reachable", .0.reachable, .0.needed)]
    Timeout(Reach),
    /// It failed several times a moment ago: nothing was proposed.
    #[error("quorum circuit is open: {} of {} needed voters reachable", .0.reachable, .0.needed)]
    CircuitOpen(Reach),
}

impl QuorumError {
    /// Its name for callers.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "quorum_unavailable",
            Self::Timeout(_) => "quorum_timeout",
            Self::CircuitOpen(_) => "quorum_circuit_open",
        }
    }
}

/// Whether the quorum is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// It is.
    Closed,
    /// One attempt is under way.
    HalfOpen,
    /// It is not.
    Open,
}

/// The circuit.
#[derive(Clone, Debug, Default)]
pub struct Circuit {
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// With the times of recent failures.
    Closed(VecDeque<Now>),
    Open(Now),
    /// One attempt is under way since then. It may end without a word: refused for another reason, or with its leader.
    HalfOpen(Now),
}

impl Default for State {
    fn default() -> Self {
        Self::Closed(VecDeque::new())
    }
}

impl Circuit {
    /// Whether the quorum is asked.
    pub fn state(&self) -> CircuitState {
        match &self.state {
            State::Closed(_) => CircuitState::Closed,
            State::HalfOpen(_) => CircuitState::HalfOpen,
            State::Open(_) => CircuitState::Open,
        }
    }

    /// Before asking the quorum.
    pub fn admit(&mut self, now: Now, reach: Reach) -> Result<(), QuorumError> {
        match &self.state {
            State::Closed(_) => {}
            State::Open(since) | State::HalfOpen(since) if now.since(*since) >= HALF_OPEN_AFTER => {
                self.state = State::HalfOpen(now);
            }
            State::Open(_) | State::HalfOpen(_) => return Err(QuorumError::CircuitOpen(reach)),
        }
        if reach.is_enough() {
            return Ok(());
        }
        self.failed(now);
        Err(QuorumError::Unavailable(reach))
    }

    /// The quorum answered: what failed before does not count any more. With thousands of answers per second three that are
    /// late are no reason to refuse the next ten seconds.
    pub fn succeeded(&mut self) {
        match &mut self.state {
            State::Closed(failures) if failures.is_empty() => {}
            state => *state = State::default(),
        }
    }

    /// It did not.
    pub fn failed(&mut self, now: Now) {
        match &mut self.state {
            State::Closed(failures) => {
                failures.retain(|failure| now.since(*failure) < FAILURES_WITHIN);
                failures.push_back(now);
                if failures.len() >= FAILURES_MAX {
                    self.state = State::Open(now);
                }
            }
            State::HalfOpen(_) => self.state = State::Open(now),
            State::Open(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: Reach = Reach { reachable: 2, needed: 2 };
    const TOO_FEW: Reach = Reach { reachable: 1, needed: 2 };

    fn at(seconds: u64) -> Now {
        Now::after_start(Duration::from_secs(seconds))
    }

    #[test]
    fn three_failures_within_thirty_seconds_open_the_circuit() {
        let mut circuit = Circuit::default();
        for second in [0, 10] {
            circuit.failed(at(second));
            assert_eq!(circuit.admit(at(second), ENOUGH), Ok(()));
        }
        circuit.failed(at(29));
        assert_eq!(circuit.admit(at(30), ENOUGH), Err(QuorumError::CircuitOpen(ENOUGH)));
    }

    #[test]
    fn failures_with_an_answer_between_them_do_not() {
        let mut circuit = Circuit::default();
        for second in 0..10 {
            circuit.failed(at(second));
            circuit.failed(at(second));
            circuit.succeeded();
        }
        assert_eq!(circuit.admit(at(10), ENOUGH), Ok(()));
    }

    #[test]
    fn failures_far_apart_do_not() {
        let mut circuit = Circuit::default();
        for second in [0, 15, 31, 47] {
            circuit.failed(at(second));
            assert_eq!(circuit.admit(at(second), ENOUGH), Ok(()), "{second}");
        }
    }

    #[test]
    fn open_circuit_lets_one_through_after_ten_seconds() {
        let mut circuit = Circuit::default();
        (0..3).for_each(|second| circuit.failed(at(second)));
        assert!(circuit.admit(at(11), ENOUGH).is_err());
        assert_eq!(circuit.state(), CircuitState::Open);
        assert_eq!(circuit.admit(at(12), ENOUGH), Ok(()));
        assert_eq!(circuit.state(), CircuitState::HalfOpen);
        assert!(circuit.admit(at(12), ENOUGH).is_err());
        circuit.failed(at(13));
        assert!(circuit.admit(at(22), ENOUGH).is_err());
        assert_eq!(circuit.admit(at(23), ENOUGH), Ok(()));
        circuit.succeeded();
        assert_eq!(circuit.state(), CircuitState::Closed);
        assert_eq!(circuit.admit(at(23), ENOUGH), Ok(()));
    }

    #[test]
    fn attempt_that_ends_without_a_word_does_not_keep_the_circuit_half_open() {
        let mut circuit = Circuit::default();
        (0..3).for_each(|second| circuit.failed(at(second)));
        assert_eq!(circuit.admit(at(12), ENOUGH), Ok(()));
        assert!(circuit.admit(at(21), ENOUGH).is_err());
        assert_eq!(circuit.admit(at(22), ENOUGH), Ok(()));
        circuit.succeeded();
        assert_eq!(circuit.admit(at(22), ENOUGH), Ok(()));
    }

    #[test]
    fn too_few_voters_fail_at_once_and_count() {
        let mut circuit = Circuit::default();
        for second in 0..3 {
            assert_eq!(circuit.admit(at(second), TOO_FEW), Err(QuorumError::Unavailable(TOO_FEW)));
        }
        assert_eq!(circuit.admit(at(3), TOO_FEW), Err(QuorumError::CircuitOpen(TOO_FEW)));
    }

    #[test]
    fn errors_name_voters_reachable_and_needed() {
        for error in [
            QuorumError::Unavailable(TOO_FEW),
            QuorumError::Timeout(TOO_FEW),
            QuorumError::CircuitOpen(TOO_FEW),
        ] {
            assert!(error.to_string().contains("1 of 2 needed"), "{error}");
            assert!(error.code().starts_with("quorum_"));
        }
    }
}
