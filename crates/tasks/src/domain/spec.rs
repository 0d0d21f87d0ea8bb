//! What people submit: tasks by name, before they have ids.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Backoff, Placement, Timestamp};

/// Urgency of a task: 0 is the most urgent, 3 the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// The most urgent.
    pub const HIGHEST: Self = Self(0);
    /// The least urgent.
    pub const LOWEST: Self = Self(3);

    /// Its number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(2)
    }
}

impl TryFrom<u8> for Priority {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if number <= Self::LOWEST.0 {
            Ok(Self(number))
        } else {
            Err(format!("priority {number} is not in 0..=3"))
        }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// One task of a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// Its name, unique in its tree.
    pub name: String,
    /// Who runs it.
    pub executor: String,
    /// What the executor is given; its schema is the executor's.
    #[serde(default = "empty")]
    pub inputs: Value,
    /// The task it is a part of. Structure only: it says nothing about the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Tasks that must end first; their results become inputs under their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<DependencySpec>,
    /// Urgency among tasks that are due.
    #[serde(default)]
    pub priority: Priority,
    /// Not before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Timestamp>,
    /// Which nodes may run it.
    #[serde(default)]
    pub placement: Placement,
    /// Failures and crashes together after which it is failed; at least 1.
    #[serde(default = "three")]
    pub max_attempts: u32,
    /// How long one attempt may take, whatever its node says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// Pauses between attempts.
    #[serde(default)]
    pub backoff: Backoff,
}

impl TaskSpec {
    /// A task with defaults for everything else.
    pub fn new(name: &str, executor: &str, inputs: Value) -> Self {
        Self {
            name: name.to_owned(),
            executor: executor.to_owned(),
            inputs,
            parent: None,
            depends_on: Vec::new(),
            priority: Priority::default(),
            run_at: None,
            placement: Placement::default(),
            max_attempts: three(),
            timeout_seconds: None,
            backoff: Backoff::default(),
        }
    }
}

/// A task that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DependencySpec {
    /// Its name in the same tree.
    pub task: String,
    /// Whether the waiting task fails when this one fails or is cancelled.
    #[serde(default = "yes")]
    pub required: bool,
}

/// Tasks that are accepted together or not at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSpec {
    /// The tasks, in any order. The first one names the tree.
    pub tasks: Vec<TaskSpec>,
    /// Submissions with the same key are the same submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl TreeSpec {
    /// A tree of one task.
    pub fn single(task: TaskSpec) -> Self {
        Self { tasks: vec![task], idempotency_key: None }
    }
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

fn three() -> u32 {
    3
}

fn yes() -> bool {
    true
}
