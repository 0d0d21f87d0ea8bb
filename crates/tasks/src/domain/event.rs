//! What happened to tasks. Events are written in the transaction that changes the task.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Epoch, Fence, TaskId, Timestamp};

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Submitted.
    Created,
    /// Claimed by a node.
    Assigned,
    /// Its executor began.
    Started,
    /// Ended with a result.
    Completed,
    /// Ended without one.
    Failed,
    /// Waits for another attempt, after a failure or an explicit retry.
    Retried,
    /// Its lease was taken away or given back.
    Reassigned,
    /// Cancellation was requested while it ran.
    CancelRequested,
    /// Ended on request.
    Cancelled,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Created,
        Self::Assigned,
        Self::Started,
        Self::Completed,
        Self::Failed,
        Self::Retried,
        Self::Reassigned,
        Self::CancelRequested,
        Self::Cancelled,
    ];

    /// Its name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Assigned => "assigned",
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Retried => "retried",
            Self::Reassigned => "reassigned",
            Self::CancelRequested => "cancel_requested",
            Self::Cancelled => "cancelled",
        }
    }

    /// The kind of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// An event before it has a position and a time.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// The task.
    pub task: TaskId,
    /// What happened.
    pub kind: EventKind,
    /// The node it happened on.
    pub node: Option<String>,
    /// The attempt it belongs to.
    pub attempt: Option<u32>,
    /// The lease it was done under.
    pub fence: Option<Fence>,
    /// The leadership it was done under.
    pub epoch: Option<Epoch>,
    /// Reason or error.
    pub details: Option<String>,
}

impl NewEvent {
    /// An event that only says what happened.
    pub fn new(task: TaskId, kind: EventKind) -> Self {
        Self { task, kind, node: None, attempt: None, fence: None, epoch: None, details: None }
    }
}

/// Place of an event in the stream: who has read up to here misses nothing by reading on from here.
///
/// Events get their numbers before their transactions commit, so the number alone does not tell what was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The transaction that wrote it.
    pub transaction: i64,
    /// Its number.
    pub event: i64,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Where it is in the stream.
    pub position: Position,
    /// The task.
    pub task: TaskId,
    /// What happened.
    pub kind: EventKind,
    /// The node it happened on.
    pub node: Option<String>,
    /// The attempt it belongs to.
    pub attempt: Option<u32>,
    /// The lease it was done under.
    pub fence: Option<Fence>,
    /// The leadership it was done under.
    pub epoch: Option<Epoch>,
    /// Reason or error.
    pub details: Option<Value>,
    /// When it was written.
    pub at: Timestamp,
}
