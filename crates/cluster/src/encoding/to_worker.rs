//! What a manager says to a worker.

use std::time::Duration;

use hyperscale_consensus::register::OnIsolation;
use hyperscale_job::segment::RateChange;
use hyperscale_job::{Directive, SegmentOrder};
use hyperscale_types::{NodeId, Rate, Token};
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::{bulk, control};

use super::parts::{
    blob_in, blob_out, job_attempt_in, job_attempt_out, job_in, job_out, job_ref_in, job_ref_out, lease_in,
    lease_out, millis_out, on_bulk, on_control,
};
use crate::message::{Backpressure, CallNumber, Dispatch, JobAttempt, ToWorker};
use crate::record::RecordError;
use crate::record::entry::{assignment_in, assignment_out, phase_in, phase_out};
use crate::record::parts::{Read, json_in, json_out, time_out};

/// What is sent for a message to a worker.
pub fn to_worker_out(message: ToWorker) -> Outgoing {
    match message {
        ToWorker::Registered { call, grant, lease, managers } => {
            let manager = |node: NodeId| wire::NodeRef { node_id: node.get(), ..wire::NodeRef::default() };
            let registered = wire::Registered {
                managers: managers.into_iter().map(manager).collect(),
                grant_token: grant.0,
                lease_ms: lease.map(millis_out),
                ..wire::Registered::default()
            };
            on_control(call.0, true, control::Body::Registered(registered))
        }
        ToWorker::Renewed { call, grant, answer } => {
            let (lease_ms, error) = lease_out(answer);
            let kind = wire::LeaseKind::Worker.into();
            let renewed =
                wire::LeaseGrant { kind, token: grant.0, lease_ms, error, ..wire::LeaseGrant::default() };
            on_control(
                call.0,
                true,
                control::Body::LeaseRenewed(wire::LeaseRenewed { grants: vec![renewed] }),
            )
        }
        ToWorker::Dispatch(dispatch) => {
            on_control(0, false, control::Body::Dispatch(Box::new(dispatch_out(&dispatch))))
        }
        ToWorker::Direct { attempt, token, grant, decisions, directive } => {
            let direct = wire::Direct { decisions, ..direct_out(attempt, (token, grant), directive) };
            on_control(0, false, control::Body::Direct(direct))
        }
        ToWorker::LeaderChanged { job, token } => {
            let changed = wire::JobLeaderChanged {
                job: Some(job_ref_out(job)),
                job_leader_token: token.0,
                ..wire::JobLeaderChanged::default()
            };
            on_control(0, false, control::Body::JobLeaderChanged(changed))
        }
        ToWorker::Confirmed { attempt } => {
            let answer = wire::AttemptResultAnswer { attempt: Some(job_attempt_out(attempt)) };
            Outgoing::Bulk(on_bulk(bulk::Body::AttemptResultAnswer(answer)))
        }
        ToWorker::Backpressure(level) => {
            let level = match level {
                Backpressure::None => wire::BackpressureLevel::None,
                Backpressure::Slower => wire::BackpressureLevel::Slower,
                Backpressure::Batch => wire::BackpressureLevel::Batch,
                Backpressure::Drop => wire::BackpressureLevel::Drop,
            };
            let answer = wire::ProgressAnswer { level: level.into() };
            Outgoing::Bulk(on_bulk(bulk::Body::ProgressAnswer(answer)))
        }
        ToWorker::Drain { grant } => {
            let drain = wire::Drain { grant_token: grant.0, ..wire::Drain::default() };
            on_control(0, false, control::Body::Drain(drain))
        }
    }
}

/// Reads what a manager said to a worker; nothing if it is something else than that.
pub fn to_worker_in(incoming: Incoming) -> Result<Option<ToWorker>, RecordError> {
    Ok(Some(match incoming {
        Incoming::Control(wire::Control { call_id, body: Some(body), .. }) => {
            match control_in(CallNumber(call_id), body)? {
                Some(message) => message,
                None => return Ok(None),
            }
        }
        Incoming::Bulk(wire::Bulk { body: Some(bulk::Body::AttemptResultAnswer(answer)), .. }) => {
            ToWorker::Confirmed { attempt: job_attempt_in(answer.attempt)? }
        }
        Incoming::Bulk(wire::Bulk { body: Some(bulk::Body::ProgressAnswer(answer)), .. }) => {
            ToWorker::Backpressure(match answer.level() {
                wire::BackpressureLevel::Unspecified => return Err(RecordError::Unknown("level")),
                wire::BackpressureLevel::None => Backpressure::None,
                wire::BackpressureLevel::Slower => Backpressure::Slower,
                wire::BackpressureLevel::Batch => Backpressure::Batch,
                wire::BackpressureLevel::Drop => Backpressure::Drop,
            })
        }
        _ => return Ok(None),
    }))
}

fn control_in(call: CallNumber, body: control::Body) -> Read<Option<ToWorker>> {
    Ok(Some(match body {
        control::Body::Registered(registered) => {
            let manager =
                |node: wire::NodeRef| NodeId::new(node.node_id).ok_or(RecordError::Missing("manager"));
            ToWorker::Registered {
                call,
                grant: Token(registered.grant_token),
                lease: registered.lease_ms.map(Duration::from_millis),
                managers: registered.managers.into_iter().map(manager).collect::<Read<_>>()?,
            }
        }
        control::Body::LeaseRenewed(renewed) => {
            let grant = renewed.grants.into_iter().next().ok_or(RecordError::Missing("grants"))?;
            let answer = lease_in(grant.lease_ms, grant.error.as_ref())?;
            ToWorker::Renewed { call, grant: Token(grant.token), answer }
        }
        control::Body::Dispatch(dispatch) => ToWorker::Dispatch(Box::new(dispatch_in(*dispatch)?)),
        control::Body::Direct(direct) => direct_in(direct)?,
        control::Body::JobLeaderChanged(changed) => {
            ToWorker::LeaderChanged { job: job_ref_in(changed.job)?, token: Token(changed.job_leader_token) }
        }
        control::Body::Drain(drain) => ToWorker::Drain { grant: Token(drain.grant_token) },
        _ => return Ok(None),
    }))
}

fn dispatch_out(dispatch: &Dispatch) -> wire::Dispatch {
    let SegmentOrder { assignment, context, setup, offset, iterations_done } = &dispatch.order;
    let on_isolation = match dispatch.on_isolation {
        OnIsolation::Stop => wire::OnIsolation::Stop,
        OnIsolation::Finish => wire::OnIsolation::Finish,
    };
    wire::Dispatch {
        job_id: job_out(dispatch.attempt.job),
        assignment: Some(assignment_out(assignment)),
        job_leader_token: dispatch.token.0,
        grant_token: dispatch.grant.0,
        plan: Some(blob_out(dispatch.plan)),
        cores: dispatch.cores,
        job_time_ns: time_out(dispatch.job_time),
        context: context.iter().map(json_out).collect(),
        setup: setup.iter().map(json_out).collect(),
        offset_ns: time_out(*offset),
        iterations_done: *iterations_done,
        capabilities: dispatch.capabilities.iter().cloned().collect(),
        on_isolation: on_isolation.into(),
    }
}

fn dispatch_in(dispatch: wire::Dispatch) -> Read<Dispatch> {
    let on_isolation = match dispatch.on_isolation() {
        wire::OnIsolation::Unspecified => return Err(RecordError::Unknown("on_isolation")),
        wire::OnIsolation::Stop => OnIsolation::Stop,
        wire::OnIsolation::Finish => OnIsolation::Finish,
    };
    let assignment = assignment_in(dispatch.assignment.ok_or(RecordError::Missing("assignment"))?)?;
    Ok(Dispatch {
        attempt: JobAttempt { job: job_in(&dispatch.job_id)?, attempt: assignment.attempt },
        token: Token(dispatch.job_leader_token),
        grant: Token(dispatch.grant_token),
        plan: blob_in(dispatch.plan)?,
        cores: dispatch.cores,
        job_time: Duration::from_nanos(dispatch.job_time_ns),
        order: SegmentOrder {
            assignment,
            context: dispatch.context.iter().map(json_in).collect::<Read<_>>()?,
            setup: dispatch.setup.iter().map(json_in).collect::<Read<_>>()?,
            offset: Duration::from_nanos(dispatch.offset_ns),
            iterations_done: dispatch.iterations_done,
        },
        capabilities: dispatch.capabilities.into_iter().collect(),
        on_isolation,
    })
}

fn direct_out(attempt: JobAttempt, (token, grant): (Token, Token), directive: Directive) -> wire::Direct {
    let rate = |change: RateChange| wire::RateChange {
        per_second: change.rate.as_per_second(),
        from_ns: time_out(change.from),
        before: change.before,
    };
    wire::Direct {
        attempt: Some(job_attempt_out(attempt)),
        job_leader_token: token.0,
        go_ns: directive.go.map(time_out),
        phase: phase_out(directive.phase).into(),
        paused: directive.paused,
        vus: directive.vus,
        rate: directive.rate.map(rate),
        grant: grant.0,
        decisions: 0,
    }
}

fn direct_in(direct: wire::Direct) -> Read<ToWorker> {
    let rate = |change: wire::RateChange| {
        let is_number = change.per_second.is_finite() && change.before.is_finite();
        is_number
            .then(|| RateChange {
                rate: Rate::per_second(change.per_second),
                from: Duration::from_nanos(change.from_ns),
                before: change.before,
            })
            .ok_or(RecordError::Unknown("rate"))
    };
    let directive = Directive {
        go: direct.go_ns.map(Duration::from_nanos),
        phase: phase_in(direct.phase())?,
        paused: direct.paused,
        vus: direct.vus,
        rate: direct.rate.map(rate).transpose()?,
    };
    let (token, grant, decisions) = (Token(direct.job_leader_token), Token(direct.grant), direct.decisions);
    Ok(ToWorker::Direct { attempt: job_attempt_in(direct.attempt)?, token, grant, decisions, directive })
}
