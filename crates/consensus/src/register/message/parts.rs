//! What several commands are made of: ids, blobs, segments, ends and errors.

use bytes::Bytes;
use hyperscale_types::{NodeId, Token};
use hyperscale_wire::messages as wire;
use hyperscale_wire::messages::job_control::Change as WireChange;

use super::Read;
use crate::blob::BlobId;
use crate::register::command::{CommandError, JobId, LoadChange, PartId, Segment};
use crate::register::end::{End, EndError};
use crate::register::words::word_in;

pub(super) fn id_out(id: [u8; 16]) -> Bytes {
    Bytes::copy_from_slice(&id)
}

pub(super) fn id_in(bytes: &[u8]) -> Read<[u8; 16]> {
    bytes.try_into().map_err(|_| CommandError("an id has 16 bytes"))
}

pub(super) fn job_in(bytes: &[u8]) -> Read<JobId> {
    id_in(bytes).map(JobId)
}

pub(super) fn node_in(number: u64) -> Read<NodeId> {
    NodeId::new(number).ok_or(CommandError("no node"))
}

pub(super) fn text_in(text: String) -> Read<String> {
    if text.is_empty() { Err(CommandError("a name is empty")) } else { Ok(text) }
}

pub(super) fn blob_out(blob: BlobId) -> wire::BlobRef {
    wire::BlobRef { hash: Bytes::copy_from_slice(&blob.hash), length: blob.length }
}

pub(super) fn blob_in(blob: &wire::BlobRef) -> Read<BlobId> {
    let hash = blob.hash[..].try_into().map_err(|_| CommandError("a hash has 32 bytes"))?;
    Ok(BlobId { hash, length: blob.length })
}

pub(super) fn attempt_out(segment: &Segment, attempt: u32) -> wire::AttemptRef {
    let segment = wire::SegmentRef {
        job_id: id_out(segment.job.0),
        workflow: segment.workflow.clone(),
        segment: segment.number,
    };
    wire::AttemptRef { segment: Some(segment), attempt }
}

pub(super) fn attempt_in(attempt: Option<wire::AttemptRef>) -> Read<(Segment, u32)> {
    let attempt = attempt.ok_or(CommandError("no attempt"))?;
    let segment = attempt.segment.ok_or(CommandError("no segment"))?;
    let job = job_in(&segment.job_id)?;
    let segment = Segment { job, workflow: text_in(segment.workflow)?, number: segment.segment };
    Ok((segment, attempt.attempt))
}

pub(super) fn change_out(change: LoadChange) -> WireChange {
    match change {
        LoadChange::Vus(vus) => WireChange::Vus(vus),
        LoadChange::RateMilli(rate) => WireChange::RateMilli(rate),
        LoadChange::Pause => WireChange::Pause(true),
        LoadChange::Resume => WireChange::Resume(true),
    }
}

pub(super) fn change_in(change: Option<WireChange>) -> Read<LoadChange> {
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

pub(super) fn part_out(part: &PartId) -> wire::JobRef {
    let (job_id, datacenter) = (id_out(part.job.0), part.datacenter.clone());
    wire::JobRef { job_id, datacenter, dc_token: part.token.0 }
}

pub(super) fn part_in(part: Option<wire::JobRef>) -> Read<PartId> {
    let part = part.ok_or(CommandError("no part"))?;
    let (job, token) = (job_in(&part.job_id)?, Token(part.dc_token));
    Ok(PartId { job, datacenter: text_in(part.datacenter)?, token })
}

pub(super) fn end_in(status: i32, result: Option<&wire::BlobRef>, error: Option<wire::Error>) -> Read<End> {
    let result = result.map(blob_in).transpose()?;
    Ok(End { status: word_in(status)?, result, error: error.map(error_in) })
}

pub(super) fn error_out(error: &EndError) -> wire::Error {
    let subject = wire::ErrorDetails { subject: error.subject.clone(), ..Default::default() };
    wire::Error {
        code: error.code,
        message: error.message.clone(),
        details: (!error.subject.is_empty()).then_some(subject),
        ..Default::default()
    }
}

pub(super) fn error_in(error: wire::Error) -> EndError {
    let subject = error.details.map(|details| details.subject).unwrap_or_default();
    EndError { code: error.code, message: error.message, subject }
}
