//! Runs a plan on this machine's cores.
//!
//! ```text
//! Run::start ──► conductor thread ──spawns──► core threads (one per allocated core)
//!    │               │    ▲                        │
//!  Control ─commands─┘    └── windows, words ──────┘
//!  events ◄──────────┘
//! ```
//! The conductor owns the job's state; each core owns its virtual users and its recorder ([`core`]). They share nothing
//! but a watched directive (down) and one bounded channel (up). The engine never prints and never decides what a person
//! sees: faces read [`event::Event`]s and the final [`hyperscale_stats::result::RunResult`].

mod conductor;
pub mod control;
mod core;
pub mod data;
pub mod event;
mod layout;
mod machine;
pub mod memory;
mod run;

pub use control::{Command, Control, Refusal, View};
pub use event::Event;
pub use machine::available_cores;
pub use run::{Run, RunOptions, StartError};
