//! A task as it is read back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Priority, Status, TaskId, Timestamp};

/// A stored task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The tree it was submitted with: the id of that tree's first task.
    pub tree: TaskId,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// Its name, unique in its tree.
    pub name: String,
    /// Who runs it.
    pub executor: String,
    /// State.
    pub status: Status,
    /// Urgency.
    pub priority: Priority,
    /// Not before this time.
    pub run_at: Timestamp,
    /// Dependencies that have not ended.
    pub unmet_deps: u32,
    /// How often it was claimed.
    pub attempt: u32,
    /// How often its executor failed.
    pub failures: u32,
    /// How often its lease was lost with its node.
    pub crashes: u32,
    /// Failures and crashes together after which it is failed.
    pub max_attempts: u32,
    /// How long one attempt may take.
    pub timeout_seconds: Option<u32>,
    /// The key it was submitted with.
    pub idempotency_key: Option<String>,
    /// What its executor is given.
    pub inputs: Value,
    /// What its executor returned.
    pub result: Option<Value>,
    /// Why it failed, or why its last attempt did.
    pub error: Option<String>,
    /// Part of the work that is done, 0 to 1.
    pub progress: Option<f32>,
    /// When cancellation was requested.
    pub cancel_requested_at: Option<Timestamp>,
    /// The node that claimed it last.
    pub last_assigned_node: Option<String>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it was first claimed.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// Why no live node can run it, if that is so.
    pub unplaceable: Option<String>,
}

/// A task of a tree with what it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeTask {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// Tasks that must end first. Trees that are archived have lost these.
    pub depends_on: Vec<TreeEdge>,
}

/// A task that another one of its tree waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeEdge {
    /// The task that must end first.
    pub task: TaskId,
    /// Whether it must complete.
    pub required: bool,
}

/// Which tasks a list has. Empty fields leave everything in.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this state.
    pub status: Option<Status>,
    /// Only this executor.
    pub executor: Option<String>,
    /// Only names that begin like this.
    pub name: Option<String>,
    /// Only this tree.
    pub tree: Option<TaskId>,
    /// Only first tasks of trees.
    pub roots: bool,
    /// Only tasks that were submitted before this one: the last of the page before.
    pub before: Option<TaskId>,
}

/// Tasks per state, and the leases there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Waiting.
    pub pending: u64,
    /// Leased.
    pub in_progress: u64,
    /// Ended with a result.
    pub completed: u64,
    /// Ended without one.
    pub failed: u64,
    /// Ended on request.
    pub cancelled: u64,
    /// Leases; equal to `in_progress`.
    pub leases: u64,
}
