//! What limits the trust in the numbers of a result.

use hyperscale_types::Name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::saturation::Measure;

/// What a reader must know before believing the numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// Whether the generator itself was the bottleneck in any second, so that latencies speak of it and not of the target.
    pub generator_saturated: bool,
    /// When and by what it was.
    #[serde(default)]
    pub saturation: Vec<SaturationResult>,
    /// All of this in words, and where workflows did less than their plan says.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What is missing from the numbers.
    pub loss: Loss,
}

/// An interval in which a core of the generator was the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SaturationResult {
    /// Begin, on the run's clock.
    pub from_s: u64,
    /// End, on the run's clock.
    pub to_s: u64,
    /// The workflow.
    pub workflow: Name,
    /// Number of the core within the workflow.
    pub core: u32,
    /// By what.
    pub measure: Measure,
}

/// What is missing from the numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Windows of attempts that were lost with their workers, that came after that was known: they count nowhere.
    pub windows_late: u64,
    /// Windows of lost attempts that are known to have been closed, and that nobody has: they did not arrive, or the manager that
    /// had them is gone.
    pub windows_lost: u64,
    /// Samples that could not be kept.
    pub samples_dropped: u64,
    /// Workers that were lost.
    pub workers_lost: u64,
    /// Intervals in which requests may have been sent that are in no count.
    pub unreported: Vec<Unreported>,
    /// What was measured and does not count, as its attempt was lost and its segment ran again from the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<Discarded>,
}

impl Loss {
    /// Whether nothing is missing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What was measured of an attempt and discarded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Discarded {
    /// The segment.
    pub segment: String,
    /// Its attempt.
    pub attempt: u32,
    /// Requests that it had reported.
    pub requests: u64,
    /// Windows that it had reported.
    pub windows: u64,
}

/// An interval whose requests are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unreported {
    /// The segment.
    pub segment: String,
    /// Its attempt.
    pub attempt: u32,
    /// Begin, on the run's clock.
    pub from_s: f64,
    /// End, on the run's clock.
    pub to_s: f64,
    /// VUs that were running.
    pub vus: u64,
}
