//! What workers are told about attempts: dispatches and directives, again until they are heard.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_consensus::register::{Attempt, AttemptState, JobId, Register};
use hyperscale_job::{AttemptId, SegmentKind, StopPhase};
use hyperscale_types::{NodeId, Now};

use super::drive::{DIRECT_AGAIN_MAX, Drive, RETRIES, SEND_AGAIN, Told};
use super::number_of;
use crate::manager::{JobMachine, Manager, Output};
use crate::message::{Dispatch, JobAttempt, ToWorker};

impl<M: JobMachine> Manager<M> {
    /// Dispatches and directives that were not sent yet, or may have been lost.
    pub(super) fn send_pending(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        let Some(led) = self.led.get_mut(&id) else { return };
        let token = led.token();
        let Some(drive) = led.driving() else { return };
        let job_time = drive.job_time(now);
        let (mut orders, mut directives, mut unheard) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut unanswered = Vec::new();
        for (attempt, handling) in &mut drive.attempts {
            // Its worker was asked what it knows, and has not said so.
            let is_unheard = !handling.is_taken && !handling.may_dispatch;
            if is_unheard && handling.greeted.is_none_or(|at| now.since(at) >= SEND_AGAIN) {
                handling.greeted = Some(now);
                unheard.insert(handling.worker);
            }
            let is_stopped = |it: &Told| it.directive.phase >= StopPhase::Cancelling;
            // What its worker has not taken and is to stop is not dispatched any more: the worker confirms that it never runs.
            let never_runs = !handling.is_taken && handling.directive.as_ref().is_some_and(is_stopped);
            let is_due = now >= handling.dispatch_due();
            if !handling.is_taken && handling.may_dispatch && is_due && !never_runs {
                let tries = handling.dispatched.map_or(0, |(_, tries)| tries);
                handling.dispatched = Some((now, tries + 1));
                orders.push(*attempt);
                self.counters.dispatches_repeated += u64::from(tries > 0);
                if tries > RETRIES {
                    unanswered.push(handling.worker);
                }
            }
            if let Some(told) = &mut handling.directive
                && (handling.is_taken || never_runs)
                && now >= told.due
            {
                (told.due, told.pause) = (now.plus(told.pause), (told.pause * 2).min(DIRECT_AGAIN_MAX));
                let attempt = JobAttempt { job: id, attempt: *attempt };
                directives.push((handling.worker, attempt, told.decisions, told.directive));
            }
        }
        for (to, attempt, decisions, directive) in directives {
            let Some(grant) = known(register, drive, attempt).map(|known| known.grant) else { continue };
            let message = ToWorker::Direct { attempt, token, grant, decisions, directive };
            out.push(Output::SendWorker { to, message });
        }
        for to in unheard {
            out.push(Output::SendWorker { to, message: ToWorker::LeaderChanged { job: id, token } });
        }
        for attempt in orders {
            let Some(dispatch) = dispatch(register, id, drive, attempt, job_time) else { continue };
            let worker = drive.attempts[&attempt].worker;
            let message = ToWorker::Dispatch(Box::new(Dispatch { token, ..dispatch }));
            self.counters.dispatches += 1;
            out.push(Output::SendWorker { to: worker, message });
        }
        for worker in unanswered {
            self.counters.dispatches_unanswered += 1;
            if self.circuits.failed(now, worker) {
                self.pool.change();
            }
        }
    }

    /// Attempts that a worker does not know are dispatched again.
    pub(in crate::manager) fn dispatch_unknown(
        &mut self,
        id: JobId,
        worker: NodeId,
        known: &BTreeSet<JobAttempt>,
    ) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        for (attempt, handling) in drive.attempts.iter_mut().filter(|(_, it)| it.worker == worker) {
            if !known.contains(&JobAttempt { job: id, attempt: *attempt }) {
                handling.may_dispatch = true;
            }
        }
        self.news.insert(id);
    }
}

/// An attempt as the log knows it.
fn known<'a>(register: &'a Register, drive: &Drive, it: JobAttempt) -> Option<&'a Attempt> {
    let workflow = drive.core.plan().workflows.get(it.attempt.segment.workflow)?;
    let segment = register.job(it.job)?.segment(workflow.name.as_str(), number_of(it.attempt.segment))?;
    segment.attempts().iter().find(|known| known.number == it.attempt.number)
}

/// What a worker is told to run: the same for every leader of the job, but for the token and the time.
fn dispatch(
    register: &Register,
    id: JobId,
    drive: &Drive,
    attempt: AttemptId,
    job_time: Duration,
) -> Option<Dispatch> {
    let job = register.job(id)?;
    let order = drive.core.order_of(attempt)?;
    let workflow = drive.core.plan().workflows.get(attempt.segment.workflow)?;
    let known = known(register, drive, JobAttempt { job: id, attempt })?;
    // Nothing that was cancelled starts, also before the core has decided what follows from the cancel.
    let is_cancelled =
        job.is_cancelled(workflow.name.as_str()) && attempt.segment.kind != SegmentKind::Teardown;
    if known.state != AttemptState::Running || is_cancelled {
        return None;
    }
    Some(Dispatch {
        attempt: JobAttempt { job: id, attempt },
        token: job.token(),
        grant: known.grant,
        plan: job.plan,
        cores: known.cores,
        job_time,
        order,
        capabilities: workflow.requires.clone(),
        on_isolation: job.options.on_isolation,
    })
}
