//! What managers and workers say to each other, beside the log and membership.
//!
//! Every message may be lost, doubled or overtaken: a sender that needs a response asks again, and a receiver of a duplicate does
//! the same as with one. Times are durations; a point in time never leaves its node.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::lease::LeaseError;
use hyperscale_consensus::register::{JobId, OnIsolation};
use hyperscale_job::{AttemptId, Directive, Failure, SegmentId, SegmentKind, SegmentOrder};
use hyperscale_swim::WorkerLoad;
use hyperscale_types::{BootEpoch, NodeId, Token};

use crate::record::AttemptLeft;

/// One try at a segment of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobAttempt {
    /// Of which job.
    pub job: JobId,
    /// Which attempt of it.
    pub attempt: AttemptId,
}

impl JobAttempt {
    /// A number by which sets of attempts are compared.
    pub fn digest(&self) -> u64 {
        let SegmentId { workflow, kind, index } = self.attempt.segment;
        let kind = match kind {
            SegmentKind::Load => 0,
            SegmentKind::Setup => 1,
            SegmentKind::Teardown => 2,
        };
        let numbers = [workflow as u64, kind, index.into(), self.attempt.number.into()];
        let bytes = self.job.0.into_iter().chain(numbers.into_iter().flat_map(u64::to_le_bytes));
        // FNV-1a, which is enough to notice a difference.
        bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

/// The number of a question, as the asker counts them. Comes back with the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallNumber(pub u64);

/// What a manager says to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum ToWorker {
    /// The worker has a grant.
    Registered {
        /// The question that this answers.
        call: CallNumber,
        /// Index of the `WorkerGrant`.
        grant: Token,
        /// How long the lease is, if the grant is new. One that was in force before may be ending: the next renewal tells.
        lease: Option<Duration>,
        /// All managers of the datacenter.
        managers: Vec<NodeId>,
    },
    /// What the cluster leader said to a renewal.
    Renewed {
        /// The question that this answers.
        call: CallNumber,
        /// The grant that was to be renewed.
        grant: Token,
        /// How long the lease is from when the renewal was sent, or why it was not renewed.
        answer: Result<Duration, LeaseError>,
    },
    /// An attempt to run.
    Dispatch(Box<Dispatch>),
    /// What an attempt is to do from now on. The newest one counts, in whatever order they arrive.
    Direct {
        /// The attempt that is told.
        attempt: JobAttempt,
        /// Of the job leader that tells it.
        token: Token,
        /// The grant it was assigned under: another process under this id may run it.
        grant: Token,
        /// How many decisions of the job, in the order of the log, it follows from. It is a function of them: one that follows from
        /// fewer than another is overtaken by it, also across changes of the job leader.
        decisions: u64,
        /// All of it, not the difference.
        directive: Directive,
    },
    /// Another manager leads the job from now on: the one that says so.
    LeaderChanged {
        /// Of which job.
        job: JobId,
        /// Its token.
        token: Token,
    },
    /// What an attempt left is committed, or will never count.
    Confirmed {
        /// The attempt whose result need not be kept any longer.
        attempt: JobAttempt,
    },
    /// How often progress may be sent.
    Backpressure(Backpressure),
    /// Take nothing new, finish, leave.
    Drain {
        /// The grant it had when it was asked for: one that came back under another was started again, to work.
        grant: Token,
    },
}

/// What a worker said of itself in a renewal, as managers pass it on.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerSaid {
    /// Who said it.
    pub worker: NodeId,
    /// Under which grant.
    pub grant: Token,
    /// The renewal; of one life they are said in this order.
    pub number: CallNumber,
    /// What it said.
    pub load: Box<WorkerLoad>,
}

/// An attempt for a worker: a function of the log, so that every leader of the job builds the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The attempt to run.
    pub attempt: JobAttempt,
    /// Of the job leader that dispatches it.
    pub token: Token,
    /// The grant it was assigned under.
    pub grant: Token,
    /// The plan, with everything it names.
    pub plan: BlobId,
    /// Cores of its group on this worker.
    pub cores: u32,
    /// What the job clock showed when it was sent.
    pub job_time: Duration,
    /// Share, context and place on the load curve.
    pub order: SegmentOrder,
    /// What the worker must be able to do beyond what every worker can.
    pub capabilities: BTreeSet<String>,
    /// What becomes of it when the lease cannot be renewed.
    pub on_isolation: OnIsolation,
}

/// What a worker says to a manager.
#[derive(Clone, Debug, PartialEq)]
pub enum ToManager {
    /// The worker wants a grant, or another owner under the one it has.
    Register {
        /// Comes back with the response.
        call: CallNumber,
        /// This life of the worker.
        boot: BootEpoch,
        /// Cores it offers.
        cores: u32,
        /// What it can beyond what every worker can.
        capabilities: BTreeSet<String>,
        /// The grant it holds.
        grant: Option<Token>,
        /// What it runs, and what it has not told the end of.
        attempts: Vec<AttemptStatus>,
    },
    /// The worker renews its lease.
    Renew {
        /// Comes back with the response.
        call: CallNumber,
        /// The grant whose lease it is.
        grant: Token,
        /// How it is.
        load: Box<WorkerLoad>,
    },
    /// The attempt is taken, or was before.
    Taken {
        /// How it is.
        status: AttemptStatus,
        /// Cores that are promised to nobody.
        cores_free: u32,
    },
    /// The attempt will not run here.
    Refused {
        /// The attempt.
        attempt: JobAttempt,
        /// Of the job leader that dispatched it.
        token: Token,
        /// Why not.
        refusal: DispatchRefusal,
    },
    /// How an attempt is, and statistics of it.
    Progress {
        /// How it is.
        status: AttemptStatus,
        /// Encoded windows that were not sent before; none is a sign of life.
        windows: Vec<Bytes>,
        /// Windows that were dropped so far because they could not be sent.
        dropped: u64,
    },
    /// An attempt is over. Said again until it is confirmed.
    Ended {
        /// The attempt.
        attempt: JobAttempt,
        /// The highest token of its job that the worker knows.
        token: Token,
        /// How it came to its end, as far as the worker knows.
        how: HowEnded,
        /// What it leaves.
        left: AttemptLeft,
    },
    /// The worker obeys a new job leader.
    LeaderAccepted {
        /// Of which job.
        job: JobId,
        /// The token that it obeys.
        token: Token,
        /// All attempts of the job that it knows.
        attempts: Vec<AttemptStatus>,
    },
    /// The worker does not obey.
    StaleToken {
        /// Of which job.
        job: JobId,
        /// The highest token it has seen.
        current: Token,
    },
}

/// How an attempt is, as its worker knows it. All of it, so that a new job leader needs nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptStatus {
    /// The attempt.
    pub attempt: JobAttempt,
    /// How far it is.
    pub phase: AttemptPhase,
    /// The planned load of a core is over.
    pub is_finishing: bool,
    /// Numbers of the cores that have nothing more to do.
    pub cores_completed: BTreeSet<u32>,
    /// The check with `stop: test` that failed.
    pub stopped: Option<Failure>,
    /// Its job leader is gone and no other has come.
    pub is_orphaned: bool,
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AttemptPhase {
    /// It is being prepared.
    Accepted,
    /// Every core is prepared.
    Prepared,
    /// It is over; what it leaves comes apart.
    Ended,
}

/// How an attempt came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowEnded {
    /// By itself, or as it was directed.
    Ran,
    /// It was cut off before the lease of its worker ended.
    LeaseEnded,
    /// It was cut off because nobody led its job for too long.
    Orphaned,
}

/// Why a worker does not run an attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DispatchRefusal {
    /// A later attempt of the segment is known.
    #[error("a later attempt of the segment is known")]
    Superseded,
    /// The attempt was taken before with another order.
    #[error("the attempt was dispatched before with another order")]
    OtherOrder,
    /// Its cores are taken.
    #[error("only {free} cores are free")]
    CoresNotFree {
        /// So many are.
        free: u32,
    },
    /// It cannot do something that the segment needs.
    #[error("capabilities are missing: {}", .missing.join(", "))]
    Capabilities {
        /// What is missing.
        missing: Vec<String>,
    },
    /// It takes nothing new.
    #[error("the worker is draining")]
    Draining,
    /// It was told to stop it before.
    #[error("it was cancelled")]
    Cancelled,
}

impl DispatchRefusal {
    /// The words of all of them.
    pub const WORDS: [&'static str; 6] =
        ["superseded", "other_order", "cores_not_free", "capabilities", "draining", "cancelled"];

    /// A word for metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::OtherOrder => "other_order",
            Self::CoresNotFree { .. } => "cores_not_free",
            Self::Capabilities { .. } => "capabilities",
            Self::Draining => "draining",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How often a worker sends progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backpressure {
    /// With every window.
    #[default]
    None,
    /// Every half second.
    Slower,
    /// Every second.
    Batch,
    /// Every two seconds, and windows that do not fit are dropped.
    Drop,
}

impl Backpressure {
    /// The least time between two messages about one attempt.
    pub const fn interval(self) -> Duration {
        match self {
            Self::None => Duration::from_millis(100),
            Self::Slower => Duration::from_millis(500),
            Self::Batch => Duration::from_secs(1),
            Self::Drop => Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
pub(crate) mod examples {
    use hyperscale_swim::WorkerState;

    use super::WorkerLoad;

    /// A worker in this state, with nothing to do.
    pub(crate) fn load(state: WorkerState) -> WorkerLoad {
        WorkerLoad {
            state,
            cores_total: 8,
            cores_available: 8,
            queue_depth: 0,
            cpu_percent: 10,
            memory_percent: 20,
            segments: 0,
            segments_digest: 0,
            lhm: 0,
        }
    }
}
