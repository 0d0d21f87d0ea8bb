//! What a job leader does: the next step of each of its jobs, from what its replica has applied.
//!
//! | the log says                    | step                                                              |
//! | ------------------------------- | ----------------------------------------------------------------- |
//! | nothing of the job was assigned | set-up if it has one, else all load at once, or a claim if there are not enough cores |
//! | set-up completed                | all load                                                          |
//! | attempt lost or refused         | assign the next one to another worker                             |
//! | attempt runs                    | dispatch until its worker answers, under every token anew         |
//! | attempt runs, SWIM says its worker is dead | assign the next one: impatient, and refused until the lease is over |
//! | job cancelled, attempt runs     | tell its worker to stop                                           |
//! | nothing runs, cancelled or not  | tear-down if there was a set-up                                    |
//! | nothing left to do              | end its parts, then the job                                       |
//!
//! The replica may be behind and the manager may have been replaced: the register refuses what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_consensus::register::{Attempt, AttemptState, EndStatus, Job, JobId, JobOptions, Segment};
use hyperscale_types::{NodeId, Now, Token};

use super::aside;
use super::manager::{ManagerAction, ManagerDriver, group_of};
use super::plan;
use super::requests::Purpose;
use crate::log::Letter;
use crate::log::letter::Dispatch;

/// A step without an answer is tried again after this time.
const AGAIN: Duration = Duration::from_millis(1500);
/// A letter to a worker without an answer is sent again after this time.
const SEND_AGAIN: Duration = Duration::from_secs(1);
/// A job for which there is no worker at all fails after this time.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(40);
/// The place of steps that concern the whole job.
pub(super) const WHOLE_JOB: u32 = u32::MAX;

/// What a job leader remembers beside the log; all of it may be forgotten.
#[derive(Debug, Default)]
pub(super) struct Driver {
    /// Steps under way.
    asked: BTreeMap<(JobId, u32), Now>,
    /// Since when each job is led here, under which token.
    led: BTreeMap<JobId, (Token, Now)>,
    /// Letters to workers: when the last one was sent, and whether it was answered.
    dispatched: BTreeMap<(Segment, u32, Token), (Now, bool)>,
    /// Nodes that SWIM says are dead.
    pub(super) dead: BTreeSet<NodeId>,
}

/// A step that follows from the log.
pub(super) enum Step {
    Assign { segment: u32, attempt: u32, avoid: Option<NodeId> },
    Dispatch { segment: u32, attempt: Attempt },
    Stop { segment: u32, attempt: Attempt },
    End(EndStatus),
}

impl Driver {
    /// A step was answered.
    pub(super) fn settled(&mut self, job: JobId, place: u32) {
        self.asked.remove(&(job, place));
    }

    pub(super) fn taken(&mut self, segment: &Segment, attempt: u32) {
        let letters = self.dispatched.range_mut((segment.clone(), attempt, Token(0))..);
        for (_, (_, answered)) in
            letters.take_while(|((it, number, _), _)| it == segment && *number == attempt)
        {
            *answered = true;
        }
    }

    pub(super) fn may_ask(&mut self, now: Now, job: JobId, place: u32) -> bool {
        let due = self.asked.get(&(job, place)).is_none_or(|since| now.since(*since) >= AGAIN);
        if due {
            self.asked.insert((job, place), now);
        }
        due
    }

    fn may_send(&mut self, now: Now, segment: Segment, attempt: u32, token: Token) -> bool {
        match self.dispatched.get_mut(&(segment.clone(), attempt, token)) {
            Some((_, true)) => false,
            Some((sent, false)) if now.since(*sent) < SEND_AGAIN => false,
            Some((sent, false)) => {
                *sent = now;
                true
            }
            None => {
                self.dispatched.insert((segment, attempt, token), (now, false));
                true
            }
        }
    }

    /// Since when the job is led here under this token.
    fn led_since(&mut self, now: Now, job: JobId, token: Token) -> Now {
        let led = self.led.entry(job).or_insert((token, now));
        if led.0 != token {
            *led = (token, now);
        }
        led.1
    }

    fn steps(&self, id: JobId, job: &Job, led_for: Duration, has_workers: bool) -> Vec<Step> {
        let gave_up = !has_workers && led_for >= QUEUE_TIMEOUT;
        if job.is_wholly_cancelled() {
            let stops = running(job).filter(|(segment, _)| *segment != plan::TEAR_DOWN);
            let stops: Vec<Step> = stops.map(|(segment, it)| Step::Stop { segment, attempt: it }).collect();
            return if stops.is_empty() {
                self.finish(id, job, EndStatus::Cancelled, gave_up)
            } else {
                stops
            };
        }
        let mut failed = gave_up;
        if plan::has_set_up(id) {
            match self.step(job, plan::SET_UP) {
                Ok(steps) if steps.is_empty() => {}
                Ok(steps) if !gave_up => return steps,
                Ok(_) | Err(()) => failed = true,
            }
        }
        let mut steps = Vec::new();
        for segment in 0..plan::segments(id) {
            match self.step(job, segment) {
                Ok(step) => steps.extend(step),
                Err(()) => failed = true,
            }
        }
        if failed {
            // What runs is still dispatched, or it would never end.
            steps.retain(|step| !matches!(step, Step::Assign { attempt: 1, .. }));
        }
        let is_idle = running(job).all(|(segment, _)| segment == plan::TEAR_DOWN);
        if failed && is_idle {
            return self.finish(id, job, EndStatus::Failed, gave_up);
        }
        let is_over = plan::segments(id) > 0 || led_for >= plan::length(id);
        if steps.is_empty() && is_idle && is_over {
            return self.finish(id, job, EndStatus::Completed, gave_up);
        }
        steps
    }

    /// Tear-down if there is one to be made, then the end.
    fn finish(&self, id: JobId, job: &Job, status: EndStatus, gave_up: bool) -> Vec<Step> {
        let has_begun = job.workflow(plan::WORKFLOW).is_some_and(|workflow| workflow.started.is_some());
        let last = job.attempt(plan::WORKFLOW, plan::TEAR_DOWN);
        let is_running = last.is_some_and(|last| last.state == AttemptState::Running);
        if plan::has_set_up(id) && has_begun && (!gave_up || is_running) {
            let steps = self.step(job, plan::TEAR_DOWN).unwrap_or_default();
            if !steps.is_empty() {
                return steps;
            }
        }
        vec![Step::End(status)]
    }

    /// The next step of a segment, none, or that there is no hope.
    fn step(&self, job: &Job, segment: u32) -> Result<Vec<Step>, ()> {
        let Some(record) = job.segment(plan::WORKFLOW, segment) else {
            return Ok(vec![Step::Assign { segment, attempt: 1, avoid: None }]);
        };
        let it = record.last();
        let again = Step::Assign { segment, attempt: it.number + 1, avoid: Some(it.worker) };
        match &it.state {
            AttemptState::Ended(end) if end.status == EndStatus::Completed => Ok(Vec::new()),
            AttemptState::Running if self.dead.contains(&it.worker) => Ok(vec![again]),
            AttemptState::Running => Ok(vec![Step::Dispatch { segment, attempt: it.clone() }]),
            AttemptState::Lost { .. } | AttemptState::Ended(..) => {
                let failed = it.number - record.refused();
                if may_retry(&job.options, failed, job.retries()) { Ok(vec![again]) } else { Err(()) }
            }
        }
    }
}

impl ManagerDriver {
    /// One step of every job that is led here, as far as this replica knows.
    pub(super) fn drive(&mut self, now: Now, out: &mut Vec<ManagerAction>) {
        let register = group_of(&self.replica).machine().register();
        let mut led = Vec::new();
        for (id, job) in register.jobs().filter(|(_, job)| job.end.is_none()) {
            let Some((_, token)) = job.leader.filter(|(leader, _)| *leader == self.me) else { continue };
            let led_for = now.since(self.driver.led_since(now, *id, token));
            led.push((*id, token, self.driver.steps(*id, job, led_for, register.workers().len() > 0)));
        }
        for (job, token, steps) in led {
            let (assigns, others): (Vec<Step>, Vec<Step>) =
                steps.into_iter().partition(|step| matches!(step, Step::Assign { .. }));
            self.assign_all(now, job, token, &assigns);
            for step in others {
                self.take_step(now, job, token, step, out);
            }
        }
    }

    fn take_step(&mut self, now: Now, job: JobId, token: Token, step: Step, out: &mut Vec<ManagerAction>) {
        match step {
            Step::Assign { .. } => {}
            Step::Dispatch { segment, attempt } => self.dispatch(now, job, token, segment, &attempt, out),
            Step::Stop { segment, attempt: it } => {
                let (segment, attempt) = (plan::segment(job, segment), it.number);
                if self.driver.may_ask(now, job, segment.number) {
                    let letter = Letter::Stop { segment, attempt, token, grant: it.grant };
                    out.push(ManagerAction::Send { to: it.worker, letter });
                }
            }
            Step::End(status) if self.driver.may_ask(now, job, WHOLE_JOB) => {
                let known = group_of(&self.replica).machine().register().job(job);
                let part = known.and_then(|known| aside::end_of_part(job, known));
                if let Some(end) = part {
                    self.ask(now, Purpose::Step { job, place: WHOLE_JOB }, token, end);
                } else {
                    let result = plan::result(&plan::segment(job, WHOLE_JOB), 1);
                    self.store(now, Purpose::StoreJobResult { job, token, status }, result);
                }
            }
            Step::End(_) => {}
        }
    }

    fn dispatch(
        &mut self,
        now: Now,
        job: JobId,
        token: Token,
        segment: u32,
        it: &Attempt,
        out: &mut Vec<ManagerAction>,
    ) {
        let segment = plan::segment(job, segment);
        if self.driver.may_send(now, segment.clone(), it.number, token) {
            let letter = Letter::Dispatch(Dispatch {
                segment,
                attempt: it.number,
                token,
                grant: it.grant,
                // A group has its cores once; the worker's own table of groups comes with the role cores.
                cores: if it.group > 0 { 0 } else { it.cores },
                length: plan::length(job),
            });
            out.push(ManagerAction::Send { to: it.worker, letter });
        }
    }
}

/// Whether a segment gets a further attempt after some that were taken and failed. A refusal costs the budget of its job only:
/// after a time without a cluster leader all workers refuse until their leases are renewed, one after the other.
fn may_retry(options: &JobOptions, failed: u32, (lost, refused): (u32, u32)) -> bool {
    failed <= options.max_retries && lost + refused <= options.retry_budget
}

fn running(job: &Job) -> impl Iterator<Item = (u32, Attempt)> + '_ {
    let runs = |it: &Attempt| it.state == AttemptState::Running;
    job.segments().filter(move |(_, _, it)| runs(it)).map(|(_, segment, it)| (segment, it.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_cost_the_budget_of_the_job_and_not_the_retries_of_the_segment() {
        let options = JobOptions::default();
        assert_eq!((options.max_retries, options.retry_budget), (3, 20));
        assert!(may_retry(&options, 0, (0, 20)) && !may_retry(&options, 0, (0, 21)));
        assert!(may_retry(&options, 3, (3, 17)) && !may_retry(&options, 3, (3, 18)));
        assert!(!may_retry(&options, 4, (4, 0)));
    }
}
