//! Parts that several records have: attempts, ends, reasons, failures, values.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_job::state::{AttemptEnd, WorkflowEnd};
use hyperscale_job::{AttemptId, Failure, FailureKind, Reason, SegmentId, SegmentKind};
use hyperscale_types::{Name, NodeId};
use hyperscale_wire::messages as wire;
use serde_json::Value as Json;

use super::RecordError;

pub(crate) type Read<T> = Result<T, RecordError>;

pub(crate) fn time_out(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A position in the plan.
pub(crate) fn position_out(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Workers are known by the text of their node id where jobs name them.
pub(crate) fn worker_out(worker: &str) -> u64 {
    worker.parse().map_or(0, NodeId::get)
}

pub(crate) fn worker_in(worker: u64) -> Read<Arc<str>> {
    let node = NodeId::new(worker).ok_or(RecordError::Missing("worker"))?;
    Ok(node.to_string().into())
}

pub(crate) fn kind_out(kind: SegmentKind) -> wire::SegmentKind {
    match kind {
        SegmentKind::Setup => wire::SegmentKind::SetUp,
        SegmentKind::Load => wire::SegmentKind::Load,
        SegmentKind::Teardown => wire::SegmentKind::TearDown,
    }
}

pub(crate) fn attempt_out(attempt: AttemptId) -> wire::JobAttempt {
    let SegmentId { workflow, kind, index } = attempt.segment;
    let (workflow, kind) = (position_out(workflow), kind_out(kind).into());
    wire::JobAttempt { workflow, kind, index, number: attempt.number }
}

pub(crate) fn attempt_in(attempt: Option<wire::JobAttempt>) -> Read<AttemptId> {
    let attempt = attempt.ok_or(RecordError::Missing("attempt"))?;
    let kind = match attempt.kind() {
        wire::SegmentKind::Unspecified => return Err(RecordError::Unknown("kind")),
        wire::SegmentKind::SetUp => SegmentKind::Setup,
        wire::SegmentKind::Load => SegmentKind::Load,
        wire::SegmentKind::TearDown => SegmentKind::Teardown,
    };
    let segment = SegmentId { workflow: attempt.workflow as usize, kind, index: attempt.index };
    Ok(AttemptId { segment, number: attempt.number })
}

pub(crate) fn attempt_end_out(end: AttemptEnd) -> wire::EndStatus {
    match end {
        AttemptEnd::Completed => wire::EndStatus::Completed,
        AttemptEnd::Failed => wire::EndStatus::Failed,
        AttemptEnd::Cancelled => wire::EndStatus::Cancelled,
        AttemptEnd::Refused => wire::EndStatus::Refused,
        AttemptEnd::Lost => wire::EndStatus::Lost,
        AttemptEnd::Superseded => wire::EndStatus::Superseded,
        AttemptEnd::TimedOut => wire::EndStatus::TimedOut,
    }
}

pub(crate) fn attempt_end_in(end: wire::EndStatus) -> Read<AttemptEnd> {
    Ok(match end {
        wire::EndStatus::Completed => AttemptEnd::Completed,
        wire::EndStatus::Failed => AttemptEnd::Failed,
        wire::EndStatus::Cancelled => AttemptEnd::Cancelled,
        wire::EndStatus::Refused => AttemptEnd::Refused,
        wire::EndStatus::Lost => AttemptEnd::Lost,
        wire::EndStatus::Superseded => AttemptEnd::Superseded,
        wire::EndStatus::TimedOut => AttemptEnd::TimedOut,
        wire::EndStatus::Unspecified | wire::EndStatus::Partial | wire::EndStatus::Skipped => {
            return Err(RecordError::Unknown("end"));
        }
    })
}

pub(crate) fn workflow_end_out(end: WorkflowEnd) -> wire::EndStatus {
    match end {
        WorkflowEnd::Completed => wire::EndStatus::Completed,
        WorkflowEnd::Failed => wire::EndStatus::Failed,
        WorkflowEnd::Cancelled => wire::EndStatus::Cancelled,
        WorkflowEnd::Skipped => wire::EndStatus::Skipped,
        WorkflowEnd::TimedOut => wire::EndStatus::TimedOut,
    }
}

pub(crate) fn workflow_end_in(end: wire::EndStatus) -> Read<WorkflowEnd> {
    Ok(match end {
        wire::EndStatus::Completed => WorkflowEnd::Completed,
        wire::EndStatus::Failed => WorkflowEnd::Failed,
        wire::EndStatus::Cancelled => WorkflowEnd::Cancelled,
        wire::EndStatus::Skipped => WorkflowEnd::Skipped,
        wire::EndStatus::TimedOut => WorkflowEnd::TimedOut,
        wire::EndStatus::Unspecified
        | wire::EndStatus::Partial
        | wire::EndStatus::Lost
        | wire::EndStatus::Refused
        | wire::EndStatus::Superseded => return Err(RecordError::Unknown("end")),
    })
}

pub(crate) fn reason_out(reason: &Reason) -> wire::JobReason {
    use wire::JobReasonKind as Kind;
    let plain = |kind: Kind| wire::JobReason { kind: kind.into(), ..wire::JobReason::default() };
    match reason {
        Reason::Interrupted => plain(Kind::Interrupted),
        Reason::Asked(text) => wire::JobReason { text: text.clone(), ..plain(Kind::Asked) },
        Reason::Threshold => plain(Kind::Threshold),
        Reason::Check => plain(Kind::Check),
        Reason::Unreachable => plain(Kind::Unreachable),
        Reason::Dependency { name, end } => {
            let end = workflow_end_out(*end).into();
            wire::JobReason { text: name.to_string(), end, ..plain(Kind::Dependency) }
        }
        Reason::Failed(failure) => {
            wire::JobReason { failure: failure_kind_out(*failure).into(), ..plain(Kind::Failed) }
        }
        Reason::Timeout => plain(Kind::Timeout),
        Reason::Stuck => plain(Kind::Stuck),
        Reason::WorkerLost => plain(Kind::WorkerLost),
        Reason::NoWorker => plain(Kind::NoWorker),
        Reason::Imbalance => plain(Kind::Imbalance),
    }
}

pub(crate) fn reason_in(reason: wire::JobReason) -> Read<Reason> {
    use wire::JobReasonKind as Kind;
    Ok(match reason.kind() {
        Kind::Unspecified => return Err(RecordError::Unknown("reason")),
        Kind::Interrupted => Reason::Interrupted,
        Kind::Asked => Reason::Asked(reason.text),
        Kind::Threshold => Reason::Threshold,
        Kind::Check => Reason::Check,
        Kind::Unreachable => Reason::Unreachable,
        Kind::Dependency => {
            Reason::Dependency { end: workflow_end_in(reason.end())?, name: name_in(&reason.text)? }
        }
        Kind::Failed => Reason::Failed(failure_kind_in(reason.failure())?),
        Kind::Timeout => Reason::Timeout,
        Kind::Stuck => Reason::Stuck,
        Kind::WorkerLost => Reason::WorkerLost,
        Kind::NoWorker => Reason::NoWorker,
        Kind::Imbalance => Reason::Imbalance,
    })
}

fn name_in(text: &str) -> Read<Name> {
    text.parse().map_err(|_| RecordError::Unknown("name"))
}

fn failure_kind_out(kind: FailureKind) -> wire::JobFailureKind {
    match kind {
        FailureKind::Unreachable => wire::JobFailureKind::Unreachable,
        FailureKind::Prepare => wire::JobFailureKind::Prepare,
        FailureKind::Setup => wire::JobFailureKind::Setup,
        FailureKind::VuSetup => wire::JobFailureKind::VuSetup,
        FailureKind::Teardown => wire::JobFailureKind::Teardown,
        FailureKind::Check => wire::JobFailureKind::Check,
        FailureKind::ContextMissing => wire::JobFailureKind::ContextMissing,
        FailureKind::ContextTooLarge => wire::JobFailureKind::ContextTooLarge,
        FailureKind::Engine => wire::JobFailureKind::Engine,
        FailureKind::Refused => wire::JobFailureKind::Refused,
        FailureKind::Limit => wire::JobFailureKind::Limit,
    }
}

fn failure_kind_in(kind: wire::JobFailureKind) -> Read<FailureKind> {
    Ok(match kind {
        wire::JobFailureKind::Unspecified => return Err(RecordError::Unknown("failure")),
        wire::JobFailureKind::Unreachable => FailureKind::Unreachable,
        wire::JobFailureKind::Prepare => FailureKind::Prepare,
        wire::JobFailureKind::Setup => FailureKind::Setup,
        wire::JobFailureKind::VuSetup => FailureKind::VuSetup,
        wire::JobFailureKind::Teardown => FailureKind::Teardown,
        wire::JobFailureKind::Check => FailureKind::Check,
        wire::JobFailureKind::ContextMissing => FailureKind::ContextMissing,
        wire::JobFailureKind::ContextTooLarge => FailureKind::ContextTooLarge,
        wire::JobFailureKind::Engine => FailureKind::Engine,
        wire::JobFailureKind::Refused => FailureKind::Refused,
        wire::JobFailureKind::Limit => FailureKind::Limit,
    })
}

pub(crate) fn failure_out(failure: &Failure) -> wire::JobFailure {
    wire::JobFailure {
        kind: failure_kind_out(failure.kind).into(),
        message: failure.message.clone(),
        step: failure.step.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

pub(crate) fn failure_in(failure: wire::JobFailure) -> Read<Failure> {
    let kind = failure_kind_in(failure.kind())?;
    let step = if failure.step.is_empty() { None } else { Some(name_in(&failure.step)?) };
    Ok(Failure { kind, message: failure.message, step })
}

pub(crate) fn json_out(value: &Json) -> wire::JsonValue {
    wire::JsonValue { json: value.to_string().into() }
}

pub(crate) fn json_in(value: &wire::JsonValue) -> Read<Json> {
    serde_json::from_slice(&value.json).map_err(|_| RecordError::Unknown("value"))
}
