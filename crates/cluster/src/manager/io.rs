//! What goes into a manager and what comes out of it.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::lease::{Claim, LeaseError};
use hyperscale_consensus::register::{JobEnd, JobId, JobOptions, Outcome, RequestId};
use hyperscale_consensus::replica;
use hyperscale_job::WorkflowCancel;
use hyperscale_plan::Problem;
use hyperscale_stats::event::Event;
use hyperscale_stats::result::{RunResult, Status};
use hyperscale_types::{Command, NodeId, Now, Token};

use super::pressure::Busy;
use crate::bundle::Bundle;
use crate::message::{HowEnded, JobAttempt, ToManager, ToWorker, WorkerSaid};
use crate::record::AttemptLeft;

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// The time of the last [`Output::Timer`] has come.
    Timer,
    /// Something that concerns the log: what was written, what its members say, who is gone.
    Replica(replica::Input),
    /// Another manager says something.
    Peer {
        /// As its connection authenticated it.
        from: NodeId,
        /// What it says.
        message: ToPeer,
    },
    /// A worker says something.
    Worker {
        /// As its connection authenticated it.
        from: NodeId,
        /// What it says.
        message: ToManager,
    },
    /// Membership takes a node for dead. Evidence, never a decision.
    Died(NodeId),
    /// Membership knows a node as alive.
    Alive(NodeId),
    /// How busy the host is, every second or so and whenever that changes.
    Busy(Busy),
    /// What [`Output::ReadBlob`] asked for; nothing if it is not on this disk.
    BlobRead {
        /// The number it was asked with.
        read: ReadNumber,
        /// The content, compared with the id by the host.
        bytes: Option<Bytes>,
    },
    /// A client wants something; answered by exactly one [`Output::Respond`].
    Request {
        /// Handed back with the response.
        request: RequestNumber,
        /// What it wants.
        what: Request,
    },
}

/// Something the host has to do, in this order.
#[derive(Debug)]
pub enum Output {
    /// Something the log wants done. Its timer is not among them, nor are replies but those to calls that the host has
    /// made itself.
    Replica(replica::Output<Outcome>),
    /// Say something to another manager. May be lost.
    SendPeer {
        /// The manager.
        to: NodeId,
        /// What is said.
        message: ToPeer,
    },
    /// Say something to a worker. May be lost.
    SendWorker {
        /// The worker.
        to: NodeId,
        /// What is said.
        message: ToWorker,
    },
    /// Read a blob from this disk, then say [`Input::BlobRead`].
    ReadBlob {
        /// Handed back with the content.
        read: ReadNumber,
        /// The blob.
        blob: BlobId,
    },
    /// Answer a client.
    Respond {
        /// The request.
        request: RequestNumber,
        /// What became of it.
        response: Response,
    },
    /// Show something to those that follow a job that is led here.
    Emit {
        /// The job.
        job: JobId,
        /// The token of its leader, by which a follower recognises another one.
        token: Token,
        /// What happened.
        event: Box<Event>,
    },
    /// Say [`Input::Timer`] at this time. Replaces the one before.
    Timer(Now),
    /// This manager was asked to leave and is no member of the group any more: the process may end.
    Left,
}

/// A blob that a manager reads for itself, as it numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadNumber(pub u64);

/// A request of a client, as the host numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestNumber(pub u64);

/// What managers say to each other beside the log.
#[derive(Clone, Debug, PartialEq)]
pub enum ToPeer {
    /// To the cluster leader: this manager is there and leads its jobs.
    Here {
        /// It was asked to drain: its jobs are to be given to others, and it is to be removed.
        is_leaving: bool,
    },
    /// To a manager that leaves: it is no member of the group any more. Nobody else tells it: the log does not reach it.
    Removed,
    /// From a new cluster leader: who is there?
    RollCall,
    /// Renewals of workers on their way to the cluster leader.
    Renewals {
        /// The sender's number for the batch.
        batch: u64,
        /// What workers asked for since the last batch.
        claims: Vec<Claim<NodeId>>,
    },
    /// What the cluster leader says to a batch.
    RenewalsAnswered {
        /// The sender's number for the batch.
        batch: u64,
        /// For each worker how long its lease is, or why it is not renewed.
        answers: Vec<(NodeId, Result<Duration, LeaseError>)>,
    },
    /// What workers said of themselves to the sender.
    Workers(Vec<WorkerSaid>),
    /// A worker told the end of an attempt to a manager that does not lead its job.
    AttemptEnded {
        /// The worker that waits for a confirmation.
        worker: NodeId,
        /// The attempt.
        attempt: JobAttempt,
        /// How it came to its end.
        how: HowEnded,
        /// What it leaves.
        left: Box<AttemptLeft>,
    },
}

/// What a client may want.
#[derive(Clone, Debug)]
pub enum Request {
    /// That a plan is run.
    Submit {
        /// Repeating it under the same key never makes a second job.
        key: String,
        /// The plan with everything it names.
        bundle: Box<Bundle>,
        /// What it is run with.
        options: Box<JobOptions>,
        /// Who submits it, as far as that is known.
        caller: String,
        /// Wall clock of the host, milliseconds since 1970: no core has one. Shown to people; nothing is decided by it.
        submitted_at_ms: u64,
    },
    /// That a job, or some of its workflows, never runs again.
    Cancel {
        /// The job.
        job: JobId,
        /// The workflows; none: the whole job.
        workflows: Vec<String>,
        /// Whether all that depend on them are cancelled too; else those are skipped.
        dependents: bool,
        /// So that repeating it is harmless.
        request: RequestId,
        /// Shown to people.
        reason: String,
        /// Who asks, as far as that is known.
        caller: String,
    },
    /// How far a cancel is.
    CancelStatus {
        /// The job.
        job: JobId,
        /// The request that cancelled something.
        request: RequestId,
    },
    /// That the load of a job is changed.
    Control {
        /// The job.
        job: JobId,
        /// The change.
        command: Command,
    },
    /// How a job is.
    Get {
        /// The job.
        job: JobId,
    },
    /// Which jobs there are.
    List {
        /// The last job of the page before; none: the first page.
        after: Option<ListPlace>,
        /// Jobs at most.
        limit: usize,
    },
    /// That a worker takes nothing new, finishes what it has, and leaves.
    Drain {
        /// The worker.
        worker: NodeId,
    },
    /// That this manager hands over what it leads, is removed from the group, and leaves.
    Leave,
}

/// What a client is told.
#[derive(Clone, Debug)]
pub enum Response {
    /// The job is accepted, or was before under the same key.
    Accepted {
        /// Its id.
        job: JobId,
        /// Who leads it, and the token; nothing if that is not decided yet.
        leader: Option<(NodeId, Token)>,
        /// Whether it was accepted before.
        is_repeat: bool,
        /// How it is.
        status: Status,
        /// Its place among the jobs that wait for cores, from 1; nothing if it does not wait.
        queue_position: Option<u32>,
    },
    /// It is committed: nothing that was cancelled will start again.
    CancelCommitted,
    /// How far a cancel is. Once the job has ended its result says it.
    Cancellation {
        /// Workflow by workflow.
        workflows: Vec<WorkflowCancel>,
        /// All workers have answered, or did not in time.
        is_complete: bool,
    },
    /// The load was changed.
    Controlled,
    /// How a job that is led here is.
    Running {
        /// Its token.
        token: Token,
        /// The result so far.
        result: Box<RunResult>,
        /// Its place among the jobs that wait for cores, from 1; nothing if it does not wait.
        queue_position: Option<u32>,
    },
    /// A job has ended; its result is this blob.
    Ended(Box<JobEnd>),
    /// The job has no leader yet, or its plan is being read. Ask again.
    Starting,
    /// Another manager leads the job. Ask there.
    Moved {
        /// That manager.
        leader: NodeId,
        /// Its token.
        token: Token,
    },
    /// Some of the jobs that are open or retained: open ones by their acceptance, then those that have ended by their end, the newest
    /// first.
    Jobs {
        /// At most as many as were asked for.
        lines: Vec<JobLine>,
        /// Where the next page begins, if there are more.
        next: Option<ListPlace>,
    },
    /// It is committed that the worker gets nothing new, and it is told until it has left; or this manager leaves.
    Draining {
        /// Whether it was told before.
        is_repeat: bool,
    },
    /// Nothing was done.
    Rejected(Rejection),
}

/// A place in the list of jobs, by entries of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPlace {
    /// That of an open job that was accepted by this entry.
    Open(u64),
    /// That of a job that was ended by this entry.
    Ended(u64),
}

/// One job in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLine {
    /// Its id.
    pub job: JobId,
    /// Who leads it.
    pub leader: Option<(NodeId, Token)>,
    /// How it ended.
    pub end: Option<JobEnd>,
    /// The name of its plan.
    pub name: String,
    /// When it was submitted, milliseconds since 1970, as its host said; zero: not known.
    pub submitted_at_ms: u64,
    /// How it is.
    pub status: Status,
    /// Since its acceptance, until its end.
    pub elapsed: Duration,
    /// Its place among the jobs that wait for cores, from 1; nothing if it does not wait.
    pub queue_position: Option<u32>,
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Rejection {
    /// The plan cannot be run.
    #[error("the plan has {} problems", .0.len())]
    Plan(Vec<Problem>),
    /// There is no such job, or it is forgotten.
    #[error("there is no such job")]
    UnknownJob,
    /// No worker has this id and a grant.
    #[error("there is no such worker")]
    UnknownWorker,
    /// The job has ended.
    #[error("the job has ended")]
    AlreadyEnded,
    /// Too many jobs are open.
    #[error("the queue of jobs is full; submit it again in {} s", .retry_after.as_secs())]
    CapacityExceeded {
        /// When it may be submitted again.
        retry_after: Duration,
    },
    /// The cluster takes no new work now; what runs is finished.
    #[error("the cluster is overloaded; submit it again in {} s", .retry_after.as_secs())]
    Overloaded {
        /// When it may be submitted again.
        retry_after: Duration,
    },
    /// This manager takes no new work: it was asked to leave.
    #[error("this manager is draining; submit it to another one")]
    Draining,
    /// The group refused it.
    #[error("{0}")]
    Refused(String),
    /// The group cannot decide anything now. Nothing was done; the same request may be sent again.
    #[error("{0}")]
    Unavailable(String),
    /// The group did not decide in time. The request may still be carried out.
    #[error("{0}")]
    QuorumTimeout(String),
    /// The group failed several times a moment ago and is not asked. Nothing was done.
    #[error("{0}")]
    QuorumCircuitOpen(String),
}
