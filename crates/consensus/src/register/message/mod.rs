//! Commands as the messages of `proto/log.proto`, and back. What is missing or unknown is an error, never a default.

mod accept;
mod assign;
mod outcome;
mod parts;

use accept::{accept_in, accept_out};
use assign::{assign_in, assign_out};
use bytes::Bytes;
use hyperscale_types::{BootEpoch, Token};
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::command::Body as WireBody;
use hyperscale_wire::messages::decide::Effect;
use parts::{
    attempt_in, attempt_out, blob_in, blob_out, change_in, change_out, end_in, error_in, error_out, id_in,
    id_out, job_in, node_in, part_in, part_out, text_in,
};
use prost::Message;

use super::command::{Body, Command, CommandError, RequestId, Values};
use super::decide::Decide;
use super::time::Elapsed;
use super::words::{word_in, word_out};

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
        Body::WorkerGrant { .. }
        | Body::WorkerGone { .. }
        | Body::WorkerOwner { .. }
        | Body::WorkerDrain { .. } => worker_out(body),
        Body::Ready { job, workflows, priority, least_cores } => WireBody::Ready(wire::Ready {
            job_id: id_out(job.0),
            workflows: workflows.iter().cloned().collect(),
            priority: word_out(*priority),
            least_cores: *least_cores,
        }),
        Body::Decide(decide) => WireBody::Decide(decide_out(decide)),
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
        Body::Cancel { job, workflows, named, request, reason, caller } => {
            WireBody::Cancel(wire::CancelMark {
                job_id: id_out(job.0),
                workflows: workflows.clone(),
                named: named.clone(),
                request_id: id_out(request.0),
                reason: reason.clone(),
                caller: caller.clone(),
            })
        }
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
        Body::JobEnd { job, end, elapsed_ms } => WireBody::JobEnd(wire::JobEnd {
            job_id: id_out(job.0),
            status: word_out(end.status),
            result: end.result.map(blob_out),
            error: end.error.as_ref().map(error_out),
            elapsed_ms: *elapsed_ms,
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
        WireBody::WorkerDrain(it) => {
            Body::WorkerDrain { worker: node_in(it.worker)?, grant: Token(it.grant_token) }
        }
        WireBody::Ready(ready) => Body::Ready {
            job: job_in(&ready.job_id)?,
            workflows: ready.workflows.into_iter().collect(),
            priority: word_in(ready.priority)?,
            least_cores: ready.least_cores,
        },
        WireBody::Decide(decide) => Body::Decide(Box::new(decide_in(decide)?)),
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
            named: cancel.named,
            request: RequestId(id_in(&cancel.request_id)?),
            reason: cancel.reason,
            caller: cancel.caller,
        },
        WireBody::JobEnd(end) => Body::JobEnd {
            job: job_in(&end.job_id)?,
            elapsed_ms: end.elapsed_ms,
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

fn decide_out(decide: &Decide) -> wire::Decide {
    let (inline, blob) = match &decide.decision {
        Values::Inline(bytes) => (bytes.clone(), None),
        Values::Blob(blob) => (Bytes::new(), Some(blob_out(*blob))),
    };
    let effect = decide.effect.as_ref().and_then(|effect| match body_out(effect) {
        WireBody::Ready(it) => Some(Effect::Ready(it)),
        WireBody::Assign(it) => Some(Effect::Assign(it)),
        WireBody::AttemptEnd(it) => Some(Effect::AttemptEnd(it)),
        WireBody::Context(it) => Some(Effect::Context(it)),
        WireBody::WorkflowEnd(it) => Some(Effect::WorkflowEnd(it)),
        WireBody::Control(it) => Some(Effect::Control(it)),
        WireBody::AttemptWindows(it) => Some(Effect::AttemptWindows(it)),
        _ => None,
    });
    wire::Decide { job_id: id_out(decide.job.0), inline, blob, effect, closes: decide.closes }
}

fn decide_in(decide: wire::Decide) -> Read<Decide> {
    let decision = match decide.blob {
        Some(blob) => Values::Blob(blob_in(&blob)?),
        None => Values::Inline(decide.inline),
    };
    let effect = decide.effect.map(|effect| match effect {
        Effect::Ready(it) => WireBody::Ready(it),
        Effect::Assign(it) => WireBody::Assign(it),
        Effect::AttemptEnd(it) => WireBody::AttemptEnd(it),
        Effect::Context(it) => WireBody::Context(it),
        Effect::WorkflowEnd(it) => WireBody::WorkflowEnd(it),
        Effect::Control(it) => WireBody::Control(it),
        Effect::AttemptWindows(it) => WireBody::AttemptWindows(it),
    });
    let (job, effect) = (job_in(&decide.job_id)?, effect.map(body_in).transpose()?);
    Ok(Decide { job, decision, effect, closes: decide.closes })
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
        Body::WorkerDrain { worker, grant } => {
            WireBody::WorkerDrain(wire::WorkerDrain { worker: worker.get(), grant_token: grant.0 })
        }
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
