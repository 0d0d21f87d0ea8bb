//! The job register: what a group has decided about jobs, as a deterministic machine.
//!
//! Small on purpose: it knows jobs, who leads them, who may work, what runs where and how it ended, and enough rules that
//! nothing runs twice and nothing is decided by somebody who has been replaced. Managers and gates have the same machine,
//! because a job is accepted, led, cancelled, ended and forgotten by the same rules in both; it is told which [`Group`] it
//! serves, and refuses the commands of the other.
//!
//! ```text
//! job      accepted ── JobLeader (token) ──► led ── … ──► ended (one status, once) ── JobForget ──► forgotten
//! segment  ── Assign(n) ──► running(n) ── AttemptEnd(n) ──► ended(n) ── Assign(n + 1) ──► running(n + 1) …
//!                               └── WorkerGone ──► lost(n) ── Assign(n + 1) ──► …
//! worker   ── WorkerGrant (token) ──► granted ── WorkerGone ──► gone ── WorkerGrant ──► granted …
//! part     see `part`; changes of load: see `control`
//! ```
//!
//! | command        | of       | changes something only if                                                           |
//! | -------------- | -------- | ----------------------------------------------------------------------------------- |
//! | JobAccept      | both     | the idempotency key is new; a known one returns the same job                         |
//! | JobLeader      | both     | the job has not ended; the token in force is the one that is replaced               |
//! | WorkerGrant    | managers | the boot is new or the worker was gone; otherwise returns the grant in force         |
//! | WorkerGone     | managers | it names the grant in force                                                         |
//! | Assign         | managers | token in force, not cancelled, attempt = last + 1, none runs, grant in force, all cores free |
//! | AttemptEnd     | managers | token in force, the attempt is the one that runs                                    |
//! | Context        | managers | token in force, version = last + 1, at most 64 KiB or a blob                         |
//! | WorkflowEnd    | managers | token in force, nothing of it runs, not ended                                       |
//! | Control        | managers | token in force, request new, workflow neither cancelled nor ended, pause and resume in turn |
//! | DcAssign       | gates    | token in force, job not cancelled, try = last + 1 and the one before failed; known: its token |
//! | DcEnd          | gates    | token in force, the part is the one with this token and runs; late: it was lost       |
//! | DcState        | gates    | the class is another one                                                            |
//! | Cancel         | both     | not ended; a mark is never taken back, and repeating is harmless                    |
//! | JobEnd         | both     | token in force, nothing runs, not ended                                             |
//! | JobForget      | both     | the job has ended (`retain` ago, by the leader's clock); its cancel marks go with it, not before |
//! | ClusterVersion | both     | it rises                                                                            |
//!
//! `Cancel` is not fenced: any member may propose it, and it only ever forbids. Everything else about a job carries the
//! proposer's job-leader token, and a lower one than the one in force is refused.

mod apply;
mod command;
mod control;
mod datacenter;
mod job;
mod message;
mod pack;
mod part;
mod retention;
#[cfg(test)]
mod tests;
mod version;
mod worker;

pub use command::{
    Assign, Body, CONTEXT_BYTES_MAX, Command, CommandError, DatacenterClass, EndStatus, Group, JobId,
    LoadChange, PartId, RequestId, Segment, Values,
};
pub use control::{CONTROLS_MAX, Control, Steering};
pub use datacenter::{DATACENTERS_MAX, Datacenter};
pub use job::{Attempt, AttemptState, CANCELS_MAX, Job, JobEnd, REASON_BYTES_MAX};
pub use part::{Part, PartEnd, PartState};
pub use retention::{RETAIN, Retention};
pub use version::VERSION;
pub use worker::Worker;

use std::collections::BTreeMap;

use hyperscale_types::{NodeId, Token};

#[cfg(feature = "bugs")]
use crate::bugs::Bugs;

/// The register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    group: Group,
    jobs: BTreeMap<JobId, Job>,
    keys: BTreeMap<String, JobId>,
    workers: BTreeMap<NodeId, Worker>,
    datacenters: BTreeMap<String, Datacenter>,
    version: u32,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
}

/// What applying a command returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was done.
    Done,
    /// A right was granted; the index of the entry, or, when it is in force already, the token it has.
    Granted(Token),
    /// The job was accepted, or was before under the same key.
    Accepted {
        /// The job.
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
    Refused(Refusal),
}

/// Why a command changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The bytes are not a command this version knows.
    #[error("not a command this version knows")]
    Unreadable,
    /// A command of the other group.
    #[error("not a command of this group")]
    WrongGroup,
    /// Not every voter understands this kind of command yet. Never proposed, and not an outcome of applying.
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
    /// The key was used for another plan.
    #[error("idempotency key was used for another plan")]
    KeyConflict,
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
        /// The next one.
        next: u32,
    },
    /// The attempt is not the one that runs: lost, ended or replaced.
    #[error("attempt is superseded")]
    Superseded,
    /// Not the next version of the context.
    #[error("the next version is {next}")]
    StaleContext {
        /// The next one.
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
    /// The job's load was changed too often.
    #[error("the load of a job is changed at most {CONTROLS_MAX} times")]
    TooManyControls,
    /// A late result of a part that was not given up.
    #[error("the part was not given up, so its result is not late")]
    NotLost,
    /// Too many datacenters are known.
    #[error("at most {DATACENTERS_MAX} datacenters")]
    TooManyDatacenters,
    /// A version that does not rise.
    #[error("cluster version {current} is in force")]
    OldVersion {
        /// The one in force.
        current: u32,
    },
}

impl Register {
    /// The register of a new group of this kind.
    pub fn new(group: Group) -> Self {
        Self { group, ..Self::default() }
    }

    /// Which group it serves.
    pub fn group(&self) -> Group {
        self.group
    }

    /// With deliberate bugs.
    #[cfg(feature = "bugs")]
    pub fn with_bugs(bugs: Bugs) -> Self {
        Self { bugs, ..Self::default() }
    }

    /// All jobs that are not forgotten.
    pub fn jobs(&self) -> impl ExactSizeIterator<Item = (&JobId, &Job)> {
        self.jobs.iter()
    }

    /// A job.
    pub fn job(&self, job: JobId) -> Option<&Job> {
        self.jobs.get(&job)
    }

    /// The job accepted under this key.
    pub fn job_of_key(&self, key: &str) -> Option<JobId> {
        self.keys.get(key).copied()
    }

    /// All workers with a grant.
    pub fn workers(&self) -> impl ExactSizeIterator<Item = (&NodeId, &Worker)> {
        self.workers.iter()
    }

    /// A worker with a grant.
    pub fn worker(&self, worker: NodeId) -> Option<&Worker> {
        self.workers.get(&worker)
    }

    /// All datacenters whose class was decided.
    pub fn datacenters(&self) -> impl ExactSizeIterator<Item = (&str, &Datacenter)> {
        self.datacenters.iter().map(|(name, datacenter)| (name.as_str(), datacenter))
    }

    /// A datacenter whose class was decided.
    pub fn datacenter(&self, name: &str) -> Option<&Datacenter> {
        self.datacenters.get(name)
    }

    /// What every voter understands, as the log says; zero before it said anything.
    pub fn version(&self) -> u32 {
        self.version
    }
}
