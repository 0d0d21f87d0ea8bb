//! What the methods of the task plane take and return. Nodes write it and commands read it, from the same types.

use hyperscale_tasks::domain::{
    Event, NodeRecord, Position, Role, Schedule, Status, Task, TaskId, TaskSpec, Timestamp, TreeTask,
};
use hyperscale_tasks::store::{Leader, Run};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Entries of a list unless the request says otherwise.
const LIMIT_DEFAULT: u32 = 50;
/// Entries of a list at most.
pub(super) const LIMIT_MAX: u32 = 200;

/// Parameters of `tasks.create`: a tree, or one task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Create {
    /// The tasks of a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tasks: Option<Vec<TaskSpec>>,
    /// A tree of one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskSpec>,
    /// Submissions with the same key are the same submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<String>,
}

/// `tasks.create`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Created {
    /// The tree: the id of its first task.
    pub(crate) tree: TaskId,
    /// Whether this submission made it.
    pub(crate) is_new: bool,
    /// Its tasks.
    pub(crate) tasks: Vec<CreatedTask>,
}

/// One task of a submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CreatedTask {
    /// Its id.
    pub(crate) id: TaskId,
    /// Its name.
    pub(crate) name: String,
}

/// Parameters that only name a task.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfTask {
    /// Its id.
    pub(crate) task: TaskId,
}

/// Parameters of `tasks.list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct List {
    /// Only this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
    /// Only this executor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executor: Option<String>,
    /// Only names that begin like this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Only this tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tree: Option<TaskId>,
    /// Only first tasks of trees.
    pub(crate) roots: bool,
    /// Entries at most.
    pub(crate) limit: u32,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<TaskId>,
}

impl Default for List {
    fn default() -> Self {
        let (executor, name) = (None, None);
        Self { status: None, executor, name, tree: None, roots: false, limit: LIMIT_DEFAULT, after: None }
    }
}

/// `tasks.list`: tasks without inputs and results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskList {
    /// Newest first.
    pub(crate) tasks: Vec<Value>,
    /// Where the next page begins; none if this was the last.
    pub(crate) next: Option<TaskId>,
}

/// `tasks.tree`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tree {
    /// The id of its first task.
    pub(crate) tree: TaskId,
    /// Its tasks.
    pub(crate) tasks: Vec<TreeTask>,
}

/// Parameters of `tasks.cancel`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancel {
    /// The task.
    pub(crate) task: TaskId,
    /// Cancels everything that has not ended of its tree.
    #[serde(default)]
    pub(crate) tree: bool,
}

/// `tasks.cancel`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cancelled {
    /// The task.
    pub(crate) task: TaskId,
    /// Its state now.
    pub(crate) status: Status,
    /// Tasks that were cancelled, or asked to stop, by this request.
    pub(crate) requested: u64,
}

/// Parameters of `tasks.events`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Events {
    /// Only events of this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskId>,
    /// Only events after this one, as `next` of the page before says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Position>,
    /// Entries at most.
    pub(crate) limit: u32,
}

impl Default for Events {
    fn default() -> Self {
        Self { task: None, after: None, limit: LIMIT_DEFAULT }
    }
}

/// `tasks.events`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventList {
    /// Oldest first.
    pub(crate) events: Vec<Event>,
    /// Where the next page begins; none if nothing more has happened.
    pub(crate) next: Option<Position>,
}

/// Parameters that name a schedule by id or name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfSchedule {
    /// Id or name.
    pub(crate) schedule: String,
}

/// Parameters of `schedules.trigger`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TriggerSchedule {
    /// Id or name.
    pub(crate) schedule: String,
    /// Repeating it under the same key makes one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<String>,
}

/// Parameters of `schedules.runs`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleRuns {
    /// Id or name.
    pub(crate) schedule: String,
    /// Entries at most.
    #[serde(default = "limit_default")]
    pub(crate) limit: u32,
}

fn limit_default() -> u32 {
    LIMIT_DEFAULT
}

/// `schedules.list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScheduleList {
    /// By name.
    pub(crate) schedules: Vec<Schedule>,
    /// Always none: there are few schedules.
    pub(crate) next: Option<String>,
}

/// `schedules.runs`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunList {
    /// Newest first.
    pub(crate) runs: Vec<Run>,
    /// Always none: only the newest runs are listed.
    pub(crate) next: Option<String>,
}

/// `schedules.trigger`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Triggered {
    /// The tree that was submitted.
    pub(crate) tree: TaskId,
}

/// `schedules.delete`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Deleted {
    /// Always true: a schedule that does not exist is an error.
    pub(crate) deleted: bool,
}

/// `nodes.list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeList {
    /// All registered processes.
    pub(crate) nodes: Vec<NodeLine>,
    /// Who leads, or led last.
    pub(crate) leader: Option<Leader>,
    /// Always none: all nodes are listed.
    pub(crate) next: Option<String>,
}

/// A registered process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeLine {
    /// What it registered with.
    #[serde(flatten)]
    pub(crate) node: NodeRecord,
    /// Whether it leads.
    pub(crate) is_leader: bool,
    /// Whether it is the one that was asked.
    pub(crate) is_self: bool,
}

/// Parameters and response of `nodes.set_role`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetRole {
    /// The role from now on.
    pub(crate) role: Role,
}

/// No parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A task as lists show it.
pub(super) fn without_contents(task: &Task) -> Value {
    let mut line = serde_json::to_value(task).unwrap_or_default();
    if let Some(members) = line.as_object_mut() {
        members.remove("inputs");
        members.remove("result");
    }
    line
}

/// A point in time for people, to the second.
pub(crate) fn shown_time(time: Timestamp) -> String {
    let text = time.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}
