//! What a database must do for the task plane. Both stores behave the same; one conformance suite runs on both.
//!
//! Every write names its right: a lease by (task, fence), a leadership by (epoch, boot). A write whose right is gone changes
//! nothing and says so. All times are those of the store's clock.

mod error;
mod migration;
mod placing;
pub mod postgres;

pub mod sqlite;
mod value;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;

pub use error::StoreError;
pub use value::{
    Candidate, Claim, Claimed, Effect, Fire, Held, Holder, Leader, Leadership, Liveness, Renewed, Retained,
    Retention, Run, Submitted, Sweep, Swept,
};

use crate::domain::{
    BootId, Counts, Event, Filter, NewTree, NodeAges, NodeProfile, NodeRecord, Position, Report, Schedule,
    ScheduleId, ScheduleSpec, Task, TaskId, Timestamp, TreeMessage, TreeOverview, TreeTask,
};

type Result<T> = std::result::Result<T, StoreError>;

/// A database of the task plane.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// The store's clock.
    async fn now(&self) -> Result<Timestamp>;

    /// Stores a tree, whole or not at all. With a key that is known it returns what that key made.
    async fn submit(&self, tree: NewTree) -> Result<Submitted>;

    /// Leases due tasks that a node may run, most urgent first, and says what their dependencies left. They begin at once: that is
    /// written with it.
    async fn claim(&self, claim: &Claim) -> Result<Vec<Claimed>>;

    /// Leases one task, if it is due and the node may run it.
    async fn acquire(&self, claim: &Claim, task: TaskId) -> Result<Option<Claimed>>;

    /// Tasks that are due and that a node may run, most urgent first. Only a look: another one may claim them.
    async fn executable(&self, node: &NodeProfile, limit: usize) -> Result<Vec<Task>>;

    /// How long until a pending task without unmet dependencies is due that a node may run.
    async fn next_due(&self, node: &NodeProfile) -> Result<Option<Duration>>;

    /// Extends leases. Those that are not returned are lost.
    async fn renew(&self, held: &[Held], lease: Duration) -> Result<Vec<Renewed>>;

    /// Ends attempts, each consuming its lease. Those that are not returned are lost: the result is dropped.
    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<TaskId>>;

    /// Gives leases back without counting an attempt.
    async fn release(&self, held: &[Held]) -> Result<Vec<TaskId>>;

    /// Writes how far an attempt is, 0 to 1. `false` if its lease is lost.
    async fn progress(&self, held: Held, part: f32) -> Result<bool>;

    /// Takes a page of leases that expired, are beyond their deadline or belong to a dead boot. Leader only.
    async fn sweep(&self, leadership: &Leadership, sweep: &Sweep) -> Result<Swept>;

    /// Cancels a pending task, or asks the holder of its lease to. `Ok(false)` if it was asked before.
    async fn cancel(&self, task: TaskId) -> Result<bool>;

    /// Cancels what has not ended of the tree of a task, all of it or nothing. Returns how many tasks were cancelled or asked to stop.
    async fn cancel_tree(&self, task: TaskId) -> Result<u64>;

    /// Makes a failed task pending with a new budget, and with it what failed only because of it.
    async fn retry(&self, task: TaskId) -> Result<()>;

    /// A task, archived or not.
    async fn task(&self, task: TaskId) -> Result<Task>;

    /// Tasks, newest first; at most `limit`.
    async fn tasks(&self, filter: &Filter, limit: usize) -> Result<Vec<Task>>;

    /// All tasks of the tree of a task, in the order of their ids, archived or not.
    async fn tree(&self, task: TaskId) -> Result<Vec<TreeTask>>;

    /// The message that a tree was submitted with, archived or not.
    async fn message(&self, tree: TaskId) -> Result<Option<TreeMessage>>;

    /// Of the newest trees that were submitted with a message, of one conversation if it is given, those that are not archived;
    /// newest first.
    async fn overviews(&self, context: Option<&str>, limit: usize) -> Result<Vec<TreeOverview>>;

    /// Events after a position, oldest first; those of one task if there is one. Never passes over one that is still written.
    async fn events(&self, task: Option<TaskId>, after: Position, limit: usize) -> Result<Vec<Event>>;

    /// Events of all tasks of a tree after a position, oldest first. Never passes over one that is still written.
    async fn tree_events(&self, tree: TaskId, after: Position, limit: usize) -> Result<Vec<Event>>;

    /// The position of the last event of a tree, once all its tasks have ended. The default position if no event is kept.
    async fn tree_end(&self, tree: TaskId) -> Result<Option<Position>>;

    /// The position after all events that can be read now.
    async fn events_end(&self) -> Result<Position>;

    /// Tasks per state.
    async fn counts(&self) -> Result<Counts>;

    /// Acquires leadership if there is no leader, with epoch + 1. `None` if another process leads.
    async fn acquire_leadership(&self, candidate: &Candidate) -> Result<Option<Leadership>>;

    /// Extends a leadership. `false` if it is over.
    async fn renew_leadership(&self, leadership: &Leadership, lease: Duration) -> Result<bool>;

    /// Ends a leadership, so that the next one need not wait for its lease.
    async fn release_leadership(&self, leadership: &Leadership) -> Result<()>;

    /// Who leads or led last.
    async fn leader(&self) -> Result<Option<Leader>>;

    /// Writes down that a process is here, or that it can run other things than before.
    async fn register_node(&self, node: &NodeRecord) -> Result<()>;

    /// Writes down that it is still here. `false` if it is not registered.
    async fn heartbeat(&self, node: &str, boot: BootId) -> Result<bool>;

    /// Removes a process that has left.
    async fn deregister_node(&self, node: &str, boot: BootId) -> Result<()>;

    /// All registered processes.
    async fn nodes(&self) -> Result<Vec<NodeRecord>>;

    /// Marks nodes by the age of their heartbeats; returns how many changed. Leader only.
    async fn mark_nodes(&self, leadership: &Leadership, ages: NodeAges) -> Result<u64>;

    /// Stores a schedule. One of the same name is replaced.
    async fn put_schedule(&self, id: ScheduleId, spec: &ScheduleSpec) -> Result<Schedule>;

    /// Removes a schedule; its runs stay. `false` if there is none.
    async fn remove_schedule(&self, schedule: ScheduleId) -> Result<bool>;

    /// Pauses or resumes a schedule. Fires that were due in the pause are left out.
    async fn pause_schedule(&self, schedule: ScheduleId, paused: bool) -> Result<Schedule>;

    /// Submits a run of a schedule now, whether it is paused or not; its next fire stays.
    async fn trigger_schedule(&self, schedule: ScheduleId, tree: NewTree) -> Result<Submitted>;

    /// All schedules, by name.
    async fn schedules(&self) -> Result<Vec<Schedule>>;

    /// Fires a schedule: moves its next fire and submits its runs, in one transaction. `false` if it has fired meanwhile.
    /// Leader only.
    async fn fire(&self, leadership: &Leadership, fire: Fire) -> Result<bool>;

    /// Runs of a schedule, newest first.
    async fn runs(&self, schedule: ScheduleId, limit: usize) -> Result<Vec<Run>>;

    /// Begins an effect under a lease: says whether it was done before.
    async fn begin_effect(&self, key: &str, held: Held) -> Result<Effect>;

    /// Keeps the result of an effect for all later attempts.
    async fn finish_effect(&self, key: &str, held: Held, result: Value) -> Result<()>;

    /// Archives trees that ended long ago, deletes old events and effects; a bounded number at a time. Leader only.
    async fn retain(&self, leadership: &Leadership, retention: Retention) -> Result<Retained>;

    /// Keeps the database in shape: makes room for events ahead of time, adds up what is counted. Leader only.
    async fn maintain(&self, leadership: &Leadership) -> Result<()>;

    /// The secret that lease tokens are signed with; `fresh` becomes it if there is none yet.
    async fn token_secret(&self, fresh: [u8; 32]) -> Result<Vec<u8>>;

    /// Processes other than this one that hold leases, and whether the liveness lock of each is free.
    async fn other_holders(&self, boot: BootId) -> Result<Vec<Holder>>;

    /// Those of a list whose liveness lock is free. A process without such a lock is not among them.
    async fn dead_boots(&self, boots: &[BootId]) -> Result<Vec<BootId>>;

    /// Returns when the liveness lock of a process is free; never, if it has none.
    async fn until_gone(&self, boot: BootId) -> Result<()>;

    /// Takes the liveness lock of a process and holds it until the store is dropped.
    async fn hold_liveness(&self, boot: BootId) -> Result<()>;

    /// Whether the liveness lock is held.
    fn liveness(&self) -> Liveness;

    /// Changes whenever tasks may have become ready, or the leader may be gone.
    fn changes(&self) -> watch::Receiver<u64>;
}
