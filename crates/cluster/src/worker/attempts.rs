//! Attempts of a worker: taken, refused, directed, cut off, told, confirmed.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::register::{JobId, OnIsolation};
use hyperscale_job::{Directive, Report, SegmentOrder, StopPhase};
use hyperscale_types::{NodeId, Now, Token};

use super::leaders::REMEMBERED;
use super::{Output, Start, Worker};
use crate::message::{
    AttemptPhase, AttemptStatus, Backpressure, Dispatch, DispatchRefusal, HowEnded, JobAttempt, ToManager,
};
use crate::record::AttemptLeft;

/// How an attempt is is told at least this often: what was said before may be lost, and silence is taken for its end.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// What an attempt left is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(1);
/// Windows that wait to be sent, per attempt: two seconds of 16 cores. Beyond it the oldest are dropped and counted; what the
/// attempt leaves has all of them.
const WINDOWS_MAX: usize = 320;

/// An attempt that this worker took.
#[derive(Debug)]
pub(super) struct Running {
    grant: Token,
    on_isolation: OnIsolation,
    /// Nothing once it is settled: then it is only remembered.
    order: Option<SegmentOrder>,
    status: AttemptStatus,
    windows: Vec<Bytes>,
    dropped: u64,
    /// Something that the job leader does not know yet.
    has_news: bool,
    /// Something that the job leader waits for before it decides: told at once, whatever the pace. An attempt has it twice at most, when it
    /// is prepared and when a check stops the test.
    is_urgent: bool,
    sent: Now,
    cut_off: Option<HowEnded>,
    /// How many decisions of its job the newest directive follows from that it was told.
    directed: u64,
    end: Option<Ended>,
}

/// What an attempt left, until a manager confirmed that it is committed.
#[derive(Debug)]
enum Ended {
    Kept { left: Box<AttemptLeft>, told: Option<Now> },
    Confirmed { at: Now },
}

impl Running {
    /// Whether nothing has to be done for it any more.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.end, Some(Ended::Confirmed { .. }))
    }

    /// Whether it has not ended.
    pub(super) fn runs(&self) -> bool {
        self.end.is_none()
    }

    /// Whether it is still prepared, or has ended and that is not confirmed.
    pub(super) fn is_queued(&self) -> bool {
        match self.end {
            None => self.status.phase == AttemptPhase::Accepted,
            Some(Ended::Kept { .. }) => true,
            Some(Ended::Confirmed { .. }) => false,
        }
    }

    /// How long to wait after a message before the next one.
    fn interval(&self, backpressure: Backpressure) -> Duration {
        if self.is_urgent {
            return Duration::ZERO;
        }
        let has_something = self.has_news || !self.windows.is_empty();
        if has_something { backpressure.interval() } else { backpressure.interval().max(ALIVE_EVERY) }
    }

    pub(super) fn next_timer(&self, backpressure: Backpressure) -> Option<Now> {
        match &self.end {
            None => Some(self.sent.plus(self.interval(backpressure))),
            Some(Ended::Kept { told, .. }) => Some(told.map_or(Now::ZERO, |told| told.plus(TELL_AGAIN))),
            Some(Ended::Confirmed { .. }) => None,
        }
    }
}

impl Worker {
    pub(super) fn dispatch(&mut self, now: Now, from: NodeId, it: &Dispatch, out: &mut Vec<Output>) {
        if !self.obeys(now, (from, it.token), it.attempt.job, out) {
            return;
        }
        if let Some(known) = self.attempts.get_mut(&it.attempt) {
            let is_same_order = known.order.as_ref().is_none_or(|order| *order == it.order);
            let same = is_same_order && known.grant == it.grant;
            let message = if same {
                known.has_news = true;
                ToManager::Taken { status: known.status.clone(), cores_free: self.cores.free() }
            } else {
                let refusal = DispatchRefusal::OtherOrder;
                ToManager::Refused { attempt: it.attempt, token: it.token, refusal }
            };
            self.tell_again(it.attempt.job);
            return out.push(Output::Send { to: from, message });
        }
        let is_granted = self.registration.has_grant(it.grant) || bug!(self.options, TakeAnyGrant);
        if !is_granted || self.registration.is_new_to_grant() || !self.is_usable(now) {
            // Of a former process under this id, which may still run it, or of a grant that is on its way here, or whose lease is, or
            // cannot be renewed now: not to be refused, as that passes. What it does not take in time ends with its lease.
            return self.registration.ask_soon(now);
        }
        let refusal = match self.refused.get(&it.attempt) {
            Some((refusal, _)) => Err(refusal.clone()),
            None => self.take_up(now, from, it, out),
        };
        let message = match refusal {
            Ok(()) => {
                let status = self.attempts[&it.attempt].status.clone();
                ToManager::Taken { status, cores_free: self.cores.free() }
            }
            Err(refusal) => self.refuse(now, it.attempt, it.token, refusal),
        };
        out.push(Output::Send { to: from, message });
    }

    /// What was refused stays refused: another worker may have got the segment since.
    fn refuse(&mut self, now: Now, attempt: JobAttempt, token: Token, refusal: DispatchRefusal) -> ToManager {
        self.refused.entry(attempt).or_insert_with(|| {
            *self.counters.refusals.entry(refusal.word()).or_default() += 1;
            (refusal.clone(), now)
        });
        ToManager::Refused { attempt, token, refusal }
    }

    fn take_up(
        &mut self,
        now: Now,
        from: NodeId,
        it: &Dispatch,
        out: &mut Vec<Output>,
    ) -> Result<(), DispatchRefusal> {
        let JobAttempt { job, attempt } = it.attempt;
        let is_later = |known: &JobAttempt| {
            known.job == job
                && known.attempt.segment == attempt.segment
                && known.attempt.number > attempt.number
        };
        if self.attempts.keys().any(is_later) {
            return Err(DispatchRefusal::Superseded);
        }
        if self.fitness.is_draining() {
            return Err(DispatchRefusal::Draining);
        }
        let missing: Vec<String> = it.capabilities.difference(&self.options.capabilities).cloned().collect();
        if !missing.is_empty() {
            return Err(DispatchRefusal::Capabilities { missing });
        }
        let group = (job, it.order.assignment.group);
        let cores = self
            .cores
            .take(group, it.attempt, it.cores)
            .map_err(|free| DispatchRefusal::CoresNotFree { free })?;
        let status = AttemptStatus {
            attempt: it.attempt,
            phase: AttemptPhase::Accepted,
            is_finishing: false,
            cores_completed: BTreeSet::new(),
            stopped: None,
            is_orphaned: false,
        };
        let running = Running {
            grant: it.grant,
            on_isolation: it.on_isolation,
            order: Some(it.order.clone()),
            status,
            windows: Vec::new(),
            dropped: 0,
            has_news: false,
            is_urgent: false,
            sent: now,
            cut_off: None,
            directed: 0,
            end: None,
        };
        self.attempts.insert(it.attempt, running);
        self.counters.taken += 1;
        out.push(Output::Start(Box::new(Start {
            attempt: it.attempt,
            plan: it.plan,
            from,
            order: it.order.clone(),
            cores,
            job_time: it.job_time,
            is_bound_to_lease: it.on_isolation == OnIsolation::Stop,
        })));
        Ok(())
    }

    pub(super) fn direct(
        &mut self,
        now: Now,
        (from, token): (NodeId, Token),
        (attempt, grant): (JobAttempt, Token),
        (decisions, directive): (u64, Directive),
        out: &mut Vec<Output>,
    ) {
        match self.attempts.get_mut(&attempt) {
            Some(running) if running.end.is_none() => {
                // One that was overtaken on its way is not obeyed.
                if decisions >= running.directed || bug!(self.options, ObeyOvertaken) {
                    running.directed = running.directed.max(decisions);
                    out.push(Output::Direct { attempt, directive });
                }
            }
            // A dispatch of it may be on its way here, or lost: it will never run. Of another grant a former process under this id
            // may run it: only that one, or the end of its lease, stops it.
            None if directive.phase >= StopPhase::Cancelling && self.registration.has_grant(grant) => {
                let message = self.refuse(now, attempt, token, DispatchRefusal::Cancelled);
                out.push(Output::Send { to: from, message });
            }
            Some(_) | None => {}
        }
    }

    pub(super) fn report(&mut self, attempt: JobAttempt, report: Report) {
        let Some(running) = self.attempts.get_mut(&attempt).filter(|running| running.end.is_none()) else {
            return;
        };
        let status = &mut running.status;
        match report {
            Report::Accepted | Report::Alive | Report::Ended(_) | Report::Refused { .. } | Report::Lost => {}
            Report::Prepared => {
                running.is_urgent |= status.phase < AttemptPhase::Prepared;
                status.phase = status.phase.max(AttemptPhase::Prepared);
            }
            Report::Finishing => status.is_finishing = true,
            Report::CoreCompleted { core } => {
                status.cores_completed.insert(core);
            }
            Report::StopTest(failure) => {
                running.is_urgent |= status.stopped.is_none();
                status.stopped.get_or_insert(failure);
            }
        }
        running.has_news = true;
    }

    pub(super) fn window(&mut self, attempt: JobAttempt, window: Bytes) {
        let Some(running) = self.attempts.get_mut(&attempt).filter(|running| running.end.is_none()) else {
            return;
        };
        if running.windows.len() >= WINDOWS_MAX {
            running.windows.remove(0);
            running.dropped += 1;
            self.counters.windows_dropped += 1;
        }
        running.windows.push(window);
    }

    /// An attempt is over: its cores are free, whatever becomes of what it left.
    pub(super) fn ended(&mut self, attempt: JobAttempt, left: AttemptLeft) {
        self.cores.give_back(attempt);
        let Some(running) = self.attempts.get_mut(&attempt).filter(|running| running.end.is_none()) else {
            return;
        };
        running.status.phase = AttemptPhase::Ended;
        running.windows.clear();
        running.end = Some(Ended::Kept { left: Box::new(left), told: None });
    }

    pub(super) fn confirmed(&mut self, now: Now, attempt: JobAttempt) {
        if let Some(running) = self.attempts.get_mut(&attempt)
            && running.end.is_some()
        {
            running.end = Some(Ended::Confirmed { at: now });
            running.order = None;
            if bug!(self.options, ForgetSettled) {
                self.attempts.remove(&attempt);
            }
        }
    }

    /// Attempts are remembered for a while after they were settled, so that a late dispatch does not start one again: while the
    /// grant is the same nothing else would keep it from that.
    pub(super) fn forget_settled(&mut self, now: Now) {
        let is_old = |running: &Running| matches!(running.end, Some(Ended::Confirmed { at }) if now.since(at) >= REMEMBERED);
        self.attempts.retain(|_, running| !is_old(running));
        self.refused.retain(|_, (_, since)| now.since(*since) < REMEMBERED);
        let attempts = &self.attempts;
        self.leaders.forget(now, |job| attempts.keys().any(|it| it.job == job));
    }

    /// How all attempts are, or those of one job.
    pub(super) fn statuses(&self, job: Option<JobId>) -> Vec<AttemptStatus> {
        let wanted = self.attempts.iter().filter(|(it, _)| job.is_none_or(|job| it.job == job));
        let shown = wanted.filter(|(_, running)| !running.is_settled());
        let status = |(it, running): (&JobAttempt, &Running)| AttemptStatus {
            is_orphaned: self.leaders.is_orphaned(it.job),
            ..running.status.clone()
        };
        shown.map(status).collect()
    }

    /// The job leader may be another one now: it is told everything again.
    pub(super) fn tell_again(&mut self, job: JobId) {
        for (_, running) in self.attempts.iter_mut().filter(|(it, _)| it.job == job) {
            running.has_news = true;
            if let Some(Ended::Kept { told, .. }) = &mut running.end {
                *told = None;
            }
        }
    }

    pub(super) fn send_progress(&mut self, now: Now, out: &mut Vec<Output>) {
        let level = self.pace.level();
        for (it, running) in &mut self.attempts {
            let interval = running.interval(level);
            let is_due = running.end.is_none() && now.since(running.sent) >= interval;
            let Some(to) = self.leaders.of(it.job).filter(|_| is_due) else { continue };
            (running.sent, running.has_news, running.is_urgent) = (now, false, false);
            let windows = std::mem::take(&mut running.windows);
            let (status, dropped) = (running.status.clone(), running.dropped);
            out.push(Output::Send { to, message: ToManager::Progress { status, windows, dropped } });
        }
    }

    /// What attempts left is told to the job's leader, or to another manager, which knows who that is.
    pub(super) fn tell_ends(&mut self, now: Now, out: &mut Vec<Output>) {
        for (it, running) in &mut self.attempts {
            let Some(Ended::Kept { left, told }) = &mut running.end else { continue };
            if told.is_some_and(|told| now.since(told) < TELL_AGAIN) {
                continue;
            }
            let leader = self.leaders.of(it.job).filter(|_| told.is_none());
            let Some(to) = leader.or_else(|| self.registration.some_manager()) else { continue };
            *told = Some(now);
            out.push(Output::Send {
                to,
                message: ToManager::Ended {
                    attempt: *it,
                    token: self.leaders.token(it.job),
                    how: running.cut_off.unwrap_or(HowEnded::Ran),
                    left: (**left).clone(),
                },
            });
            if bug!(self.options, DropOutboxEarly) {
                running.end = Some(Ended::Confirmed { at: now });
            }
        }
    }

    /// The lease is over, or the grant is gone: nothing that is bound to it may run.
    pub(super) fn cut_off_all(&mut self, out: &mut Vec<Output>) {
        let is_gone = !self.registration.is_granted();
        self.cut_off(
            HowEnded::LeaseEnded,
            |_, running| is_gone || running.on_isolation == OnIsolation::Stop,
            out,
        );
    }

    /// There is another grant: attempts of the one before are lost in the log.
    pub(super) fn cut_off_other_grants(&mut self, grant: Token, out: &mut Vec<Output>) {
        self.cut_off(HowEnded::LeaseEnded, |_, running| running.grant != grant, out);
    }

    pub(super) fn cut_off_job(&mut self, job: JobId, out: &mut Vec<Output>) {
        self.cut_off(HowEnded::Orphaned, |it, _| it.job == job, out);
    }

    fn cut_off(
        &mut self,
        how: HowEnded,
        is_meant: impl Fn(&JobAttempt, &Running) -> bool,
        out: &mut Vec<Output>,
    ) {
        for (it, running) in &mut self.attempts {
            if running.end.is_none() && running.cut_off.is_none() && is_meant(it, running) {
                running.cut_off = Some(how);
                match how {
                    HowEnded::Orphaned => self.counters.orphans_cut_off += 1,
                    HowEnded::LeaseEnded => self.counters.lease_cut_off += 1,
                    HowEnded::Ran => {}
                }
                out.push(Output::CutOff { attempt: *it });
            }
        }
    }
}
