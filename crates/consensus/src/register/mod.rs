//! The job register: what a group has decided about jobs, as a deterministic machine.
//!
//! Small on purpose: it knows jobs, who leads them, who may work, what runs where and how it ended, and enough rules that
//! nothing runs twice and nothing is decided by somebody who has been replaced. Managers and gates have the same machine,
//! because a job is accepted, led, cancelled, ended and forgotten by the same rules in both; it is told which [`Group`] it
//! serves, and refuses the commands of the other.
//!
//! ```text
//! job      accepted ── JobLeader (token) ──► led ── … ──► ended (one status, once) ── too many ──► sealed ── JobForget ──► forgotten
//! segment  ── Assign(n) ──► running(n) ── AttemptEnd(n) ──► ended(n) ── Assign(n + 1) ──► running(n + 1) …
//!                               └── WorkerGone ──► lost(n) ── Assign(n + 1) ──► …
//! worker   ── WorkerGrant (grant token) ──► granted ── WorkerOwner (owner token) ──► owned ── WorkerOwner ──► owned …
//!                                              └───────── WorkerGone ──► gone ◄──────────┘   new boot: see `worker`
//! workflow see `workflow`; part: see `part`; changes of load: see `control`
//! ```
//!
//! | command        | of       | changes something only if                                                           |
//! | -------------- | -------- | ----------------------------------------------------------------------------------- |
//! | JobAccept      | both     | key or part is new and there is room, or the gate token rises: see `accept`           |
//! | JobLeader      | both     | the job has not ended; the token in force (zero: nobody leads) is the one that is replaced |
//! | WorkerGrant    | managers | the boot is new or the worker was gone; otherwise returns the grant in force         |
//! | WorkerGone     | managers | it names the grant in force, or that of a former boot                               |
//! | WorkerOwner    | managers | it names the grant in force and the owner token in force (zero: nobody owns it)      |
//! | WorkerDrain    | managers | it names the grant in force, and the worker does not drain yet                       |
//! | Decide         | both     | token in force, and the command it carries does; kept until the job ends: see `decide` |
//! | Ready          | managers | token in force, workflows neither begun nor cancelled                              |
//! | Assign         | managers | all of the batch: token and grant in force, not cancelled, attempt = last + 1, none runs, cores free, workers not draining, nobody overtaken: see `assign` |
//! | AttemptEnd     | managers | token in force, the attempt is the one that runs                                    |
//! | AttemptWindows | managers | token in force, the attempt is lost                                               |
//! | Context        | managers | token in force, version = last + 1, at most 64 KiB or a blob                         |
//! | WorkflowEnd    | managers | token in force, nothing of it runs, not ended                                       |
//! | Control        | managers | token in force, request new, workflow neither cancelled nor ended, pause and resume in turn |
//! | DcAssign       | gates    | token in force, job not cancelled, try = last + 1 and the one before failed; known: its token |
//! | DcEnd          | gates    | token in force, the part is the one with this token and runs; late: it was lost       |
//! | DcState        | gates    | the class is another one                                                            |
//! | Cancel         | both     | not ended; a mark is never taken back, and repeating is harmless                    |
//! | JobEnd         | both     | token in force, nothing runs, not ended                                             |
//! | JobForget      | both     | jobs ended in its range (`retain` ago, by the leader's clock); their cancel marks go with them, not before |
//! | ClusterVersion | both     | it rises                                                                            |
//!
//! `Cancel` is not fenced: any member may propose it, and it only ever forbids. Everything else about a job carries the
//! proposer's job-leader token, and only the one in force passes: a lower one is stale, a higher one was never granted, and
//! before somebody leads there is none. What grows the register has limits: see `limits`.

mod accept;
mod account;
mod apply;
mod assign;
mod attempt;
mod blobs;
mod cancel;
mod change;
mod chunk;
mod claim;
mod command;
mod control;
mod datacenter;
mod decide;
mod end;
mod ended;
mod filling;
mod ids;
mod job;
mod jobs;
mod limits;
mod message;
mod options;
mod outcome;
mod pack;
mod part;
mod pieces;
mod retention;
#[cfg(test)]
mod tests;
mod time;
mod version;
mod weight;
mod words;
mod worker;
mod workflow;

pub use account::FORGOTTEN_PER_COMMAND;
pub use assign::{Assign, AssignSegment};
pub use attempt::{Attempt, AttemptState};
pub use cancel::{CANCELS_MAX, CancelRequest};
pub use chunk::{Chunk, ChunkContents, Sealed, jobs_of_chunk};
pub use claim::Claim;
pub use command::{
    Accept, Body, CONTEXT_BYTES_MAX, Command, CommandError, DatacenterClass, Group, JobId, JobIdError,
    LoadChange, Origin, PartId, RequestId, Segment, Values,
};
pub use control::{CONTROLS_MAX, Control, Steering};
pub use datacenter::{DATACENTERS_MAX, Datacenter};
pub use decide::Decide;
pub use end::{End, EndError, EndStatus};
pub use filling::{SEALED_BYTES_PER_COMMAND, SEALED_PER_COMMAND};
pub use job::{Job, JobEnd, REASON_BYTES_MAX};
pub use limits::{
    ATTEMPTS_MAX, CAPABILITIES_BYTES_MAX, CHUNK_BYTES, CHUNKS_MAX, CLOSING_BYTES_MAX, ENDED_BYTES_MAX,
    JOB_BYTES_MAX, JOBS_OPEN_MAX, KEY_BYTES_MAX, LOGICAL_BYTES_MAX, Limit, NAME_BYTES_MAX, NEW_BYTES_MAX,
    OPEN_BYTES_MAX, OPTIONS_BYTES_MAX, PARTS_MAX, REGISTER_BYTES_MAX, SEGMENTS_MAX, Sizes, WORKERS_MAX,
    WORKFLOWS_MAX,
};
pub use options::{JobOptions, OnIsolation, OnWorkerLoss, RETAIN, Routing, Split};
pub use outcome::{CommandRefusal, Outcome};
pub use part::{Part, PartState};
pub use retention::Retention;
pub use time::{Clocks, Elapsed, KeptClocks};
pub use version::VERSION;
pub use worker::{FormerGrant, Worker};
pub use workflow::{Phase, SegmentKind, SegmentRecord, Workflow};

use std::collections::BTreeMap;

use account::Account;
use blobs::ForHost;
use change::Change;
use claim::Claims;
use ended::Ended;
use hyperscale_types::{NodeId, Token};
use jobs::Jobs;

#[cfg(feature = "bugs")]
use crate::bugs::Bugs;

/// The register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    group: Group,
    jobs: Jobs,
    workers: BTreeMap<NodeId, Worker>,
    /// Grants of earlier boots, by worker and token.
    former: BTreeMap<(NodeId, Token), FormerGrant>,
    datacenters: BTreeMap<String, Datacenter>,
    claims: Claims,
    /// Sealed jobs, and the keys of all.
    ended: Ended,
    version: u32,
    sizes: Sizes,
    account: Account,
    /// What the command that is being applied has changed. Empty between commands.
    changes: Vec<Change>,
    for_host: ForHost,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
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

    /// The same, with deliberate bugs.
    #[cfg(feature = "bugs")]
    pub fn with_bugs(group: Group, bugs: Bugs) -> Self {
        Self { bugs, ..Self::new(group) }
    }

    /// The same, with smaller sizes.
    #[must_use]
    pub fn with_sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Open jobs, and ended ones that are neither sealed nor forgotten.
    pub fn jobs(&self) -> impl ExactSizeIterator<Item = (&JobId, &Job)> {
        self.jobs.iter()
    }

    /// How many jobs have not ended.
    pub fn jobs_open(&self) -> usize {
        self.account.open
    }

    /// A job that is open, or has ended and is not sealed; see [`Register::sealed`].
    pub fn job(&self, job: JobId) -> Option<&Job> {
        self.jobs.get(&job)
    }

    /// The job accepted under this key.
    pub fn job_of_key(&self, key: &str) -> Option<JobId> {
        self.ended.job_of_key(key)
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
