//! Commands as the messages of `proto/log.proto`, and back. What is missing or unknown is an error, never a default.

mod accept;
mod assign;
mod outcome;

use accept::{accept_in, accept_out};
use assign::{assign_in, assign_out};
use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId, Token};
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::command::Body as WireBody;
use hyperscale_wire::messages::job_control::Change as WireChange;
use prost::Message;

use super::command::{Body, Command, CommandError, JobId, LoadChange, PartId, RequestId, Segment, Values};
use super::end::{End, EndError};
use super::time::Elapsed;
use super::words::{word_in, word_out};
use crate::blob::BlobId;

type Read<T> = Result<T, CommandError>;

impl Command {
    /// The bytes of the log entry.
    pub fn encode(&self) -> Bytes {
        let message = wire::Command { job_leader_token: self.token.0, body: Some(body_out(&self.body)) };
        message.encode_to_vec().into()
    }

    /// Reads the bytes of a log entry.
    pub fn decode(bytes: &Bytes) -> Result<Self, CommandError> {
        let message = wire::Command::decode(bytes.clone()).map_err(|_| CommandError("not a message"))?;
        let body = message.body.ok_or(CommandError("no body"))?;
        Ok(Self { token: Token(message.job_leader_token), body: body_in(body)? })
    }
}

fn body_out(body: &Body) -> WireBody {
    match body {
        Body::JobAccept(accept) => WireBody::JobAccept(accept_out(accept)),
        Body::JobLeader { job, leader, elapsed, reason } => WireBody::JobLeader(wire::JobLeader {
            job_id: id_out(job.0),
            leader: leader.get(),
            reason: reason.clone(),
            elapsed_ms: elapsed.job_ms,
            workflows: elapsed.workflows_ms.iter().map(clock_out).collect(),
        }),
        Body::WorkerGrant { .. } | Body::WorkerGone { .. } | Body::WorkerOwner { .. } => worker_out(body),
        Body::Ready { job, workflows, priority, least_cores } => WireBody::Ready(wire::Ready {
            job_id: id_out(job.0),
            workflows: workflows.iter().cloned().collect(),
            priority: word_out(*priority),
            least_cores: *least_cores,
        }),
        Body::Assign(assign) => WireBody::Assign(assign_out(assign)),
        Body::AttemptEnd { segment, attempt, end } => WireBody::AttemptEnd(wire::AttemptEnd {
            attempt: Some(attempt_out(segment, *attempt)),
            status: word_out(end.status),
            result: end.result.map(blob_out),
            error: end.error.as_ref().map(error_out),
        }),
        Body::AttemptWindows { segment, attempt, windows } => {
            WireBody::AttemptWindows(wire::AttemptWindows {
                attempt: Some(attempt_out(segment, *attempt)),
                windows: Some(blob_out(*windows)),
            })
        }
        Body::Context { job, workflow, version, values } => WireBody::Context(wire::ContextValues {
            job_id: id_out(job.0),
            workflow: workflow.clone(),
            version: *version,
            inline: if let Values::Inline(bytes) = values { bytes.clone() } else { Bytes::new() },
            blob: if let Values::Blob(blob) = values { Some(blob_out(*blob)) } else { None },
        }),
        Body::WorkflowEnd { job, workflow, status, error } => WireBody::WorkflowEnd(wire::WorkflowEnd {
            job_id: id_out(job.0),
            workflow: workflow.clone(),
            status: word_out(*status),
            error: error.as_ref().map(error_out),
        }),
        Body::Cancel { job, workflows, request, reason, caller } => WireBody::Cancel(wire::CancelMark {
            job_id: id_out(job.0),
            workflows: workflows.clone(),
            request_id: id_out(request.0),
            reason: reason.clone(),
            caller: caller.clone(),
        }),
        Body::Control { job, workflow, change, request } => WireBody::Control(wire::JobControl {
            job_id: id_out(job.0),
            workflow: workflow.clone(),
            request_id: id_out(request.0),
            change: Some(change_out(*change)),
        }),
        Body::DcAssign { job, datacenter, try_number, share_ppm } => WireBody::DcAssign(wire::DcAssign {
            job_id: id_out(job.0),
            datacenter: datacenter.clone(),
            share_ppm: *share_ppm,
            try_number: *try_number,
        }),
        Body::DcEnd { part, end, is_late } => WireBody::DcEnd(wire::DcEnd {
            job: Some(part_out(part)),
            status: word_out(end.status),
            result: end.result.map(blob_out),
            error: end.error.as_ref().map(error_out),
            late: *is_late,
        }),
        Body::DcState { datacenter, class, proposer } => WireBody::DcState(wire::DcState {
            datacenter: datacenter.clone(),
            class: word_out(*class),
            proposer: proposer.get(),
        }),
        Body::JobEnd { job, end } => WireBody::JobEnd(wire::JobEnd {
            job_id: id_out(job.0),
            status: word_out(end.status),
            result: end.result.map(blob_out),
            error: end.error.as_ref().map(error_out),
        }),
        Body::JobForget { first, last } => {
            WireBody::JobForget(wire::JobForget { first: *first, last: *last })
        }
        Body::ClusterVersion { version } => {
            WireBody::ClusterVersion(wire::ClusterVersion { version: *version, ..Default::default() })
        }
    }
}

fn body_in(body: WireBody) -> Read<Body> {
    Ok(match body {
        WireBody::JobAccept(accept) => Body::JobAccept(Box::new(accept_in(accept)?)),
        WireBody::JobLeader(leader) => Body::JobLeader {
            job: job_in(&leader.job_id)?,
            leader: node_in(leader.leader)?,
            elapsed: Elapsed {
                job_ms: leader.elapsed_ms,
                workflows_ms: leader.workflows.into_iter().map(|it| (it.workflow, it.elapsed_ms)).collect(),
            },
            reason: leader.reason,
        },
        WireBody::WorkerGrant(grant) => grant_in(grant)?,
        WireBody::WorkerGone(gone) => Body::WorkerGone {
            worker: node_in(gone.worker)?,
            grant: Token(gone.grant_token),
            reason: gone.reason,
        },
        WireBody::WorkerOwner(it) => Body::WorkerOwner {
            worker: node_in(it.worker)?,
            grant: Token(it.grant_token),
            owner: node_in(it.owner)?,
            replaces: Token(it.replaces_token),
        },
        WireBody::Ready(ready) => Body::Ready {
            job: job_in(&ready.job_id)?,
            workflows: ready.workflows.into_iter().collect(),
            priority: word_in(ready.priority)?,
            least_cores: ready.least_cores,
        },
        WireBody::Assign(assign) => Body::Assign(assign_in(assign)?),
        WireBody::AttemptEnd(end) => {
            let (segment, attempt) = attempt_in(end.attempt)?;
            Body::AttemptEnd { segment, attempt, end: end_in(end.status, end.result.as_ref(), end.error)? }
        }
        WireBody::AttemptWindows(windows) => {
            let (segment, attempt) = attempt_in(windows.attempt)?;
            let windows = blob_in(&windows.windows.ok_or(CommandError("no windows"))?)?;
            Body::AttemptWindows { segment, attempt, windows }
        }
        WireBody::Context(context) => Body::Context {
            job: job_in(&context.job_id)?,
            workflow: text_in(context.workflow)?,
            version: context.version,
            values: match context.blob {
                Some(blob) => Values::Blob(blob_in(&blob)?),
                None => Values::Inline(context.inline),
            },
        },
        WireBody::WorkflowEnd(end) => Body::WorkflowEnd {
            job: job_in(&end.job_id)?,
            workflow: text_in(end.workflow)?,
            status: word_in(end.status)?,
            error: end.error.map(error_in),
        },
        WireBody::Cancel(cancel) => Body::Cancel {
            job: job_in(&cancel.job_id)?,
            workflows: cancel.workflows,
            request: RequestId(id_in(&cancel.request_id)?),
            reason: cancel.reason,
            caller: cancel.caller,
        },
        WireBody::JobEnd(end) => Body::JobEnd {
            job: job_in(&end.job_id)?,
            end: end_in(end.status, end.result.as_ref(), end.error)?,
        },
        WireBody::JobForget(forget) => Body::JobForget { first: forget.first, last: forget.last },
        WireBody::ClusterVersion(version) => Body::ClusterVersion { version: version.version },
        WireBody::Control(control) => Body::Control {
            job: job_in(&control.job_id)?,
            workflow: text_in(control.workflow)?,
            change: change_in(control.change)?,
            request: RequestId(id_in(&control.request_id)?),
        },
        WireBody::DcAssign(assign) => Body::DcAssign {
            job: job_in(&assign.job_id)?,
            datacenter: text_in(assign.datacenter)?,
            try_number: assign.try_number,
            share_ppm: assign.share_ppm,
        },
        WireBody::DcEnd(end) => Body::DcEnd {
            part: part_in(end.job)?,
            end: end_in(end.status, end.result.as_ref(), end.error)?,
            is_late: end.late,
        },
        WireBody::DcState(state) => Body::DcState {
            datacenter: text_in(state.datacenter)?,
            class: word_in(state.class)?,
            proposer: node_in(state.proposer)?,
        },
    })
}

fn clock_out((workflow, elapsed_ms): (&String, &u64)) -> wire::WorkflowClock {
    wire::WorkflowClock { workflow: workflow.clone(), elapsed_ms: *elapsed_ms }
}

fn worker_out(body: &Body) -> WireBody {
    match body {
        Body::WorkerGrant { worker, boot, cores, lease_ms, capabilities } => {
            WireBody::WorkerGrant(wire::WorkerGrant {
                worker: Some(wire::NodeRef {
                    node_id: worker.get(),
                    boot_epoch: boot.0,
                    role: wire::Role::Worker.into(),
                    ..Default::default()
                }),
                lease_ms: *lease_ms,
                cores_total: *cores,
                capabilities: capabilities.iter().cloned().collect(),
            })
        }
        Body::WorkerGone { worker, grant, reason } => WireBody::WorkerGone(wire::WorkerGone {
            worker: worker.get(),
            grant_token: grant.0,
            reason: reason.clone(),
        }),
        Body::WorkerOwner { worker, grant, owner, replaces } => WireBody::WorkerOwner(wire::WorkerOwner {
            worker: worker.get(),
            grant_token: grant.0,
            owner: owner.get(),
            replaces_token: replaces.0,
        }),
        _ => unreachable!("called for the commands about workers"),
    }
}

fn grant_in(grant: wire::WorkerGrant) -> Read<Body> {
    let worker = grant.worker.ok_or(CommandError("no worker"))?;
    Ok(Body::WorkerGrant {
        worker: node_in(worker.node_id)?,
        boot: BootEpoch(worker.boot_epoch),
        cores: grant.cores_total,
        lease_ms: grant.lease_ms,
        capabilities: grant.capabilities.into_iter().collect(),
    })
}

fn id_out(id: [u8; 16]) -> Bytes {
    Bytes::copy_from_slice(&id)
}

fn id_in(bytes: &[u8]) -> Read<[u8; 16]> {
    bytes.try_into().map_err(|_| CommandError("an id has 16 bytes"))
}

fn job_in(bytes: &[u8]) -> Read<JobId> {
    id_in(bytes).map(JobId)
}

fn node_in(number: u64) -> Read<NodeId> {
    NodeId::new(number).ok_or(CommandError("no node"))
}

fn text_in(text: String) -> Read<String> {
    if text.is_empty() { Err(CommandError("a name is empty")) } else { Ok(text) }
}

fn blob_out(blob: BlobId) -> wire::BlobRef {
    wire::BlobRef { hash: Bytes::copy_from_slice(&blob.hash), length: blob.length }
}

fn blob_in(blob: &wire::BlobRef) -> Read<BlobId> {
    let hash = blob.hash[..].try_into().map_err(|_| CommandError("a hash has 32 bytes"))?;
    Ok(BlobId { hash, length: blob.length })
}

fn attempt_out(segment: &Segment, attempt: u32) -> wire::AttemptRef {
    let segment = wire::SegmentRef {
        job_id: id_out(segment.job.0),
        workflow: segment.workflow.clone(),
        segment: segment.number,
    };
    wire::AttemptRef { segment: Some(segment), attempt }
}

fn attempt_in(attempt: Option<wire::AttemptRef>) -> Read<(Segment, u32)> {
    let attempt = attempt.ok_or(CommandError("no attempt"))?;
    let segment = attempt.segment.ok_or(CommandError("no segment"))?;
    let job = job_in(&segment.job_id)?;
    let segment = Segment { job, workflow: text_in(segment.workflow)?, number: segment.segment };
    Ok((segment, attempt.attempt))
}

fn change_out(change: LoadChange) -> WireChange {
    match change {
        LoadChange::Vus(vus) => WireChange::Vus(vus),
        LoadChange::RateMilli(rate) => WireChange::RateMilli(rate),
        LoadChange::Pause => WireChange::Pause(true),
        LoadChange::Resume => WireChange::Resume(true),
    }
}

fn change_in(change: Option<WireChange>) -> Read<LoadChange> {
    match change {
        Some(WireChange::Vus(vus)) => Ok(LoadChange::Vus(vus)),
        Some(WireChange::RateMilli(rate)) => Ok(LoadChange::RateMilli(rate)),
        Some(WireChange::Pause(true)) => Ok(LoadChange::Pause),
        Some(WireChange::Resume(true)) => Ok(LoadChange::Resume),
        Some(WireChange::Pause(false) | WireChange::Resume(false)) | None => {
            Err(CommandError("no change of load"))
        }
    }
}

fn part_out(part: &PartId) -> wire::JobRef {
    let (job_id, datacenter) = (id_out(part.job.0), part.datacenter.clone());
    wire::JobRef { job_id, datacenter, dc_token: part.token.0 }
}

fn part_in(part: Option<wire::JobRef>) -> Read<PartId> {
    let part = part.ok_or(CommandError("no part"))?;
    let (job, token) = (job_in(&part.job_id)?, Token(part.dc_token));
    Ok(PartId { job, datacenter: text_in(part.datacenter)?, token })
}

fn end_in(status: i32, result: Option<&wire::BlobRef>, error: Option<wire::Error>) -> Read<End> {
    let result = result.map(blob_in).transpose()?;
    Ok(End { status: word_in(status)?, result, error: error.map(error_in) })
}

fn error_out(error: &EndError) -> wire::Error {
    let subject = wire::ErrorDetails { subject: error.subject.clone(), ..Default::default() };
    wire::Error {
        code: error.code,
        message: error.message.clone(),
        details: (!error.subject.is_empty()).then_some(subject),
        ..Default::default()
    }
}

fn error_in(error: wire::Error) -> EndError {
    let subject = error.details.map(|details| details.subject).unwrap_or_default();
    EndError { code: error.code, message: error.message, subject }
}
