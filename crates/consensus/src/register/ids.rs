//! What jobs, their segments, their parts and requests about them are called in the log.

use hyperscale_types::Token;

/// A job: 16 random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub [u8; 16]);

/// A request that changes something, so that repeating it is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub [u8; 16]);

/// The part of a workflow given to one worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment {
    /// Of which job.
    pub job: JobId,
    /// Of which workflow.
    pub workflow: String,
    /// Which one of it.
    pub number: u32,
}

/// The part of a job that one datacenter runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// Of which job.
    pub job: JobId,
    /// The datacenter that runs it.
    pub datacenter: String,
    /// The index of the entry that assigned it.
    pub token: Token,
}
