//! Deliberate bugs, for the simulator's teeth: each must be caught by an invariant. Compiled only with the feature `bugs`;
//! the set is handed in with the configuration or the constructor of whatever has the bug.

use std::collections::BTreeSet;

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bug {
    /// Group: messages leave before the term, vote and entries they depend on are on disk.
    SkipSyncBeforeVote,
    /// Group: the vote is not loaded after a restart.
    DropHardStateOnRestart,
    /// Group: a leader counts its own disk before it has answered.
    CommitWithoutOwnDisk,
    /// Group: entries that were on disk at the start are applied twice.
    ApplyTwiceAfterRestart,
    /// Group: a read is answered by whoever believes to lead, without a round.
    ReadWithoutReadIndex,
    /// Group: a learner becomes a voter after a time, whether it has the log or not.
    PromoteLearnerByTimeout,
    /// Group: replicas with an odd id leave out every 37th command.
    NonDeterministicApply,
    /// Group: the commit index is written only when it changes together with something else, so that a replica that starts
    /// again falls back behind several changes of the configuration.
    CommitWrittenLazily,
    /// Group: a joint configuration is left only by the leader that entered it, in the same term.
    JointLeftByItsLeaderOnly,
    /// Group: a leader is not told when a snapshot could not be sent.
    SnapshotFailureUnreported,
    /// Group: a replica that takes a snapshot keeps the configuration it had.
    SnapshotKeepsConfiguration,
    /// Bootstrap: a node founds again in whatever directory, if the others were founded with it.
    FoundAgainWithoutDisk,
    /// Bootstrap: a member that was added takes itself for a founder.
    FoundWhenAdded,
    /// Bootstrap: of five peers or more, one that was not reached is left out.
    FoundWithoutOne,
    /// Replica: blobs that are missing here are not asked for.
    NoBlobRepair,
    /// Replica: blobs are collected that something names.
    CollectNamedBlobs,
    /// Group: proposals and reads are taken however many wait.
    TakeWithoutLimit,
    /// Register: a job's next leader gets the token of the one before.
    ReuseToken,
    /// Register: the end of an attempt that is not the current one counts.
    AcceptStaleAttempt,
    /// Register: a change of the job leader wipes the cancel marks.
    ForgetCancelMark,
    /// Register: an assignment is not compared with the token in force.
    IgnoreTokenOnAssign,
    /// Register: an assignment does not look at free cores.
    DoublePromiseCore,
    /// Register: an idempotency key makes a second job.
    IgnoreIdempotencyKey,
    /// Register: a second end of a job overwrites the first.
    EndJobTwice,
    /// Register: an attempt is assigned while the one before runs.
    AssignWhileRunning,
    /// Register: a worker that restarts loses the attempts of its former process before that one's lease ended.
    RestartLosesAttempts,
    /// Register: an assignment does not look at who drains, and job leaders count on it.
    AssignToDraining,
    /// Register: workers do not drain any more once a job gets a leader or they another owner, and job leaders do not ask them.
    ForgetDrainAtTakeover,
    /// Granter: a replica's clock runs while it follows, and counts when it leads.
    LeaseExpiryOnFollowersClock,
    /// Holder: the lease is counted from the answer, not from before the renewal was sent.
    HolderCountsFromAnswer,
    /// Receiver: lower tokens are obeyed.
    ObeyLowerToken,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 31] = [
        Bug::SkipSyncBeforeVote,
        Bug::DropHardStateOnRestart,
        Bug::CommitWithoutOwnDisk,
        Bug::ApplyTwiceAfterRestart,
        Bug::ReadWithoutReadIndex,
        Bug::PromoteLearnerByTimeout,
        Bug::NonDeterministicApply,
        Bug::CommitWrittenLazily,
        Bug::JointLeftByItsLeaderOnly,
        Bug::SnapshotFailureUnreported,
        Bug::SnapshotKeepsConfiguration,
        Bug::FoundAgainWithoutDisk,
        Bug::FoundWhenAdded,
        Bug::FoundWithoutOne,
        Bug::NoBlobRepair,
        Bug::CollectNamedBlobs,
        Bug::TakeWithoutLimit,
        Bug::ReuseToken,
        Bug::AcceptStaleAttempt,
        Bug::ForgetCancelMark,
        Bug::IgnoreTokenOnAssign,
        Bug::DoublePromiseCore,
        Bug::IgnoreIdempotencyKey,
        Bug::EndJobTwice,
        Bug::AssignWhileRunning,
        Bug::RestartLosesAttempts,
        Bug::AssignToDraining,
        Bug::ForgetDrainAtTakeover,
        Bug::LeaseExpiryOnFollowersClock,
        Bug::HolderCountsFromAnswer,
        Bug::ObeyLowerToken,
    ];
}

/// The bugs that are switched on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bugs(BTreeSet<Bug>);

impl Bugs {
    /// Whether this one is.
    pub fn has(&self, bug: Bug) -> bool {
        self.0.contains(&bug)
    }
}

impl FromIterator<Bug> for Bugs {
    fn from_iter<I: IntoIterator<Item = Bug>>(bugs: I) -> Self {
        Self(bugs.into_iter().collect())
    }
}
