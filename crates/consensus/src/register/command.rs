//! Commands of the register in plain words. `message` maps them to what is in the log.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId, Priority, Token};

use super::assign::Assign;
use super::decide::Decide;
use super::end::{End, EndError, EndStatus};
pub use super::ids::{JobId, JobIdError, PartId, RequestId, Segment};
use super::options::JobOptions;
use super::time::Elapsed;
use crate::blob::BlobId;

/// Largest context in the log; larger ones are blobs.
pub const CONTEXT_BYTES_MAX: usize = 64 * 1024;

/// Which group decides: each refuses the commands of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Group {
    /// The managers of a datacenter.
    #[default]
    Managers,
    /// The gates.
    Gates,
}

/// What is changed about the load of a workflow that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadChange {
    /// So many virtual users from now on.
    Vus(u32),
    /// So many starts per 1000 seconds from now on.
    RateMilli(u64),
    /// Start nothing for a while; the load curve stands still.
    Pause,
    /// Go on.
    Resume,
}

/// How a datacenter is, worst first: all gates route by the committed class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DatacenterClass {
    /// No manager answers, or no worker is registered.
    Unhealthy,
    /// Most of its workers or managers are gone or ill.
    Degraded,
    /// No core is free. Passes, and is no fault.
    Busy,
    /// It has free cores.
    Healthy,
}

/// A command and the token of the job leader that proposes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The proposer's job-leader token, which must be the one in force; of a [`Body::JobLeader`] the token that is replaced;
    /// zero where there is none.
    pub token: Token,
    /// What is to be decided.
    pub body: Body,
}

/// What a command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A job is accepted.
    JobAccept(Box<Accept>),
    /// A manager or a gate leads the job from now on; the index of the entry is its token.
    JobLeader {
        /// The job that gets a leader; one that has ended is refused.
        job: JobId,
        /// The manager or gate.
        leader: NodeId,
        /// What the clocks of the job show, so that deadlines survive the change. Clocks never go back.
        elapsed: Elapsed,
        /// Shown to people.
        reason: String,
    },
    /// A worker may work; the index of the entry is the grant.
    WorkerGrant {
        /// The worker that asked to be registered.
        worker: NodeId,
        /// The boot that the grant is for; a lower one than the known is refused.
        boot: BootEpoch,
        /// Cores that may be promised under the grant.
        cores: u32,
        /// How long the lease is.
        lease_ms: u64,
        /// What it can beyond what every worker can.
        capabilities: BTreeSet<String>,
    },
    /// A grant of a worker ends: its lease ran out, or the worker left.
    WorkerGone {
        /// The worker whose attempts under the grant are lost.
        worker: NodeId,
        /// The grant that ends: the one in force, or that of a former boot.
        grant: Token,
        /// Shown to people.
        reason: String,
    },
    /// A manager speaks for a worker from now on; the index of the entry is the owner token. Grant and attempts stay.
    WorkerOwner {
        /// The worker that is spoken for.
        worker: NodeId,
        /// The grant in force.
        grant: Token,
        /// The manager that speaks for it.
        owner: NodeId,
        /// The owner token that this one replaces; zero: nobody owns the worker under this grant.
        replaces: Token,
    },
    /// Marks a worker as draining: no job leader may assign anything to it. Valid for the lifetime of the grant.
    WorkerDrain {
        /// The worker that finishes what it has.
        worker: NodeId,
        /// The grant in force.
        grant: Token,
    },
    /// The core that drives a job has decided something; with the command that carries it out, if one is needed.
    Decide(Box<Decide>),
    /// Workflows that are ready wait for cores. Replaces what the job waited for before; its place in the order stays.
    Ready {
        /// The job that waits; it has one claim at most.
        job: JobId,
        /// The workflows; none: the job does not wait any more.
        workflows: BTreeSet<String>,
        /// The highest priority among them.
        priority: Priority,
        /// Cores without which the batch is not placed.
        least_cores: u32,
    },
    /// Attempts are given to workers, all of them or none.
    Assign(Assign),
    /// An attempt ended.
    AttemptEnd {
        /// Of which segment.
        segment: Segment,
        /// The attempt that ended, as it was numbered.
        attempt: u32,
        /// Status, result and error.
        end: End,
    },
    /// What was measured by an attempt before it was lost.
    AttemptWindows {
        /// Of which segment.
        segment: Segment,
        /// The attempt that was lost.
        attempt: u32,
        /// Its windows, stored on a quorum.
        windows: BlobId,
    },
    /// Values a workflow provides.
    Context {
        /// Of which job.
        job: JobId,
        /// Which workflow provides them.
        workflow: String,
        /// Counts from 1.
        version: u64,
        /// The whole context of this version, not the difference.
        values: Values,
    },
    /// A workflow ended.
    WorkflowEnd {
        /// Of which job.
        job: JobId,
        /// Name of the workflow.
        workflow: String,
        /// The status it has from then on.
        status: EndStatus,
        /// Why it was not as planned.
        error: Option<EndError>,
    },
    /// The job, or these workflows with all that depend on them, never start again.
    Cancel {
        /// The job that is cancelled, wholly or in part.
        job: JobId,
        /// The workflows; none: the whole job.
        workflows: Vec<String>,
        /// Those of them that were asked for; the others depend on these.
        named: Vec<String>,
        /// So that repeating it is harmless.
        request: RequestId,
        /// Shown to people.
        reason: String,
        /// Who asked, as far as that is known.
        caller: String,
    },
    /// The load of a workflow is changed while it runs.
    Control {
        /// Of which job.
        job: JobId,
        /// The workflow whose load changes.
        workflow: String,
        /// The new load, or pause or resume.
        change: LoadChange,
        /// So that repeating it is harmless. One request may change several workflows, with one command for each.
        request: RequestId,
    },
    /// A datacenter gets a part of the job; the index of the entry is the part's token.
    DcAssign {
        /// The gates' job that the part belongs to.
        job: JobId,
        /// Name of the datacenter that runs the part.
        datacenter: String,
        /// Counts from 1; a higher one is a retry after the datacenter failed.
        try_number: u32,
        /// Its share of users and rates, in millionths.
        share_ppm: u32,
    },
    /// A part ended, or its datacenter's lease ran out.
    DcEnd {
        /// Job, datacenter and token of the part.
        part: PartId,
        /// How; [`EndStatus::Lost`] with its datacenter's lease.
        end: End,
        /// It came after the part was given up: kept, not merged.
        is_late: bool,
    },
    /// How a datacenter is, as a gate sees it.
    DcState {
        /// Name of the datacenter that was judged.
        datacenter: String,
        /// What routing may expect of it.
        class: DatacenterClass,
        /// The gate whose view it is.
        proposer: NodeId,
    },
    /// The job ended.
    JobEnd {
        /// The job that is over.
        job: JobId,
        /// Status, result and error.
        end: End,
        /// From its acceptance to its end.
        elapsed_ms: u64,
    },
    /// Jobs that ended `retain` ago are forgotten: those that ended by entries from `first` to `last`. A sealed chunk goes when
    /// all of it is in the range.
    JobForget {
        /// The lowest index of a `JobEnd` that is forgotten.
        first: u64,
        /// The highest one.
        last: u64,
    },
    /// Every voter understands this version.
    ClusterVersion {
        /// Commands and state may use what this version brings.
        version: u32,
    },
}

impl Body {
    /// Whether this is a command of that group.
    pub const fn belongs_to(&self, group: Group) -> bool {
        match self {
            Self::JobAccept(_)
            | Self::JobLeader { .. }
            | Self::Cancel { .. }
            | Self::JobEnd { .. }
            | Self::JobForget { .. }
            | Self::ClusterVersion { .. } => true,
            Self::Decide(decide) => match &decide.effect {
                Some(effect) => effect.belongs_to(group),
                None => true,
            },
            Self::WorkerGrant { .. }
            | Self::WorkerGone { .. }
            | Self::WorkerOwner { .. }
            | Self::WorkerDrain { .. }
            | Self::Ready { .. }
            | Self::Assign(_)
            | Self::AttemptEnd { .. }
            | Self::AttemptWindows { .. }
            | Self::Context { .. }
            | Self::WorkflowEnd { .. }
            | Self::Control { .. } => matches!(group, Group::Managers),
            Self::DcAssign { .. } | Self::DcEnd { .. } | Self::DcState { .. } => {
                matches!(group, Group::Gates)
            }
        }
    }
}

/// A job that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept {
    /// Its id, if the key is new.
    pub job: JobId,
    /// The idempotency key: a second submission under it is answered with the first one's job.
    pub key: String,
    /// The plan, stored on a quorum.
    pub plan: BlobId,
    /// What it was submitted with.
    pub options: JobOptions,
    /// Which part of the gates' job it is, if gates sent it.
    pub origin: Option<Origin>,
    /// Who submitted it, as far as that is known.
    pub caller: String,
    /// The name of the plan.
    pub name: String,
    /// Wall clock of the host that took the submission, milliseconds since 1970; nothing is decided by it.
    pub submitted_at_ms: u64,
}

/// The part of the gates' job that a manager group runs. Its tokens are those of the gates' log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// This datacenter.
    pub datacenter: String,
    /// The part: the index of the gates' entry that assigned it.
    pub part: Token,
    /// The job-leader token of the gate that sent it.
    pub gate_token: Token,
}

/// Values of a context, or a decision that may hold some. They may be secret, so they are never shown: not even by `Debug`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Values {
    /// In the log.
    Inline(Bytes),
    /// Stored on a quorum.
    Blob(BlobId),
}

impl Values {
    /// The blob that holds them, unless they are in the log.
    pub fn blob(&self) -> Option<BlobId> {
        match self {
            Self::Inline(_) => None,
            Self::Blob(blob) => Some(*blob),
        }
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(values) => write!(f, "Inline({} bytes)", values.len()),
            Self::Blob(blob) => f.debug_tuple("Blob").field(blob).finish(),
        }
    }
}

/// Bytes that are not a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a command: {0}")]
pub struct CommandError(pub &'static str);
