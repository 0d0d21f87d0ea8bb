//! Why a store did not do what it was asked.

use crate::domain::{BadTransition, ScheduleId, TaskId};

/// Why a store did not do it. Unless said otherwise nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, or failed. What was asked may have happened; all writes can be repeated.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The transaction lost against others several times. It can be repeated.
    #[error("the transaction lost against others: {0}")]
    Contended(String),
    /// What the database holds cannot be read by this version.
    #[error("the database holds something unreadable: {0}")]
    Corrupt(String),
    /// A migration that was applied differs from the one of this version, or is unknown to it.
    #[error("{0}; run the version of hyperscale that made this database, or a newer one")]
    Migration(String),
    /// No such task.
    #[error("there is no task {0}")]
    UnknownTask(TaskId),
    /// No such schedule.
    #[error("there is no schedule {0}")]
    UnknownSchedule(ScheduleId),
    /// The task cannot do that in its state.
    #[error(transparent)]
    BadTransition(#[from] BadTransition),
    /// The key was used for something else.
    #[error("idempotency key `{key}` was used for another submission, task {task}; use a new key")]
    IdempotencyConflict {
        /// The key.
        key: String,
        /// What it made.
        task: TaskId,
    },
    /// A required dependency has not completed, so the task would never become ready.
    #[error("task {task} depends on {on}, which has failed or was cancelled; retry that one first")]
    BlockedByDependency {
        /// The task.
        task: TaskId,
        /// What it depends on.
        on: TaskId,
    },
    /// The lease is over: expired and taken, consumed, or never held.
    #[error("the lease of task {0} is lost")]
    LeaseLost(TaskId),
    /// The leadership is over. Duties must stop.
    #[error("another node leads: epoch {0} is over")]
    StaleEpoch(i64),
    /// The store was opened for reading only.
    #[error("the database was opened for reading only")]
    ReadOnly,
    /// The trigger of a schedule cannot be used.
    #[error(transparent)]
    Schedule(#[from] crate::domain::ScheduleError),
}
