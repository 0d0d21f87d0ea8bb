//! What managers say to each other beside the log.

use hyperscale_codec::worker_load_out;
use hyperscale_consensus::lease::Claim;
use hyperscale_types::{NodeId, Token};
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::{bulk, control};

use super::parts::{ended_in, ended_out, how_out, job_attempt_out, lease_in, lease_out, load_in, on_control};
use crate::manager::ToPeer;
use crate::message::{CallNumber, WorkerSaid};
use crate::record::RecordError;
use crate::record::parts::Read;

/// What is sent for a message to another manager.
pub fn to_peer_out(message: ToPeer) -> Outgoing {
    match message {
        ToPeer::Here { is_leaving } => presence(wire::Presence { leaving: is_leaving, ..Default::default() }),
        ToPeer::Removed => presence(wire::Presence { removed: true, ..Default::default() }),
        ToPeer::RollCall => presence(wire::Presence { asks: true, ..Default::default() }),
        ToPeer::Workers(said) => {
            let workers = said.into_iter().map(|it| wire::LeaseClaim {
                kind: wire::LeaseKind::Worker.into(),
                holder: it.worker.get(),
                token: it.grant.0,
                load: Some(worker_load_out(&it.load)),
                number: it.number.0,
                ..wire::LeaseClaim::default()
            });
            presence(wire::Presence { workers: workers.collect(), ..Default::default() })
        }
        ToPeer::Renewals { batch, claims } => {
            let claim = |claim: Claim<NodeId>| wire::LeaseClaim {
                kind: wire::LeaseKind::Worker.into(),
                holder: claim.key.get(),
                token: claim.token.0,
                ..wire::LeaseClaim::default()
            };
            let claims = claims.into_iter().map(claim).collect();
            on_control(batch, false, control::Body::LeaseRenew(wire::LeaseRenew { claims }))
        }
        ToPeer::RenewalsAnswered { batch, answers } => {
            let grants = answers.into_iter().map(|(worker, answer)| {
                let (lease_ms, error) = lease_out(answer);
                let (kind, holder) = (wire::LeaseKind::Worker.into(), worker.get());
                wire::LeaseGrant { kind, holder, lease_ms, error, ..wire::LeaseGrant::default() }
            });
            let renewed = wire::LeaseRenewed { grants: grants.collect() };
            on_control(batch, true, control::Body::LeaseRenewed(renewed))
        }
        ToPeer::AttemptEnded { worker, attempt, how, left } => {
            let head = wire::AttemptResult {
                attempt: Some(job_attempt_out(attempt)),
                worker: worker.get(),
                how: how_out(how),
                ..wire::AttemptResult::default()
            };
            ended_out(head, &left)
        }
    }
}

/// Reads what another manager said; nothing if it is something else than that.
pub fn to_peer_in(incoming: Incoming) -> Result<Option<ToPeer>, RecordError> {
    Ok(Some(match incoming {
        Incoming::Control(wire::Control { call_id, body: Some(body), .. }) => match body {
            control::Body::Presence(wire::Presence { asks: true, .. }) => ToPeer::RollCall,
            control::Body::Presence(wire::Presence { removed: true, .. }) => ToPeer::Removed,
            control::Body::Presence(wire::Presence { workers, .. }) if !workers.is_empty() => {
                ToPeer::Workers(workers.iter().map(said_in).collect::<Read<_>>()?)
            }
            control::Body::Presence(wire::Presence { leaving, .. }) => ToPeer::Here { is_leaving: leaving },
            control::Body::LeaseRenew(renew) => ToPeer::Renewals {
                batch: call_id,
                claims: renew.claims.iter().map(claim_in).collect::<Read<_>>()?,
            },
            control::Body::LeaseRenewed(renewed) => {
                let answer = |grant: &wire::LeaseGrant| {
                    Ok((node_in(grant.holder)?, lease_in(grant.lease_ms, grant.error.as_ref())?))
                };
                let answers = renewed.grants.iter().map(answer).collect::<Read<_>>()?;
                ToPeer::RenewalsAnswered { batch: call_id, answers }
            }
            _ => return Ok(None),
        },
        Incoming::Bulk(wire::Bulk { body: Some(bulk::Body::AttemptResult(head)), .. }) => {
            let (attempt, how, left) = ended_in(&head, None)?;
            ToPeer::AttemptEnded { worker: node_in(head.worker)?, attempt, how, left: Box::new(left) }
        }
        Incoming::Transfer(wire::Bulk { body: Some(bulk::Body::AttemptResult(head)), .. }, bytes) => {
            let (attempt, how, left) = ended_in(&head, Some(&bytes))?;
            ToPeer::AttemptEnded { worker: node_in(head.worker)?, attempt, how, left: Box::new(left) }
        }
        _ => return Ok(None),
    }))
}

fn presence(presence: wire::Presence) -> Outgoing {
    on_control(0, false, control::Body::Presence(presence))
}

fn said_in(claim: &wire::LeaseClaim) -> Read<WorkerSaid> {
    Ok(WorkerSaid {
        worker: node_in(claim.holder)?,
        grant: Token(claim.token),
        number: CallNumber(claim.number),
        load: load_in(claim.load)?,
    })
}

fn node_in(node: u64) -> Read<NodeId> {
    NodeId::new(node).ok_or(RecordError::Missing("worker"))
}

fn claim_in(claim: &wire::LeaseClaim) -> Read<Claim<NodeId>> {
    Ok(Claim { key: node_in(claim.holder)?, token: Token(claim.token) })
}
