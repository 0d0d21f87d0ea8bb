//! A metric in the result. Which numbers are there depends on its kind.

use hyperscale_types::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_zero;
use crate::layout::MetricKind;

/// One metric. Which numbers are there depends on its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricResult {
    /// Its name.
    pub name: Name,
    /// The step it belongs to.
    pub step: Name,
    /// What its values mean.
    pub kind: MetricKind,
    /// How many values were recorded.
    pub count: u64,
    /// Values that were no finite numbers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// All values added up (`count`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<f64>,
    /// The share of values that are not zero (`rate`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The newest value (`sample`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<f64>,
    /// The values (`sample`, `distribution`; `timing` in seconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ValuesResult>,
    /// The same values by the tags of their step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<MetricTagResult>,
}

/// Values of a metric that carry the same tags. Which numbers are there depends on the metric's kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricTagResult {
    /// `k=v,k2=v2`, or `other` for all sets beyond the limit.
    pub tags: String,
    /// How many values were recorded.
    pub count: u64,
    /// All values added up (`count`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<f64>,
    /// The share of values that are not zero (`rate`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The newest value (`sample`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<f64>,
    /// The values (`sample`, `distribution`; `timing` in seconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ValuesResult>,
}

/// A distribution of arbitrary numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are the statistics")]
pub struct ValuesResult {
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
