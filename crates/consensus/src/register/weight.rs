//! What a job weighs: at least the bytes it takes in a snapshot, now and when everything in it has ended. Kept as a running
//! sum, so that no command costs more for a large job than for a small one.
//!
//! The room of every end is weighed from the beginning, so that who leads, ends or is lost changes no weight and needs no
//! room. Only the texts of an error come on top; they are left out where there is none. Names are weighed with what is kept
//! under them.

use super::attempt::AttemptState;
use super::command::{JobId, Values};
use super::end::{End, EndError};
use super::job::Job;
use super::pack::packed;
use super::part::{Part, PartState};
use super::workflow::{SegmentRecord, Workflow};
use crate::blob::BlobId;

/// An end without its texts, in whatever says that something ended.
const END_BYTES: usize = 72;
/// A job beside its texts, options, workflows, controls and parts: ids, leader, end, counters, and its claim.
const JOB_BYTES: usize = 2 * size_of::<JobId>() + 256 + END_BYTES;
/// A workflow beside its name, segments and values: counters and its end; its name in the job's claim.
pub(super) const WORKFLOW_BYTES: usize = 64 + END_BYTES;
/// A segment beside its attempts.
pub(super) const SEGMENT_BYTES: usize = 16;
/// An attempt beside the name of its workflow, which workers keep with it: its end, and what is promised for it.
pub(super) const ATTEMPT_BYTES: usize = 64 + END_BYTES + PROMISED_BYTES;
/// What a worker keeps of an attempt that runs, and a former grant that is kept for it.
const PROMISED_BYTES: usize = 36 + 36;
/// A part beside the name of its datacenter.
const PART_BYTES: usize = 32 + END_BYTES;

/// Sums over a job. They follow from the rest of it and are not in a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// What it weighs.
    pub(super) weight: usize,
    /// Bytes of the blobs it refers to.
    pub(super) blob_bytes: u64,
    /// Attempts and parts that run.
    pub(super) running: u32,
    pub(super) segments: u32,
    /// Attempts that were lost.
    pub(super) lost: u32,
    /// Attempts that were refused.
    pub(super) refused: u32,
}

impl Tally {
    /// The sums of a job, counted.
    pub(super) fn of(job: &Job) -> Self {
        let mut tally = Self {
            weight: job.head_weight() + job.cancelled.weight(),
            blob_bytes: job.plan.length,
            ..Self::default()
        };
        tally.weight += texts(job.end.as_ref().map(|end| &end.how));
        tally.blob_bytes += job.end.as_ref().map_or(0, |end| result(&end.how));
        tally.weight += job.controls.iter().map(packed).sum::<usize>();
        tally.weight += job.decisions.iter().map(decision_weight).sum::<usize>();
        tally.blob_bytes += job.decisions.iter().map(values_bytes).sum::<u64>();
        for (name, workflow) in &job.workflows {
            tally.add_workflow(name, workflow);
        }
        for ((datacenter, _), part) in &job.parts {
            tally.add_part(datacenter, part);
        }
        tally
    }

    fn add_workflow(&mut self, name: &str, workflow: &Workflow) {
        self.weight += WORKFLOW_BYTES + name.len() + workflow.context.as_ref().map_or(0, values_weight);
        self.weight += workflow.end.as_ref().and_then(|(_, error)| error.as_ref()).map_or(0, EndError::texts);
        self.blob_bytes += workflow.context.as_ref().map_or(0, |(_, values)| values_bytes(values));
        self.running += workflow.running;
        self.segments += workflow.segments.len() as u32;
        for record in workflow.segments.values() {
            self.add_segment(name, record);
        }
    }

    fn add_segment(&mut self, workflow: &str, record: &SegmentRecord) {
        self.weight += SEGMENT_BYTES;
        (self.lost, self.refused) = (self.lost + record.lost(), self.refused + record.refused());
        for attempt in &record.attempts {
            self.weight += ATTEMPT_BYTES + workflow.len();
            match &attempt.state {
                AttemptState::Running => {}
                AttemptState::Lost { windows } => {
                    self.blob_bytes += windows.map_or(0, |blob: BlobId| blob.length);
                }
                AttemptState::Ended(end) => {
                    self.weight += texts(Some(end));
                    self.blob_bytes += result(end);
                }
            }
        }
    }

    fn add_part(&mut self, datacenter: &str, part: &Part) {
        self.weight += part_weight(datacenter);
        match &part.state {
            PartState::Running => self.running += 1,
            PartState::Lost { late: None } => {}
            PartState::Ended(end) | PartState::Lost { late: Some(end) } => {
                self.weight += texts(Some(end));
                self.blob_bytes += result(end);
            }
        }
    }
}

impl Job {
    /// What the job weighs, with its key and with what workers keep of it.
    pub(super) fn weight(&self) -> usize {
        self.tally.weight
    }

    /// Everything of it that somebody has to store: its weight, and the blobs it refers to.
    pub(super) fn logical_bytes(&self) -> u64 {
        self.tally.weight as u64 + self.tally.blob_bytes
    }

    fn head_weight(&self) -> usize {
        let texts = 2 * self.key.len() + self.caller.len() + self.name.len();
        JOB_BYTES + texts + packed(&self.options) + packed(&self.origin)
    }
}

/// What a context weighs.
pub(super) fn values_weight((_, values): &(u64, Values)) -> usize {
    48 + if let Values::Inline(bytes) = values { bytes.len() } else { 0 }
}

/// What a decision of the job's core weighs.
pub(super) fn decision_weight(decision: &Values) -> usize {
    packed(decision)
}

/// Bytes of the blob that holds a context.
pub(super) fn values_bytes(values: &Values) -> u64 {
    if let Values::Blob(blob) = values { blob.length } else { 0 }
}

/// What another part adds to its job.
pub(super) fn part_weight(datacenter: &str) -> usize {
    PART_BYTES + datacenter.len()
}

fn texts(end: Option<&End>) -> usize {
    end.and_then(|end| end.error.as_ref()).map_or(0, EndError::texts)
}

fn result(end: &End) -> u64 {
    end.result.map_or(0, |result| result.length)
}
