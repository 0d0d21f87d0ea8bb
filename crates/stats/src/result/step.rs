//! A step in the result: its calls, their durations and bytes.

use std::collections::BTreeMap;

use hyperscale_types::{Name, ReportedKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BucketResult, is_zero};
use crate::event::BoundCounts;
use crate::layout::StepKind;

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResult {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: StepKind,
    /// The client of a test step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Calls that began: `ok + failed`.
    pub count: u64,
    /// Calls that were ok.
    pub ok: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Times it did not run.
    pub skipped: u64,
    /// Requests whose last byte was handed to the kernel.
    pub requests: u64,
    /// Requests that were sent again, because the server had not processed them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Calls per second.
    pub rate: f64,
    /// How long they took.
    #[serde(flatten)]
    pub times: CallTimes,
    /// Events of streamed responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamResult>,
    /// Bytes on the connection.
    pub bytes: BytesResult,
    /// Responses by status.
    pub status: BTreeMap<String, u64>,
    /// Failed calls by kind.
    pub errors: BTreeMap<ReportedKind, u64>,
    /// The same calls by their tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<TagResult>,
}

/// How long the calls of a step took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallTimes {
    /// From the intended start, of calls that were ok.
    pub latency_us: TimingResult,
    /// The same latencies by bucket, in order, without empty ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_buckets: Vec<BucketResult>,
    /// The same latencies at fixed bounds, as exporters send them.
    #[serde(default, skip_serializing_if = "BoundCounts::is_empty")]
    pub latency_bounds: BoundCounts,
    /// From the actual start, of calls that were ok.
    pub service_us: TimingResult,
    /// From the intended start, of calls that failed.
    #[serde(default, alias = "failed_latency_us")]
    pub latency_failed_us: TimingResult,
    /// The same latencies at fixed bounds.
    #[serde(default, alias = "failed_latency_bounds", skip_serializing_if = "BoundCounts::is_empty")]
    pub latency_failed_bounds: BoundCounts,
    /// From the intended start, of all calls.
    #[serde(default)]
    pub latency_all_us: TimingResult,
    /// Parts of the service time.
    pub phases_us: PhasesResult,
}

/// A distribution of durations, in microseconds rounded to 0.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are the statistics")]
pub struct TimingResult {
    /// Samples; 0 means that the other numbers say nothing.
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub stdev: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub max: f64,
}

/// Parts of the service time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhasesResult {
    /// Opening the connection.
    pub connect: TimingResult,
    /// The TLS handshake.
    pub tls: TimingResult,
    /// Authentication before the first operation.
    #[serde(default)]
    pub auth: TimingResult,
    /// Handing the request to the kernel.
    pub write: TimingResult,
    /// From the last byte written to the first byte read.
    pub wait: TimingResult,
    /// From the first to the last byte read.
    pub read: TimingResult,
    /// Phases that only a newer version knows: `unknown_` and their number.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, TimingResult>,
}

/// Events of streamed responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamResult {
    /// All events.
    pub events: u64,
    /// From the start of a call to its first event.
    pub first_event_us: TimingResult,
    /// From one event to the next.
    pub between_events_us: TimingResult,
}

/// Bytes on the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BytesResult {
    /// Written.
    pub sent: u64,
    /// Read.
    pub received: u64,
}

/// Calls of a step that carry the same tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TagResult {
    /// `k=v,k2=v2`, or `other` for all sets beyond the limit.
    pub tags: String,
    /// Calls that began.
    pub count: u64,
    /// Calls that were ok.
    pub ok: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Latency of calls that were ok.
    pub latency_us: TimingResult,
}
