//! Parts that several messages have.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_codec::worker_load;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::lease::LeaseError;
use hyperscale_consensus::register::JobId;
use hyperscale_swim::WorkerLoad;
use hyperscale_types::Token;
use hyperscale_wire::connection::Outgoing;
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::{bulk, control};

use crate::message::{AttemptPhase, AttemptStatus, HowEnded, JobAttempt};
use crate::record::parts::{Read, attempt_in, attempt_out, failure_in, failure_out};
use crate::record::{AttemptLeft, RecordError};

/// What an attempt left travels inside of its message up to this size, else as a transfer.
const INLINE_MAX: usize = 128 << 10;

/// A message of the control lane. `call` comes back with its answer; zero: none is expected.
pub(super) fn on_control(call: u64, is_answer: bool, body: control::Body) -> Outgoing {
    Outgoing::Control(wire::Control { call_id: call, answer: is_answer, deadline_ms: 0, body: Some(body) })
}

/// A message of the bulk lane.
pub(super) fn on_bulk(body: bulk::Body) -> wire::Bulk {
    wire::Bulk { body: Some(body), ..wire::Bulk::default() }
}

/// What a worker said of itself.
pub(super) fn load_in(load: Option<wire::WorkerLoad>) -> Read<Box<WorkerLoad>> {
    let load = worker_load(load.ok_or(RecordError::Missing("load"))?);
    load.map(Box::new).map_err(|_| RecordError::Unknown("load"))
}

pub(super) fn millis_out(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn job_out(job: JobId) -> Bytes {
    Bytes::copy_from_slice(&job.0)
}

pub(super) fn job_in(job: &Bytes) -> Read<JobId> {
    job.as_ref().try_into().map(JobId).map_err(|_| RecordError::Unknown("job"))
}

pub(super) fn job_ref_out(job: JobId) -> wire::JobRef {
    wire::JobRef { job_id: job_out(job), ..wire::JobRef::default() }
}

pub(super) fn job_ref_in(job: Option<wire::JobRef>) -> Read<JobId> {
    job_in(&job.ok_or(RecordError::Missing("job"))?.job_id)
}

pub(super) fn job_attempt_out(attempt: JobAttempt) -> wire::JobAttemptRef {
    wire::JobAttemptRef { job_id: job_out(attempt.job), attempt: Some(attempt_out(attempt.attempt)) }
}

pub(super) fn job_attempt_in(attempt: Option<wire::JobAttemptRef>) -> Read<JobAttempt> {
    let attempt = attempt.ok_or(RecordError::Missing("attempt"))?;
    Ok(JobAttempt { job: job_in(&attempt.job_id)?, attempt: attempt_in(attempt.attempt)? })
}

pub(super) fn blob_out(blob: BlobId) -> wire::BlobRef {
    wire::BlobRef { hash: Bytes::copy_from_slice(&blob.hash), length: blob.length }
}

pub(super) fn blob_in(blob: Option<wire::BlobRef>) -> Read<BlobId> {
    let blob = blob.ok_or(RecordError::Missing("blob"))?;
    let hash = blob.hash.as_ref().try_into().map_err(|_| RecordError::Unknown("blob"))?;
    Ok(BlobId { hash, length: blob.length })
}

pub(super) fn status_out(status: &AttemptStatus) -> wire::AttemptState {
    let phase = match status.phase {
        AttemptPhase::Accepted => wire::AttemptPhase::Accepted,
        AttemptPhase::Prepared => wire::AttemptPhase::Prepared,
        AttemptPhase::Ended => wire::AttemptPhase::Ended,
    };
    wire::AttemptState {
        attempt: Some(job_attempt_out(status.attempt)),
        phase: phase.into(),
        finishing: status.is_finishing,
        cores_completed: status.cores_completed.iter().copied().collect(),
        stopped: status.stopped.as_ref().map(failure_out),
        orphaned: status.is_orphaned,
    }
}

pub(super) fn status_in(state: wire::AttemptState) -> Read<AttemptStatus> {
    let phase = match state.phase() {
        wire::AttemptPhase::Unspecified => return Err(RecordError::Unknown("phase")),
        wire::AttemptPhase::Accepted => AttemptPhase::Accepted,
        wire::AttemptPhase::Prepared => AttemptPhase::Prepared,
        wire::AttemptPhase::Ended => AttemptPhase::Ended,
    };
    Ok(AttemptStatus {
        attempt: job_attempt_in(state.attempt)?,
        phase,
        is_finishing: state.finishing,
        cores_completed: state.cores_completed.into_iter().collect(),
        stopped: state.stopped.map(failure_in).transpose()?,
        is_orphaned: state.orphaned,
    })
}

pub(super) fn statuses_in(states: Vec<wire::AttemptState>) -> Read<Vec<AttemptStatus>> {
    states.into_iter().map(status_in).collect()
}

/// How long a lease is, or why it was not renewed.
pub(super) fn lease_out(answer: Result<Duration, LeaseError>) -> (u64, Option<wire::Error>) {
    let error = match answer {
        Ok(lease) => return (millis_out(lease), None),
        Err(error) => error,
    };
    let (code, current) = match error {
        LeaseError::NotHeld => (wire::ErrorCode::NotFound, None),
        LeaseError::Stale { current } => (wire::ErrorCode::StaleGrant, Some(current.0)),
        LeaseError::Ending => (wire::ErrorCode::AlreadyEnded, None),
        LeaseError::NotLeader => (wire::ErrorCode::NotLeader, None),
        LeaseError::Overloaded => (wire::ErrorCode::Overloaded, None),
    };
    let details = current
        .map(|token| wire::ErrorDetails { current_token: Some(token), ..wire::ErrorDetails::default() });
    let message = error.to_string();
    (0, Some(wire::Error { code: code.into(), message, retry_after_ms: 0, details }))
}

pub(super) fn lease_in(lease_ms: u64, error: Option<&wire::Error>) -> Read<Result<Duration, LeaseError>> {
    let Some(error) = error else { return Ok(Ok(Duration::from_millis(lease_ms))) };
    Ok(Err(match error.code() {
        wire::ErrorCode::NotFound => LeaseError::NotHeld,
        wire::ErrorCode::StaleGrant => {
            let current = error.details.as_ref().and_then(|details| details.current_token);
            LeaseError::Stale { current: Token(current.ok_or(RecordError::Missing("current_token"))?) }
        }
        wire::ErrorCode::AlreadyEnded => LeaseError::Ending,
        wire::ErrorCode::NotLeader => LeaseError::NotLeader,
        wire::ErrorCode::Overloaded => LeaseError::Overloaded,
        _ => return Err(RecordError::Unknown("error")),
    }))
}

/// The end of an attempt: a message, or the head of a transfer.
pub(super) fn ended_out(mut head: wire::AttemptResult, left: &AttemptLeft) -> Outgoing {
    let bytes = left.encode();
    if bytes.len() <= INLINE_MAX {
        head.left = bytes;
        return Outgoing::Bulk(on_bulk(bulk::Body::AttemptResult(Box::new(head))));
    }
    Outgoing::Transfer(on_bulk(bulk::Body::AttemptResult(Box::new(head))), bytes)
}

pub(super) fn how_out(how: HowEnded) -> i32 {
    let how = match how {
        HowEnded::Ran => wire::HowEnded::Ran,
        HowEnded::LeaseEnded => wire::HowEnded::LeaseEnded,
        HowEnded::Orphaned => wire::HowEnded::Orphaned,
    };
    how.into()
}

/// The attempt, how it ended and what it left. `transferred`: what followed the head of a transfer.
pub(super) fn ended_in(
    head: &wire::AttemptResult,
    transferred: Option<&Bytes>,
) -> Read<(JobAttempt, HowEnded, AttemptLeft)> {
    let how = match head.how() {
        wire::HowEnded::Unspecified => return Err(RecordError::Unknown("how")),
        wire::HowEnded::Ran => HowEnded::Ran,
        wire::HowEnded::LeaseEnded => HowEnded::LeaseEnded,
        wire::HowEnded::Orphaned => HowEnded::Orphaned,
    };
    let left = AttemptLeft::decode(transferred.unwrap_or(&head.left))?;
    Ok((job_attempt_in(head.attempt.clone())?, how, left))
}
