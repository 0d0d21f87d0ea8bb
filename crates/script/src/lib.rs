//! Sandboxed JavaScript: functions that are given JSON and return JSON, run by QuickJS.
//!
//! A script reaches nothing but its arguments and the language: there are no files, no network, no modules, no timers. It is bounded in
//! memory, stack and time, and can be stopped from another thread. A call makes a runtime of its own: nothing is left for the next one.

mod error;
mod function;

pub use error::{Position, ScriptError};
pub use function::{Function, Limits, Stop};
