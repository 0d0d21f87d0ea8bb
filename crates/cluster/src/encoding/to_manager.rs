//! What a worker says to a manager.

use hyperscale_codec::worker_load_out;
use hyperscale_types::{BootEpoch, Token};
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::{bulk, control};

use super::parts::{
    ended_in, ended_out, how_out, job_attempt_in, job_attempt_out, job_ref_in, job_ref_out, load_in, on_bulk,
    on_control, status_in, status_out, statuses_in,
};
use crate::message::{CallNumber, DispatchRefusal, ToManager};
use crate::record::RecordError;
use crate::record::parts::Read;

/// What is sent for a message to a manager.
pub fn to_manager_out(message: ToManager) -> Outgoing {
    match message {
        ToManager::Register { call, boot, cores, capabilities, grant, attempts } => {
            let register = wire::Register {
                node: Some(wire::NodeRef { boot_epoch: boot.0, ..wire::NodeRef::default() }),
                cores_total: cores,
                capabilities: capabilities.into_iter().collect(),
                attempts: attempts.iter().map(status_out).collect(),
                grant_token: grant.map_or(0, |grant| grant.0),
                ..wire::Register::default()
            };
            on_control(call.0, false, control::Body::Register(Box::new(register)))
        }
        ToManager::Renew { call, grant, load } => {
            let (kind, load) = (wire::LeaseKind::Worker.into(), Some(worker_load_out(&load)));
            let claim = wire::LeaseClaim { kind, token: grant.0, load, ..wire::LeaseClaim::default() };
            on_control(call.0, false, control::Body::LeaseRenew(wire::LeaseRenew { claims: vec![claim] }))
        }
        ToManager::Taken { status, cores_free } => {
            let taken = wire::DispatchAnswer {
                state: Some(status_out(&status)),
                cores_available: cores_free,
                ..wire::DispatchAnswer::default()
            };
            on_control(0, false, control::Body::DispatchAnswer(Box::new(taken)))
        }
        ToManager::Refused { attempt, token, refusal } => {
            let refused = wire::DispatchAnswer {
                refused: Some(job_attempt_out(attempt)),
                job_leader_token: token.0,
                ..refusal_out(refusal)
            };
            on_control(0, false, control::Body::DispatchAnswer(Box::new(refused)))
        }
        ToManager::Progress { status, windows, dropped } => {
            let windows = windows.into_iter().map(|statistics| wire::ProgressWindow { statistics });
            let progress = wire::Progress {
                state: Some(status_out(&status)),
                windows: windows.collect(),
                windows_dropped: dropped,
            };
            Outgoing::Bulk(on_bulk(bulk::Body::Progress(progress)))
        }
        ToManager::Ended { attempt, token, how, left } => {
            let head = wire::AttemptResult {
                attempt: Some(job_attempt_out(attempt)),
                job_leader_token: token.0,
                how: how_out(how),
                ..wire::AttemptResult::default()
            };
            ended_out(head, &left)
        }
        ToManager::LeaderAccepted { job, token, attempts } => {
            let accepted = wire::JobLeaderChangedAnswer {
                job: Some(job_ref_out(job)),
                job_leader_token: token.0,
                attempts: attempts.iter().map(status_out).collect(),
                stale: false,
            };
            on_control(0, false, control::Body::JobLeaderChangedAnswer(accepted))
        }
        ToManager::StaleToken { job, current } => {
            let stale = wire::JobLeaderChangedAnswer {
                job: Some(job_ref_out(job)),
                job_leader_token: current.0,
                attempts: Vec::new(),
                stale: true,
            };
            on_control(0, false, control::Body::JobLeaderChangedAnswer(stale))
        }
    }
}

/// Reads what a worker said to a manager; nothing if it is something else than that.
pub fn to_manager_in(incoming: Incoming) -> Result<Option<ToManager>, RecordError> {
    Ok(Some(match incoming {
        Incoming::Control(wire::Control { call_id, body: Some(body), .. }) => {
            match control_in(CallNumber(call_id), body)? {
                Some(message) => message,
                None => return Ok(None),
            }
        }
        Incoming::Bulk(wire::Bulk { body: Some(bulk::Body::Progress(progress)), .. }) => {
            let status = progress.state.ok_or(RecordError::Missing("state"))?;
            ToManager::Progress {
                status: status_in(status)?,
                windows: progress.windows.into_iter().map(|window| window.statistics).collect(),
                dropped: progress.windows_dropped,
            }
        }
        Incoming::Bulk(wire::Bulk { body: Some(bulk::Body::AttemptResult(head)), .. }) => {
            let token = Token(head.job_leader_token);
            let (attempt, how, left) = ended_in(&head, None)?;
            ToManager::Ended { attempt, token, how, left }
        }
        Incoming::Transfer(wire::Bulk { body: Some(bulk::Body::AttemptResult(head)), .. }, bytes) => {
            let token = Token(head.job_leader_token);
            let (attempt, how, left) = ended_in(&head, Some(&bytes))?;
            ToManager::Ended { attempt, token, how, left }
        }
        _ => return Ok(None),
    }))
}

fn control_in(call: CallNumber, body: control::Body) -> Read<Option<ToManager>> {
    Ok(Some(match body {
        control::Body::Register(register) => {
            let node = register.node.ok_or(RecordError::Missing("node"))?;
            ToManager::Register {
                call,
                boot: BootEpoch(node.boot_epoch),
                cores: register.cores_total,
                capabilities: register.capabilities.into_iter().collect(),
                grant: (register.grant_token != 0).then_some(Token(register.grant_token)),
                attempts: statuses_in(register.attempts)?,
            }
        }
        control::Body::LeaseRenew(renew) => {
            let claim = renew.claims.into_iter().next().ok_or(RecordError::Missing("claims"))?;
            ToManager::Renew { call, grant: Token(claim.token), load: load_in(claim.load)? }
        }
        control::Body::DispatchAnswer(mut answer) => {
            if let Some(state) = answer.state.take() {
                ToManager::Taken { status: status_in(state)?, cores_free: answer.cores_available }
            } else {
                let (token, refusal) = (Token(answer.job_leader_token), refusal_in(&answer)?);
                ToManager::Refused { attempt: job_attempt_in(answer.refused)?, token, refusal }
            }
        }
        control::Body::JobLeaderChangedAnswer(answer) => {
            let (job, token) = (job_ref_in(answer.job)?, Token(answer.job_leader_token));
            if answer.stale {
                ToManager::StaleToken { job, current: token }
            } else {
                ToManager::LeaderAccepted { job, token, attempts: statuses_in(answer.attempts)? }
            }
        }
        _ => return Ok(None),
    }))
}

fn refusal_out(refusal: DispatchRefusal) -> wire::DispatchAnswer {
    let message = refusal.to_string();
    let mut answer = wire::DispatchAnswer::default();
    let code = match refusal {
        DispatchRefusal::Superseded => wire::ErrorCode::Superseded,
        DispatchRefusal::OtherOrder => wire::ErrorCode::DispatchMismatch,
        DispatchRefusal::CoresNotFree { free } => {
            answer.cores_available = free;
            wire::ErrorCode::CoresNotFree
        }
        DispatchRefusal::Capabilities { missing } => {
            answer.capabilities_missing = missing;
            wire::ErrorCode::CapabilityMissing
        }
        DispatchRefusal::Draining => wire::ErrorCode::Draining,
        DispatchRefusal::Cancelled => wire::ErrorCode::Cancelled,
    };
    answer.refusal = Some(wire::Error { code: code.into(), message, ..wire::Error::default() });
    answer
}

fn refusal_in(answer: &wire::DispatchAnswer) -> Read<DispatchRefusal> {
    let error = answer.refusal.as_ref().ok_or(RecordError::Missing("refusal"))?;
    Ok(match error.code() {
        wire::ErrorCode::Superseded => DispatchRefusal::Superseded,
        wire::ErrorCode::DispatchMismatch => DispatchRefusal::OtherOrder,
        wire::ErrorCode::CoresNotFree => DispatchRefusal::CoresNotFree { free: answer.cores_available },
        wire::ErrorCode::CapabilityMissing => {
            DispatchRefusal::Capabilities { missing: answer.capabilities_missing.clone() }
        }
        wire::ErrorCode::Draining => DispatchRefusal::Draining,
        wire::ErrorCode::Cancelled => DispatchRefusal::Cancelled,
        _ => return Err(RecordError::Unknown("refusal")),
    })
}
