//! Everything that nodes of the log's world say to each other, as data. Where a world is sealed it travels as bytes.
//!
//! A letter that is lost is written again by whoever misses the answer.

use hyperscale_cluster::manager::ToPeer;
use hyperscale_cluster::message::{ToManager, ToWorker};
use hyperscale_consensus::register::JobId;
use hyperscale_consensus::replica::ReplicaMessage;
use hyperscale_wire::class::Lane;

/// About what a letter takes on the wire, beside what it carries.
const LETTER_BYTES: usize = 120;

/// What managers, workers and clients send each other, as data.
#[derive(Clone, Debug)]
pub enum Letter {
    /// Between replicas.
    Replica(ReplicaMessage),
    /// Between managers, or gates, beside the log.
    Peer(ToPeer),
    /// From a manager to a worker.
    ToWorker(Box<ToWorker>),
    /// From a worker to a manager.
    ToManager(Box<ToManager>),
    /// From a client.
    Client(ClientLetter),
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
    /// That nothing of a workflow runs any more.
    CancelWorkflow(JobId, u32),
    /// Other virtual users from now on.
    Scale(JobId, u32),
    /// That nothing starts for a while.
    Pause(JobId),
    /// That the load is resumed.
    Resume(JobId),
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
            Letter::Peer(ToPeer::Renewals { claims, .. }) => claims.len() * 20,
            Letter::Peer(ToPeer::RenewalsAnswered { answers, .. }) => answers.len() * 20,
            Letter::Peer(ToPeer::Workers(said)) => said.len() * 50,
            Letter::Peer(ToPeer::AttemptEnded { left, .. }) => left.totals.len(),
            Letter::ToManager(message) => match &**message {
                ToManager::Progress { windows, .. } => windows.iter().map(bytes::Bytes::len).sum(),
                ToManager::Ended { left, .. } => left.totals.len(),
                _ => 0,
            },
            _ => 0,
        };
        LETTER_BYTES + carried
    }

    /// Something of the content, for the trace.
    pub fn fingerprint(&self) -> u64 {
        match self {
            Letter::Replica(message) => fingerprint(message).wrapping_mul(32),
            Letter::Peer(message) => match message {
                ToPeer::Here { .. } => 6,
                ToPeer::Removed => 25,
                ToPeer::Workers(said) => 26 + 32 * said.len() as u64,
                ToPeer::RollCall => 7,
                ToPeer::Renewals { batch, .. } => 11 + 32 * batch,
                ToPeer::RenewalsAnswered { batch, .. } => 12 + 32 * batch,
                ToPeer::AttemptEnded { attempt, .. } => 8 + 32 * u64::from(attempt.attempt.number),
            },
            Letter::ToWorker(message) => match &**message {
                ToWorker::Registered { grant, .. } => 9 + 32 * grant.0,
                ToWorker::Renewed { call, .. } => 13 + 32 * call.0,
                ToWorker::Dispatch(it) => 14 + 32 * (it.token.0 + u64::from(it.attempt.attempt.number)),
                ToWorker::Direct { token, decisions, .. } => 16 + 32 * (token.0 + decisions),
                ToWorker::LeaderChanged { token, .. } => 20 + 32 * token.0,
                ToWorker::Confirmed { attempt } => 18 + 32 * u64::from(attempt.attempt.number),
                ToWorker::Backpressure(_) => 21,
                ToWorker::Drain { grant } => 22 + 32 * grant.0,
            },
            Letter::ToManager(message) => match &**message {
                ToManager::Register { call, .. } => 10 + 32 * call.0,
                ToManager::Progress { windows, .. } => 23 + 32 * windows.len() as u64,
                ToManager::Ended { attempt, .. } => 17 + 32 * u64::from(attempt.attempt.number),
                ToManager::Taken { .. } => 15,
                _ => 24,
            },
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
