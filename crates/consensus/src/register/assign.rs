//! Assigning: a batch of attempts is given to workers, all of them or none.
//!
//! A batch holds all segments of the workflows that start together. It is a compare-and-set: every attempt is looked at as if
//! those before it in the batch were made, and the first that cannot be made refuses all of them.
//!
//! | kind      | may be assigned                                                                                     |
//! | --------- | ------------------------------------------------------------------------------------------------------ |
//! | set-up    | before any load of the workflow                                                                       |
//! | load      | when every set-up segment of the workflow has completed                                              |
//! | tear-down | when nothing of the workflow runs; also after a cancel, if the workflow had begun                    |
//!
//! A workflow that begins must not overtake an older waiting claim, see `claim`; one that has begun never waits for others, or
//! it could not end and make room for them.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::{BootEpoch, NodeId, Token};

use super::attempt::{Attempt, AttemptState};
use super::change::Change;
use super::command::{JobId, Segment};
use super::job::Job;
use super::limits::{ATTEMPTS_MAX, Limit, SEGMENTS_MAX, Share, WORKFLOWS_MAX};
use super::weight::{ATTEMPT_BYTES, SEGMENT_BYTES, WORKFLOW_BYTES};
use super::worker::Worker;
use super::workflow::{SegmentKind, SegmentRecord};
use super::{CommandRefusal, Outcome, Register};

/// A batch of attempts of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assign {
    /// The job that all attempts of the batch belong to.
    pub job: JobId,
    /// The attempts, in the order in which they are looked at.
    pub segments: Vec<AssignSegment>,
}

/// One attempt of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignSegment {
    /// Name of the workflow; its first attempt begins it.
    pub workflow: String,
    /// The segment; numbers are unique in the workflow, whatever the kind.
    pub number: u32,
    /// What the segment does; the same for all its attempts.
    pub kind: SegmentKind,
    /// Counts from 1.
    pub attempt: u32,
    /// The worker whose cores are promised.
    pub worker: NodeId,
    /// The boot that the placement saw; refused if another one has the grant.
    pub boot: BootEpoch,
    /// The grant that the placement saw; refused if it is not in force.
    pub grant: Token,
    /// The core group it shares; zero: its cores are its own.
    pub group: u32,
    /// Cores it takes, or the cores of its group on this worker.
    pub cores: u32,
    /// Virtual users it runs.
    pub vus: u32,
    /// Where in the workflow's load curve it joins.
    pub elapsed_ms: u64,
    /// Iterations that are left to it, if they are counted.
    pub iterations_left: Option<u64>,
}

impl AssignSegment {
    fn segment(&self, job: JobId) -> Segment {
        Segment { job, workflow: self.workflow.clone(), number: self.number }
    }
}

/// What the attempts of a batch that were looked at would change.
#[derive(Default)]
struct Batch<'a> {
    cores: BTreeMap<NodeId, u32>,
    groups: BTreeMap<(NodeId, u32), u32>,
    segments: BTreeSet<(&'a str, u32)>,
    new_workflows: BTreeSet<&'a str>,
    new_segments: usize,
    weight: usize,
}

impl Register {
    pub(super) fn assign(
        &mut self,
        index: u64,
        token: Token,
        assign: &Assign,
    ) -> Result<Outcome, CommandRefusal> {
        let job = self.jobs.get(&assign.job).ok_or(CommandRefusal::UnknownJob)?;
        let token = if bug!(self.bugs, IgnoreTokenOnAssign) { job.token() } else { token };
        job.fence(token)?;
        if assign.segments.is_empty() {
            return Err(CommandRefusal::EmptyBatch);
        }
        self.may_begin(assign.job, job, &assign.segments)?;
        let mut batch = Batch::default();
        for it in &assign.segments {
            self.look_at(assign.job, job, it, &mut batch)?;
        }
        self.account.room().check(job, batch.weight, Share::Open)?;
        let weight = batch.weight;
        self.job_mut(assign.job)?.tally.weight += weight;
        for it in &assign.segments {
            self.make(index, assign.job, it);
        }
        Ok(Outcome::Done)
    }

    /// Workflows that begin must not overtake.
    fn may_begin(&self, id: JobId, job: &Job, segments: &[AssignSegment]) -> Result<(), CommandRefusal> {
        let begins =
            |it: &AssignSegment| job.workflow(&it.workflow).is_none_or(|known| known.started.is_none());
        if !segments.iter().any(begins) {
            return Ok(());
        }
        self.claims.overtaken_by(id).map_or(Ok(()), |claim| Err(CommandRefusal::Overtakes { claim }))
    }

    /// The compare half of compare-and-set, for one attempt after those before it.
    fn look_at<'a>(
        &self,
        id: JobId,
        job: &Job,
        it: &'a AssignSegment,
        batch: &mut Batch<'a>,
    ) -> Result<(), CommandRefusal> {
        if !batch.segments.insert((&it.workflow, it.number)) {
            return Err(CommandRefusal::Running);
        }
        job.may_run(it)?;
        let record = job.segment(&it.workflow, it.number);
        if record.is_some_and(|record| record.kind != it.kind) {
            return Err(CommandRefusal::WrongKind);
        }
        let last = record.map(SegmentRecord::last);
        if last.is_some_and(|last| last.state == AttemptState::Running)
            && !bug!(self.bugs, AssignWhileRunning)
        {
            return Err(CommandRefusal::Running);
        }
        let next = last.map_or(1, |last| last.number.saturating_add(1));
        if it.attempt != next {
            return Err(CommandRefusal::WrongAttempt { next });
        }
        self.has_cores(id, it, batch)?;
        Limit::name(&it.workflow)?;
        Limit::Attempts.hold(it.attempt as usize, ATTEMPTS_MAX)?;
        if record.is_none() {
            batch.new_segments += 1;
            Limit::Segments.hold(job.tally.segments as usize + batch.new_segments, SEGMENTS_MAX)?;
            batch.weight += SEGMENT_BYTES;
        }
        if job.workflow(&it.workflow).is_none() && batch.new_workflows.insert(&it.workflow) {
            Limit::Workflows.hold(job.workflows.len() + batch.new_workflows.len(), WORKFLOWS_MAX)?;
            batch.weight += WORKFLOW_BYTES + it.workflow.len();
        }
        batch.weight += ATTEMPT_BYTES + it.workflow.len();
        Ok(())
    }

    fn has_cores(&self, id: JobId, it: &AssignSegment, batch: &mut Batch<'_>) -> Result<(), CommandRefusal> {
        let worker = self.workers.get(&it.worker);
        let current = worker.map(|worker| worker.grant);
        let worker = worker.filter(|worker| worker.grant == it.grant && worker.boot == it.boot);
        let worker = worker.ok_or(CommandRefusal::StaleGrant { current })?;
        if worker.is_draining && !bug!(self.bugs, AssignToDraining) {
            return Err(CommandRefusal::Draining);
        }
        if it.group > 0 {
            let in_batch = batch.groups.get(&(it.worker, it.group)).copied();
            match in_batch.or_else(|| worker.promised.group(id, it.group)) {
                Some(cores) if cores == it.cores => return Ok(()),
                Some(cores) => return Err(CommandRefusal::GroupCores { cores }),
                None => {}
            }
        }
        self.takes_cores(worker, it, batch)
    }

    #[cfg_attr(not(feature = "bugs"), expect(clippy::unused_self, reason = "holds the deliberate bugs"))]
    fn takes_cores(
        &self,
        worker: &Worker,
        it: &AssignSegment,
        batch: &mut Batch<'_>,
    ) -> Result<(), CommandRefusal> {
        let taken = batch.cores.entry(it.worker).or_default();
        let free = worker.free().saturating_sub(*taken);
        if (it.cores == 0 || it.cores > free) && !bug!(self.bugs, DoublePromiseCore) {
            return Err(CommandRefusal::CoresNotFree { free });
        }
        *taken += it.cores;
        if it.group > 0 {
            batch.groups.insert((it.worker, it.group), it.cores);
        }
        Ok(())
    }

    /// The set half: everything was looked at.
    fn make(&mut self, index: u64, id: JobId, it: &AssignSegment) {
        let segment = it.segment(id);
        let worker = self.workers.get_mut(&it.worker).expect("looked at: it has a grant");
        worker.promised.add(segment.clone(), it.group, it.cores);
        self.changes.push(Change::Promise(it.worker, it.grant, segment.clone()));
        let job = self.jobs.get_mut(&id).expect("looked at: it is known");
        let begins = job.begin_attempt(index, it, Attempt::new(it));
        self.changes.push(Change::Segment(segment));
        if begins {
            self.changes.push(Change::Workflow(id, it.workflow.clone()));
            self.stop_waiting(id, &it.workflow);
        }
    }
}

impl Job {
    /// Whether anything of this kind may run in the workflow now.
    fn may_run(&self, it: &AssignSegment) -> Result<(), CommandRefusal> {
        let workflow = self.workflow(&it.workflow);
        if workflow.is_some_and(|workflow| workflow.end.is_some()) {
            return Err(CommandRefusal::AlreadyEnded);
        }
        let has_begun = workflow.is_some_and(|workflow| workflow.started.is_some());
        let cleans_up = it.kind == SegmentKind::TearDown && has_begun;
        if self.is_cancelled(&it.workflow) && !cleans_up {
            return Err(CommandRefusal::Cancelled);
        }
        workflow.map_or(Ok(()), |workflow| workflow.may_run(it.kind))
    }
}
