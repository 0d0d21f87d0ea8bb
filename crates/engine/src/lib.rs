//! Runs the segments of a plan on this machine's cores, and whole plans as local runs.
//!
//! ```text
//! Run::start ──► host thread: JobCore ──entries applied at once──┐
//!    │             │  ▲  ▲                                       │
//!  Control ─orders─┘  │  └── reports, windows ── Segment ◄────────┘
//!  events ◄───────────┘                           └── core threads, one per core
//! ```
//! The job core decides ([`hyperscale_job`]); a [`Segment`] runs what one worker was given, each core owns its virtual
//! users and its recorder ([`core`]). Cores share nothing but a watched directive (down) and one bounded channel (up).
//! The engine never prints and never decides what a person sees: faces read [`event::Event`]s and the final
//! [`hyperscale_stats::result::RunResult`].

pub mod control;
mod core;
pub mod data;
pub mod event;
mod local;
mod machine;
pub mod memory;
mod run;
pub mod segment;

pub use control::{Command, Control, Refusal, View};
pub use event::Event;
pub use machine::{available_cores, cpus, raise_file_limit};
pub use run::{Run, RunOptions, StartError};
pub use segment::{CoreMessage, Identity, Segment, SegmentEvent, SegmentSpec};
