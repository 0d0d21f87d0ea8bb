//! What goes into a store and comes out of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::{BootId, Epoch, Fence, NewTree, NodeProfile, ScheduleId, Status, TaskId, Timestamp};

/// A submission that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The tree: the id of its first task.
    pub tree: TaskId,
    /// Whether this submission made it.
    pub is_new: bool,
}

/// Who wants tasks, and how many.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What the node can run.
    pub node: NodeProfile,
    /// The process.
    pub boot: BootId,
    /// How many tasks at most.
    pub limit: usize,
    /// How long their leases last.
    pub lease: Duration,
}

/// A leased task.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// Its lease.
    pub held: Held,
    /// Its name.
    pub name: String,
    /// Who runs it.
    pub executor: String,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// What was submitted.
    pub inputs: Value,
    /// Results of its dependencies under their names; null for one that was optional and did not complete.
    pub dependencies: Map<String, Value>,
    /// How long the attempt may take.
    pub timeout: Option<Duration>,
}

/// A lease as its holder names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Held {
    /// The task.
    pub task: TaskId,
    /// Which lease of it.
    pub fence: Fence,
}

/// A process that holds leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub boot: BootId,
    /// Whether its liveness lock is free. Never, if it has none.
    pub is_gone: bool,
}

/// A lease that was extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The task.
    pub task: TaskId,
    /// Whether cancellation was requested.
    pub cancel: bool,
}

/// A page of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Crashes of a task after which it is failed.
    pub max_crashes: u32,
    /// Leases of these processes are taken though they have not expired.
    pub dead: Vec<BootId>,
    /// Only tasks after this one: the last of the page before.
    pub after: Option<TaskId>,
    /// Leases per page.
    pub limit: usize,
}

/// What a page of a sweep took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Tasks whose lease was taken, and what they became.
    pub tasks: Vec<(TaskId, Status)>,
    /// Where the next page begins; none if this was the last.
    pub next: Option<TaskId>,
}

/// Who wants to lead.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub node: String,
    /// The process.
    pub boot: BootId,
    /// How long the leadership lasts without renewal.
    pub lease: Duration,
    /// A leader that is known to be dead: its lease is not waited for.
    pub dead: Option<BootId>,
}

/// The right to do the leader's duties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// Its name.
    pub node: String,
    /// The process.
    pub boot: BootId,
    /// Which leadership of all.
    pub epoch: Epoch,
}

/// The leader's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// Its name.
    pub node: String,
    /// The process.
    pub boot: BootId,
    /// Which leadership of all.
    pub epoch: Epoch,
    /// When its lease ends.
    pub expires_at: Timestamp,
    /// Whether it has not ended.
    pub is_current: bool,
}

/// Fires of a schedule that are due.
#[derive(Clone, Debug)]
pub struct Fire {
    /// The schedule.
    pub schedule: ScheduleId,
    /// Its next fire, as it was read.
    pub due: Timestamp,
    /// What is submitted for which fire.
    pub runs: Vec<(Timestamp, NewTree)>,
    /// Its next fire from now on.
    pub next: Option<Timestamp>,
}

/// One run of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// When it was to fire.
    pub fire_time: Timestamp,
    /// What was submitted.
    pub tree: TaskId,
    /// State of its first task; none if it is not stored any more.
    pub status: Option<Status>,
    /// Result of its first task.
    pub result: Option<Value>,
}

/// What is known about an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// No attempt has begun it.
    New,
    /// It was done; this is what it left.
    Done(Value),
    /// An earlier attempt began it and did not finish: it may have happened.
    Interrupted,
}

/// How long things are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Ended trees, before they are archived.
    pub tasks: Duration,
    /// Events and effects. Events are thrown away by the day on PostgreSQL, and so kept for up to a day longer.
    pub events: Duration,
    /// Trees, single events and effects at a time.
    pub limit: usize,
}

/// What was put away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Archived tasks.
    pub tasks: u64,
    /// Deleted events.
    pub events: u64,
    /// Whether there is more to put away at once: the limit was reached.
    pub has_more: bool,
}

/// State of the liveness lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// There is none: this process is taken for dead only when its leases end.
    Absent,
    /// Held since the number of times it was taken.
    Held(u64),
    /// It was lost: others may take this process for dead.
    Lost,
}
