//! What a worker is told about a segment and what it tells: the seam between a job and whoever runs its load.
//!
//! ```text
//! job ──SegmentOrder──► worker ──prepares──► Report::Prepared
//!     ──Directive──────►        ──windows, cores completed──►
//!                               ──Report::Ended(SegmentResult)──► the attempt is over
//! ```
//! Times are those of the job clock unless they say *load clock*. Values are plain JSON, so that they can travel.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_types::Rate;
use serde_json::Value as Json;

use crate::entry::Assignment;
use crate::reason::Failure;

/// What a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentKind {
    /// Runs `setup` once, before the load.
    Setup,
    /// Runs a part of the load.
    Load,
    /// Runs `teardown` once, after the load, also after a cancel.
    Teardown,
}

/// A segment of a job: the part of a workflow that is given to one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId {
    /// Position of the workflow in the plan.
    pub workflow: usize,
    /// What it is for.
    pub kind: SegmentKind,
    /// Its number among those of the same kind, from 0.
    pub index: u32,
}

/// One try at running a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// The segment.
    pub segment: SegmentId,
    /// From 1.
    pub number: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SegmentId { workflow, kind, index } = self.segment;
        write!(f, "{} of {kind:?} segment {index} of workflow {workflow}", self.number)
    }
}

/// Everything a worker needs to know to run an attempt, beside the plan. The same decisions give the same order.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentOrder {
    /// Where it runs, and which part of the workflow's load it is.
    pub assignment: Assignment,
    /// Values of other workflows, by position in the workflow's `uses`.
    pub context: Arc<[Json]>,
    /// Results of the set-up steps, by position.
    pub setup: Arc<[Json]>,
    /// Where on the load clock it begins.
    pub offset: Duration,
    /// Iterations that earlier attempts of the segment are known to have started; only for counted iterations.
    pub iterations_done: u64,
}

/// How far the load is on its way to the end. Ordered: it only ever grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopPhase {
    /// Iterations start.
    #[default]
    Running,
    /// No iteration starts; running ones finish all their steps.
    Finishing,
    /// No step starts; calls in flight may finish.
    Cancelling,
    /// Everything is cut off.
    Aborted,
}

/// What an attempt is told while it runs. The newest value counts; numbers are those of the whole workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Directive {
    /// When the load of the attempt begins, on the job clock: not before every segment of the workflow is prepared, and at
    /// [`SegmentOrder::offset`] of the load clock.
    pub go: Option<Duration>,
    /// How far to the end.
    pub phase: StopPhase,
    /// Start nothing.
    pub paused: bool,
    /// Virtual users instead of the plan's.
    pub vus: Option<u32>,
    /// Rate instead of the plan's.
    pub rate: Option<RateChange>,
}

/// A rate that holds from a moment of the load clock on, the same on all cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChange {
    /// Starts per second of the whole workflow.
    pub rate: Rate,
    /// From this moment of the load clock on.
    pub from: Duration,
    /// Starts of the whole workflow that are due before that moment, by the plan and by earlier changes. With it nobody
    /// needs to know the earlier changes, and no start is lost however many there are.
    pub before: f64,
}

impl RateChange {
    /// The change that follows on this one.
    #[must_use]
    pub fn then(self, rate: Rate, from: Duration) -> Self {
        let from = from.max(self.from);
        let before = self.before + self.rate.as_per_second() * from.saturating_sub(self.from).as_secs_f64();
        RateChange { rate, from, before }
    }
}

/// What a worker says about an attempt. Windows of statistics come apart: [`crate::Input::Window`].
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// It was accepted; preparing it has begun.
    Accepted,
    /// It has nothing to say but that it is alive: set-up and preparation have no windows.
    Alive,
    /// Every core is prepared.
    Prepared,
    /// The planned load of a core is over; running iterations finish.
    Finishing,
    /// A core has nothing more to do, and nothing of the attempt will run on it any more.
    CoreCompleted {
        /// Its number in the workflow.
        core: u32,
    },
    /// A check with `stop: test` failed. The result says it again.
    StopTest(Failure),
    /// It is over.
    Ended(Box<SegmentResult>),
    /// Its worker does not take it, and never will: nothing of it has run.
    Refused {
        /// Why, for people.
        why: String,
    },
    /// Its worker is gone, and with it whatever it did not report. Said by the host, which knows that the worker's lease has ended.
    Lost,
}

/// What an attempt leaves behind. Its statistics are in its windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentResult {
    /// Why it could not run, or not to its end.
    pub failure: Option<Failure>,
    /// Results of the steps of a set-up, by position.
    pub values: Vec<Json>,
    /// Values for other workflows, of all virtual users that count.
    pub provided: Vec<Provided>,
    /// What became of its virtual users.
    pub vus: VuCounts,
    /// The `stop: test` check that failed.
    pub stopped: Option<Failure>,
}

/// One provided value and when it was produced, so that `first` and `last` can be chosen among all cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Provided {
    /// Position in the workflow's `provides`.
    pub provide: usize,
    /// When, on the job clock.
    pub produced: Duration,
    /// The value.
    pub value: Json,
}

/// What became of the virtual users of some cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VuCounts {
    /// All that were started.
    pub started: u32,
    /// Their `vu_setup` failed.
    pub failed: u32,
    /// They ended because a data file had no row for them, by position in the plan's data.
    pub out_of_rows: Vec<u32>,
}

impl VuCounts {
    /// Adds those of other cores.
    pub fn merge(&mut self, other: &VuCounts) {
        self.started += other.started;
        self.failed += other.failed;
        let length = self.out_of_rows.len().max(other.out_of_rows.len());
        self.out_of_rows.resize(length, 0);
        self.out_of_rows.iter_mut().zip(&other.out_of_rows).for_each(|(all, more)| *all += more);
    }
}
