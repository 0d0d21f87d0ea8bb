//! Attempts of segments: ended, lost, and what was measured before they were lost.

use hyperscale_types::{NodeId, Token};

use super::assign::AssignSegment;
use super::change::Change;
use super::command::{JobId, Segment};
use super::end::{End, EndStatus};
use super::job::Job;
use super::worker::Promises;
use super::{CommandRefusal, Outcome, Register};
use crate::blob::BlobId;

type Done = Result<Outcome, CommandRefusal>;

/// One attempt of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Counts from 1.
    pub number: u32,
    /// The worker that got it.
    pub worker: NodeId,
    /// The grant of that worker.
    pub grant: Token,
    /// The core group it shares; zero: its cores are its own.
    pub group: u32,
    /// Cores, its own or those of its group.
    pub cores: u32,
    /// Virtual users.
    pub vus: u32,
    /// Where in the workflow's load curve it joined.
    pub elapsed_ms: u64,
    /// Iterations that were left to it, if they are counted.
    pub iterations_left: Option<u64>,
    /// What became of it.
    pub state: AttemptState,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttemptState {
    /// Given to its worker and not heard of since, as far as the log goes.
    Running,
    /// Its worker's lease ran out.
    Lost {
        /// What was measured before, if its job leader committed it.
        windows: Option<BlobId>,
    },
    /// It ended; this is what counts.
    Ended(End),
}

impl Attempt {
    pub(super) fn new(it: &AssignSegment) -> Self {
        Self {
            number: it.attempt,
            worker: it.worker,
            grant: it.grant,
            group: it.group,
            cores: it.cores,
            vus: it.vus,
            elapsed_ms: it.elapsed_ms,
            iterations_left: it.iterations_left,
            state: AttemptState::Running,
        }
    }

    /// Whether its worker's lease ran out, or its worker said so.
    pub fn is_lost(&self) -> bool {
        match &self.state {
            AttemptState::Lost { .. } => true,
            AttemptState::Ended(end) => end.status == EndStatus::Lost,
            AttemptState::Running => false,
        }
    }

    /// Whether its worker did not take it.
    pub fn is_refused(&self) -> bool {
        matches!(&self.state, AttemptState::Ended(end) if end.status == EndStatus::Refused)
    }
}

impl Register {
    /// Attempts are lost with the grant they were assigned under.
    pub(super) fn lose(&mut self, promised: Promises) {
        for segment in promised.into_segments() {
            if let Some(job) = self.jobs.get_mut(&segment.job) {
                job.lose_attempt(&segment);
            }
            self.changes.push(Change::Segment(segment));
        }
    }

    pub(super) fn attempt_end(&mut self, token: Token, segment: Segment, number: u32, end: End) -> Done {
        let accepts_stale = bug!(self.bugs, AcceptStaleAttempt);
        let room = self.account.room();
        let job = self.job_mut(segment.job)?;
        job.fence(token)?;
        let record = job.segment(&segment.workflow, segment.number).ok_or(CommandRefusal::Superseded)?;
        let last = record.last();
        if last.number != number && !accepts_stale {
            return Err(CommandRefusal::Superseded);
        }
        match &last.state {
            AttemptState::Running => {}
            AttemptState::Ended(known) if known.is_like(&end) => return Ok(Outcome::Repeated),
            AttemptState::Ended(_) | AttemptState::Lost { .. } if accepts_stale => {}
            AttemptState::Ended(_) | AttemptState::Lost { .. } => return Err(CommandRefusal::Superseded),
        }
        let (worker, grant, is_own) = (last.worker, last.grant, last.number == number);
        let end = job.keep_end(room, end);
        job.end_attempt(&segment, end);
        if is_own {
            self.release(worker, grant, &segment);
        }
        self.changes.push(Change::Segment(segment));
        Ok(Outcome::Done)
    }

    /// Windows of a lost attempt count once they are committed; those of any other are its end's.
    pub(super) fn attempt_windows(
        &mut self,
        token: Token,
        segment: Segment,
        number: u32,
        blob: BlobId,
    ) -> Done {
        let job = self.job_mut(segment.job)?;
        job.fence(token)?;
        let record = job.segment_mut(&segment.workflow, segment.number).ok_or(CommandRefusal::Superseded)?;
        let attempt = record.attempts.iter_mut().find(|attempt| attempt.number == number);
        let attempt = attempt.ok_or(CommandRefusal::Superseded)?;
        let AttemptState::Lost { windows } = &mut attempt.state else { return Err(CommandRefusal::NotLost) };
        match windows {
            Some(known) if *known == blob => return Ok(Outcome::Repeated),
            Some(_) => return Err(CommandRefusal::AlreadyEnded),
            None => *windows = Some(blob),
        }
        job.tally.blob_bytes += blob.length;
        self.changes.push(Change::Segment(segment));
        Ok(Outcome::Done)
    }

    pub(super) fn job_mut(&mut self, job: JobId) -> Result<&mut Job, CommandRefusal> {
        self.jobs.get_mut(&job).ok_or_else(|| self.ended.refusal(job))
    }
}
