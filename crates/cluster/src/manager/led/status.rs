//! What workers report of attempts, told to the core of their job.
//!
//! A worker says how an attempt is, all of it, every time; the core is told what is new. So nothing is lost with a message, and a
//! leader that has just taken a job over hears everything from the first one.

use bytes::Bytes;
use hyperscale_job::{Failure, FailureKind, Input, Report};
use hyperscale_types::{NodeId, Now};

use super::open::decode_totals;
use crate::manager::{JobMachine, Manager, Output};
use crate::message::{AttemptPhase, AttemptStatus, HowEnded, JobAttempt};
use crate::record::AttemptLeft;

impl<M: JobMachine> Manager<M> {
    /// Whether this worker is the one that an attempt was given to.
    pub(in crate::manager) fn has_attempt(&mut self, worker: NodeId, attempt: JobAttempt) -> bool {
        let drive = self.led.get_mut(&attempt.job).and_then(|led| led.driving());
        drive.and_then(|drive| drive.attempts.get(&attempt.attempt)).is_some_and(|it| it.worker == worker)
    }

    /// Whether it was, also if the attempt is lost since.
    pub(in crate::manager) fn had_attempt(&mut self, worker: NodeId, attempt: JobAttempt) -> bool {
        let drive = self.led.get_mut(&attempt.job).and_then(|led| led.driving());
        let gone = drive.and_then(|drive| drive.gone.get(&attempt.attempt));
        gone.is_some_and(|it| it.worker == worker) || self.has_attempt(worker, attempt)
    }

    /// A worker has an attempt.
    pub(in crate::manager) fn taken(&mut self, from: NodeId, attempt: JobAttempt) {
        let drive = self.led.get_mut(&attempt.job).and_then(|led| led.driving());
        if let Some(handling) = drive.and_then(|drive| drive.attempts.get_mut(&attempt.attempt))
            && handling.worker == from
        {
            handling.is_taken = true;
            self.news.insert(attempt.job);
        }
    }

    pub(in crate::manager) fn status(
        &mut self,
        now: Now,
        from: NodeId,
        status: AttemptStatus,
        out: &mut Vec<Output>,
    ) {
        let JobAttempt { job, attempt } = status.attempt;
        let drive = self.led.get_mut(&job).and_then(|led| led.driving());
        let Some(handling) = drive.and_then(|drive| drive.attempts.get_mut(&attempt)) else { return };
        if handling.worker != from {
            return;
        }
        // A worker that reports an attempt has it, also if its response to the dispatch was lost.
        handling.is_taken = true;
        let status = merged(handling.status.as_ref(), status);
        let reports = news(handling.status.as_ref(), &status);
        handling.status = Some(status);
        for report in reports {
            self.report(now, JobAttempt { job, attempt }, report, out);
        }
    }

    pub(in crate::manager) fn report(
        &mut self,
        now: Now,
        attempt: JobAttempt,
        report: Report,
        out: &mut Vec<Output>,
    ) {
        self.with_core(now, attempt.job, Input::Report { attempt: attempt.attempt, report }, out);
    }

    /// Statistics of an attempt. A window that was told before counts once.
    pub(in crate::manager) fn windows(
        &mut self,
        now: Now,
        attempt: JobAttempt,
        windows: &[Bytes],
        out: &mut Vec<Output>,
    ) {
        for bytes in windows {
            let Some(drive) = self.led.get_mut(&attempt.job).and_then(|led| led.driving()) else { break };
            let Some(codec) = drive.codecs.get(attempt.attempt.segment.workflow) else { break };
            let running = drive.attempts.get_mut(&attempt.attempt);
            let Some(handling) = running.or_else(|| drive.gone.get_mut(&attempt.attempt)) else { break };
            // Of another plan, or damaged: it would never be readable.
            let Ok(window) = codec.decode_window(bytes) else { continue };
            let next = handling.windows.entry(window.core).or_default();
            if window.seq < *next {
                self.counters.windows_duplicate += 1;
                continue;
            }
            *next = window.seq.saturating_add(1);
            let times = if bug!(self.options, CountWindowsTwice) { 2 } else { 1 };
            for _ in 0..times {
                let input = Input::Window { attempt: attempt.attempt, window: &window };
                self.with_core(now, attempt.job, input, out);
            }
        }
    }

    /// A deliberate bug: what an attempt left counts though it was lost.
    pub(in crate::manager) fn count_end(
        &mut self,
        now: Now,
        attempt: JobAttempt,
        left: &AttemptLeft,
        out: &mut Vec<Output>,
    ) {
        let Some(drive) = self.led.get_mut(&attempt.job).and_then(|led| led.driving()) else { return };
        let totals = decode_totals(&drive.core, &drive.codecs, attempt.attempt, &left.totals);
        if let Some(totals) = totals {
            let input = Input::Left { attempt: attempt.attempt, totals: &totals };
            self.with_core(now, attempt.job, input, out);
        }
    }

    /// A worker says how many windows of an attempt it dropped so far.
    pub(in crate::manager) fn windows_dropped(&mut self, attempt: JobAttempt, dropped: u64) {
        let drive = self.led.get_mut(&attempt.job).and_then(|led| led.driving());
        if let Some(handling) = drive.and_then(|drive| drive.attempts.get_mut(&attempt.attempt)) {
            self.counters.windows_lost += dropped.saturating_sub(handling.dropped);
            handling.dropped = handling.dropped.max(dropped);
        }
    }

    /// What an attempt left that runs as far as the log goes.
    pub(in crate::manager) fn take_left(
        &mut self,
        now: Now,
        worker: NodeId,
        attempt: JobAttempt,
        (how, mut left): (HowEnded, AttemptLeft),
        out: &mut Vec<Output>,
    ) {
        let Some(drive) = self.led.get_mut(&attempt.job).and_then(|led| led.driving()) else { return };
        let is_its = drive.attempts.get(&attempt.attempt).is_some_and(|handling| handling.worker == worker);
        if !is_its || drive.lefts.contains_key(&attempt.attempt) {
            return;
        }
        match how {
            HowEnded::Ran => {}
            // Nothing of it runs any more, whether the log has ended the lease too or it was renewed since.
            HowEnded::LeaseEnded => return self.report(now, attempt, Report::Lost, out),
            HowEnded::Orphaned => {
                let message = "its worker stopped it, as nobody led the job for 30 s";
                left.result.failure.get_or_insert(Failure::new(FailureKind::Engine, message));
            }
        }
        let result = Box::new(left.result.clone());
        drive.lefts.insert(attempt.attempt, left);
        let input = Input::Report { attempt: attempt.attempt, report: Report::Ended(result) };
        self.with_core(now, attempt.job, input, out);
    }
}

/// A status that may have been overtaken by a later one: nothing that was said is taken back.
fn merged(before: Option<&AttemptStatus>, status: AttemptStatus) -> AttemptStatus {
    let Some(before) = before else { return status };
    AttemptStatus {
        phase: before.phase.max(status.phase),
        is_finishing: before.is_finishing || status.is_finishing,
        cores_completed: &before.cores_completed | &status.cores_completed,
        stopped: before.stopped.clone().or_else(|| status.stopped.clone()),
        ..status
    }
}

/// What a core is told of a status that follows on another.
fn news(before: Option<&AttemptStatus>, status: &AttemptStatus) -> Vec<Report> {
    let mut reports = vec![if before.is_none() { Report::Accepted } else { Report::Alive }];
    let was = |wanted: fn(&AttemptStatus) -> bool| before.is_some_and(wanted);
    if status.phase >= AttemptPhase::Prepared && !was(|it| it.phase >= AttemptPhase::Prepared) {
        reports.push(Report::Prepared);
    }
    let completed = status.cores_completed.iter();
    let is_new = |core: &&u32| !before.is_some_and(|before| before.cores_completed.contains(core));
    reports.extend(completed.filter(is_new).map(|core| Report::CoreCompleted { core: *core }));
    if status.is_finishing && !was(|it| it.is_finishing) {
        reports.push(Report::Finishing);
    }
    if let Some(failure) = &status.stopped
        && !was(|it| it.stopped.is_some())
    {
        reports.push(Report::StopTest(failure.clone()));
    }
    reports
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hyperscale_consensus::register::JobId;
    use hyperscale_job::{AttemptId, SegmentId, SegmentKind};

    use super::*;

    fn status(phase: AttemptPhase) -> AttemptStatus {
        let segment = SegmentId { workflow: 0, kind: SegmentKind::Load, index: 0 };
        AttemptStatus {
            attempt: JobAttempt { job: JobId([1; 16]), attempt: AttemptId { segment, number: 1 } },
            phase,
            is_finishing: false,
            cores_completed: BTreeSet::new(),
            stopped: None,
            is_orphaned: false,
        }
    }

    #[test]
    fn first_status_tells_everything_and_later_ones_what_is_new() {
        let accepted = status(AttemptPhase::Accepted);
        assert_eq!(news(None, &accepted), [Report::Accepted]);
        let prepared = status(AttemptPhase::Prepared);
        assert_eq!(news(Some(&accepted), &prepared), [Report::Alive, Report::Prepared]);
        assert_eq!(news(None, &prepared), [Report::Accepted, Report::Prepared]);
        let failure = Failure::new(FailureKind::Check, "wrong");
        let late = AttemptStatus {
            is_finishing: true,
            cores_completed: BTreeSet::from([0, 1]),
            stopped: Some(failure.clone()),
            ..prepared.clone()
        };
        let (core, finishing) = (|core| Report::CoreCompleted { core }, Report::Finishing);
        let all = [Report::Alive, core(0), core(1), finishing, Report::StopTest(failure)];
        assert_eq!(news(Some(&prepared), &late), all);
        assert_eq!(news(Some(&late), &late), [Report::Alive]);
    }
}
