//! What a job weighs: at least the bytes it takes in a snapshot, now and when everything in it has ended.
//!
//! The room of every end is weighed from the beginning, so that who leads, ends or is lost changes no weight and needs no
//! room. Only the texts of an error come on top; they are left out where there is none.

use super::command::JobId;
use super::end::{End, EndError};
use super::job::{Attempt, AttemptState, Job};
use super::pack::packed;
use super::part::{Part, PartState};

/// An end without its texts, in whatever says that something ended.
const END_BYTES: usize = 72;
/// A leader and its token.
const LEADER_BYTES: usize = 17;
/// Iterations that are left.
const ITERATIONS_BYTES: usize = 9;
/// What a worker keeps of a segment promised to it, beside the name of the workflow.
const PROMISED_BYTES: usize = 28 + FORMER_BYTES;
/// What a former grant takes beside its promises; each has one at least.
const FORMER_BYTES: usize = 36;

impl Job {
    /// With its key, and with what workers keep of it.
    pub(super) fn weight(&self) -> usize {
        let own = 2 * size_of::<JobId>() + packed(&self.key) + packed(self);
        let end = END_BYTES + texts(self.end.as_ref().map(|end| &end.how)) - packed(&self.end);
        let leader = LEADER_BYTES - packed(&self.leader);
        let segments: usize = self.segments().map(|(workflow, _, attempt)| attempt.reserve(workflow)).sum();
        let parts: usize = self.parts().map(|(.., part)| part.reserve()).sum();
        own + end + leader + segments + parts
    }
}

impl Attempt {
    /// What another segment with this attempt adds to its job.
    pub(super) fn weight(&self, workflow: &String) -> usize {
        packed(workflow) + packed(&0u32) + packed(self) + self.reserve(workflow)
    }

    fn reserve(&self, workflow: &str) -> usize {
        let end = if let AttemptState::Ended(end) = &self.state { Some(end) } else { None };
        let ended = END_BYTES + texts(end) - packed(&self.state);
        let iterations = ITERATIONS_BYTES - packed(&self.iterations_left);
        PROMISED_BYTES + workflow.len() + ended + iterations
    }
}

impl Part {
    /// What another part adds to its job.
    pub(super) fn weight(&self, datacenter: &String) -> usize {
        packed(datacenter) + packed(&0u64) + packed(self) + self.reserve()
    }

    fn reserve(&self) -> usize {
        let end = match &self.state {
            PartState::Ended(end) | PartState::Lost { late: Some(end) } => Some(end),
            PartState::Running | PartState::Lost { late: None } => None,
        };
        END_BYTES + texts(end) - packed(&self.state)
    }
}

fn texts(end: Option<&End>) -> usize {
    end.and_then(|end| end.error.as_ref()).map_or(0, EndError::texts)
}
