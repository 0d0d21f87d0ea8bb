//! The core of a job: decides what a job does next. Free of I/O, clocks and randomness.
//!
//! ```text
//!            Propose(entry)                      Dispatch, Direct
//! JobCore ─────────────────► log (or at once) ─┐ ─────────────────► workers
//!    ▲                                         │                      │
//!    └── Applied(entry, outcome) ◄─────────────┘   Report, Window ◄───┘
//! ```
//! **Contract.** [`JobCore::handle`] takes the time of the job clock and an [`Input`], and returns [`Action`]s. Every
//! decision is an [`Action::Propose`]; its effects follow only when the entry comes back as [`Input::Applied`], refusals
//! included. A local run applies at once and is its own only worker; the job leader of a cluster brings entries into the
//! replicated log. Whatever decides is in the [`Record`], which is the fold of the applied entries: a core that is built
//! again from the record, and hears from the workers how far their attempts are, decides the same.
//!
//! **The job clock** counts from the acceptance of the job. It is handed in, survives a change of the leader, and times in
//! entries are times of it.
//!
//! What a job may do in which state stands in [`state`], as tables. What it must never do: read a clock, wait, decide by a
//! text, or keep a decision that is not in the record.

mod cancellation;
mod clock;
mod command;
mod context;
mod decide;
mod directive;
pub mod entry;
mod io;
pub mod layout;
mod live;
mod machine;
mod measured;
mod notes;
pub mod reason;
mod record;
mod refusal;
mod result;
mod second;
pub mod segment;
mod started;
pub mod state;

pub use cancellation::{CancelStatus, WorkflowCancel};
pub use clock::LoadClock;
pub use command::with_dependents;
pub use decide::SETTLE;
pub use entry::{Entry, Refused, RequestId};
#[cfg(feature = "bugs")]
pub use io::JobBugs;
pub use io::{Action, Answer, Input, JobFacts, LossPolicy, LostWindows, OnLoss, Pool, PoolWorker};
pub use machine::JobCore;
pub use reason::{Failure, FailureKind, Reason};
pub use record::{AttemptRecord, OwnLoad, Record, WorkflowRecord};
pub use refusal::{Quantity, Refusal};
pub use result::View;
pub use segment::{
    AttemptId, Directive, Report, SegmentId, SegmentKind, SegmentOrder, SegmentResult, StopPhase,
};
