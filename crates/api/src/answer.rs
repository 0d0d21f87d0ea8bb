//! What the methods answer with, for servers to write and clients to read.

use hyperscale_stats::event::Target;
use hyperscale_stats::result::{Change, Status};
use hyperscale_types::Name;
use serde::{Deserialize, Serialize};

/// `jobs.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// The jobs, oldest first.
    pub jobs: Vec<JobSummary>,
    /// Where to go on asking; `None` if that was all.
    pub next: Option<String>,
}

/// One job in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Its id.
    pub job: String,
    /// The plan's name.
    pub name: String,
    /// Where it is.
    pub status: Status,
    /// Whether its load stands still because somebody paused it.
    pub paused: bool,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// How long it has been running.
    pub elapsed_s: f64,
    /// Its workflows in the order of the plan.
    pub workflows: Vec<WorkflowSummary>,
}

/// One workflow of a job in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowSummary {
    /// Its name.
    pub name: Name,
    /// Where it is.
    pub status: Status,
    /// What its load is meant to be now, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// `jobs.control`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Controlled {
    /// The job.
    pub job: String,
    /// What was changed, one per workflow; none if everything was as wanted.
    pub changes: Vec<Change>,
}

/// `jobs.cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelAnswer {
    /// The job.
    pub job: String,
    /// How far the cancel is.
    pub status: CancelStatus,
}

/// How far a cancel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelStatus {
    /// The job was told to stop.
    Requested,
    /// It was already on its way to its end.
    InProgress,
}

/// `system.methods`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodList {
    /// Their names, sorted.
    pub methods: Vec<String>,
}
