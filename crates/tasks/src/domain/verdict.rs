//! What becomes of a task when its lease ends: the one place that counts failures and crashes.

use std::time::Duration;

use serde_json::Value;

use super::{Backoff, Cause, EventKind, Fence, Status, TaskId};

/// How an attempt ended, as its executor says. The lease is named by task and fence, and consumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The task.
    pub task: TaskId,
    /// The lease it ran under.
    pub fence: Fence,
    /// How it ended.
    pub outcome: Outcome,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With a result.
    Completed(Value),
    /// With an error; another attempt may succeed.
    Failed(String),
    /// With an error that every attempt would have.
    FailedForGood(String),
    /// Stopped, because that was asked for.
    Cancelled,
}

/// What a task has used up, and what it may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// How often its executor failed.
    pub failures: u32,
    /// How often its lease was lost with its node.
    pub crashes: u32,
    /// Failures and crashes together after which it is failed.
    pub max_attempts: u32,
    /// Pauses between attempts.
    pub backoff: Backoff,
    /// Whether cancellation was requested.
    pub cancel_requested: bool,
}

/// What a task becomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Its state.
    pub status: Status,
    /// What is written about it.
    pub event: EventKind,
    /// Failures from now on.
    pub failures: u32,
    /// Crashes from now on.
    pub crashes: u32,
    /// Its result.
    pub result: Option<Value>,
    /// Why; without one a task that has not completed keeps its last.
    pub error: Option<String>,
    /// How long it waits, if it is pending.
    pub delay: Duration,
}

/// What a task becomes after its executor has reported; `random` is in 0..1.
pub fn after_report(budget: &Budget, outcome: Outcome, random: f64) -> Verdict {
    match outcome {
        Outcome::Completed(result) => {
            Verdict { result: Some(result), ..ended(budget, Cause::Completion, Status::Completed, None) }
        }
        Outcome::Cancelled => ended(budget, Cause::Cancel, Status::Cancelled, None),
        Outcome::Failed(error) if budget.cancel_requested => {
            ended(budget, Cause::Cancel, Status::Cancelled, Some(error))
        }
        Outcome::Failed(error) => {
            let failed = Budget { failures: budget.failures + 1, ..*budget };
            let is_spent = failed.failures + failed.crashes >= failed.max_attempts;
            if is_spent {
                return ended(&failed, Cause::Failure, Status::Failed, Some(error));
            }
            again(&failed, EventKind::Retried, error, failed.backoff.delay(failed.failures, random))
        }
        Outcome::FailedForGood(error) => {
            let failed = Budget { failures: budget.failures + 1, ..*budget };
            ended(&failed, Cause::Failure, Status::Failed, Some(error))
        }
    }
}

/// What a task becomes after its lease was lost with its node. At `max_crashes` or `max_attempts` it is failed as `dead_letter`:
/// it may be what kills nodes.
pub fn after_crash(budget: &Budget, max_crashes: u32, random: f64) -> Verdict {
    let crashed = Budget { crashes: budget.crashes + 1, ..*budget };
    if budget.cancel_requested {
        return ended(&crashed, Cause::Cancel, Status::Cancelled, None);
    }
    if crashed.crashes >= max_crashes || crashed.failures + crashed.crashes >= crashed.max_attempts {
        let error = format!("dead_letter: the node was lost {} times", crashed.crashes);
        return ended(&crashed, Cause::Failure, Status::Failed, Some(error));
    }
    let delay = crashed.backoff.delay(crashed.crashes, random);
    again(&crashed, EventKind::Reassigned, "the node was lost".to_owned(), delay)
}

/// What a task becomes when its holder gives it back: nothing is counted.
pub fn after_release(budget: &Budget) -> Verdict {
    if budget.cancel_requested {
        return ended(budget, Cause::Cancel, Status::Cancelled, None);
    }
    Verdict { error: None, ..again(budget, EventKind::Reassigned, String::new(), Duration::ZERO) }
}

fn ended(budget: &Budget, cause: Cause, status: Status, error: Option<String>) -> Verdict {
    let status = Status::InProgress.become_by(cause, status).expect("leased tasks may end in every way");
    let event = match status {
        Status::Completed => EventKind::Completed,
        Status::Cancelled => EventKind::Cancelled,
        _ => EventKind::Failed,
    };
    let (failures, crashes) = (budget.failures, budget.crashes);
    Verdict { status, event, failures, crashes, result: None, error, delay: Duration::ZERO }
}

fn again(budget: &Budget, event: EventKind, error: String, delay: Duration) -> Verdict {
    let (failures, crashes) = (budget.failures, budget.crashes);
    Verdict { status: Status::Pending, event, failures, crashes, result: None, error: Some(error), delay }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget {
        failures: 0,
        crashes: 0,
        max_attempts: 3,
        backoff: Backoff { initial_ms: 100, factor: 2.0, max_ms: 1_000, jitter: 0.0 },
        cancel_requested: false,
    };

    fn failed() -> Outcome {
        Outcome::Failed("no".to_owned())
    }

    #[test]
    fn failure_is_retried_after_a_pause_until_attempts_are_spent() {
        let first = after_report(&BUDGET, failed(), 0.0);
        assert_eq!((first.status, first.failures, first.delay.as_millis()), (Status::Pending, 1, 100));
        let last = after_report(&Budget { failures: 1, crashes: 1, ..BUDGET }, failed(), 0.0);
        assert_eq!((last.status, last.event, last.failures), (Status::Failed, EventKind::Failed, 2));
        assert_eq!(last.error.as_deref(), Some("no"));
    }

    #[test]
    fn failure_for_good_is_not_retried() {
        let verdict = after_report(&BUDGET, Outcome::FailedForGood("bad inputs".to_owned()), 0.0);
        assert_eq!(verdict.status, Status::Failed);
    }

    #[test]
    fn crashes_have_a_limit_of_their_own() {
        let patient = Budget { max_attempts: 100, ..BUDGET };
        let first = after_crash(&patient, 3, 0.0);
        assert_eq!((first.status, first.event, first.crashes), (Status::Pending, EventKind::Reassigned, 1));
        let third = after_crash(&Budget { crashes: 2, ..patient }, 3, 0.0);
        assert_eq!(third.status, Status::Failed);
        assert!(third.error.unwrap().starts_with("dead_letter"));
    }

    #[test]
    fn crash_spends_an_attempt_too() {
        assert_eq!(after_crash(&Budget { failures: 2, ..BUDGET }, 9, 0.0).status, Status::Failed);
    }

    #[test]
    fn release_counts_nothing() {
        let verdict = after_release(&Budget { failures: 1, crashes: 1, ..BUDGET });
        assert_eq!((verdict.status, verdict.failures, verdict.crashes), (Status::Pending, 1, 1));
        assert_eq!((verdict.delay, verdict.error), (Duration::ZERO, None));
    }

    #[test]
    fn task_that_is_to_be_cancelled_is_not_tried_again() {
        let asked = Budget { cancel_requested: true, ..BUDGET };
        assert_eq!(after_report(&asked, failed(), 0.0).status, Status::Cancelled);
        assert_eq!(after_crash(&asked, 3, 0.0).status, Status::Cancelled);
        assert_eq!(after_release(&asked).status, Status::Cancelled);
        assert_eq!(after_report(&asked, Outcome::Completed(Value::Null), 0.0).status, Status::Completed);
    }
}
