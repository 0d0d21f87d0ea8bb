//! The state of a run at one moment: the result so far, and what only a live view needs.

use hyperscale_types::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{BoundCounts, Shape};
use crate::result::{RunResult, SeriesPoint};

/// Points of a series that a snapshot carries. A face that misses fewer snapshots than this has no gap in its charts.
pub const NEWEST_POINTS_MAX: usize = 10;

/// The state of a run at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Snapshots this face has missed since the last one it got.
    #[serde(default)]
    pub missed: u64,
    /// Whether the load stands still because somebody paused it.
    #[serde(default)]
    pub paused: bool,
    /// The result so far, `final: false`. Its series holds the newest points only ([`NEWEST_POINTS_MAX`]); they may be
    /// newer versions of points that were already seen, which `t_s` tells. A threshold without a sample holds so far.
    pub result: RunResult,
    /// Every workflow, in the order of the result's.
    pub workflows: Vec<WorkflowLive>,
    /// How the load generator itself is doing.
    pub generator: Generator,
}

/// What the result so far does not say about a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowLive {
    /// Its name.
    pub name: Name,
    /// Share of its planned time that is over, 0 … 1, if the time is known and its load has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// Active virtual users.
    pub vus: u64,
    /// What the load is meant to be now, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Iterations that began in the last full second (open models): what [`Target::Rate`] is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_per_s: Option<f64>,
    /// Its newest full seconds ([`NEWEST_POINTS_MAX`]).
    pub series: Vec<SeriesPoint>,
    /// The shape of its latencies so far.
    pub shape: Shape,
    /// Its test steps, set-up and tear-down left out.
    pub steps: Vec<StepLive>,
}

/// What the load of a workflow is meant to be at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// So many virtual users (closed models).
    Vus(u32),
    /// So many starts per second (open models).
    Rate(f64),
}

/// What the result so far does not say about a test step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepLive {
    /// Its name.
    pub name: Name,
    /// Latency of calls that were ok.
    pub latency: BoundCounts,
    /// Latency of calls that failed.
    pub failed_latency: BoundCounts,
}

/// How the load generator itself is doing. Late and dropped starts are those of the whole run, the rest is of the last
/// second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Cores that run load.
    pub cores: u32,
    /// Share of its time, 0 … 1, that the busiest of them was busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_core: Option<f64>,
    /// Share of its time, 0 … 1, in which the one that waited most could have run and had no CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue: Option<f64>,
    /// How long after their intended times starts were dispatched, 99th percentile (open models).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_p99_us: Option<f64>,
    /// Starts that found no free virtual user or began too late.
    pub late: u64,
    /// Intended starts that never began.
    pub dropped: u64,
    /// Memory of this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Whether it is, or was, the bottleneck.
    pub saturated: bool,
}
