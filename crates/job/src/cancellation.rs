//! How far a cancel is, workflow by workflow.

use std::time::Duration;

use hyperscale_types::Name;

use crate::command::with_dependents;
use crate::machine::JobCore;
use crate::record::WorkflowRecord;
use crate::segment::{SegmentKind, StopPhase};
use crate::state::WorkflowEnd;

/// A worker that does not confirm the end of an attempt within this time is an error of the cancel; its lease ends it.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(10);

/// How far the cancel of one workflow is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowCancel {
    /// As it was named.
    pub workflow: String,
    /// How far it is.
    pub status: CancelStatus,
    /// Workflows that were cancelled because they depend on it.
    pub dependents: Vec<Name>,
    /// Segments whose workers did not confirm it in time.
    pub errors: Vec<String>,
}

/// How far a cancel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelStatus {
    /// The job has not decided yet what follows from it.
    Requested,
    /// What runs of it is being stopped.
    InProgress,
    /// It ran and was cancelled.
    Cancelled,
    /// It was cancelled before anything of it ran.
    PendingCancelled,
    /// A worker did not confirm it in time.
    Failed,
    /// The job has no such workflow.
    NotFound,
    /// It had ended before, or ended otherwise.
    AlreadyEnded,
}

impl CancelStatus {
    /// Whether nothing more is waited for.
    pub const fn is_settled(self) -> bool {
        !matches!(self, CancelStatus::Requested | CancelStatus::InProgress)
    }
}

impl JobCore {
    /// How far the cancel of the named workflows is, where `all` are cancelled because of it; the whole job if none is named.
    pub fn cancellation(&self, named: &[String], all: &[String]) -> Vec<WorkflowCancel> {
        let whole = || self.plan.workflows.iter().map(|workflow| workflow.name.to_string()).collect();
        let wanted = if named.is_empty() { whole() } else { named.to_vec() };
        wanted.into_iter().map(|workflow| cancellation(self, workflow, all)).collect()
    }
}

fn cancellation(core: &JobCore, workflow: String, all: &[String]) -> WorkflowCancel {
    let position = core.plan.workflows.iter().position(|it| it.name.as_str() == workflow);
    let Some(at) = position else {
        let (dependents, errors) = (Vec::new(), Vec::new());
        return WorkflowCancel { workflow, status: CancelStatus::NotFound, dependents, errors };
    };
    let record = &core.record.workflows()[at];
    let is_meant = |other: &usize| {
        let name = core.workflow(*other).name.as_str();
        *other != at && all.iter().any(|it| it == name)
    };
    let others = with_dependents(&core.plan, at).into_iter().filter(is_meant);
    let is_cancelled =
        |other: &usize| core.record.workflows()[*other].ended() == Some(WorkflowEnd::Cancelled);
    let dependents = others.filter(is_cancelled).map(|other| core.workflow(other).name.clone()).collect();
    let errors = unconfirmed(core, record);
    let status = match record.ended() {
        Some(WorkflowEnd::Cancelled) if record.attempts().next().is_none() => CancelStatus::PendingCancelled,
        Some(WorkflowEnd::Cancelled) => CancelStatus::Cancelled,
        Some(_) => CancelStatus::AlreadyEnded,
        None if !errors.is_empty() => CancelStatus::Failed,
        None if is_stopping(record) => CancelStatus::InProgress,
        None => CancelStatus::Requested,
    };
    WorkflowCancel { workflow, status, dependents, errors }
}

fn is_stopping(record: &WorkflowRecord) -> bool {
    record.stop_of().is_some_and(|(phase, _)| *phase >= StopPhase::Cancelling)
}

/// Attempts that should have ended by now. A tear-down runs after the cancel.
fn unconfirmed(core: &JobCore, record: &WorkflowRecord) -> Vec<String> {
    let is_late = record.stopped_at().is_some_and(|at| core.now >= at + CONFIRMED_WITHIN);
    let open = record.attempts().filter(|(id, attempt)| {
        is_late && is_stopping(record) && attempt.end.is_none() && id.segment.kind != SegmentKind::Teardown
    });
    let message = |(id, attempt): (&crate::AttemptId, &crate::AttemptRecord)| {
        let (index, worker) = (id.segment.index, &attempt.assignment.worker);
        format!("worker {worker} did not confirm within 10 s that segment {index} has ended")
    };
    open.map(message).collect()
}
