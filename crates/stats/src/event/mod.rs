//! The typed stream between a run and all its faces: progress lines, live screen, exporters, recordings.
//!
//! ```text
//! started ─► (workflow | snapshot | changed | abort)* ─► finished
//! ```
//! Events are a view, never the truth: a face that is too slow misses snapshots (counted in [`Snapshot::missed`]), and
//! the result does not depend on any face. They are made once per second or more rarely, never per request. As JSON an
//! event is an object whose `type` is one of the words above; [`VERSION`] counts changes that old readers would not
//! understand.

mod bounds;
mod live;

use std::collections::BTreeMap;

use hyperscale_types::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use bounds::{BOUNDS_US, BoundCounts, SHAPE_BARS_MAX, Shape};
pub use live::{Generator, NEWEST_POINTS_MAX, Snapshot, StepLive, Target, WorkflowLive};

use crate::result::{Change, RunResult, Status};

/// The version of the stream. Fields are added without a new one, never renamed.
/// 2: workflows can wait for cores.
pub const VERSION: u32 = 2;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The run begins. Always the first event.
    Started(Box<Started>),
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
    /// Somebody outside wanted something of the run.
    Changed {
        /// What became of it, in words.
        what: String,
        /// The change of the load, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Change>,
    },
    /// The run is over. Always the last event.
    Finished(Box<RunResult>),
}

/// What is known before the first request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// The job's id.
    pub job: String,
    /// The plan's name.
    pub name: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// How long the whole plan is meant to last, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_s: Option<f64>,
    /// Its workflows in the order of the plan.
    pub workflows: Vec<WorkflowPlan>,
    /// The rules that will decide, as they were written.
    #[serde(default)]
    pub thresholds: Vec<String>,
    /// Facts about the machine and the program, by name.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Options the run was started with, by name.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// A workflow before it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowPlan {
    /// Its name.
    pub name: Name,
    /// How long its load is meant to last, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_s: Option<f64>,
    /// The most virtual users it may have.
    pub vus: u32,
}

/// The states a workflow goes through, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum WorkflowState {
    /// It could begin, but others have the cores that it needs.
    Waiting {
        /// How many it needs at least.
        cores: u32,
    },
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}
