//! Commands of the register in plain words. `message` maps them to what is in the log.

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId, Token};

use crate::blob::BlobId;

/// Largest context in the log; larger ones are blobs.
pub const CONTEXT_BYTES_MAX: usize = 64 * 1024;

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

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndStatus {
    /// As planned.
    Completed,
    /// Some of it did.
    Partial,
    /// With an error.
    Failed,
    /// Because somebody asked for it.
    Cancelled,
    /// Too late.
    TimedOut,
    /// Not begun, because something before it failed.
    Skipped,
    /// With its worker.
    Lost,
    /// The worker did not take it.
    Refused,
}

/// A command and the token of the job leader that proposes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The proposer's job-leader token; of a [`Body::JobLeader`] the token that is replaced; zero where there is none.
    pub token: Token,
    /// What.
    pub body: Body,
}

/// What a command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A job is accepted.
    JobAccept {
        /// Its id, if the key is new.
        job: JobId,
        /// The idempotency key.
        key: String,
        /// The plan, stored on a quorum.
        plan: BlobId,
        /// The gate's job-leader token, if a gate sent it.
        gate_token: Token,
    },
    /// A manager leads the job from now on; the index of the entry is its token.
    JobLeader {
        /// The job.
        job: JobId,
        /// The manager.
        leader: NodeId,
    },
    /// A worker may work; the index of the entry is the grant.
    WorkerGrant {
        /// The worker.
        worker: NodeId,
        /// Its life.
        boot: BootEpoch,
        /// Its cores.
        cores: u32,
        /// How long the lease is.
        lease_ms: u64,
    },
    /// A worker's lease ran out, or it left.
    WorkerGone {
        /// The worker.
        worker: NodeId,
        /// The grant that ends.
        grant: Token,
    },
    /// An attempt is given to a worker.
    Assign(Assign),
    /// An attempt ended.
    AttemptEnd {
        /// Of which segment.
        segment: Segment,
        /// Which one.
        attempt: u32,
        /// How.
        status: EndStatus,
        /// The result.
        result: Option<BlobId>,
    },
    /// Values a workflow provides.
    Context {
        /// Of which job.
        job: JobId,
        /// Which workflow provides them.
        workflow: String,
        /// Counts from 1.
        version: u64,
        /// The values.
        values: Values,
    },
    /// A workflow ended.
    WorkflowEnd {
        /// Of which job.
        job: JobId,
        /// Which.
        workflow: String,
        /// How.
        status: EndStatus,
    },
    /// The job, or these workflows with all that depend on them, never start again.
    Cancel {
        /// The job.
        job: JobId,
        /// The workflows; none: the whole job.
        workflows: Vec<String>,
        /// So that repeating it is harmless.
        request: RequestId,
        /// Shown to people.
        reason: String,
    },
    /// The job ended.
    JobEnd {
        /// Which.
        job: JobId,
        /// How.
        status: EndStatus,
        /// The result, stored on a quorum.
        result: Option<BlobId>,
    },
    /// The job ended `retain` ago.
    JobForget {
        /// Which.
        job: JobId,
    },
    /// Every voter understands this version.
    ClusterVersion {
        /// The version.
        version: u32,
    },
}

/// An attempt given to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assign {
    /// The segment.
    pub segment: Segment,
    /// Counts from 1.
    pub attempt: u32,
    /// The worker.
    pub worker: NodeId,
    /// Its life.
    pub boot: BootEpoch,
    /// Its grant.
    pub grant: Token,
    /// Cores it takes.
    pub cores: u32,
    /// Virtual users it runs.
    pub vus: u32,
}

/// Values of a context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Values {
    /// In the log.
    Inline(Bytes),
    /// Stored on a quorum.
    Blob(BlobId),
}

/// Bytes that are not a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a command: {0}")]
pub struct CommandError(pub &'static str);
