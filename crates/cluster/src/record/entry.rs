//! Decisions of a job's core as bytes.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_job::entry::{
    Assignment, Batch, Change, ContextValues, Group, GroupMember, GroupPart, Retarget, Stop, StopCause,
    StopScope,
};
use hyperscale_job::state::AttemptEnd;
use hyperscale_job::{AttemptId, Entry, SegmentResult, StopPhase};
use hyperscale_plan::cores::Release;
use hyperscale_plan::load::SegmentShare;
use hyperscale_stats::event::Target;
use hyperscale_stats::result::ChangedBy;
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::job_entry::Body;
use prost::Message;

use super::RecordError;
use super::parts::{
    Read, attempt_end_in, attempt_end_out, attempt_in, attempt_out, failure_in, failure_out, json_in,
    json_out, position_out, reason_in, reason_out, time_out, worker_in, worker_out, workflow_end_in,
    workflow_end_out,
};

/// A decision as it was kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// All of it.
    Whole(Entry),
    /// An attempt ended; what it left is a blob that the register names.
    AttemptEnd {
        /// The attempt.
        attempt: AttemptId,
        /// How it ended.
        end: AttemptEnd,
        /// When that was learned.
        at: Duration,
    },
}

impl Stored {
    /// When it was decided, on the job clock, as far as it says that.
    pub fn at(&self) -> Option<Duration> {
        match self {
            Stored::Whole(entry) => entry.at(),
            Stored::AttemptEnd { at, .. } => Some(*at),
        }
    }

    /// The decision, with what the attempt left if it is the end of one.
    pub fn with(self, left: SegmentResult) -> Entry {
        match self {
            Stored::Whole(entry) => entry,
            Stored::AttemptEnd { attempt, end, at } => {
                Entry::AttemptEnd { attempt, end, result: Box::new(left), at }
            }
        }
    }
}

/// The bytes of a decision; nothing for the end of a job, which is not kept.
pub fn encode(entry: &Entry) -> Option<Bytes> {
    let (at, body) = match entry {
        Entry::Ready { workflows, at } => {
            let workflows = workflows.iter().map(|at| position_out(*at)).collect();
            (*at, Body::Ready(wire::JobReady { workflows }))
        }
        Entry::Assign(batch) => (Duration::ZERO, Body::Batch(batch_out(batch))),
        Entry::Context { workflow, values } => {
            (Duration::ZERO, Body::Context(context_out(*workflow, values)))
        }
        Entry::Start { workflow, at } => {
            (*at, Body::Start(wire::JobStart { workflow: position_out(*workflow) }))
        }
        Entry::Restart { attempt, at } => {
            (*at, Body::Restart(wire::JobRestart { attempt: Some(attempt_out(*attempt)) }))
        }
        Entry::AttemptEnd { attempt, end, at, .. } => {
            let end = attempt_end_out(*end).into();
            (*at, Body::AttemptEnd(wire::JobAttemptEnd { attempt: Some(attempt_out(*attempt)), end }))
        }
        Entry::WorkflowEnd { workflow, end, reason, failure, at } => {
            let end = wire::JobWorkflowEnd {
                workflow: position_out(*workflow),
                end: workflow_end_out(*end).into(),
                reason: reason.as_ref().map(reason_out),
                failure: failure.as_ref().map(failure_out),
            };
            (*at, Body::WorkflowEnd(end))
        }
        Entry::Stop(stop) => (stop.at, Body::Stop(stop_out(stop))),
        Entry::Control { request, by, change, at } => (*at, Body::Change(change_out(*request, *by, change))),
        Entry::JobEnd { .. } => return None,
    };
    Some(wire::JobEntry { at_ns: time_out(at), body: Some(body) }.encode_to_vec().into())
}

/// Reads a decision.
pub fn decode(bytes: &Bytes) -> Result<Stored, RecordError> {
    let entry = wire::JobEntry::decode(bytes.clone()).map_err(|_| RecordError::Malformed)?;
    let at = Duration::from_nanos(entry.at_ns);
    let entry = match entry.body.ok_or(RecordError::Unknown("body"))? {
        Body::Ready(ready) => {
            Entry::Ready { workflows: ready.workflows.into_iter().map(|at| at as usize).collect(), at }
        }
        Body::Batch(batch) => Entry::Assign(batch_in(batch)?),
        Body::Context(context) => context_in(&context)?,
        Body::Start(start) => Entry::Start { workflow: start.workflow as usize, at },
        Body::Restart(restart) => Entry::Restart { attempt: attempt_in(restart.attempt)?, at },
        Body::AttemptEnd(ended) => {
            let end = attempt_end_in(ended.end())?;
            return Ok(Stored::AttemptEnd { attempt: attempt_in(ended.attempt)?, end, at });
        }
        Body::WorkflowEnd(ended) => Entry::WorkflowEnd {
            workflow: ended.workflow as usize,
            end: workflow_end_in(ended.end())?,
            reason: ended.reason.map(reason_in).transpose()?,
            failure: ended.failure.map(failure_in).transpose()?,
            at,
        },
        Body::Stop(stop) => Entry::Stop(stop_in(stop, at)?),
        Body::Change(change) => change_in(change, at)?,
    };
    Ok(Stored::Whole(entry))
}

fn batch_out(batch: &Batch) -> wire::JobBatch {
    let member = |member: &GroupMember| wire::JobGroupMember {
        workflow: position_out(member.workflow),
        first: member.first,
        cores: member.cores,
    };
    let part = |part: &GroupPart| wire::JobGroupPart {
        worker: worker_out(&part.worker),
        first: part.first,
        cores: part.cores,
    };
    let group = |group: &Group| wire::JobGroup {
        id: group.id,
        members: group.members.iter().map(member).collect(),
        parts: group.parts.iter().map(part).collect(),
        release_each_core: group.release == Release::EachCore,
    };
    wire::JobBatch {
        groups: batch.groups.iter().map(group).collect(),
        assignments: batch.assignments.iter().map(assignment_out).collect(),
    }
}

fn batch_in(batch: wire::JobBatch) -> Read<Batch> {
    let member = |member: wire::JobGroupMember| GroupMember {
        workflow: member.workflow as usize,
        first: member.first,
        cores: member.cores,
    };
    let part = |part: wire::JobGroupPart| {
        Ok(GroupPart { worker: worker_in(part.worker)?, first: part.first, cores: part.cores })
    };
    let group = |group: wire::JobGroup| {
        Ok(Group {
            id: group.id,
            members: group.members.into_iter().map(member).collect(),
            parts: group.parts.into_iter().map(part).collect::<Read<_>>()?,
            release: if group.release_each_core { Release::EachCore } else { Release::LastSegment },
        })
    };
    Ok(Batch {
        groups: batch.groups.into_iter().map(group).collect::<Read<_>>()?,
        assignments: batch.assignments.into_iter().map(assignment_in).collect::<Read<_>>()?,
    })
}

pub(crate) fn assignment_out(assignment: &Assignment) -> wire::JobAssignment {
    let SegmentShare { first_core, cores, cores_total, vus } = assignment.share;
    wire::JobAssignment {
        attempt: Some(attempt_out(assignment.attempt)),
        worker: worker_out(&assignment.worker),
        group: assignment.group,
        offset: assignment.offset,
        share: Some(wire::JobShare { first_core, cores, cores_total, vus }),
        joins_at_ns: time_out(assignment.joins_at),
        iterations_done: assignment.iterations_done,
    }
}

pub(crate) fn assignment_in(assignment: wire::JobAssignment) -> Read<Assignment> {
    let wire::JobShare { first_core, cores, cores_total, vus } =
        assignment.share.ok_or(RecordError::Missing("share"))?;
    Ok(Assignment {
        attempt: attempt_in(assignment.attempt)?,
        worker: worker_in(assignment.worker)?,
        group: assignment.group,
        offset: assignment.offset,
        share: SegmentShare { first_core, cores, cores_total, vus },
        joins_at: Duration::from_nanos(assignment.joins_at_ns),
        iterations_done: assignment.iterations_done,
    })
}

fn context_out(workflow: usize, values: &ContextValues) -> wire::JobContext {
    let (setup, values) = match values {
        ContextValues::Setup(values) => (true, values.iter().map(json_out).collect()),
        ContextValues::Provided(values) => {
            let value = |value: &Option<_>| value.as_ref().map(json_out).unwrap_or_default();
            (false, values.iter().map(value).collect())
        }
    };
    wire::JobContext { workflow: position_out(workflow), setup, values }
}

fn context_in(context: &wire::JobContext) -> Read<Entry> {
    let values = context.values.iter();
    let values = if context.setup {
        ContextValues::Setup(values.map(json_in).collect::<Read<_>>()?)
    } else {
        let value = |value: &wire::JsonValue| (!value.json.is_empty()).then(|| json_in(value)).transpose();
        ContextValues::Provided(values.map(value).collect::<Read<_>>()?)
    };
    Ok(Entry::Context { workflow: context.workflow as usize, values })
}

fn stop_out(stop: &Stop) -> wire::JobStop {
    let mut out = wire::JobStop {
        request: stop.request,
        phase: phase_out(stop.phase).into(),
        reason: Some(reason_out(&stop.reason)),
        ..wire::JobStop::default()
    };
    if let StopScope::Workflows(workflows) = &stop.scope {
        out.workflows = workflows.iter().map(|at| position_out(*at)).collect();
    }
    match &stop.cause {
        None => {}
        Some(StopCause::Threshold { rule }) => out.rule.clone_from(rule),
        Some(StopCause::Check { workflow, failure }) => {
            (out.check, out.check_workflow) = (Some(failure_out(failure)), position_out(*workflow));
        }
    }
    out
}

fn stop_in(stop: wire::JobStop, at: Duration) -> Read<Stop> {
    let phase = phase_in(stop.phase())?;
    let cause = match stop.check {
        Some(failure) => {
            Some(StopCause::Check { workflow: stop.check_workflow as usize, failure: failure_in(failure)? })
        }
        None if stop.rule.is_empty() => None,
        None => Some(StopCause::Threshold { rule: stop.rule }),
    };
    let scope = if stop.workflows.is_empty() {
        StopScope::Job
    } else {
        StopScope::Workflows(stop.workflows.into_iter().map(|at| at as usize).collect())
    };
    let reason = reason_in(stop.reason.ok_or(RecordError::Missing("reason"))?)?;
    Ok(Stop { request: stop.request, scope, phase, reason, cause, at })
}

pub(crate) fn phase_out(phase: StopPhase) -> wire::JobStopPhase {
    match phase {
        StopPhase::Running => wire::JobStopPhase::Running,
        StopPhase::Finishing => wire::JobStopPhase::Finishing,
        StopPhase::Cancelling => wire::JobStopPhase::Cancelling,
        StopPhase::Aborted => wire::JobStopPhase::Aborted,
    }
}

pub(crate) fn phase_in(phase: wire::JobStopPhase) -> Read<StopPhase> {
    Ok(match phase {
        wire::JobStopPhase::Unspecified => return Err(RecordError::Unknown("phase")),
        wire::JobStopPhase::Running => StopPhase::Running,
        wire::JobStopPhase::Finishing => StopPhase::Finishing,
        wire::JobStopPhase::Cancelling => StopPhase::Cancelling,
        wire::JobStopPhase::Aborted => StopPhase::Aborted,
    })
}

fn change_out(request: u64, by: ChangedBy, change: &Change) -> wire::JobChange {
    let mut out =
        wire::JobChange { request, by_screen: by == ChangedBy::Screen, ..wire::JobChange::default() };
    match change {
        Change::Pause => out.pause = true,
        Change::Resume => out.resume = true,
        Change::Load { targets } => out.targets = targets.iter().map(target_out).collect(),
    }
    out
}

fn change_in(change: wire::JobChange, at: Duration) -> Read<Entry> {
    let by = if change.by_screen { ChangedBy::Screen } else { ChangedBy::Control };
    let request = change.request;
    let change = match (change.pause, change.resume) {
        (true, false) => Change::Pause,
        (false, true) => Change::Resume,
        (false, false) => {
            Change::Load { targets: change.targets.into_iter().map(target_in).collect::<Read<_>>()? }
        }
        (true, true) => return Err(RecordError::Unknown("change")),
    };
    Ok(Entry::Control { request, by, change, at })
}

fn target_out(target: &Retarget) -> wire::JobTarget {
    wire::JobTarget {
        workflow: position_out(target.workflow),
        from: Some(load_out(target.from)),
        to: Some(load_out(target.to)),
        since_ns: time_out(target.since),
        planned: target.planned,
    }
}

fn target_in(target: wire::JobTarget) -> Read<Retarget> {
    Ok(Retarget {
        workflow: target.workflow as usize,
        from: load_in(target.from)?,
        to: load_in(target.to)?,
        since: Duration::from_nanos(target.since_ns),
        planned: target.planned,
    })
}

fn load_out(target: Target) -> wire::JobLoad {
    let load = match target {
        Target::Vus(vus) => wire::job_load::Load::Vus(vus),
        Target::Rate(rate) => wire::job_load::Load::Rate(rate),
    };
    wire::JobLoad { load: Some(load) }
}

fn load_in(load: Option<wire::JobLoad>) -> Read<Target> {
    match load.and_then(|load| load.load).ok_or(RecordError::Missing("load"))? {
        wire::job_load::Load::Vus(vus) => Ok(Target::Vus(vus)),
        wire::job_load::Load::Rate(rate) => Ok(Target::Rate(rate)),
    }
}
