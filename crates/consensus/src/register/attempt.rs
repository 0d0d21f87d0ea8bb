//! Attempts of segments: given to workers, ended, lost.

use hyperscale_types::Token;

use super::command::{Assign, Segment};
use super::end::End;
use super::job::{Attempt, AttemptState, Job};
use super::limits::{Limit, SEGMENTS_MAX, Share};
use super::worker::Promises;
use super::{Outcome, Refusal, Register};

type Done = Result<Outcome, Refusal>;

impl Register {
    /// Attempts are lost with the grant they were assigned under.
    pub(super) fn lose(&mut self, promised: Promises) {
        for segment in promised.segments.into_keys() {
            let job = self.jobs.get_mut(&segment.job);
            let attempt = job.and_then(|job| job.segments.get_mut(&(segment.workflow, segment.number)));
            if let Some(attempt) = attempt.filter(|attempt| attempt.state == AttemptState::Running) {
                attempt.state = AttemptState::Lost;
            }
        }
    }

    pub(super) fn assign(&mut self, token: Token, assign: Assign) -> Done {
        let job = self.jobs.get(&assign.segment.job).ok_or(Refusal::UnknownJob)?;
        self.may_assign(job, token, &assign)?;
        let attempt = Attempt::new(&assign);
        self.has_room(job, &assign.segment, &attempt)?;
        let worker = self.workers.get_mut(&assign.worker).expect("checked that it has a grant");
        worker.promised.add(assign.segment.clone(), assign.cores);
        let job = self.job_mut(assign.segment.job)?;
        job.segments.insert((assign.segment.workflow, assign.segment.number), attempt);
        Ok(Outcome::Done)
    }

    /// The compare half of compare-and-set.
    fn may_assign(&self, job: &Job, token: Token, assign: &Assign) -> Result<(), Refusal> {
        let token = if bug!(self.bugs, IgnoreTokenOnAssign) { job.token() } else { token };
        job.fence(token)?;
        if job.is_cancelled(&assign.segment.workflow) {
            return Err(Refusal::Cancelled);
        }
        if job.workflow_end(&assign.segment.workflow).is_some() {
            return Err(Refusal::AlreadyEnded);
        }
        let last = job.attempt(&assign.segment.workflow, assign.segment.number);
        if last.is_some_and(|last| last.state == AttemptState::Running)
            && !bug!(self.bugs, AssignWhileRunning)
        {
            return Err(Refusal::Running);
        }
        let next = last.map_or(1, |last| last.number.saturating_add(1));
        if assign.attempt != next {
            return Err(Refusal::WrongAttempt { next });
        }
        let worker = self.workers.get(&assign.worker);
        let current = worker.map(|worker| worker.grant);
        let worker = worker.filter(|worker| worker.grant == assign.grant && worker.boot == assign.boot);
        let worker = worker.ok_or(Refusal::StaleGrant { current })?;
        let are_free = assign.cores > 0 && assign.cores <= worker.free();
        if !are_free && !bug!(self.bugs, DoublePromiseCore) {
            return Err(Refusal::CoresNotFree { free: worker.free() });
        }
        Ok(())
    }

    /// Another attempt takes the place of the one before; only another segment needs room.
    fn has_room(&self, job: &Job, segment: &Segment, attempt: &Attempt) -> Result<(), Refusal> {
        if job.attempt(&segment.workflow, segment.number).is_some() {
            return Ok(());
        }
        Limit::name(&segment.workflow)?;
        Limit::Segments.hold(job.segments.len() + 1, SEGMENTS_MAX)?;
        self.account.room().check(job, attempt.weight(&segment.workflow), Share::Open)
    }

    pub(super) fn attempt_end(&mut self, token: Token, segment: &Segment, number: u32, end: End) -> Done {
        let accepts_stale = bug!(self.bugs, AcceptStaleAttempt);
        let room = self.account.room();
        let job = self.job_mut(segment.job)?;
        job.fence(token)?;
        let end = end.fitted(room, job);
        let place = (segment.workflow.clone(), segment.number);
        let attempt = job.segments.get_mut(&place).ok_or(Refusal::Superseded)?;
        if accepts_stale && attempt.number != number {
            attempt.state = AttemptState::Ended(end);
            return Ok(Outcome::Done);
        }
        if attempt.number != number {
            return Err(Refusal::Superseded);
        }
        match &attempt.state {
            AttemptState::Running => {}
            AttemptState::Ended(known) if known.is_like(&end) => return Ok(Outcome::Repeated),
            AttemptState::Ended(_) | AttemptState::Lost => return Err(Refusal::Superseded),
        }
        attempt.state = AttemptState::Ended(end);
        let (worker, grant) = (attempt.worker, attempt.grant);
        self.release(worker, grant, segment);
        Ok(Outcome::Done)
    }
}

impl Attempt {
    fn new(assign: &Assign) -> Self {
        Self {
            number: assign.attempt,
            worker: assign.worker,
            grant: assign.grant,
            cores: assign.cores,
            vus: assign.vus,
            elapsed_ms: assign.elapsed_ms,
            iterations_left: assign.iterations_left,
            state: AttemptState::Running,
        }
    }
}
