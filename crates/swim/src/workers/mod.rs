//! Worker state between managers: who owns which worker, and what it has.
//!
//! Every worker registers with one manager, its owner; only the owner speaks about it. Updates are ordered across owners
//! by `(worker boot, owner token of the log, counter)`, so a new owner's first update is always newer than anything an old
//! owner may still say. This is a view for counting and placement; assignments go through the log.

mod book;
mod intake;
mod queue;
mod update;

pub use book::GRAVES_MAX;
pub(crate) use book::{Merged, WorkerBook};
pub(crate) use intake::Intake;
pub use queue::{WORKER_UPDATE_STALE_AFTER, WORKER_UPDATES_MAX};
pub use update::{WorkerMembership, WorkerReport, WorkerStanding, WorkerUpdate, WorkerVersion, WorkerView};
