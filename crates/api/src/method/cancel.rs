//! Parameters of `jobs.cancel` and `workflows.cancel`.

use hyperscale_types::Name;
use serde::{Deserialize, Serialize};

use super::{RequestId, checked_job, checked_text};
use crate::error::RpcError;

/// Bytes of a reason; the log keeps as many.
const REASON_MAX: usize = 1 << 10;

/// Stops a job for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelJob {
    /// The job's id.
    pub job: String,
    /// Shown to people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// By which a repetition is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Respond when all workers have stopped or timed out, rather than when the cancel is committed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
}

/// Stops a workflow of a job for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelWorkflow {
    /// The job's id.
    pub job: String,
    /// The workflow's name.
    pub workflow: Name,
    /// Cancel all workflows that depend on it too; else they end `skipped`.
    #[serde(default = "yes")]
    pub dependents: bool,
    /// Shown to people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// By which a repetition is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// As for a job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
}

fn yes() -> bool {
    true
}

impl CancelJob {
    /// The cancel of this job, without a reason.
    pub fn of(job: impl Into<String>) -> Self {
        Self { job: job.into(), ..Self::default() }
    }

    pub(super) fn checked(self) -> Result<Self, RpcError> {
        checked_job(&self.job)?;
        checked_text("reason", &self.reason, 0, REASON_MAX)?;
        Ok(self)
    }
}

impl CancelWorkflow {
    pub(super) fn checked(self) -> Result<Self, RpcError> {
        checked_job(&self.job)?;
        checked_text("reason", &self.reason, 0, REASON_MAX)?;
        Ok(self)
    }
}
