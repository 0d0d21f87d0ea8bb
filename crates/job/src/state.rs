//! The three state machines of a job and which transitions they allow, in one place.
//!
//! ```text
//! job:      submitted → queued → dispatching → running → completing → completed | partial | failed
//!                         └──────────┴────────────┴─────────┴──► cancelling → cancelled
//!                         └──────────┴────────────┴─────────┴──► timed_out
//! workflow: pending → ready → [setup →] assigned → running → [teardown →] ended
//!              └────────┴────────┴──────────┴──────────┴──► ended
//! attempt:  assigned → accepted → running → ended
//!              └──────────┴──► ended
//! ```
//! Anything else is an [`IllegalTransition`]: the entry or report that asks for it changes nothing and is counted.

use hyperscale_stats::result::{AttemptStatus, Status};

/// Where a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// Accepted; nothing of it is ready.
    #[default]
    Submitted,
    /// Something is ready and waits for cores.
    Queued,
    /// Cores are assigned; no load runs yet.
    Dispatching,
    /// Load runs or ran, and more may come.
    Running,
    /// No further load starts; the last workflows finish.
    Completing,
    /// It was asked to stop.
    Cancelling,
    /// It is over.
    Ended(JobEnd),
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobEnd {
    /// All workflows completed.
    Completed,
    /// Some workflows completed.
    Partial,
    /// No workflow completed.
    Failed,
    /// It was stopped from outside, or by a threshold.
    Cancelled,
    /// Its time was over.
    TimedOut,
}

/// Where a workflow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkflowState {
    /// Waits for its dependencies.
    #[default]
    Pending,
    /// Waits for cores.
    Ready,
    /// Has its cores; its set-up runs.
    Setup,
    /// Has its cores; its load is being prepared.
    Assigned,
    /// Its load runs.
    Running,
    /// Its tear-down runs.
    Teardown,
    /// It is over.
    Ended(WorkflowEnd),
}

/// How a workflow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkflowEnd {
    /// It ran to its planned end.
    Completed,
    /// It could not run, or not to its end.
    Failed,
    /// It was stopped.
    Cancelled,
    /// A workflow that it depends on did not complete.
    Skipped,
    /// Its time was over.
    TimedOut,
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttemptState {
    /// Decided; its worker was told or is being told.
    #[default]
    Assigned,
    /// Its worker prepares it.
    Accepted,
    /// It runs.
    Running,
    /// It is over.
    Ended(AttemptEnd),
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// It ran to its planned end.
    Completed,
    /// It could not run, or not to its end.
    Failed,
    /// It was told to stop.
    Cancelled,
    /// Its worker did not take it.
    Refused,
    /// Its worker is gone.
    Lost,
    /// A newer attempt took its place.
    Superseded,
    /// It gave no result in time.
    TimedOut,
}

/// A transition that a table does not allow. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    /// Of the job.
    #[error("a job cannot go from {from:?} to {to:?}")]
    Job {
        /// Its state.
        from: JobState,
        /// The refused state.
        to: JobState,
    },
    /// Of a workflow.
    #[error("workflow {workflow} cannot go from {from:?} to {to:?}")]
    Workflow {
        /// Its position in the plan.
        workflow: usize,
        /// Its state.
        from: WorkflowState,
        /// The refused state.
        to: WorkflowState,
    },
    /// Of an attempt.
    #[error("attempt {attempt} cannot go from {from:?} to {to:?}")]
    Attempt {
        /// Which attempt.
        attempt: crate::AttemptId,
        /// Its state.
        from: AttemptState,
        /// The refused state.
        to: AttemptState,
    },
    /// Something that the job does not have: a workflow, a segment, an attempt.
    #[error("the job has no {0}")]
    Unknown(&'static str),
}

impl JobState {
    /// Whether the table allows `next` after this state.
    pub const fn allows(self, next: JobState) -> bool {
        use JobState::{Cancelling, Completing, Dispatching, Ended, Queued, Running, Submitted};
        match (self, next) {
            (Ended(_), _) => false,
            (Submitted, Queued | Dispatching | Completing | Cancelling) => true,
            (Queued, Dispatching | Running | Completing | Cancelling) => true,
            (Dispatching, Running | Completing | Cancelling) => true,
            (Running, Completing | Cancelling) => true,
            (Completing, Cancelling) => true,
            (_, Ended(JobEnd::TimedOut)) => true,
            // A check with `stop: test` cancels the rest of a job that then counts as failed or partial.
            (Cancelling, Ended(JobEnd::Cancelled | JobEnd::Failed | JobEnd::Partial)) => true,
            (Completing, Ended(JobEnd::Completed | JobEnd::Partial | JobEnd::Failed)) => true,
            _ => false,
        }
    }

    /// The word for results.
    pub const fn status(self) -> Status {
        match self {
            JobState::Submitted => Status::Submitted,
            JobState::Queued => Status::Queued,
            JobState::Dispatching => Status::Dispatching,
            JobState::Running => Status::Running,
            JobState::Completing => Status::Completing,
            JobState::Cancelling => Status::Cancelling,
            JobState::Ended(JobEnd::Completed) => Status::Completed,
            JobState::Ended(JobEnd::Partial) => Status::Partial,
            JobState::Ended(JobEnd::Failed) => Status::Failed,
            JobState::Ended(JobEnd::Cancelled) => Status::Cancelled,
            JobState::Ended(JobEnd::TimedOut) => Status::TimedOut,
        }
    }
}

impl WorkflowState {
    /// Whether the table allows `next` after this state.
    pub const fn allows(self, next: WorkflowState) -> bool {
        use WorkflowState::{Assigned, Ended, Pending, Ready, Running, Setup, Teardown};
        match (self, next) {
            (Ended(_), _) => false,
            (Pending, Ready) => true,
            (Ready, Setup | Assigned) => true,
            (Setup, Assigned | Teardown) => true,
            (Assigned, Running | Teardown) => true,
            (Running, Teardown) => true,
            // Only what has not begun can be skipped, only what has run can complete.
            (Pending, Ended(end)) => !matches!(end, WorkflowEnd::Completed),
            (Ready | Setup | Assigned, Ended(end)) => {
                !matches!(end, WorkflowEnd::Completed | WorkflowEnd::Skipped)
            }
            (Running | Teardown, Ended(end)) => !matches!(end, WorkflowEnd::Skipped),
            _ => false,
        }
    }

    /// Whether something of it runs on cores.
    pub const fn is_active(self) -> bool {
        matches!(
            self,
            WorkflowState::Setup | WorkflowState::Assigned | WorkflowState::Running | WorkflowState::Teardown
        )
    }
}

impl WorkflowEnd {
    /// The word for results.
    pub const fn status(self) -> Status {
        match self {
            WorkflowEnd::Completed => Status::Completed,
            WorkflowEnd::Failed => Status::Failed,
            WorkflowEnd::Cancelled => Status::Cancelled,
            WorkflowEnd::Skipped => Status::Skipped,
            WorkflowEnd::TimedOut => Status::TimedOut,
        }
    }
}

impl AttemptState {
    /// The word of results for it.
    pub const fn status(self) -> AttemptStatus {
        match self {
            AttemptState::Assigned => AttemptStatus::Assigned,
            AttemptState::Accepted => AttemptStatus::Accepted,
            AttemptState::Running => AttemptStatus::Running,
            AttemptState::Ended(AttemptEnd::Completed) => AttemptStatus::Completed,
            AttemptState::Ended(AttemptEnd::Failed) => AttemptStatus::Failed,
            AttemptState::Ended(AttemptEnd::Cancelled) => AttemptStatus::Cancelled,
            AttemptState::Ended(AttemptEnd::Refused) => AttemptStatus::Refused,
            AttemptState::Ended(AttemptEnd::Lost) => AttemptStatus::Lost,
            AttemptState::Ended(AttemptEnd::Superseded) => AttemptStatus::Superseded,
            AttemptState::Ended(AttemptEnd::TimedOut) => AttemptStatus::TimedOut,
        }
    }

    /// Whether the table allows `next` after this state.
    pub const fn allows(self, next: AttemptState) -> bool {
        use AttemptState::{Accepted, Assigned, Ended, Running};
        match (self, next) {
            (Ended(_), _) => false,
            (Assigned, Accepted | Running) => true,
            (Accepted, Running) => true,
            (Running, Ended(AttemptEnd::Refused)) => false,
            (_, Ended(_)) => true,
            _ => false,
        }
    }

    /// Whether it is over.
    pub const fn is_over(self) -> bool {
        matches!(self, AttemptState::Ended(_))
    }
}

#[cfg(test)]
mod tests;
