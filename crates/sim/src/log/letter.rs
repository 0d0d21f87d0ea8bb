//! Everything that nodes of the log's world say to each other, as data.
//!
//! Messages of the group are the production ones. The rest belongs to the small application that exercises it: requests
//! to the cluster leader, leases, dispatches. A letter that is lost is written again by whoever misses the answer.

use std::time::Duration;

use hyperscale_consensus::lease::{Claim, LeaseError};
use hyperscale_consensus::register::{EndStatus, JobId, Segment};
use hyperscale_consensus::replica::ReplicaMessage;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};
use hyperscale_wire::class::Lane;

use crate::moment::Moment;

/// About what a letter takes on the wire, beside what it carries.
const LETTER_BYTES: usize = 120;

/// What managers, workers and clients send each other, as data.
#[derive(Clone, Debug)]
pub enum Letter {
    /// Between replicas.
    Replica(ReplicaMessage),
    /// To the cluster leader: this manager is there and leads its jobs.
    Here,
    /// From a new cluster leader: who is there?
    RollCall,
    /// A worker wants a grant.
    Register {
        /// The boot that the grant is asked for.
        boot: BootEpoch,
        /// Cores it offers.
        cores: u32,
        /// When it asked, on its clock.
        sent: Now,
    },
    /// The grant. It comes with a lease only if it is new: one that was in force may be ending.
    Registered {
        /// The life it is for: an answer that was asked for by an earlier process under this id is not this one's.
        boot: BootEpoch,
        /// Index of the `WorkerGrant`, which dispatches and renewals carry.
        grant: Token,
        /// How long the lease is.
        lease: Option<Duration>,
        /// When the worker asked.
        sent: Now,
    },
    /// A worker renews its lease.
    Renew {
        /// The grant whose lease is renewed.
        grant: Token,
        /// When it asked, on its clock.
        sent: Now,
    },
    /// Renewals on their way to the cluster leader.
    Renewals {
        /// The sender's number for the batch.
        batch: u64,
        /// The renewals of all workers that asked since the last batch.
        claims: Vec<Claim<NodeId>>,
    },
    /// The cluster leader's answer, after its round.
    RenewalsAnswered {
        /// The sender's number for the batch.
        batch: u64,
        /// For each worker the lease, or why it is not renewed.
        answers: Vec<(NodeId, Result<Duration, LeaseError>)>,
        /// When the batch arrived, which nobody but the judges may look at.
        arrived: Moment,
    },
    /// The answer to a worker.
    Renewed {
        /// The grant that was to be renewed.
        grant: Token,
        /// When the worker asked.
        sent: Now,
        /// The lease, or why not.
        answer: Result<Duration, LeaseError>,
        /// When the renewal arrived at the cluster leader, which nobody but the judges may look at.
        arrived: Moment,
    },
    /// A job leader gives a worker an attempt.
    Dispatch(Dispatch),
    /// The worker took it, or runs it already, or never will.
    Dispatched {
        /// Of which segment.
        segment: Segment,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Whether it runs or ran there.
        taken: bool,
    },
    /// A job leader wants an attempt stopped because the job was cancelled.
    Stop {
        /// Of which segment.
        segment: Segment,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// The job leader's token.
        token: Token,
        /// The grant it was assigned under.
        grant: Token,
    },
    /// A worker's attempt ended. Repeated until it is confirmed.
    Ended {
        /// The worker that ran it; managers pass the letter on.
        worker: NodeId,
        /// Of which segment.
        segment: Segment,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// The outcome that the worker reports.
        status: EndStatus,
    },
    /// The end of an attempt is decided, whatever was decided.
    Confirmed {
        /// Of which segment.
        segment: Segment,
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// From a client.
    Client(ClientLetter),
}

/// An attempt for a worker.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Of which segment.
    pub segment: Segment,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The job leader's token.
    pub token: Token,
    /// The worker's grant it was assigned under.
    pub grant: Token,
    /// Cores it takes.
    pub cores: u32,
    /// How long it runs.
    pub length: Duration,
}

/// What a client wants. Repeated until it is answered.
#[derive(Clone, Debug)]
pub struct ClientLetter {
    /// The client's job it is about.
    pub client_job: usize,
    /// The request itself.
    pub wish: Wish,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A job, under an idempotency key.
    Submit {
        /// What it consists of, as the first bytes of an id.
        job: JobId,
        /// The idempotency key, the same with every repetition.
        key: String,
    },
    /// That nothing of a job runs any more.
    Cancel(JobId),
    /// To know how a job ended.
    Status(JobId),
}

impl Letter {
    /// The connection it takes.
    pub fn lane(&self) -> Lane {
        match self {
            Letter::Replica(message) => message.lane(),
            _ => Lane::Control,
        }
    }

    /// About what it takes on the wire.
    pub fn bytes(&self) -> usize {
        let carried = match self {
            Letter::Replica(ReplicaMessage::Raft(message)) => {
                let entries: usize = message.entries.iter().map(|entry| entry.body.size()).sum();
                entries + message.snapshot.as_ref().map_or(0, |snapshot| snapshot.state.len())
            }
            Letter::Renewals { claims, .. } => claims.len() * 20,
            Letter::RenewalsAnswered { answers, .. } => answers.len() * 20,
            _ => 0,
        };
        LETTER_BYTES + carried
    }

    /// Something of the content, for the trace.
    pub fn fingerprint(&self) -> u64 {
        match self {
            Letter::Replica(message) => fingerprint(message).wrapping_mul(32),
            Letter::Here => 6,
            Letter::RollCall => 7,
            Letter::Register { sent, .. } => 8 + 32 * sent.0,
            Letter::Registered { grant, .. } => 9 + 32 * grant.0,
            Letter::Renew { sent, .. } => 10 + 32 * sent.0,
            Letter::Renewals { batch, .. } => 11 + 32 * batch,
            Letter::RenewalsAnswered { batch, .. } => 12 + 32 * batch,
            Letter::Renewed { sent, .. } => 13 + 32 * sent.0,
            Letter::Dispatch(dispatch) => 14 + 32 * u64::from(dispatch.attempt),
            Letter::Dispatched { attempt, .. } => 15 + 32 * u64::from(*attempt),
            Letter::Stop { attempt, .. } => 16 + 32 * u64::from(*attempt),
            Letter::Ended { attempt, .. } => 17 + 32 * u64::from(*attempt),
            Letter::Confirmed { attempt, .. } => 18 + 32 * u64::from(*attempt),
            Letter::Client(letter) => 19 + 32 * letter.client_job as u64,
        }
    }
}

fn fingerprint(message: &ReplicaMessage) -> u64 {
    match message {
        ReplicaMessage::Raft(message) => {
            1 + 32 * (message.kind as u64) + (message.index << 10) + (message.term << 40)
        }
        ReplicaMessage::BootstrapQuery { .. } => 2,
        ReplicaMessage::BootstrapReport(_) => 3,
        ReplicaMessage::Propose { number, .. } => 4 + 32 * number,
        ReplicaMessage::Proposed { number, .. } => 5 + 32 * number,
        ReplicaMessage::ReadIndex { number } => 6 + 32 * number,
        ReplicaMessage::ReadIndexAnswer { number, .. } => 7 + 32 * number,
        ReplicaMessage::BlobPut { blob, .. } => 8 + 32 * u64::from(blob.hash[0]),
        ReplicaMessage::BlobStored { blob } => 9 + 32 * u64::from(blob.hash[0]),
        ReplicaMessage::BlobGet { blob } => 10 + 32 * u64::from(blob.hash[0]),
        ReplicaMessage::BlobData { blob, .. } => 11 + 32 * u64::from(blob.hash[0]),
    }
}
