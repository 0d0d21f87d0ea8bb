//! What was decided about one workflow and its attempts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_stats::event::Target;
use hyperscale_types::{Name, Rate};
use serde_json::Value as Json;

use crate::clock::LoadClock;
use crate::entry::{Assignment, ContextValues, Retarget};
use crate::reason::{Failure, FailureKind, Reason};
use crate::segment::{AttemptId, RateChange, SegmentKind, SegmentResult, StopPhase};
use crate::state::{AttemptEnd, IllegalTransition, WorkflowEnd, WorkflowState};

/// The decisions about one workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkflowRecord {
    pub(super) name: Option<Name>,
    pub(super) state: WorkflowState,
    /// When the newest of `state`'s decisions was made.
    pub(super) since: Duration,
    /// Its core group.
    pub(super) group: Option<u32>,
    /// Cores it runs on, over all segments.
    pub(super) cores: u32,
    pub(super) attempts: BTreeMap<AttemptId, AttemptRecord>,
    setup: Option<Arc<[Json]>>,
    provided: Option<Arc<[Option<Json>]>>,
    pub(super) load: Option<LoadClock>,
    pub(super) load_ended: Option<Duration>,
    vus: Option<u32>,
    rate: Option<RateChange>,
    /// The stop that reached it while it was active.
    stop: Option<(StopPhase, Reason)>,
    /// When it was first told to stop without finishing.
    stopped_at: Option<Duration>,
    /// The first failure of it, tear-down included.
    pub(super) failure: Option<Failure>,
    reason: Option<Reason>,
}

/// The decisions about one attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRecord {
    /// Who runs what.
    pub assignment: Assignment,
    /// How it ended and what it left.
    pub end: Option<(AttemptEnd, SegmentResult)>,
    /// When that was learned.
    pub ended_at: Option<Duration>,
    /// It was assigned when the load of its workflow ran.
    pub has_joined: bool,
    /// The load that it runs apart from the others, from the beginning.
    pub own_load: Option<OwnLoad>,
}

/// The load of an attempt that runs its segment again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnLoad {
    /// How far its load curve has come.
    pub clock: LoadClock,
    /// The rate that a user set instead of the plan's, by this clock. Its `before` counts from [`OwnLoad::planned_to`] on.
    rate: Option<RateChange>,
    /// Up to this moment of the clock the plan's rate held.
    planned_to: Duration,
}

impl OwnLoad {
    fn new(clock: LoadClock, rate: Option<Rate>) -> Self {
        // A change by a user is not taken back: it holds from the beginning.
        let rate = rate.map(|rate| RateChange { rate, from: Duration::ZERO, before: 0.0 });
        OwnLoad { clock, rate, planned_to: Duration::ZERO }
    }

    /// The rate that a user set, if `planned` starts are due until [`OwnLoad::planned_to`] by the plan.
    pub fn rate(&self, planned: impl Fn(Duration) -> f64) -> Option<RateChange> {
        let change = self.rate?;
        Some(RateChange { before: change.before + planned(self.planned_to), ..change })
    }

    fn retarget(&mut self, rate: Rate, at: Duration) {
        let from = self.clock.load_time(at);
        if self.rate.is_none() {
            self.planned_to = from;
        }
        let first = RateChange { rate, from, before: 0.0 };
        self.rate = Some(self.rate.map_or(first, |before| before.then(rate, from)));
    }
}

impl AttemptRecord {
    /// Whether its worker was lost.
    pub fn is_lost(&self) -> bool {
        matches!(self.end, Some((AttemptEnd::Lost, _)))
    }

    /// Whether it did not end in time.
    pub fn is_timed_out(&self) -> bool {
        matches!(self.end, Some((AttemptEnd::TimedOut, _)))
    }

    /// Whether its worker did not take it.
    pub fn is_refused(&self) -> bool {
        matches!(self.end, Some((AttemptEnd::Refused, _)))
    }

    /// Whether it says nothing about its segment, which may be tried again.
    pub fn is_missed(&self) -> bool {
        self.is_lost() || self.is_refused()
    }
}

impl WorkflowRecord {
    pub(super) fn new(name: Name) -> Self {
        WorkflowRecord { name: Some(name), ..WorkflowRecord::default() }
    }

    /// Where it is.
    pub fn state(&self) -> WorkflowState {
        self.state
    }

    /// When it got there; only kept where something depends on it: ready, running, ended.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// How it ended.
    pub fn ended(&self) -> Option<WorkflowEnd> {
        if let WorkflowState::Ended(end) = self.state { Some(end) } else { None }
    }

    /// Its core group.
    pub fn group(&self) -> Option<u32> {
        self.group
    }

    /// Cores it runs on.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// Its attempts, in order.
    pub fn attempts(&self) -> impl Iterator<Item = (&AttemptId, &AttemptRecord)> {
        self.attempts.iter()
    }

    /// Attempts of one kind.
    pub fn attempts_of(&self, kind: SegmentKind) -> impl Iterator<Item = (&AttemptId, &AttemptRecord)> {
        self.attempts.iter().filter(move |(id, _)| id.segment.kind == kind)
    }

    /// One attempt.
    pub fn attempt(&self, id: AttemptId) -> Option<&AttemptRecord> {
        self.attempts.get(&id)
    }

    /// Results of its set-up steps, once they are fixed.
    pub fn setup(&self) -> Option<&Arc<[Json]>> {
        self.setup.as_ref()
    }

    /// Values for others, once they are fixed.
    pub fn provided(&self) -> Option<&[Option<Json>]> {
        self.provided.as_deref()
    }

    /// Its load clock, once the load has begun.
    pub fn load_clock(&self) -> Option<&LoadClock> {
        self.load.as_ref()
    }

    /// How long its load has been running, or ran, pauses included.
    pub fn elapsed(&self, now: Duration) -> Duration {
        let began = self.load.as_ref().map(LoadClock::began);
        began.map_or(Duration::ZERO, |began| self.load_ended.unwrap_or(now).saturating_sub(began))
    }

    /// How far its load curve has come.
    pub fn load_time(&self, now: Duration) -> Duration {
        let now = self.load_ended.unwrap_or(now);
        self.load.as_ref().map_or(Duration::ZERO, |clock| clock.load_time(now))
    }

    /// Virtual users instead of the plan's.
    pub fn vus(&self) -> Option<u32> {
        self.vus
    }

    /// Rate instead of the plan's.
    pub fn rate(&self) -> Option<RateChange> {
        self.rate
    }

    /// The stop that reached it while it was active.
    pub fn stop_of(&self) -> Option<&(StopPhase, Reason)> {
        self.stop.as_ref()
    }

    /// When it was first told to stop without finishing.
    pub fn stopped_at(&self) -> Option<Duration> {
        self.stopped_at
    }

    /// The first failure of it, the tear-down's included.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// The failure that ends it: one of the tear-down does not.
    pub fn fatal(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|failure| failure.kind != FailureKind::Teardown)
    }

    /// Why it ended.
    pub fn reason(&self) -> Option<&Reason> {
        self.reason.as_ref()
    }

    /// The last attempt of every segment of a kind.
    pub fn last_attempts(&self, kind: SegmentKind) -> impl Iterator<Item = (&AttemptId, &AttemptRecord)> {
        let is_last = |id: &AttemptId| {
            let next = AttemptId { number: id.number + 1, ..*id };
            !self.attempts.contains_key(&next)
        };
        self.attempts_of(kind).filter(move |(id, _)| is_last(id))
    }

    /// Whether all attempts of its load are over. Without any there is nothing to wait for.
    pub fn load_is_over(&self) -> bool {
        self.attempts_of(SegmentKind::Load).all(|(_, attempt)| attempt.end.is_some())
    }

    pub(super) fn check(&self, workflow: usize, next: WorkflowState) -> Result<(), IllegalTransition> {
        // Further segments of a batch find the workflow where the first one brought it.
        if self.state.allows(next) || (self.state == next && next != WorkflowState::Ready) {
            return Ok(());
        }
        Err(IllegalTransition::Workflow { workflow, from: self.state, to: next })
    }

    pub(super) fn context(&mut self, values: &ContextValues) {
        match values {
            ContextValues::Setup(values) => self.setup = Some(Arc::clone(values)),
            ContextValues::Provided(values) => self.provided = Some(Arc::clone(values)),
        }
    }

    pub(super) fn end(
        &mut self,
        workflow: usize,
        end: WorkflowEnd,
        reason: Option<&Reason>,
        failure: Option<&Failure>,
        at: Duration,
    ) -> Result<(), IllegalTransition> {
        let next = WorkflowState::Ended(end);
        if !self.state.allows(next) {
            return Err(IllegalTransition::Workflow { workflow, from: self.state, to: next });
        }
        (self.state, self.since) = (next, at);
        self.reason = reason.cloned();
        if self.failure.is_none() {
            self.failure = failure.cloned();
        }
        Ok(())
    }

    pub(super) fn stop(&mut self, phase: StopPhase, reason: &Reason, at: Duration) {
        // A tear-down also runs after a stop, unless everything is cut off.
        let reaches = match self.state {
            WorkflowState::Setup | WorkflowState::Assigned | WorkflowState::Running => true,
            WorkflowState::Teardown => phase == StopPhase::Aborted,
            WorkflowState::Pending | WorkflowState::Ready => true,
            WorkflowState::Ended(_) => false,
        };
        if reaches && phase >= StopPhase::Cancelling {
            self.stopped_at.get_or_insert(at);
        }
        match &mut self.stop {
            _ if !reaches => {}
            Some((before, _)) => *before = (*before).max(phase),
            None => self.stop = Some((phase, reason.clone())),
        }
    }

    /// The load of an attempt begins, apart from the others.
    pub(super) fn restart(
        &mut self,
        attempt: AttemptId,
        mut clock: LoadClock,
        (at, is_paused): (Duration, bool),
    ) -> Result<(), IllegalTransition> {
        let rate = self.rate.map(|change| change.rate);
        let known = self.attempts.get_mut(&attempt).ok_or(IllegalTransition::Unknown("such attempt"))?;
        if known.end.is_some() || known.own_load.is_some() || !known.has_joined {
            return Err(IllegalTransition::Unknown("such attempt to begin"));
        }
        clock.pause(at, is_paused);
        known.own_load = Some(OwnLoad::new(clock, rate));
        Ok(())
    }

    /// All load clocks of it.
    pub(super) fn clocks_mut(&mut self) -> impl Iterator<Item = &mut LoadClock> {
        let own = self.attempts.values_mut().filter_map(|attempt| attempt.own_load.as_mut());
        self.load.iter_mut().chain(own.map(|own| &mut own.clock))
    }

    pub(super) fn retarget(&mut self, target: &Retarget, at: Duration) {
        match target.to {
            Target::Vus(vus) => self.vus = Some(vus),
            Target::Rate(rate) => {
                let (rate, from) = (Rate::per_second(rate), target.since);
                let first = RateChange { rate, from, before: target.planned };
                self.rate = Some(self.rate.map_or(first, |before| before.then(rate, from)));
                for own in self.attempts.values_mut().filter_map(|attempt| attempt.own_load.as_mut()) {
                    own.retarget(rate, at);
                }
            }
        }
    }
}
