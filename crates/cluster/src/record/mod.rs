//! What is kept of a job beside what the register knows: the decisions of its core, and what attempts leave.
//!
//! A decision is an [`Entry`] of the job's core, written as a `JobEntry` of `proto/log.proto`. The end of an attempt is written
//! without what the attempt left: that is a blob of its own ([`AttemptLeft`]), named by the `AttemptEnd` that the decision
//! carries, so that statistics never pass through the log. Of an attempt that was lost it is what its windows said ([`WindowsLeft`]).
//! The end of a job is not written: a job that has ended has a result.
//!
//! What is missing or unknown is an error, never a default.

pub(crate) mod entry;
mod left;
pub(crate) mod parts;
#[cfg(test)]
mod tests;
mod windows;

pub use entry::{Stored, decode, encode};
pub use left::AttemptLeft;
pub use windows::WindowsLeft;

/// Bytes that are not what they should be. They were written by another version, or are damaged; reading them again does not
/// help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Not the encoding of such a message.
    #[error("the bytes are malformed")]
    Malformed,
    /// A field that every writer fills is not there.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A word of a newer version, or a value that the field cannot hold.
    #[error("`{0}` is not a value that this version knows")]
    Unknown(&'static str),
}
