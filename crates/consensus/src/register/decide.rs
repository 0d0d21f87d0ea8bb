//! Decisions of the core that drives a job.
//!
//! The register knows enough about a job that nothing runs twice and nobody who was replaced decides anything. Why, when and with
//! which share of its load something runs is known to the core that drives the job, as entries of its own. They are kept here in
//! the order of the log, unread: the next leader of the job reads them and knows what its predecessor knew.
//!
//! A decision that the register has a word for carries that command, and both are applied or none: what the core takes for decided
//! and what the register enforces never differ. Once the job has ended its result says everything, and its decisions are forgotten.

use std::collections::BTreeSet;

use hyperscale_types::Token;

use super::change::Change;
use super::command::{Body, CONTEXT_BYTES_MAX, Command, JobId, Values};
use super::job::Job;
use super::limits::Share;
use super::weight::{decision_weight, values_bytes};
use super::{CommandRefusal, Outcome, Register};

/// Room of a job that only decisions which bring it closer to its end may use: those of all its attempts and workflows.
const CLOSING_ROOM: usize = 256 << 10;

/// A decision and the command that carries it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decide {
    /// The job that is decided about.
    pub job: JobId,
    /// The decision, in the encoding of the core that drives jobs.
    pub decision: Values,
    /// One of `Ready`, `Assign`, `AttemptEnd`, `AttemptWindows`, `Context`, `WorkflowEnd` and `Control`, about the same job; none: the decision
    /// concerns nobody but the job's own core. Any other command is left out when it is encoded.
    pub effect: Option<Body>,
    /// Whether it brings the job closer to its end, for which room is kept: an end, or a stop.
    pub closes: bool,
}

impl Register {
    pub(super) fn decide(
        &mut self,
        index: u64,
        token: Token,
        decide: Decide,
        jobs: &BTreeSet<JobId>,
    ) -> Result<Outcome, CommandRefusal> {
        let Decide { job: id, decision, effect, closes } = decide;
        let room = self.account.room();
        let job = self.job_mut(id)?;
        job.fence(token)?;
        if matches!(&decision, Values::Inline(bytes) if bytes.len() > CONTEXT_BYTES_MAX) {
            return Err(CommandRefusal::TooLarge);
        }
        let weight = decision_weight(&decision);
        if closes {
            room.check(job, weight, Share::Closing)?;
        } else {
            room.check(job, weight + CLOSING_ROOM, Share::Open)?;
        }
        // The room is taken first, so that the command does not find it free.
        job.tally.weight += weight;
        let outcome = match effect {
            Some(effect) if effect.job() != Some(id) => Err(CommandRefusal::UnknownJob),
            Some(effect) => self.dispatch(index, Command { token, body: effect }, jobs),
            None => Ok(Outcome::Done),
        };
        let job = self.job_mut(id)?;
        match outcome {
            // It was decided before, and its decision with it.
            Err(_) | Ok(Outcome::Repeated | Outcome::Controlled { is_repeat: true, .. }) => {
                job.tally.weight -= weight;
            }
            Ok(_) => {
                job.tally.blob_bytes += values_bytes(&decision);
                job.decisions.push(decision);
                self.changes.push(Change::Decision(id));
            }
        }
        outcome
    }
}

impl Job {
    /// What the core that drives the job has decided so far, in the order of the log. Empty once the job has ended.
    pub fn decisions(&self) -> &[Values] {
        &self.decisions
    }

    pub(super) fn forget_decisions(&mut self) {
        for decision in std::mem::take(&mut self.decisions) {
            self.tally.weight -= decision_weight(&decision);
            self.tally.blob_bytes -= values_bytes(&decision);
        }
    }
}

impl Body {
    /// The one job that a command a decision may carry is about.
    fn job(&self) -> Option<JobId> {
        match self {
            Self::Ready { job, .. }
            | Self::Context { job, .. }
            | Self::WorkflowEnd { job, .. }
            | Self::Control { job, .. } => Some(*job),
            Self::Assign(assign) => Some(assign.job),
            Self::AttemptEnd { segment, .. } | Self::AttemptWindows { segment, .. } => Some(segment.job),
            _ => None,
        }
    }
}
