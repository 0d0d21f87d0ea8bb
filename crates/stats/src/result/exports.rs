//! What exporters did with the numbers of a run, beside the numbers themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One exporter of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportResult {
    /// `prometheus`, `otlp`, ….
    pub kind: String,
    /// Where it sent to or listened, without anything secret.
    pub target: String,
    /// States of the run that were delivered; for a scrape endpoint, times it was scraped.
    pub sent: u64,
    /// States of the run that were not; for a scrape endpoint, 1 if nobody scraped the final numbers.
    pub lost: u64,
    /// The newest reason of a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
