//! What was decided about a job: the fold of its applied entries, and nothing else.
//!
//! A job core can be rebuilt from a record and the reports of workers: whatever decides is here. Applying is
//! deterministic; an entry that the tables of [`crate::state`] do not allow changes nothing.

mod workflow;

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_stats::event::Target;
use hyperscale_stats::result::{Change as ListedChange, Changed, ChangedBy};
use hyperscale_types::{Name, limits};

use crate::clock::LoadClock;
use crate::entry::{Batch, Change, Entry, Group, Retarget, Stop, StopCause, StopScope};
use crate::reason::Reason;
use crate::segment::{AttemptId, SegmentId, SegmentKind, SegmentResult};
use crate::state::{AttemptEnd, IllegalTransition, JobEnd, JobState, WorkflowState};
pub use workflow::{AttemptRecord, OwnLoad, WorkflowRecord};

/// The decisions of one job so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    state: JobState,
    workflows: Vec<WorkflowRecord>,
    groups: BTreeMap<u32, Group>,
    stop: Option<Stop>,
    paused: bool,
    end_reason: Option<Reason>,
    ended_at: Option<Duration>,
    /// Changes of the load from outside, in order, and how many are not listed.
    changes: Vec<ListedChange>,
    changes_left_out: u64,
}

impl Record {
    /// The record of a job that was just accepted.
    pub fn new(workflows: impl IntoIterator<Item = Name>) -> Self {
        Record { workflows: workflows.into_iter().map(WorkflowRecord::new).collect(), ..Record::default() }
    }

    /// Where the job is.
    pub fn state(&self) -> JobState {
        self.state
    }

    /// Its workflows, in the order of the plan.
    pub fn workflows(&self) -> &[WorkflowRecord] {
        &self.workflows
    }

    /// A core group that was promised.
    pub fn group(&self, id: u32) -> Option<&Group> {
        self.groups.get(&id)
    }

    /// All core groups that were promised, in order.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values()
    }

    /// The number that the next core group gets.
    pub fn next_group(&self) -> u32 {
        self.groups.last_key_value().map_or(0, |(id, _)| id + 1)
    }

    /// The stop of the whole job.
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Whether the load is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Why the job ended, and when.
    pub fn end(&self) -> Option<(JobEnd, Option<&Reason>, Duration)> {
        let JobState::Ended(end) = self.state else { return None };
        Some((end, self.end_reason.as_ref(), self.ended_at.unwrap_or_default()))
    }

    /// Changes from outside, in order, and how many are not listed.
    pub fn changes(&self) -> (&[ListedChange], u64) {
        (&self.changes, self.changes_left_out)
    }

    /// Applies an entry. An illegal one changes nothing. Returns the changes of the load that it makes.
    pub fn apply(&mut self, entry: &Entry) -> Result<Vec<ListedChange>, IllegalTransition> {
        match entry {
            Entry::Ready { workflows, at } => self.ready(workflows, *at)?,
            Entry::Assign(batch) => self.assign(batch)?,
            Entry::Context { workflow, values } => self.workflow_mut(*workflow)?.context(values),
            Entry::Start { workflow, at } => self.start(*workflow, *at)?,
            Entry::Restart { attempt, at } => self.restart(*attempt, *at)?,
            Entry::AttemptEnd { attempt, end, result, at } => {
                self.attempt_end(*attempt, *end, result, *at)?;
            }
            Entry::WorkflowEnd { workflow, end, reason, failure, at } => {
                self.workflow_mut(*workflow)?.end(*workflow, *end, reason.as_ref(), failure.as_ref(), *at)?;
            }
            Entry::Stop(stop) => self.apply_stop(stop)?,
            Entry::Control { by, change, at, .. } => return self.control(*by, change, *at),
            Entry::JobEnd { end, reason, at } => {
                self.advance(JobState::Ended(*end))?;
                self.end_reason.clone_from(reason);
                self.ended_at = Some(*at);
            }
        }
        self.derive_state()?;
        Ok(Vec::new())
    }

    fn workflow_mut(&mut self, at: usize) -> Result<&mut WorkflowRecord, IllegalTransition> {
        self.workflows.get_mut(at).ok_or(IllegalTransition::Unknown("such workflow"))
    }

    fn ready(&mut self, workflows: &[usize], at: Duration) -> Result<(), IllegalTransition> {
        for &workflow in workflows {
            let next = WorkflowState::Ready;
            self.workflow_mut(workflow)?.check(workflow, next)?;
        }
        for &workflow in workflows {
            let record = &mut self.workflows[workflow];
            (record.state, record.since) = (WorkflowState::Ready, at);
        }
        Ok(())
    }

    /// All or none: everything is looked at before anything is changed.
    fn assign(&mut self, batch: &Batch) -> Result<(), IllegalTransition> {
        let mut members = batch.groups.iter().flat_map(|group| &group.members);
        if members.any(|member| member.workflow >= self.workflows.len()) {
            return Err(IllegalTransition::Unknown("such workflow"));
        }
        for assignment in &batch.assignments {
            let AttemptId { segment: SegmentId { workflow, .. }, .. } = assignment.attempt;
            let record = self.workflows.get(workflow).ok_or(IllegalTransition::Unknown("such workflow"))?;
            if !joins(record, assignment.attempt) {
                record.check(workflow, next_state(assignment.attempt.segment.kind))?;
            }
            let is_known = |group: &u32| {
                self.groups.contains_key(group) || batch.groups.iter().any(|new| new.id == *group)
            };
            if record.attempts.contains_key(&assignment.attempt) || !is_known(&assignment.group) {
                return Err(IllegalTransition::Unknown("such core group, or the attempt exists"));
            }
        }
        for group in &batch.groups {
            for member in &group.members {
                let record = &mut self.workflows[member.workflow];
                // A later group only takes the place of cores that were lost, unless nothing of the load was assigned yet.
                if record.group.is_none() || replaces(record, member.workflow, batch) {
                    (record.group, record.cores) = (Some(group.id), member.cores);
                }
            }
            self.groups.insert(group.id, group.clone());
        }
        for assignment in &batch.assignments {
            let segment = assignment.attempt.segment;
            let record = &mut self.workflows[segment.workflow];
            let has_joined = joins(record, assignment.attempt) && record.state == WorkflowState::Running;
            if joins(record, assignment.attempt) {
                record.load_ended = None;
            } else {
                record.state = next_state(segment.kind);
            }
            let (assignment, own_load) = (assignment.clone(), None);
            let attempt = AttemptRecord { assignment, end: None, ended_at: None, has_joined, own_load };
            record.attempts.insert(attempt.assignment.attempt, attempt);
        }
        Ok(())
    }

    fn start(&mut self, workflow: usize, at: Duration) -> Result<(), IllegalTransition> {
        let paused = self.paused;
        let record = self.workflow_mut(workflow)?;
        let next = WorkflowState::Running;
        // A begin that was proposed again comes when the load runs: its clock does not begin again.
        if !record.state.allows(next) {
            return Err(IllegalTransition::Workflow { workflow, from: record.state, to: next });
        }
        (record.state, record.since) = (next, at);
        let mut clock = LoadClock::new(at, Duration::ZERO);
        clock.pause(at, paused);
        record.load = Some(clock);
        Ok(())
    }

    fn restart(&mut self, attempt: AttemptId, at: Duration) -> Result<(), IllegalTransition> {
        let is_paused = self.paused;
        let record = self.workflow_mut(attempt.segment.workflow)?;
        let to = WorkflowState::Running;
        if record.state != to {
            let workflow = attempt.segment.workflow;
            return Err(IllegalTransition::Workflow { workflow, from: record.state, to });
        }
        record.restart(attempt, LoadClock::new(at, Duration::ZERO), (at, is_paused))
    }

    fn attempt_end(
        &mut self,
        attempt: AttemptId,
        end: AttemptEnd,
        result: &SegmentResult,
        at: Duration,
    ) -> Result<(), IllegalTransition> {
        let record = self.workflow_mut(attempt.segment.workflow)?;
        let known = record.attempts.get_mut(&attempt).ok_or(IllegalTransition::Unknown("such attempt"))?;
        if let Some((before, _)) = known.end {
            use crate::state::AttemptState::Ended;
            return Err(IllegalTransition::Attempt { attempt, from: Ended(before), to: Ended(end) });
        }
        (known.end, known.ended_at) = (Some((end, result.clone())), Some(at));
        let failure = result.stopped.as_ref().or(result.failure.as_ref());
        // Another worker may take what one refused.
        if let Some(failure) = failure.filter(|_| end != AttemptEnd::Refused) {
            record.failure.get_or_insert_with(|| failure.clone());
        }
        if attempt.segment.kind == SegmentKind::Load && record.load_is_over() {
            record.load_ended = Some(at);
        }
        Ok(())
    }

    fn apply_stop(&mut self, stop: &Stop) -> Result<(), IllegalTransition> {
        let all: Vec<usize> = match &stop.scope {
            StopScope::Job => (0..self.workflows.len()).collect(),
            StopScope::Workflows(some) => some.clone(),
        };
        if all.iter().any(|at| *at >= self.workflows.len()) {
            return Err(IllegalTransition::Unknown("such workflow"));
        }
        if stop.scope == StopScope::Job {
            if self.stop.is_none() {
                self.advance(JobState::Cancelling)?;
            }
            match &mut self.stop {
                Some(before) => before.phase = before.phase.max(stop.phase),
                None => self.stop = Some(stop.clone()),
            }
        }
        for at in all {
            self.workflows[at].stop(stop.phase, &stop.reason, stop.at);
        }
        if let Some(StopCause::Check { workflow, failure }) = &stop.cause {
            self.workflow_mut(*workflow)?.failure.get_or_insert_with(|| failure.clone());
        }
        Ok(())
    }

    fn control(
        &mut self,
        by: ChangedBy,
        change: &Change,
        at: Duration,
    ) -> Result<Vec<ListedChange>, IllegalTransition> {
        let mut listed = Vec::new();
        match change {
            Change::Pause | Change::Resume => {
                self.paused = *change == Change::Pause;
                for clock in self.workflows.iter_mut().flat_map(WorkflowRecord::clocks_mut) {
                    clock.pause(at, self.paused);
                }
                let what = if self.paused { Changed::Paused } else { Changed::Resumed };
                listed.push(self.list(by, None, what, at));
            }
            Change::Load { targets } => {
                if targets.iter().any(|target| target.workflow >= self.workflows.len()) {
                    return Err(IllegalTransition::Unknown("such workflow"));
                }
                for target in targets {
                    let workflow = &mut self.workflows[target.workflow];
                    workflow.retarget(target, at);
                    let name = workflow.name.clone();
                    listed.push(self.list(by, name, changed(target), at));
                }
            }
        }
        Ok(listed)
    }

    fn list(&mut self, by: ChangedBy, workflow: Option<Name>, what: Changed, at: Duration) -> ListedChange {
        let t_s = (at.as_secs_f64() * 1e3).round() / 1e3;
        let change = ListedChange { t_s, by, workflow, what };
        if self.changes.len() < limits::CHANGES_MAX {
            self.changes.push(change.clone());
        } else {
            self.changes_left_out += 1;
        }
        change
    }

    /// Where the job is follows from its workflows, until it is asked to stop.
    fn derive_state(&mut self) -> Result<(), IllegalTransition> {
        let has =
            |wanted: fn(WorkflowState) -> bool| self.workflows.iter().any(|workflow| wanted(workflow.state));
        let next = if matches!(self.state, JobState::Cancelling | JobState::Ended(_)) {
            return Ok(());
        } else if !has(|state| !matches!(state, WorkflowState::Ended(_))) {
            JobState::Completing
        } else if has(|state| matches!(state, WorkflowState::Running | WorkflowState::Teardown)) {
            JobState::Running
        } else if has(WorkflowState::is_active) {
            JobState::Dispatching
        } else if has(|state| state == WorkflowState::Ready) {
            JobState::Queued
        } else {
            return Ok(());
        };
        // A job that ran is running until its end: later batches do not lead back.
        if next > self.state { self.advance(next) } else { Ok(()) }
    }

    fn advance(&mut self, next: JobState) -> Result<(), IllegalTransition> {
        if !self.state.allows(next) {
            return Err(IllegalTransition::Job { from: self.state, to: next });
        }
        self.state = next;
        Ok(())
    }
}

/// Whether a workflow that has run nothing but its set-up gets other cores for all of it.
fn replaces(record: &WorkflowRecord, workflow: usize, batch: &Batch) -> bool {
    let is_its = |it: &SegmentId| it.workflow == workflow && it.kind != SegmentKind::Teardown;
    let mut segments = batch.assignments.iter().map(|assignment| assignment.attempt.segment);
    record.state == WorkflowState::Setup && segments.any(|segment| is_its(&segment))
}

/// Whether an attempt takes the place of one that was lost, while the load of the workflow is prepared or runs.
fn joins(record: &WorkflowRecord, attempt: AttemptId) -> bool {
    let is_later = attempt.number > 1 && attempt.segment.kind == SegmentKind::Load;
    is_later && matches!(record.state, WorkflowState::Assigned | WorkflowState::Running)
}

/// Where a workflow is once a segment of this kind was assigned.
fn next_state(kind: SegmentKind) -> WorkflowState {
    match kind {
        SegmentKind::Setup => WorkflowState::Setup,
        SegmentKind::Load => WorkflowState::Assigned,
        SegmentKind::Teardown => WorkflowState::Teardown,
    }
}

fn changed(target: &Retarget) -> Changed {
    let rate = |target| match target {
        Target::Rate(rate) => rate,
        Target::Vus(vus) => f64::from(vus),
    };
    match (target.from, target.to) {
        (Target::Vus(from), Target::Vus(to)) => Changed::Vus { from, to },
        (from, to) => Changed::Rate { from: rate(from), to: rate(to) },
    }
}
