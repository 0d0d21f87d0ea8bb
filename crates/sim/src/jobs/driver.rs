//! What a job leader does: the next step of each of its jobs, from what its replica has applied.
//!
//! | the log says                    | step                                                              |
//! | ------------------------------- | ----------------------------------------------------------------- |
//! | segment has no attempt, or a lost or refused one | assign the next attempt to a worker with free cores |
//! | attempt runs                    | dispatch until its worker answers, under every token anew         |
//! | attempt runs, SWIM says its worker is dead | assign the next one: impatient, and refused until the lease is over |
//! | job cancelled, attempt runs     | tell its worker to stop                                           |
//! | nothing left to do              | end its parts, then the job                                       |
//!
//! The replica may be behind and the manager may have been replaced: the register refuses what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_consensus::register::{
    Assign, Attempt, AttemptState, Body, End, EndStatus, Job, JobId, Register, Segment,
};
use hyperscale_types::{NodeId, Now, Token};

use super::aside;
use super::desk::Purpose;
use super::office::{Office, Order};
use super::plan;
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
enum Step {
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

    fn may_ask(&mut self, now: Now, job: JobId, place: u32) -> bool {
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
        if job.is_wholly_cancelled() {
            let mut steps: Vec<Step> =
                running(job).map(|(segment, it)| Step::Stop { segment, attempt: it }).collect();
            if steps.is_empty() {
                steps.push(Step::End(EndStatus::Cancelled));
            }
            return steps;
        }
        let (mut steps, mut failed) = (Vec::new(), !has_workers && led_for >= QUEUE_TIMEOUT);
        for segment in 0..plan::segments(id) {
            match self.step(segment, job.attempt(plan::WORKFLOW, segment)) {
                Ok(step) => steps.extend(step),
                Err(()) => failed = true,
            }
        }
        if failed && running(job).next().is_none() {
            return vec![Step::End(EndStatus::Failed)];
        }
        let is_over = plan::segments(id) > 0 || led_for >= plan::length(id);
        if steps.is_empty() && running(job).next().is_none() && is_over {
            steps.push(Step::End(EndStatus::Completed));
        }
        steps
    }

    /// The next step of a segment, none, or that there is no hope.
    fn step(&self, segment: u32, attempt: Option<&Attempt>) -> Result<Vec<Step>, ()> {
        let Some(it) = attempt else { return Ok(vec![Step::Assign { segment, attempt: 1, avoid: None }]) };
        let again = Step::Assign { segment, attempt: it.number + 1, avoid: Some(it.worker) };
        match &it.state {
            AttemptState::Ended(end) if end.status == EndStatus::Completed => Ok(Vec::new()),
            AttemptState::Running if self.dead.contains(&it.worker) => Ok(vec![again]),
            AttemptState::Running => Ok(vec![Step::Dispatch { segment, attempt: it.clone() }]),
            AttemptState::Lost | AttemptState::Ended(..) if it.number < plan::ATTEMPTS_MAX => Ok(vec![again]),
            AttemptState::Lost | AttemptState::Ended(..) => Err(()),
        }
    }
}

impl Office {
    /// One step of every job that is led here, as far as this replica knows.
    pub(super) fn drive(&mut self, now: Now, out: &mut Vec<Order>) {
        let register = self.group.machine().register();
        let mut led = Vec::new();
        for (id, job) in register.jobs().filter(|(_, job)| job.end.is_none()) {
            let Some((_, token)) = job.leader.filter(|(leader, _)| *leader == self.me) else { continue };
            let led_for = now.since(self.driver.led_since(now, *id, token));
            led.push((*id, token, self.driver.steps(*id, job, led_for, register.workers().len() > 0)));
        }
        for (job, token, steps) in led {
            for step in steps {
                self.take_step(now, job, token, step, out);
            }
        }
    }

    fn take_step(&mut self, now: Now, job: JobId, token: Token, step: Step, out: &mut Vec<Order>) {
        match step {
            Step::Assign { segment, attempt, avoid } => {
                self.assign(now, job, token, segment, attempt, avoid, out);
            }
            Step::Dispatch { segment, attempt } => self.dispatch(now, job, token, segment, &attempt, out),
            Step::Stop { segment, attempt: it } => {
                let (segment, attempt) = (plan::segment(job, segment), it.number);
                if self.driver.may_ask(now, job, segment.number) {
                    let letter = Letter::Stop { segment, attempt, token, grant: it.grant };
                    out.push(Order::Send { to: it.worker, letter });
                }
            }
            Step::End(status) if self.driver.may_ask(now, job, WHOLE_JOB) => {
                let known = self.group.machine().register().job(job);
                let part = known.and_then(|known| aside::end_of_part(job, known));
                let result = Some(plan::result(&plan::segment(job, WHOLE_JOB), 1));
                let end = part.unwrap_or(Body::JobEnd { job, end: End::new(status, result) });
                self.ask(now, Purpose::Step { job, place: WHOLE_JOB }, token, end, out);
            }
            Step::End(_) => {}
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a step taken apart")]
    fn assign(
        &mut self,
        now: Now,
        job: JobId,
        token: Token,
        segment: u32,
        attempt: u32,
        avoid: Option<NodeId>,
        out: &mut Vec<Order>,
    ) {
        let cores = plan::cores(job);
        let Some((worker, boot, grant)) = self.choose(cores, avoid) else { return };
        if !self.driver.may_ask(now, job, segment) {
            return;
        }
        let body = Body::Assign(Assign {
            segment: plan::segment(job, segment),
            attempt,
            worker,
            boot,
            grant,
            cores,
            vus: cores,
            elapsed_ms: 0,
            iterations_left: None,
        });
        self.ask(now, Purpose::Step { job, place: segment }, token, body, out);
    }

    /// The better of two random workers with free cores; the one that lost the last attempt only if there is no other.
    fn choose(
        &mut self,
        cores: u32,
        avoid: Option<NodeId>,
    ) -> Option<(NodeId, hyperscale_types::BootEpoch, Token)> {
        let register: &Register = self.group.machine().register();
        let is_fit = |(id, worker): &(&NodeId, &hyperscale_consensus::register::Worker)| {
            worker.free() >= cores && !self.driver.dead.contains(id)
        };
        let mut fit: Vec<_> = register.workers().filter(is_fit).collect();
        if fit.iter().any(|(id, _)| Some(**id) != avoid) {
            fit.retain(|(id, _)| Some(**id) != avoid);
        }
        let two = [self.rng.usize(..fit.len().max(1)), self.rng.usize(..fit.len().max(1))];
        let best = two.into_iter().filter_map(|at| fit.get(at)).max_by_key(|(_, worker)| worker.free());
        best.map(|(id, worker)| (**id, worker.boot, worker.grant))
    }

    fn dispatch(
        &mut self,
        now: Now,
        job: JobId,
        token: Token,
        segment: u32,
        it: &Attempt,
        out: &mut Vec<Order>,
    ) {
        let segment = plan::segment(job, segment);
        if self.driver.may_send(now, segment.clone(), it.number, token) {
            let letter = Letter::Dispatch(Dispatch {
                segment,
                attempt: it.number,
                token,
                grant: it.grant,
                cores: it.cores,
                length: plan::length(job),
            });
            out.push(Order::Send { to: it.worker, letter });
        }
    }
}

fn running(job: &Job) -> impl Iterator<Item = (u32, Attempt)> + '_ {
    let runs = |it: &Attempt| it.state == AttemptState::Running;
    job.segments().filter(move |(_, _, it)| runs(it)).map(|(_, segment, it)| (segment, it.clone()))
}
