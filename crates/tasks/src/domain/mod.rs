//! What the task plane decides, without a database: values in, values out. Never reads a clock, a file or a random source;
//! times and random numbers are handed in.

mod backoff;
mod effect;
mod event;
mod id;
mod node;
mod overview;
mod placement;
mod schedule;
mod settings;
mod spec;
mod status;
mod task;
mod time;
mod token;
mod tree;
mod verdict;

pub use backoff::Backoff;
pub(crate) use effect::digest_of;
pub use effect::effect_key;
pub use event::{Event, EventKind, NewEvent, Position};
pub use id::{BootId, Epoch, Fence, ScheduleId, TaskId};
pub use node::{NodeAges, NodeProfile, NodeRecord, NodeStatus};
pub use overview::{TreeCounts, TreeMessage, TreeOverview, updated_at};
pub use placement::{Missing, Placement};
pub use schedule::{
    CATCH_UP_MAX, Fires, MISSED_AFTER, MissedFires, Schedule, ScheduleError, ScheduleSpec, Trigger,
};
pub use settings::{Role, Settings, SettingsError};
pub use spec::{DependencySpec, Priority, TaskSpec, TreeSpec};
pub use status::{BadTransition, Cause, Status};
pub use task::{Counts, Filter, Task, TreeEdge, TreeTask};
pub use time::Timestamp;
pub use token::{LeaseToken, TokenError, TokenKey};
pub use tree::{Dependency, NewTask, NewTree, TASKS_MAX, TreeError};
pub use verdict::{Budget, Outcome, Report, Verdict, after_crash, after_release, after_report};
