//! What workers say: they register, renew, take and refuse attempts, report progress and ends.

use std::collections::BTreeSet;

use hyperscale_consensus::RaftGroup;
use hyperscale_consensus::register::{AttemptState, Body, Outcome};
use hyperscale_consensus::replica::{Reply, Request};
use hyperscale_job::{Failure, FailureKind, Report, SegmentResult};
use hyperscale_swim::WorkerState;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::calls::Purpose;
use super::io::{Output, ToPeer};
#[cfg(feature = "bugs")]
use super::led::Led;
use super::led::{number_of, workflow_name};
use super::{JobMachine, Manager};
use crate::message::{CallNumber, DispatchRefusal, HowEnded, JobAttempt, ToManager, ToWorker, WorkerSaid};
use crate::record::AttemptLeft;

/// How a manager heard of the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    ByWorker,
    ByManager,
}

impl<M: JobMachine> Manager<M> {
    pub(super) fn worker(&mut self, now: Now, from: NodeId, message: ToManager, out: &mut Vec<Output>) {
        // It speaks of attempts, so it hears what this manager says of them. Renewals say nothing about that.
        let is_about_attempts = !matches!(message, ToManager::Register { .. } | ToManager::Renew { .. });
        if is_about_attempts && self.circuits.answered(from) {
            self.pool.change();
        }
        match message {
            ToManager::Register { call, boot, cores, capabilities, .. } => {
                self.register_worker(now, from, (boot, call), cores, capabilities);
            }
            ToManager::Renew { call, grant, load } => {
                let gives_back = load.state == WorkerState::Offline;
                self.hear_worker(WorkerSaid { worker: from, grant, number: call, load }, true);
                if gives_back {
                    self.give_back(now, from, grant, call, out);
                } else {
                    self.renew(now, from, grant, call);
                }
            }
            ToManager::Taken { status, .. } => {
                let attempt = status.attempt;
                self.taken(from, attempt);
                self.status(now, from, status, out);
            }
            ToManager::Refused { attempt, token, refusal } => {
                let is_led = self.led.get(&attempt.job).is_some_and(|led| led.token() == token);
                let is_heard = !bug!(self.options, IgnoreRefusal);
                if is_led && is_heard && self.has_attempt(from, attempt) {
                    self.counters.refused(&refusal);
                    self.report(now, attempt, refused(from, &refusal), out);
                }
            }
            ToManager::Progress { status, windows, dropped } => {
                let attempt = status.attempt;
                self.status(now, from, status, out);
                if self.had_attempt(from, attempt) {
                    self.windows_dropped(attempt, dropped);
                    self.windows(now, attempt, &windows, out);
                } else {
                    self.counters.windows_late += windows.len() as u64;
                }
                self.answer_progress(now, from, out);
            }
            ToManager::Ended { attempt, how, left, .. } => {
                self.attempt_ended(now, (from, Told::ByWorker), attempt, (how, left), out);
            }
            ToManager::LeaderAccepted { job, token, attempts } => {
                if self.led.get(&job).is_some_and(|led| led.token() == token) {
                    let known: BTreeSet<JobAttempt> = attempts.iter().map(|status| status.attempt).collect();
                    for status in attempts {
                        self.taken(from, status.attempt);
                        self.status(now, from, status, out);
                    }
                    self.dispatch_unknown(job, from, &known);
                }
            }
            // The log says who leads; this manager learns it there.
            ToManager::StaleToken { .. } => self.counters.transfers_stale += 1,
        }
    }

    fn register_worker(
        &mut self,
        now: Now,
        worker: NodeId,
        (boot, call): (BootEpoch, CallNumber),
        cores: u32,
        capabilities: BTreeSet<String>,
    ) {
        let lease_ms = self.options.worker_lease.as_millis() as u64;
        let body = Body::WorkerGrant { worker, boot, cores, lease_ms, capabilities };
        self.propose(now, Purpose::Grant { worker, boot, call }, Token(0), body);
    }

    pub(super) fn granted(
        &mut self,
        now: Now,
        worker: NodeId,
        boot: BootEpoch,
        call: CallNumber,
        reply: &Reply<Outcome>,
        out: &mut Vec<Output>,
    ) {
        // Anything else is tried again by the worker.
        let Reply::Applied { index, outcome: Some(Outcome::Granted(grant)) } = reply else { return };
        let is_current = self
            .register()
            .and_then(|register| register.worker(worker))
            .is_some_and(|known| known.boot == boot && known.grant == *grant);
        if !is_current {
            return;
        }
        let lease = (grant.0 == *index).then_some(self.options.worker_lease);
        self.leases.want(now, worker, *grant);
        let members = self.replica.group().into_iter().flat_map(|group| group.roster().members());
        let managers = members.map(|member| member.node).collect();
        let message = ToWorker::Registered { call, grant: *grant, lease, managers };
        out.push(Output::SendWorker { to: worker, message });
    }

    /// An attempt ended, says its worker, or a manager that heard it from its worker. Who cannot deal with it passes it on once:
    /// two managers that take each other for the leader must not send it back and forth.
    pub(super) fn attempt_ended(
        &mut self,
        now: Now,
        (worker, told): (NodeId, Told),
        attempt: JobAttempt,
        (how, left): (HowEnded, AttemptLeft),
        out: &mut Vec<Output>,
    ) {
        let confirm = Output::SendWorker { to: worker, message: ToWorker::Confirmed { attempt } };
        let job = self.register().and_then(|register| register.job(attempt.job));
        let knows_all = self.replica.group().is_some_and(RaftGroup::is_established);
        let leader = match job {
            Some(job) if job.end.is_some() => return out.push(confirm),
            Some(job) => job.leader.map(|(leader, _)| leader),
            // Who leads the group knows every job that was accepted: this one has ended and is sealed or forgotten. Anybody
            // else may only be behind, and so may a leader that was stopped and does not know yet that it was replaced.
            None if knows_all => {
                let call = self.calls.open(now, Purpose::Confirm { worker, attempt });
                return self.call(now, call, Request::ReadAsLeader);
            }
            None => self.replica.leader_node(),
        };
        if leader != Some(self.options.node) {
            if let Some(to) = leader.filter(|_| told == Told::ByWorker) {
                out.push(Output::SendPeer {
                    to,
                    message: ToPeer::AttemptEnded { worker, attempt, how, left: Box::new(left) },
                });
            }
            return;
        }
        let Some(job) = job else { return };
        let Some(name) = self.led.get(&attempt.job).and_then(|led| workflow_name(led, attempt.attempt))
        else {
            // The plan is being read; the worker tells it again.
            return;
        };
        let segment = job.segment(&name, number_of(attempt.attempt.segment));
        let known =
            segment.and_then(|it| it.attempts().iter().find(|it| it.number == attempt.attempt.number));
        match known.map(|known| &known.state) {
            Some(AttemptState::Running) => {
                if bug!(self.options, ConfirmBeforeCommit) {
                    out.push(confirm);
                }
                self.take_left(now, worker, attempt, (how, left), out);
            }
            // Committed, lost or superseded: it need not be kept.
            Some(state @ (AttemptState::Lost { .. } | AttemptState::Ended(_))) => {
                let is_lost = matches!(state, AttemptState::Lost { .. });
                self.counters.attempts_superseded += u64::from(is_lost);
                if bug!(self.options, CountEndOfLost) && is_lost {
                    self.count_end(now, attempt, &left, out);
                }
                #[cfg(feature = "bugs")]
                if is_lost {
                    self.end_late(now, attempt, &name);
                }
                out.push(confirm);
            }
            None => {}
        }
    }

    /// With the deliberate bug of a register that accepts the end of a stale attempt: proposes one, as a leader does that has not
    /// heard yet that the attempt was lost. Few runs have one whose replica is behind in just that moment.
    #[cfg(feature = "bugs")]
    fn end_late(&mut self, now: Now, attempt: JobAttempt, workflow: &str) {
        use hyperscale_consensus::register::{End, EndStatus, Segment};
        let token = self.led.get(&attempt.job).map(Led::token);
        let is_on = self.options.bugs.consensus.has(hyperscale_consensus::bugs::Bug::AcceptStaleAttempt);
        if let Some(token) = token.filter(|_| is_on) {
            let number = number_of(attempt.attempt.segment);
            let segment = Segment { job: attempt.job, workflow: workflow.to_owned(), number };
            let end = End::new(EndStatus::Completed, None);
            let body = Body::AttemptEnd { segment, attempt: attempt.attempt.number, end };
            self.propose(now, Purpose::Other, token, body);
        }
    }
}

/// What the core is told of a refusal. One that another worker would not repeat is tried there.
fn refused(worker: NodeId, refusal: &DispatchRefusal) -> Report {
    let why = format!("worker {worker} refused it: {refusal}");
    if *refusal == DispatchRefusal::OtherOrder {
        // It runs there, and not as it was decided.
        let failure = Some(Failure::new(FailureKind::Engine, why));
        return Report::Ended(Box::new(SegmentResult { failure, ..SegmentResult::default() }));
    }
    Report::Refused { why }
}
