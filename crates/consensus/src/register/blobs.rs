//! Which blobs the register refers to: what a voter that joins must fetch, and what nobody may collect.

use std::collections::BTreeSet;

use super::Register;
use super::attempt::AttemptState;
use super::command::Values;
use super::end::End;
use super::job::Job;
use super::part::PartState;
use crate::blob::BlobId;

impl Register {
    /// Every blob that a job refers to, and the chunks. What sealed jobs refer to is known once their chunks were read, see
    /// [`Register::supply`](crate::Machine::supply).
    pub fn blobs(&self) -> BTreeSet<BlobId> {
        let of_jobs = self.jobs.values().flat_map(Job::blobs);
        of_jobs.chain(self.ended.blobs()).chain(self.chunks().map(|chunk| chunk.blob)).collect()
    }
}

impl Job {
    /// Every blob that the job refers to: plan, contexts, results, and windows of lost attempts.
    pub fn blobs(&self) -> BTreeSet<BlobId> {
        let mut blobs = BTreeSet::from([self.plan]);
        blobs.extend(self.end.as_ref().and_then(|end| end.how.result));
        for workflow in self.workflows.values() {
            if let Some((_, Values::Blob(blob))) = &workflow.context {
                blobs.insert(*blob);
            }
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
