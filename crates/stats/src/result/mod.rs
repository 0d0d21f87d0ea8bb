//! The result of a run, as it is written and read as JSON (version 1: fields are added, never renamed).
//!
//! Times are microseconds as decimal numbers rounded to 0.1 (`…_us`) or seconds rounded to 0.001 (`…_s`); rates are per
//! second, rounded to 0.1. A distribution without samples has `count: 0` and zeros.

mod attempts;
mod buckets;
mod build;
mod changes;
mod exports;
mod metric;
mod step;
mod validity;
mod warnings;

use std::collections::BTreeMap;

use hyperscale_types::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use attempts::{AttemptCounts, AttemptResult, AttemptStatus, SegmentPart};
pub use buckets::{BucketResult, merge_buckets};
pub use build::{WorkflowFacts, errors, load_result, saturation, workflow_result};
pub use changes::{Change, Changed, ChangedBy};
pub use exports::ExportResult;
pub use metric::{MetricResult, MetricTagResult, ValuesResult};
pub use step::{BytesResult, CallTimes, PhasesResult, StepResult, StreamResult, TagResult, TimingResult};
pub use validity::{Discarded, Loss, SaturationResult, Unreported, Validity};
pub(crate) use warnings::covered_s;
pub use warnings::{Bottleneck, bottleneck, saturated, warnings};

/// The version that is written.
pub const VERSION: u32 = 1;

/// The result of a job or of a local run, final or so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Which job it is.
    #[serde(flatten)]
    pub identity: RunIdentity,
    /// How it ended, or where it is.
    pub status: Status,
    /// Why it did not complete: `threshold`, `unreachable`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether nothing will change any more.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// How long it took or has been running.
    pub elapsed_s: f64,
    /// Its workflows in the order of the plan.
    pub workflows: Vec<WorkflowResult>,
    /// Its thresholds in the order of the plan.
    pub thresholds: Vec<ThresholdResult>,
    /// Whether all thresholds hold.
    pub thresholds_passed: bool,
    /// All workflows together.
    pub totals: LoadResult,
    /// What went wrong, by workflow, step, kind and message.
    pub errors: Vec<ErrorResult>,
    /// What limits the trust in the numbers.
    #[serde(flatten)]
    pub validity: Validity,
    /// The run over time.
    pub series: Vec<SeriesPoint>,
    /// How the numbers came about.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// Which job a result belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunIdentity {
    /// [`VERSION`].
    pub version: u32,
    /// The job's id.
    pub job: String,
    /// The plan's name.
    pub name: String,
}

/// How the numbers of a result came about, and where else they went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Facts about the machine and the program, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Options the run was started with, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What people changed about the load while it ran, in order; the first [`hyperscale_types::limits::CHANGES_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Changes that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes_left_out: u64,
    /// Who ran what, in a cluster: the attempts at all segments in the order of the plan; the first
    /// [`hyperscale_types::limits::ATTEMPTS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<AttemptResult>,
    /// Attempts that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub segments_left_out: u64,
    /// What exporters did with the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<ExportResult>,
    /// The plan as it was written, if it came from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanText>,
}

/// A plan as it was written: nothing in it is resolved, neither variables nor the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanText {
    /// The file.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Where a job or a workflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are defined in the state diagrams of jobs and workflows")]
pub enum Status {
    Submitted,
    Queued,
    Dispatching,
    Pending,
    Ready,
    Assigned,
    Running,
    Completing,
    Cancelling,
    Completed,
    Partial,
    Failed,
    Cancelled,
    Skipped,
    TimedOut,
}

impl Status {
    /// The word used in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Submitted => "submitted",
            Status::Queued => "queued",
            Status::Dispatching => "dispatching",
            Status::Pending => "pending",
            Status::Ready => "ready",
            Status::Assigned => "assigned",
            Status::Running => "running",
            Status::Completing => "completing",
            Status::Cancelling => "cancelling",
            Status::Completed => "completed",
            Status::Partial => "partial",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
            Status::Skipped => "skipped",
            Status::TimedOut => "timed_out",
        }
    }
}

/// One workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowResult {
    /// Its name.
    pub name: Name,
    /// How it ended, or where it is.
    pub status: Status,
    /// Why it did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long its load took.
    pub elapsed_s: f64,
    /// Its VUs: `max_vus` in open models.
    pub vus: u64,
    /// The most VUs that were active: how many an open model needed of `vus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vus_peak: Option<u64>,
    /// Cores it ran on.
    pub cores: u32,
    /// Its iterations.
    pub iterations: IterationsResult,
    /// Steps of the load.
    pub steps: Vec<StepResult>,
    /// Steps of set-up and tear-down.
    #[serde(default)]
    pub setup_steps: Vec<StepResult>,
    /// Checks.
    pub checks: Vec<CheckResult>,
    /// Metrics.
    pub metrics: Vec<MetricResult>,
    /// All test steps of the load together.
    pub totals: LoadResult,
    /// What the generator itself needed.
    #[serde(flatten)]
    pub generator: GeneratorResult,
    /// Where it did less than its plan says without failing, in words: rows that ran out, a count not reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What the generator itself needed for a workflow, so that a reader can tell it from what the target needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorResult {
    /// How long after their intended times starts were dispatched (open models).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_us: Option<TimingResult>,
    /// Whether it was the bottleneck in any second; the `saturation` of the run says when and by what.
    #[serde(default)]
    pub generator_saturated: bool,
    /// Share of its time, 0 … 1, that the busiest of its cores was busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_core: Option<f64>,
    /// Share of its time, 0 … 1, in which the core that waited most could have run and had no CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue: Option<f64>,
}

/// Iterations: `started = completed + failed + interrupted`, and `scheduled = started + dropped` where it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IterationsResult {
    /// Intended starts (open models only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<u64>,
    /// Begun.
    pub started: u64,
    /// All steps done, none failed.
    pub completed: u64,
    /// A step failed.
    pub failed: u64,
    /// Cut off by the end of the run.
    pub interrupted: u64,
    /// Intended starts that never began.
    pub dropped: u64,
    /// Starts that found no free VU or began too late.
    pub late: u64,
    /// Starts that were due while an iteration took too long (paced models only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// Its name.
    pub name: Name,
    /// The step it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Name>,
    /// Times it held.
    pub passed: u64,
    /// Times it did not.
    pub failed: u64,
}

/// One threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// The rule as it was written.
    pub rule: String,
    /// The left side in seconds, per second, as a fraction or as a number; `null` if there was no sample.
    pub value: Option<f64>,
    /// Whether it holds.
    pub passed: bool,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a reader must know about the value: many calls failed and are not part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Calls of several steps as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// Requests handed to the kernel.
    pub requests: u64,
    /// Requests that were sent again, because the server had not processed them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Calls that were ok.
    pub ok: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls per second.
    pub rate: f64,
    /// From the intended start, of calls that were ok.
    pub latency_us: TimingResult,
    /// From the intended start, of calls that failed.
    #[serde(default)]
    pub latency_failed_us: TimingResult,
    /// From the intended start, of all calls.
    #[serde(default)]
    pub latency_all_us: TimingResult,
    /// From the actual start, of calls that were ok.
    #[serde(default)]
    pub service_us: TimingResult,
    /// Bytes on the connections.
    #[serde(default)]
    pub bytes: BytesResult,
}

/// What went wrong and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorResult {
    /// The datacenter (clusters only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
    /// The workflow.
    pub workflow: Name,
    /// The step, unless the workflow itself failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Name>,
    /// The kind of a failed call, or the reason of a failed workflow.
    pub kind: String,
    /// The message; `other` stands for messages beyond the limit.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// One point of the run over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// Its begin on the run's clock.
    pub t_s: f64,
    /// Calls per second.
    pub rate: f64,
    /// Failed calls.
    pub failed: u64,
    /// Active VUs, averaged over the point.
    pub vus: u64,
    /// Median latency of calls that were ok; 0 without any.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
