//! The typed stream between a run and all its faces: progress lines, live screen, exporters, recorders.
//!
//! Events are a view, never the truth: a face that is too slow misses snapshots (counted in `missed`), and the result
//! does not depend on any face.

use hyperscale_stats::result::{RunResult, SeriesPoint, Status};
use hyperscale_types::Name;

/// Events waiting for a face. At one snapshot per second this is a minute.
pub const EVENTS_MAX: usize = 64;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A workflow changed its state.
    Workflow {
        /// Which.
        name: Name,
        /// Its new state.
        state: WorkflowState,
    },
    /// The state of the whole run, once per second.
    Snapshot(Box<Snapshot>),
    /// A threshold failed and ends the run.
    Abort {
        /// The rule.
        rule: String,
    },
    /// The load was changed from outside.
    Changed {
        /// What was changed, in words.
        what: String,
    },
    /// The run is over. Always the last event.
    Finished(Box<RunResult>),
}

/// The states a workflow goes through, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkflowState {
    /// It resolves names, makes TLS configurations, reads files, runs its set-up.
    Preparing {
        /// On how many cores.
        cores: u32,
    },
    /// Its load runs.
    Running,
    /// No iteration starts any more.
    Finishing,
    /// It is over.
    Ended {
        /// Completed, failed, cancelled or skipped.
        status: Status,
        /// Why, where the status does not say it.
        reason: Option<String>,
    },
}

/// The state of a run at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Seconds since the run began.
    pub elapsed_s: f64,
    /// Snapshots this face has missed before this one.
    pub missed: u64,
    /// The last full second of the whole run.
    pub last: Option<SeriesPoint>,
    /// Every workflow that has begun.
    pub workflows: Vec<WorkflowSnapshot>,
}

/// One workflow in a snapshot.
#[derive(Clone, Debug)]
pub struct WorkflowSnapshot {
    /// Its name.
    pub name: Name,
    /// Share of its planned time that is over, 0 … 1, if the time is known.
    pub progress: Option<f64>,
    /// Active virtual users.
    pub vus: u64,
    /// Calls so far.
    pub count: u64,
    /// Failed calls so far.
    pub failed: u64,
    /// Iterations that have begun.
    pub started: u64,
    /// Open-model starts that were late.
    pub late: u64,
    /// Open-model starts that were dropped.
    pub dropped: u64,
}
