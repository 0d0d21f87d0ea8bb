//! States of a task, and which may follow which.
//!
//! | from | to | cause |
//! | --- | --- | --- |
//! | pending | in_progress | claim |
//! | pending | cancelled | cancel |
//! | pending | failed | dependency |
//! | in_progress | completed | completion |
//! | in_progress | failed | failure |
//! | in_progress | cancelled | cancel |
//! | in_progress | pending | failure with attempts left, sweep, release |
//! | failed | pending | retry |

use serde::{Deserialize, Serialize};

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for its time, its dependencies or a node.
    Pending,
    /// Leased to a node.
    InProgress,
    /// Ended with a result.
    Completed,
    /// Ended without one; can be retried.
    Failed,
    /// Ended by cancellation.
    Cancelled,
}

/// Why a task changes its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A node takes it.
    Claim,
    /// Its executor is done.
    Completion,
    /// Its executor failed, its node died or its time is over.
    Failure,
    /// Its lease was given back or taken away.
    Requeue,
    /// Cancellation was requested.
    Cancel,
    /// A required dependency failed or was cancelled.
    Dependency,
    /// An explicit retry was requested.
    Retry,
}

/// A change of state that the table does not have. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {} cannot become {}", from.as_str(), to.as_str())]
pub struct BadTransition {
    /// The state it has.
    pub from: Status,
    /// The state that was asked for.
    pub to: Status,
}

impl Status {
    /// All states, in the order of their codes.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::InProgress, Self::Completed, Self::Failed, Self::Cancelled];

    /// The number it is stored by.
    pub fn code(self) -> i16 {
        self as i16
    }

    /// The state stored as `code`.
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }

    /// Its name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing happens to it any more without being asked.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The state it has after a change, if the table allows that change.
    pub fn become_by(self, cause: Cause, to: Self) -> Result<Self, BadTransition> {
        let is_allowed = match (self, to) {
            (Self::Pending, Self::InProgress) => cause == Cause::Claim,
            (Self::Pending, Self::Cancelled) => cause == Cause::Cancel,
            (Self::Pending, Self::Failed) => cause == Cause::Dependency,
            (Self::InProgress, Self::Completed) => cause == Cause::Completion,
            (Self::InProgress, Self::Failed) => cause == Cause::Failure,
            (Self::InProgress, Self::Cancelled) => cause == Cause::Cancel,
            (Self::InProgress, Self::Pending) => matches!(cause, Cause::Failure | Cause::Requeue),
            (Self::Failed, Self::Pending) => cause == Cause::Retry,
            _ => false,
        };
        if is_allowed { Ok(to) } else { Err(BadTransition { from: self, to }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAUSES: [(&str, Cause); 7] = [
        ("claim", Cause::Claim),
        ("completion", Cause::Completion),
        ("failure", Cause::Failure),
        ("requeue", Cause::Requeue),
        ("cancel", Cause::Cancel),
        ("dependency", Cause::Dependency),
        ("retry", Cause::Retry),
    ];

    #[test]
    fn only_the_transitions_of_the_table_are_allowed() {
        let mut allowed = Vec::new();
        for from in Status::ALL {
            for to in Status::ALL {
                for (name, cause) in CAUSES {
                    if from.become_by(cause, to).is_ok() {
                        allowed.push(format!("{} {} {name}", from.as_str(), to.as_str()));
                    }
                }
            }
        }
        let table = [
            "pending in_progress claim",
            "pending failed dependency",
            "pending cancelled cancel",
            "in_progress pending failure",
            "in_progress pending requeue",
            "in_progress completed completion",
            "in_progress failed failure",
            "in_progress cancelled cancel",
            "failed pending retry",
        ];
        assert_eq!(allowed, table);
    }

    #[test]
    fn bad_transition_names_both_states() {
        let error = Status::Completed.become_by(Cause::Retry, Status::Pending).unwrap_err();
        assert_eq!(error.to_string(), "a task that is completed cannot become pending");
    }

    #[test]
    fn codes_are_read_back() {
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
        }
        assert_eq!(Status::from_code(9), None);
    }
}
