//! The words of Hyperscale: durations, rates, names, limits, error kinds, exit codes, threshold rules.
//!
//! Every other crate speaks these words; this crate speaks to nobody. It must never do I/O, read a clock, use
//! randomness or depend on an async runtime.

pub mod command;
pub mod duration;
pub mod error_kind;
pub mod exit;
pub mod limits;
pub mod name;
pub mod node;
pub mod now;
pub mod phases;
pub mod priority;
pub mod rate;
pub mod rule;
pub mod secret;
mod shown;
pub mod size;
pub mod split_mix;

pub use command::Command;
pub use duration::Span;
pub use error_kind::{ErrorKind, ReportedKind};
pub use exit::ExitCode;
pub use name::Name;
pub use node::{BootEpoch, NodeId, Role, Token};
pub use now::Now;
pub use phases::Phases;
pub use priority::Priority;
pub use rate::Rate;
pub use shown::shown;
pub use size::ByteSize;
pub use split_mix::SplitMix64;
