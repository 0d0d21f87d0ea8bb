//! Which blobs the register refers to: what a voter that joins must fetch, and what nobody may collect.

//!
//! There are as many as jobs that are retained, so they are listed in slices, job by job: jobs that are whole first, then those of
//! the chunk that is being filled, then those of the chunks by number. A job only ever moves forward in that order, and so is
//! listed however it moves meanwhile.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::Register;
use super::attempt::AttemptState;
use super::command::{Body, JobId, Values};
use super::end::End;
use super::job::Job;
use super::part::PartState;
use crate::apply::NameCursor;
use crate::blob::BlobId;

/// What applying hands to the host: no part of the state.
#[derive(Clone, Debug, Default)]
pub(super) struct ForHost {
    /// Chunks that were sealed.
    pub(super) chunks: Vec<(BlobId, Bytes)>,
    /// Blobs that were named.
    pub(super) named: Vec<BlobId>,
}

impl PartialEq for ForHost {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ForHost {}

/// Parts of the register in the order they are listed.
const WHOLE: u8 = 0;
const FILLING: u8 = 1;
const CHUNKS: u8 = 2;

impl Register {
    /// See [`Machine::named_blobs`](crate::Machine::named_blobs). What sealed jobs refer to is known once their chunks were read.
    pub(super) fn list_names(
        &self,
        from: NameCursor,
        limit: usize,
        out: &mut Vec<BlobId>,
    ) -> Option<NameCursor> {
        let end = out.len().saturating_add(limit);
        let first = JobId(from.key.to_be_bytes());
        let next = match from.part {
            WHOLE => {
                let whole = self.jobs.range(first).map(|(id, job)| (*id, job.blobs()));
                list(whole, end, out).unwrap_or(NameCursor { part: FILLING, ..NameCursor::default() })
            }
            FILLING => {
                let filling = self.ended.filling.iter().flat_map(|it| it.jobs.range(first..));
                let filling = filling.map(|(id, job)| (*id, job.blobs.iter().copied()));
                let next = list(filling, end, out).map(|next| NameCursor { part: FILLING, ..next });
                next.unwrap_or(NameCursor { part: CHUNKS, ..NameCursor::default() })
            }
            _ => return self.list_names_of_chunks(from, end, out),
        };
        if out.len() >= end { Some(next) } else { self.list_names(next, end - out.len(), out) }
    }

    fn list_names_of_chunks(
        &self,
        from: NameCursor,
        end: usize,
        out: &mut Vec<BlobId>,
    ) -> Option<NameCursor> {
        let first = u64::try_from(from.key).ok()?;
        for (number, chunk) in self.ended.chunks().range(first..) {
            let listed = if *number == first { from.place } else { 0 };
            let jobs = self.ended.jobs.get(number).map_or(&[][..], Vec::as_slice);
            for (place, job) in jobs.iter().enumerate().skip(listed) {
                if out.len() >= end {
                    return Some(NameCursor { part: CHUNKS, key: u128::from(*number), place });
                }
                out.extend_from_slice(&job.blobs);
            }
            out.push(chunk.blob);
        }
        None
    }
}

/// Lists what jobs refer to; the first one that was not listed any more.
fn list<B: IntoIterator<Item = BlobId>>(
    jobs: impl Iterator<Item = (JobId, B)>,
    end: usize,
    out: &mut Vec<BlobId>,
) -> Option<NameCursor> {
    for (id, blobs) in jobs {
        if out.len() >= end {
            return Some(NameCursor { part: WHOLE, key: u128::from_be_bytes(id.0), place: 0 });
        }
        out.extend(blobs);
    }
    None
}

impl Body {
    /// The blobs that a command names.
    pub(super) fn blobs(&self) -> Vec<BlobId> {
        match self {
            Self::Decide(decide) => {
                let effect = decide.effect.iter().flat_map(Self::blobs);
                decide.decision.blob().into_iter().chain(effect).collect()
            }
            _ => self.blob().into_iter().collect(),
        }
    }

    fn blob(&self) -> Option<BlobId> {
        match self {
            Self::JobAccept(accept) => Some(accept.plan),
            Self::Context { values, .. } => values.blob(),
            Self::AttemptWindows { windows, .. } => Some(*windows),
            Self::AttemptEnd { end, .. } | Self::DcEnd { end, .. } | Self::JobEnd { end, .. } => end.result,
            _ => None,
        }
    }
}

impl Job {
    /// Every blob that the job refers to: plan, decisions, contexts, results, and windows of lost attempts.
    pub fn blobs(&self) -> BTreeSet<BlobId> {
        let mut blobs = BTreeSet::from([self.plan]);
        blobs.extend(self.decisions.iter().filter_map(Values::blob));
        blobs.extend(self.end.as_ref().and_then(|end| end.how.result));
        for workflow in self.workflows.values() {
            blobs.extend(workflow.context.as_ref().and_then(|(_, values)| values.blob()));
            let attempts = workflow.segments.values().flat_map(|record| &record.attempts);
            blobs.extend(attempts.filter_map(|attempt| match &attempt.state {
                AttemptState::Running => None,
                AttemptState::Lost { windows } => *windows,
                AttemptState::Ended(End { result, .. }) => *result,
            }));
        }
        blobs.extend(self.parts.values().filter_map(|part| match &part.state {
            PartState::Ended(end) | PartState::Lost { late: Some(end) } => end.result,
            PartState::Running | PartState::Lost { late: None } => None,
        }));
        blobs
    }
}
