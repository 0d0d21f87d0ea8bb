//! Promises about the log and what is built on it, one file each, and what their judges are shown.

mod attempts_once;
mod cancelled_never_runs;
mod committed_is_durable;
mod committed_prefix;
mod cores_promised_once;
mod counts_reconcile;
mod directives_in_order;
mod draining_gets_nothing;
mod excluded_never_again;
mod fresh_reads;
mod job_clock_goes_on;
mod jobs_complete;
mod leader_per_term;
mod learners_caught_up;
mod lease_not_outlived;
mod load_ends_in_time;
mod load_overlap;
mod log_queues;
mod log_settles;
mod receiver_never_back;
mod state_hash;
mod superseded_not_counted;
mod sync_before_send;
mod terminal_once;
mod tokens_increase;
mod vote_kept;

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_cluster::message::JobAttempt;
use hyperscale_consensus::register::{JobEnd, JobId, Outcome, Segment};
use hyperscale_consensus::storage::{Batch, Loaded};
use hyperscale_consensus::{Backlog, Halt, Message, RaftId, ReadId, StateHash};
use hyperscale_stats::result::RunResult;
use hyperscale_types::Token;

use super::Invariant;
use crate::log::elections::Standing;
use crate::log::{Terms, Written};
use crate::moment::Moment;

pub use draining_gets_nothing::{draining, drains_open};
pub use jobs_complete::jobs_incomplete;
pub use log_settles::{blobs_differ, jobs_open, replicas_differ};

/// What happened in the log's world, at one node.
#[derive(Debug)]
pub enum Logged<'a> {
    /// The replica leads.
    Leads {
        /// In this term.
        term: u64,
        /// Under this id.
        id: RaftId,
    },
    /// The operator empties the directories of all founders of a cluster: what they founded is no group any more.
    FoundingAbandoned {
        /// The cluster.
        cluster: u8,
    },
    /// The replica sends a message, with this on its disk.
    Sends {
        /// The raft message, before it is encoded.
        message: &'a Message,
        /// What was durable at the end of each term, and is in the present one.
        terms: &'a Terms,
    },
    /// The replica hands a batch to its disk, which holds this.
    Persists {
        /// Entries, term and vote, snapshot.
        batch: &'a Batch,
        /// What survives whatever happens.
        durable: &'a Loaded,
    },
    /// The replica applied an entry.
    Applied {
        /// Index of the entry in the log.
        index: u64,
        /// Term of the leader that wrote it.
        term: u64,
        /// What the machine said.
        outcome: Option<&'a Outcome>,
    },
    /// Somebody applied this entry for the first time.
    Committed {
        /// Index of the entry in the log.
        index: u64,
        /// All replicas that have their disks: whether they hold it, and what elections depend on.
        replicas: &'a [Standing],
    },
    /// A command was applied for the first time.
    Decided(&'a Written),
    /// The replica's state after an entry.
    State {
        /// The last entry applied.
        index: u64,
        /// The rolling hash of the replica.
        hash: StateHash,
    },
    /// A read was asked for.
    ReadAsked(ReadId),
    /// A read was answered from the state after this entry.
    ReadReady {
        /// The read, as `ReadAsked` named it.
        read: ReadId,
        /// The last entry applied to the state that was read.
        applied: u64,
    },
    /// The leader makes a learner a voter.
    Promotes {
        /// Its id in the group.
        id: RaftId,
        /// The entry that does it.
        entry: u64,
        /// The last entry that the learner's disk holds, itself or in a snapshot.
        last: u64,
        /// How many entries before that one may be missing.
        allowed: u64,
    },
    /// The replica has stopped.
    Halted(&'a Halt),
    /// Proposals and reads wait in the replica.
    Waiting {
        /// So many.
        waiting: Backlog,
        /// So many may.
        allowed: Backlog,
    },
    /// A worker obeyed a job leader.
    Obeyed {
        /// Of which job.
        job: JobId,
        /// With which token.
        token: Token,
    },
    /// A worker directs an attempt as it was told.
    Directed {
        /// The attempt.
        attempt: JobAttempt,
        /// How many decisions of the job the directive follows from.
        decisions: u64,
    },
    /// A worker starts an attempt.
    Starts {
        /// The attempt.
        attempt: JobAttempt,
    },
    /// A worker sends load.
    Load {
        /// For which segment.
        segment: &'a Segment,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Under which grant.
        grant: Token,
        /// So many requests.
        requests: u64,
        /// What the job clock shows, as the worker knows it.
        job_time: Duration,
        /// How long the load of the workflow lasts, if that is planned.
        planned: Option<Duration>,
    },
    /// A worker's lease was renewed.
    Renewed {
        /// The grant whose lease it is.
        grant: Token,
        /// The worker uses it until then.
        until: Moment,
        /// The worker asked for it then; it arrived at the cluster leader later.
        asked: Moment,
        /// The granter takes it for ended so long after the renewal arrived.
        lease: Duration,
    },
    /// A worker gives its lease back.
    GivenBack {
        /// The grant whose lease it is.
        grant: Token,
        /// Its host was told to use it until then.
        until: Moment,
    },
    /// A client was promised a job.
    Acknowledged {
        /// The idempotency key.
        key: &'a str,
        /// The id that the client was told.
        job: JobId,
    },
    /// A client has read the result of a job that has ended.
    Result {
        /// The job.
        job: JobId,
        /// What the result says.
        result: &'a RunResult,
        /// What is known of attempts that were lost, as it was committed; nothing while no manager runs that could say it.
        known: Option<&'a LostKnown>,
    },
    /// A client was told how a job ended.
    Told {
        /// The id that the client asked about.
        job: JobId,
        /// The terminal state that the client is told.
        end: JobEnd,
    },
}

/// What a group has committed about the attempts of a job that were lost.
#[derive(Debug, Default)]
pub struct LostKnown {
    /// Requests in the windows of each.
    pub requests: BTreeMap<(Segment, u32), u64>,
    /// Their segments run again from the beginning.
    pub restarts: bool,
}

/// All judges of the log.
pub(super) fn judges() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(cancelled_never_runs::CancelledNeverRuns::default()),
        Box::new(attempts_once::AttemptsOnce::default()),
        Box::new(committed_is_durable::CommittedIsDurable),
        Box::new(committed_prefix::CommittedPrefix::default()),
        Box::new(cores_promised_once::CoresPromisedOnce::default()),
        Box::new(counts_reconcile::CountsReconcile::default()),
        Box::new(directives_in_order::DirectivesInOrder::default()),
        Box::new(draining_gets_nothing::DrainingGetsNothing::default()),
        Box::new(excluded_never_again::ExcludedNeverAgain::default()),
        Box::new(fresh_reads::FreshReads::default()),
        Box::new(job_clock_goes_on::JobClockGoesOn::default()),
        Box::new(leader_per_term::LeaderPerTerm::default()),
        Box::new(learners_caught_up::LearnersCaughtUp),
        Box::new(lease_not_outlived::LeaseNotOutlived::default()),
        Box::new(load_ends_in_time::LoadEndsInTime::default()),
        Box::new(load_overlap::LoadOverlap::default()),
        Box::new(log_queues::LogQueues),
        Box::new(receiver_never_back::ReceiverNeverBack::default()),
        Box::new(state_hash::StateHashes::default()),
        Box::new(superseded_not_counted::SupersededNotCounted::default()),
        Box::new(sync_before_send::SyncBeforeSend),
        Box::new(terminal_once::TerminalOnce::default()),
        Box::new(tokens_increase::TokensIncrease::default()),
        Box::new(vote_kept::VoteKept),
    ]
}
