//! What the log says about a job, told to its core: decisions, cancels, losses, the end; and the time.

use std::time::Duration;

use hyperscale_consensus::register::{AttemptState, Job, JobId, Values};
use hyperscale_job::{Input, StopPhase};
use hyperscale_types::{Command, Now};

use super::drive::{Drive, SEND_AGAIN};
use super::number_of;
use super::open::{decode_totals, windows_in};
use crate::manager::{JobMachine, Manager, Output, Rejection, Response};
use crate::message::{JobAttempt, ToWorker};
use crate::record::{self, Stored};

impl<M: JobMachine> Manager<M> {
    /// Decisions that the log has and the core does not know.
    pub(super) fn feed_decisions(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        loop {
            let Some(job) = self.replica.group().and_then(|group| group.machine().register().job(id)) else {
                return;
            };
            let Some(led) = self.led.get_mut(&id) else { return };
            let Some(drive) = led.driving() else { return };
            let Some(decision) = job.decisions().get(drive.seen) else { return };
            let stored = match decision {
                Values::Inline(bytes) => record::decode(bytes).ok(),
                // It is a blob: the job is opened again, which reads it.
                Values::Blob(_) => None,
            };
            let is_known = |stored: &Stored| drive.has_left(stored) && drive.has_windows(job, stored);
            let Some(stored) = stored.filter(is_known) else {
                let token = led.token();
                self.release(id, out);
                self.led.insert(id, super::Led::new(token));
                self.news.insert(id);
                return;
            };
            drive.seen += 1;
            let ended = stored.ended();
            let left = ended.and_then(|attempt| Some((attempt, drive.lefts.remove(&attempt)?)));
            // Of an attempt that was lost before its end was decided what it had reported counts, and nothing else.
            let left = left.filter(|_| stored.leaves_something());
            // Its statistics count once its end is decided, and not before.
            if let Some((attempt, left)) = left.as_ref().filter(|(_, left)| !stored.is_silence(left))
                && let Some(totals) = decode_totals(&drive.core, &drive.codecs, *attempt, &left.totals)
            {
                self.with_core(now, id, Input::Left { attempt: *attempt, totals: &totals }, out);
            }
            let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
            let left = left.map(|(_, left)| left).unwrap_or_default();
            let is_loss = stored.is_loss();
            let entry = Box::new(stored.with(left.result));
            let handled = ended.and_then(|attempt| drive.attempts.remove(&attempt).map(|it| (attempt, it)));
            let worker = handled.as_ref().map(|(attempt, handling)| (*attempt, handling.worker));
            drive.gone.extend(handled.filter(|_| is_loss));
            self.with_core(now, id, Input::Applied { entry, outcome: Ok(()) }, out);
            if let Some((attempt, to)) = worker {
                let message = ToWorker::Confirmed { attempt: JobAttempt { job: id, attempt } };
                out.push(Output::SendWorker { to, message });
            }
        }
    }

    /// The end of the job is in the log: the core shows the result, and nobody leads the job any more.
    pub(super) fn ended(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) -> bool {
        let job = self.replica.group().and_then(|group| group.machine().register().job(id));
        if job.is_some_and(|job| job.end.is_none()) {
            return false;
        }
        let ending = self.led.get_mut(&id).and_then(|led| led.driving()?.ending.take());
        if let Some(entry) = ending {
            self.with_core(now, id, Input::Applied { entry, outcome: Ok(()) }, out);
        }
        self.release(id, out);
        true
    }

    /// The job is not led here any more, or is read again: clients that wait for a change are told to ask again.
    pub(in crate::manager) fn release(&mut self, id: JobId, out: &mut Vec<Output>) {
        let Some(mut led) = self.led.remove(&id) else { return };
        let requests = led.driving().map(|drive| std::mem::take(&mut drive.requests)).unwrap_or_default();
        for request in requests.into_values() {
            let message = "the job has ended or changed its leader; ask how it is, and try again".to_owned();
            let response = Response::Rejected(Rejection::Unavailable(message));
            out.push(Output::Respond { request, response });
        }
    }

    /// Cancels that the log has and the core was not told of.
    pub(super) fn feed_cancels(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(job) = self.replica.group().and_then(|group| group.machine().register().job(id)) else {
            return;
        };
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        #[cfg(feature = "bugs")]
        if bug!(self.options, LoseCancelAtTakeover) && drive.is_taken_over {
            return;
        }
        // What was told and is not decided may have come to nothing: it is told again.
        if drive.cancel_told.is_some_and(|told| now.since(told) < SEND_AGAIN) {
            return;
        }
        let record = drive.core.record();
        let mut commands = Vec::new();
        if job.is_wholly_cancelled() {
            if record.stop().is_none_or(|stop| stop.phase < StopPhase::Cancelling) {
                let reason = job.cancels().find(|(_, it)| it.workflows.is_empty());
                let reason = reason.map(|(_, it)| it.reason.clone()).unwrap_or_default();
                commands.push(Command::Cancel { reason });
            }
        } else {
            for (workflow, record) in drive.core.plan().workflows.iter().zip(record.workflows()) {
                let is_stopped = record.stop_of().is_some_and(|(phase, _)| *phase >= StopPhase::Cancelling);
                if job.is_cancelled(workflow.name.as_str()) && record.ended().is_none() && !is_stopped {
                    // The mark names the dependents too.
                    let reason = job.cancel_reason(workflow.name.as_str()).to_owned();
                    let workflow = workflow.name.clone();
                    commands.push(Command::CancelWorkflow { workflow, dependents: false, reason });
                }
            }
        }
        drive.cancel_told = (!commands.is_empty()).then_some(now);
        for command in commands {
            self.command(now, id, None, command, out);
        }
    }

    /// Attempts that the log says are lost, and the core does not know of.
    pub(super) fn feed_losses(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(job) = self.replica.group().and_then(|group| group.machine().register().job(id)) else {
            return;
        };
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let mut lost = Vec::new();
        for (attempt, handling) in &mut drive.attempts {
            let Some(workflow) = drive.core.plan().workflows.get(attempt.segment.workflow) else { continue };
            let segment = job.segment(workflow.name.as_str(), number_of(attempt.segment));
            let known = segment.and_then(|it| it.attempts().iter().find(|it| it.number == attempt.number));
            let is_lost = known.is_some_and(|known| matches!(known.state, AttemptState::Lost { .. }))
                || bug!(self.options, LoseAttemptOnDeath) && self.dead.contains(&handling.worker);
            #[cfg(feature = "bugs")]
            let is_lost = is_lost || self.options.bugs.is_impatient() && self.dead.contains(&handling.worker);
            if is_lost && !std::mem::replace(&mut handling.is_lost, true) {
                lost.push(*attempt);
            }
        }
        self.counters.attempts_lost += lost.len() as u64;
        for attempt in lost {
            self.with_core(now, id, Input::Report { attempt, report: hyperscale_job::Report::Lost }, out);
        }
    }

    pub(super) fn feed_time(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let job_time = drive.job_time(now);
        let is_second = job_time >= drive.second_at;
        let is_due = drive.core.next_timer().is_some_and(|due| due <= job_time);
        if is_second {
            // Seconds that were slept through are not made up for.
            drive.second_at = Duration::from_secs(job_time.as_secs() + 1);
            self.with_core(now, id, Input::Second { memory_bytes: None }, out);
        } else if is_due {
            self.with_core(now, id, Input::Timer, out);
        }
    }
}

impl Drive {
    /// Whether a decision can be told to the core: what an ended attempt left is known.
    fn has_left(&self, stored: &Stored) -> bool {
        match stored {
            Stored::AttemptEnd { attempt, .. } => {
                !stored.leaves_something() || self.lefts.contains_key(attempt)
            }
            Stored::Whole(_) => true,
        }
    }

    /// Whether a loss in the log names what this leader knows of the attempt's windows. If not, it was decided by the same manager before
    /// it opened the job again, or in another life.
    fn has_windows(&self, job: &Job, stored: &Stored) -> bool {
        let Some(attempt) = stored.ended().filter(|_| stored.is_loss()) else { return true };
        let Some(workflow) = self.core.plan().workflows.get(attempt.segment.workflow) else { return true };
        let named = windows_in(job, workflow.name.as_str(), attempt);
        self.lost.get(&attempt).copied().flatten() == named
    }
}
