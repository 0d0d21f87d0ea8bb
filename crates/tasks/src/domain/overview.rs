//! A tree as a whole: how many of its tasks are where, and how it ended.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Status, TaskId, Timestamp, TreeTask};

/// What a client said when it submitted a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeMessage {
    /// The conversation that the tree belongs to. Trees of one conversation are listed together.
    pub context: String,
    /// The message as it was sent.
    pub content: Value,
}

/// A tree that was submitted with a message, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeOverview {
    /// The id of its first task.
    pub tree: TaskId,
    /// The conversation that it belongs to.
    pub context: String,
    /// How many of its tasks are where.
    pub counts: TreeCounts,
    /// When a task of it was last submitted, first claimed or ended.
    pub updated_at: Timestamp,
}

/// Tasks of a tree, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeCounts {
    /// Never claimed.
    pub waiting: u32,
    /// Leased, or between two attempts.
    pub running: u32,
    /// Ended with a result.
    pub completed: u32,
    /// Ended without one.
    pub failed: u32,
    /// Ended on request.
    pub cancelled: u32,
    /// Failed or cancelled, which every task that waited for them accepts.
    pub tolerated: u32,
}

impl TreeCounts {
    /// Counts the tasks of a whole tree.
    pub fn of(tree: &[TreeTask]) -> Self {
        let mut counts = Self::default();
        // Whether something requires a task that others wait for.
        let mut required: BTreeMap<TaskId, bool> = BTreeMap::new();
        for edge in tree.iter().flat_map(|task| &task.depends_on) {
            *required.entry(edge.task).or_default() |= edge.required;
        }
        let is_tolerated = |task: TaskId| required.get(&task) == Some(&false);
        for TreeTask { task, .. } in tree {
            let count = match task.status {
                Status::Pending if task.attempt == 0 => &mut counts.waiting,
                Status::Pending | Status::InProgress => &mut counts.running,
                Status::Completed => &mut counts.completed,
                Status::Failed | Status::Cancelled if is_tolerated(task.id) => &mut counts.tolerated,
                Status::Failed => &mut counts.failed,
                Status::Cancelled => &mut counts.cancelled,
            };
            *count += 1;
        }
        counts
    }

    /// The state of the tree: pending until something of it began, then in progress until all of it has ended. Failed if a task
    /// failed and something needed it, cancelled if one was cancelled.
    pub fn status(&self) -> Status {
        let ended = self.completed + self.failed + self.cancelled + self.tolerated;
        match self {
            Self { running: 1.., .. } => Status::InProgress,
            Self { waiting: 1.., .. } if ended > 0 => Status::InProgress,
            Self { waiting: 1.., .. } => Status::Pending,
            Self { failed: 1.., .. } => Status::Failed,
            Self { cancelled: 1.., .. } => Status::Cancelled,
            _ => Status::Completed,
        }
    }
}

/// When a task of a tree was last submitted, first claimed or ended.
pub fn updated_at(tree: &[TreeTask]) -> Timestamp {
    let last =
        |TreeTask { task, .. }: &TreeTask| task.completed_at.or(task.started_at).unwrap_or(task.created_at);
    tree.iter().map(last).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_a_tree_follows_from_its_tasks() {
        let counts = |waiting, running, completed, failed, cancelled, tolerated| {
            TreeCounts { waiting, running, completed, failed, cancelled, tolerated }.status()
        };
        assert_eq!(counts(2, 0, 0, 0, 0, 0), Status::Pending);
        assert_eq!(counts(1, 1, 0, 0, 0, 0), Status::InProgress);
        assert_eq!(counts(1, 0, 1, 0, 0, 0), Status::InProgress, "between two tasks");
        assert_eq!(counts(1, 0, 0, 1, 0, 0), Status::InProgress, "something else may still run");
        assert_eq!(counts(0, 0, 2, 0, 0, 0), Status::Completed);
        assert_eq!(counts(0, 0, 1, 0, 0, 1), Status::Completed, "the failure was accepted");
        assert_eq!(counts(0, 0, 1, 1, 1, 0), Status::Failed);
        assert_eq!(counts(0, 0, 1, 0, 1, 0), Status::Cancelled);
    }
}
