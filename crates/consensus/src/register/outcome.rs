//! What applying a command answers.

use hyperscale_types::Token;

use super::command::JobId;
use super::limits::Limit;
use super::pack::Pack as _;
use crate::apply::Effects;

/// What applying a command returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// A right was granted; the index of the entry, or, when it is in force already, the token it has.
    Granted(Token),
    /// The job was accepted, or was before under the same key.
    Accepted {
        /// The id under which it is known, whatever id was proposed.
        job: JobId,
        /// Whether the key was known.
        is_repeat: bool,
    },
    /// The load of a workflow was changed, or was before by the same request.
    Controlled {
        /// The entry that changed it.
        index: u64,
        /// Whether the request was known.
        is_repeat: bool,
    },
    /// It was done before; nothing changed.
    Repeated,
    /// Nothing changed.
    Refused(CommandRefusal),
}

impl Outcome {
    /// For the rolling hash. Why something was refused is not in it: it changes nothing, and a later build may say it better.
    pub(super) fn report(&self, effects: &mut Effects) {
        match self {
            Self::Done => 1u8.put(effects),
            Self::Granted(token) => (2u8, *token).put(effects),
            Self::Accepted { job, is_repeat } => (3u8, (*job, *is_repeat)).put(effects),
            Self::Controlled { index, is_repeat } => (4u8, (*index, *is_repeat)).put(effects),
            Self::Repeated => 5u8.put(effects),
            Self::Refused(_) => 6u8.put(effects),
        }
    }
}

/// Why a command changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandRefusal {
    /// The bytes are not a command this version knows.
    #[error("not a command this version knows: {reason}")]
    Unreadable {
        /// What is wrong with them.
        reason: String,
    },
    /// Refused by a newer build, for a reason this one has no word for.
    #[error("refused by a newer build: {message}")]
    Newer {
        /// The reason, as that build says it.
        message: String,
    },
    /// A command of the other group.
    #[error("not a command of this group")]
    WrongGroup,
    /// Not every voter understands this kind of command yet. A build that does not know it says `Unreadable` instead.
    #[error("cluster version {needed} is not in force yet")]
    NotInForce {
        /// The version that brings it.
        needed: u32,
    },
    /// No such job.
    #[error("unknown job")]
    UnknownJob,
    /// The job id is taken.
    #[error("job id is taken by another key")]
    JobKnown,
    /// The key was used for something else.
    #[error("idempotency key was used for another plan or part")]
    KeyConflict,
    /// Another gate leads the job by now.
    #[error("stale gate token: {current} is in force")]
    StaleGateToken {
        /// The one in force.
        current: Token,
    },
    /// A newer try of this datacenter is known.
    #[error("stale part: {current} is in force")]
    StalePart {
        /// Token of the newest try.
        current: Token,
    },
    /// Nobody leads the job yet.
    #[error("nobody leads the job yet")]
    NotLed,
    /// A token that was never granted.
    #[error("token was never granted: {current} is in force")]
    UnknownToken {
        /// The one in force; zero: none.
        current: Token,
    },
    /// Somebody else leads the job by now.
    #[error("stale token: {current} is in force")]
    StaleToken {
        /// The one in force.
        current: Token,
    },
    /// It has ended.
    #[error("already ended")]
    AlreadyEnded,
    /// It has not ended.
    #[error("has not ended")]
    NotEnded,
    /// It was cancelled: it never starts again.
    #[error("cancelled")]
    Cancelled,
    /// Something of it still runs.
    #[error("an attempt is still running")]
    Running,
    /// The worker has no grant, or another one.
    #[error("worker grant is not in force")]
    StaleGrant {
        /// The one in force.
        current: Option<Token>,
    },
    /// A batch without attempts.
    #[error("batch is empty")]
    EmptyBatch,
    /// An older claim waits.
    #[error("would overtake a claim that waits since entry {claim}")]
    Overtakes {
        /// The entry of that claim.
        claim: u64,
    },
    /// Segments of a core group name other cores.
    #[error("the core group has {cores} cores on this worker")]
    GroupCores {
        /// So many it has.
        cores: u32,
    },
    /// Not the kind of this segment, or not after what was assigned of the workflow.
    #[error("segment of this kind cannot be assigned now")]
    WrongKind,
    /// Load before set-up has completed.
    #[error("set-up of the workflow has not completed")]
    NotSetUp,
    /// Another manager owns the worker by now, or nobody does.
    #[error("owner token is not in force: {current} is")]
    StaleOwner {
        /// The one in force; zero: none.
        current: Token,
    },
    /// The worker was asked to drain.
    #[error("the worker is draining")]
    Draining,
    /// A restarted worker is known under a newer boot.
    #[error("a newer boot of this worker is known")]
    OldBoot,
    /// Not so many cores are free.
    #[error("only {free} cores are free")]
    CoresNotFree {
        /// So many are.
        free: u32,
    },
    /// Not the next attempt.
    #[error("the next attempt is {next}")]
    WrongAttempt {
        /// The only number that would have been accepted.
        next: u32,
    },
    /// The attempt is not the one that runs: lost, ended or replaced.
    #[error("attempt is superseded")]
    Superseded,
    /// Not the next version of the context.
    #[error("the next version is {next}")]
    StaleContext {
        /// The only version that would have been accepted.
        next: u64,
    },
    /// Too large for the log.
    #[error("context is too large for the log; store it as a blob")]
    TooLarge,
    /// The workflow is paused already.
    #[error("already paused")]
    Paused,
    /// The workflow is not paused.
    #[error("not paused")]
    NotPaused,
    /// The request was made before, for something else.
    #[error("request id was used for another change")]
    RequestConflict,
    /// Something that is only kept of what was lost: a late result of a part, windows of an attempt.
    #[error("it was not lost")]
    NotLost,
    /// There is no room for it.
    #[error("{0}")]
    Limit(Limit),
    /// A version that does not rise.
    #[error("cluster version {current} is in force")]
    OldVersion {
        /// The one in force.
        current: u32,
    },
}
