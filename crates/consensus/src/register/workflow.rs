//! A workflow of a job: its segments with all their attempts, what it provides, when it began, how it ended.
//!
//! ```text
//! pending ── Assign(set-up) ──► set-up ── Assign(load) ──► load ── Assign(tear-down) ──► tear-down ── WorkflowEnd ──► ended
//!    ├────────── Assign(load) ────────────────► │             └──────────── WorkflowEnd ─────────────────────────────► │
//!    └──────────────────────────────────────── WorkflowEnd ──────────────────────────────────────────────────────────► │
//! ```

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::NodeId;

use super::CommandRefusal;
use super::attempt::{Attempt, AttemptState};
use super::command::Values;
use super::end::{EndError, EndStatus};

/// What a segment does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentKind {
    /// Prepares the workflow, on one core, before any load.
    SetUp,
    /// Runs virtual users.
    Load,
    /// Cleans up after the load, on one core, also after a cancel.
    TearDown,
}

/// How far a workflow is, as far as the log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing of it was assigned.
    Pending,
    /// Its set-up was assigned, and nothing later.
    SetUp,
    /// Load was assigned.
    Load,
    /// Its tear-down was assigned.
    TearDown,
    /// It ended.
    Ended,
}

/// A workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workflow {
    /// The entry that first assigned anything of it.
    pub started: Option<u64>,
    /// What its clock showed when the job's leader was granted; zero if it started later.
    pub elapsed_ms: u64,
    /// Version and values it provides.
    pub context: Option<(u64, Values)>,
    /// How it ended, and why not as planned.
    pub end: Option<(EndStatus, Option<EndError>)>,
    pub(super) segments: BTreeMap<u32, SegmentRecord>,
    /// Its set-up segments. Follows from `segments`.
    pub(super) set_ups: BTreeSet<u32>,
    /// Attempts that run. Follows from `segments`.
    pub(super) running: u32,
    /// The latest kind that was assigned. Follows from `segments`.
    pub(super) latest: Option<SegmentKind>,
}

/// A segment and the history of its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SegmentRecord {
    /// What it does.
    pub kind: SegmentKind,
    /// From the first to the last; never empty.
    pub(super) attempts: Vec<Attempt>,
}

impl SegmentRecord {
    /// All attempts, from the first on.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The last attempt: the only one that may run or count.
    pub fn last(&self) -> &Attempt {
        self.attempts.last().expect("a segment is kept from its first attempt on")
    }

    pub(super) fn last_mut(&mut self) -> &mut Attempt {
        self.attempts.last_mut().expect("a segment is kept from its first attempt on")
    }

    /// Workers that get no further attempt of it: they lost one or refused one.
    pub fn excluded(&self) -> BTreeSet<NodeId> {
        let failed = self.attempts.iter().filter(|it| it.is_lost() || it.is_refused());
        failed.map(|attempt| attempt.worker).collect()
    }

    /// Attempts that were lost: they count against `max_retries`.
    pub fn lost(&self) -> u32 {
        self.attempts.iter().filter(|attempt| attempt.is_lost()).count() as u32
    }

    /// Attempts that were refused: they count against the budget of the job only.
    pub fn refused(&self) -> u32 {
        self.attempts.iter().filter(|attempt| attempt.is_refused()).count() as u32
    }

    fn has_completed(&self) -> bool {
        matches!(&self.last().state, AttemptState::Ended(end) if end.status == EndStatus::Completed)
    }
}

impl Workflow {
    /// How far it is.
    pub fn phase(&self) -> Phase {
        match (&self.end, self.latest) {
            (Some(_), _) => Phase::Ended,
            (None, None) => Phase::Pending,
            (None, Some(SegmentKind::SetUp)) => Phase::SetUp,
            (None, Some(SegmentKind::Load)) => Phase::Load,
            (None, Some(SegmentKind::TearDown)) => Phase::TearDown,
        }
    }

    /// Its segments, by number.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = (u32, &SegmentRecord)> {
        self.segments.iter().map(|(number, record)| (*number, record))
    }

    /// Whether an attempt of it runs.
    pub fn is_running(&self) -> bool {
        self.running > 0
    }

    /// Whether a segment of this kind may be assigned after what was.
    pub(super) fn may_run(&self, kind: SegmentKind) -> Result<(), CommandRefusal> {
        let is_late = self.latest.is_some_and(|latest| latest > kind);
        let is_set_up = || self.set_ups.iter().all(|number| self.segments[number].has_completed());
        match kind {
            _ if is_late => Err(CommandRefusal::WrongKind),
            SegmentKind::Load if !is_set_up() => Err(CommandRefusal::NotSetUp),
            SegmentKind::TearDown if self.runs_other_than_tear_down() => Err(CommandRefusal::Running),
            SegmentKind::SetUp | SegmentKind::Load | SegmentKind::TearDown => Ok(()),
        }
    }

    fn runs_other_than_tear_down(&self) -> bool {
        self.running > 0 && self.latest != Some(SegmentKind::TearDown)
    }

    /// Takes the next attempt of a segment.
    pub(super) fn add(&mut self, number: u32, kind: SegmentKind, attempt: Attempt) {
        let record = self.segments.entry(number);
        record.or_insert_with(|| SegmentRecord { kind, attempts: Vec::new() }).attempts.push(attempt);
        if kind == SegmentKind::SetUp {
            self.set_ups.insert(number);
        }
        self.latest = self.latest.max(Some(kind));
        self.running += 1;
    }

    /// What follows from the segments, after they were read.
    pub(super) fn recount(&mut self) {
        let of_kind = |kind| self.segments.iter().filter(move |(_, record)| record.kind == kind);
        self.set_ups = of_kind(SegmentKind::SetUp).map(|(number, _)| *number).collect();
        self.latest = self.segments.values().map(|record| record.kind).max();
        let runs = |record: &&SegmentRecord| record.last().state == AttemptState::Running;
        self.running = self.segments.values().filter(runs).count() as u32;
    }
}
