//! Responses about cancels: the acknowledgement, and with `wait` the completion.

use hyperscale_types::Name;
use serde::{Deserialize, Serialize};

/// `jobs.cancel` and `workflows.cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelResponse {
    /// The job.
    pub job: String,
    /// How far the cancel is.
    pub status: CancelStatus,
    /// What became of each workflow that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<WorkflowCancel>,
    /// Segments and datacenters that did not confirm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CancelError>,
}

impl CancelResponse {
    /// An acknowledgement without details.
    pub fn new(job: impl Into<String>, status: CancelStatus) -> Self {
        Self { job: job.into(), status, workflows: Vec::new(), errors: Vec::new() }
    }
}

/// How far a cancel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelStatus {
    /// It is committed, or the local run was told to stop; nothing cancelled starts again.
    Requested,
    /// It was requested before and is under way.
    InProgress,
    /// It was running and has stopped.
    Cancelled,
    /// It had not begun and never will.
    PendingCancelled,
    /// Not everything that runs has confirmed; leases end the rest.
    Failed,
    /// There is no such workflow in the job.
    NotFound,
    /// It ended before the cancel.
    AlreadyEnded,
}

/// What became of one workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowCancel {
    /// Its name.
    pub workflow: Name,
    /// How far the cancel is.
    pub status: CancelStatus,
    /// Workflows that were cancelled because they depend on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<Name>,
}

/// Something that did not confirm a cancel in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelError {
    /// The datacenter; absent without gates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
    /// The workflow it was running, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Name>,
    /// The worker, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// What happened, in words.
    pub message: String,
}
