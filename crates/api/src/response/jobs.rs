//! Responses about jobs.

use hyperscale_stats::event::Target;
use hyperscale_stats::result::{Change, RunResult, Status};
use hyperscale_types::{Name, Token};
use serde::{Deserialize, Serialize};

use super::DatacenterClass;

/// `jobs.submit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submitted {
    /// The job's id.
    pub job: String,
    /// `submitted` or `queued`; for a repeated submission whatever the job has become.
    pub status: Status,
    /// The token of its leader; absent until there is one.
    pub token: Option<Token>,
    /// The node that leads it; absent until there is one.
    pub job_leader: Option<String>,
    /// Jobs before it in the queue; absent if it does not wait.
    pub queue_position: Option<u64>,
    /// Its part in each datacenter; empty without gates.
    #[serde(default)]
    pub datacenters: Vec<DatacenterPart>,
    /// What the submitter should know: warnings of the plan, degraded datacenters.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The part of a job in one datacenter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatacenterPart {
    /// The datacenter.
    pub name: String,
    /// Its health when it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<DatacenterClass>,
    /// Where the part is.
    pub status: Status,
    /// The manager that leads the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_leader: Option<String>,
    /// That manager's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

/// `jobs.get`: the result so far, and in clusters where the job runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// The result so far, or the final one.
    #[serde(flatten)]
    pub result: RunResult,
    /// The token of its leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// The node that leads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_leader: Option<String>,
    /// Jobs before it in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u64>,
}

/// `jobs.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// The jobs, oldest first.
    pub jobs: Vec<JobSummary>,
    /// Cursor of the next page; `None` if this is the last one.
    pub next: Option<String>,
}

/// One job in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Its id.
    pub job: String,
    /// The plan's name; empty if this node has not read the plan.
    #[serde(default)]
    pub name: String,
    /// Where it is.
    pub status: Status,
    /// Why it ended, where the status does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether its load is paused.
    #[serde(default)]
    pub paused: bool,
    /// When it began, RFC 3339; empty if it has not.
    #[serde(default)]
    pub started_at: String,
    /// How long it has been running.
    #[serde(default)]
    pub elapsed_s: f64,
    /// Its workflows in the order of the plan.
    #[serde(default)]
    pub workflows: Vec<WorkflowSummary>,
    /// The node that leads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_leader: Option<String>,
    /// That node's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Jobs before it in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u64>,
}

impl JobSummary {
    /// A job of which only id and status are known.
    pub fn new(job: impl Into<String>, status: Status) -> Self {
        Self {
            job: job.into(),
            name: String::new(),
            status,
            reason: None,
            paused: false,
            started_at: String::new(),
            elapsed_s: 0.0,
            workflows: Vec::new(),
            job_leader: None,
            token: None,
            queue_position: None,
        }
    }
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
    /// What was changed, one per workflow; empty if everything already was as requested, or if the change was
    /// committed and its effect is reported by the events of the job.
    pub changes: Vec<Change>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The smallest result that can be read.
    fn result() -> Value {
        use hyperscale_stats::result::{Loss, TimingResult};
        let (timing, loss) = (json!(TimingResult::default()), json!(Loss::default()));
        json!({"version": 1, "job": "j", "name": "n", "status": "running", "final": false, "started_at": "",
            "elapsed_s": 1.5, "workflows": [], "thresholds": [], "thresholds_passed": true, "errors": [],
            "totals": {"requests": 7, "ok": 7, "failed": 0, "rate": 1.0, "latency_us": timing},
            "generator_saturated": false, "saturation": [], "warnings": [], "loss": loss, "series": []})
    }

    #[test]
    fn result_of_a_local_run_is_a_view_and_a_view_is_a_result() {
        let view: JobView = serde_json::from_value(result()).unwrap();
        assert_eq!((view.token, view.result.totals.requests), (None, 7));
        let mut value = result();
        value["token"] = json!(3);
        value["segments"] = json!([{"segment": "Browse/0", "kind": "load", "attempt": 2, "worker": "w1",
            "state": "running", "cores": [0, 1], "vus": 8}]);
        let view: JobView = serde_json::from_value(value).unwrap();
        assert_eq!((view.token, view.result.provenance.segments[0].attempt), (Some(Token(3)), 2));
        let written = serde_json::to_value(&view).unwrap();
        assert_eq!(serde_json::from_value::<JobView>(written.clone()).unwrap(), view);
        assert_eq!(serde_json::from_value::<RunResult>(written).unwrap(), view.result);
    }
}
