//! How large a register may become: its snapshot must be smaller than what may be sent.
//!
//! Jobs are weighed, see `weight`; what makes one heavier asks for room first.
//!
//! | share                              | bytes                    | beyond it                                      |
//! | ---------------------------------- | ------------------------ | ---------------------------------------------- |
//! | open jobs, for a new one           | [`NEW_BYTES_MAX`]        | the job is refused                             |
//! | open jobs, for what is assigned, provided, changed | [`OPEN_BYTES_MAX`] | refused                             |
//! | open jobs, for ends of workflows, cancels, reasons | [`CLOSING_BYTES_MAX`] | refused; reasons are left out    |
//! | ended jobs that are not sealed     | [`ENDED_BYTES_MAX`]      | no new job is accepted                         |
//! | the chunk that is being filled     | [`CHUNK_BYTES`] + [`JOB_BYTES_MAX`] | sealed, and the next one is begun        |
//! | chunks of sealed jobs              | [`CHUNKS_MAX`] × [`CHUNK_HEAD_BYTES`] | no new job is accepted              |
//! | workers                            | [`WORKERS_MAX`] × [`WORKER_BYTES_MAX`] | refused                          |
//! | datacenters                        | [`DATACENTERS_MAX`] × [`DATACENTER_BYTES_MAX`] | refused                  |

use super::CommandRefusal;
use super::control::CONTROLS_MAX;
use super::datacenter::DATACENTERS_MAX;
use super::job::Job;

/// Most jobs that have not ended: more than may wait in the queue.
pub const JOBS_OPEN_MAX: usize = 16_384;
/// Most workers with a grant.
pub const WORKERS_MAX: usize = 10_000;
/// Most segments of one job.
pub const SEGMENTS_MAX: usize = 4_096;
/// Most workflows of one job, as in a plan: with a context, ended or cancelled.
pub const WORKFLOWS_MAX: usize = 1_000;
/// Most parts of one job, with all tries.
pub const PARTS_MAX: usize = 1_024;
/// Longest idempotency key.
pub const KEY_BYTES_MAX: usize = 256;
/// Longest name of a workflow, a datacenter or a caller.
pub const NAME_BYTES_MAX: usize = 256;
/// Options of a job, as in a snapshot.
pub const OPTIONS_BYTES_MAX: usize = 8 << 10;
/// Capabilities of a worker, as in a snapshot.
pub const CAPABILITIES_BYTES_MAX: usize = 512;
/// Most that one job weighs.
pub const JOB_BYTES_MAX: usize = 2 << 20;
/// Open jobs weigh at most this when another one is accepted: the rest is for those that are open.
pub const NEW_BYTES_MAX: usize = 10 << 20;
/// Open jobs weigh at most this when one of them grows.
pub const OPEN_BYTES_MAX: usize = 18 << 20;
/// Open jobs weigh at most this: the rest is for what brings them to their end.
pub const CLOSING_BYTES_MAX: usize = 20 << 20;
/// Ended jobs that are not sealed weigh at most this when a new job is accepted, and what is open on top when all of it has
/// ended.
pub const ENDED_BYTES_MAX: usize = 16 << 20;
/// Ended jobs that are not sealed are moved into a chunk while they weigh more than this, and a chunk is full with it. It is at
/// most [`JOB_BYTES_MAX`] larger: 8 MiB.
pub const CHUNK_BYTES: usize = 6 << 20;
/// Most chunks of sealed jobs.
pub const CHUNKS_MAX: usize = 32_768;
/// Most bytes of all jobs that are not forgotten, with the blobs they refer to: beyond them new jobs are refused, and nothing is
/// forgotten before its `retain`. 1 h of 500 jobs/s with results of 16 KiB are 31 GB.
pub const LOGICAL_BYTES_MAX: u64 = 64 << 30;
/// Most attempts of one segment: more than its retries and the refusals that a job's budget allows.
pub const ATTEMPTS_MAX: usize = 64;
/// A snapshot of the register, whatever was decided.
pub const REGISTER_BYTES_MAX: usize = HEAD_BYTES_MAX
    + CLOSING_BYTES_MAX
    + ENDED_BYTES_MAX
    + (CHUNK_BYTES + JOB_BYTES_MAX)
    + CHUNKS_MAX * CHUNK_HEAD_BYTES
    + WORKERS_MAX * WORKER_BYTES_MAX
    + DATACENTERS_MAX * DATACENTER_BYTES_MAX;

/// A worker in a snapshot, without what is promised of it: jobs carry the weight of that.
pub(super) const WORKER_BYTES_MAX: usize = 96 + CAPABILITIES_BYTES_MAX;
/// A chunk in a snapshot.
pub(super) const CHUNK_HEAD_BYTES: usize = 96;
/// A datacenter in a snapshot.
pub(super) const DATACENTER_BYTES_MAX: usize = 32 + NAME_BYTES_MAX;
/// What a snapshot has beside jobs, workers and datacenters.
pub(super) const HEAD_BYTES_MAX: usize = 64;
/// Members and the envelope of a snapshot.
const ENVELOPE_BYTES: usize = 1 << 20;
const _: () = assert!(REGISTER_BYTES_MAX + ENVELOPE_BYTES <= hyperscale_wire::limits::TRANSFER_MAX as usize);

/// A limit of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Limit {
    /// See [`JOBS_OPEN_MAX`].
    #[error("at most {JOBS_OPEN_MAX} jobs are open")]
    JobsOpen,
    /// See [`WORKERS_MAX`].
    #[error("at most {WORKERS_MAX} workers")]
    Workers,
    /// See [`DATACENTERS_MAX`].
    #[error("at most {DATACENTERS_MAX} datacenters")]
    Datacenters,
    /// See [`SEGMENTS_MAX`].
    #[error("a job has at most {SEGMENTS_MAX} segments")]
    Segments,
    /// See [`WORKFLOWS_MAX`].
    #[error("a job has at most {WORKFLOWS_MAX} workflows")]
    Workflows,
    /// See [`PARTS_MAX`].
    #[error("a job has at most {PARTS_MAX} parts")]
    Parts,
    /// See [`CONTROLS_MAX`].
    #[error("the load of a job is changed at most {CONTROLS_MAX} times")]
    Controls,
    /// See [`KEY_BYTES_MAX`].
    #[error("an idempotency key has at most {KEY_BYTES_MAX} bytes")]
    KeyBytes,
    /// See [`NAME_BYTES_MAX`].
    #[error("a name has at most {NAME_BYTES_MAX} bytes")]
    NameBytes,
    /// See [`OPTIONS_BYTES_MAX`].
    #[error("options of a job have at most {OPTIONS_BYTES_MAX} bytes")]
    OptionsBytes,
    /// See [`CAPABILITIES_BYTES_MAX`].
    #[error("capabilities of a worker have at most {CAPABILITIES_BYTES_MAX} bytes")]
    CapabilitiesBytes,
    /// See [`JOB_BYTES_MAX`].
    #[error("a job has at most {JOB_BYTES_MAX} bytes in the log")]
    JobBytes,
    /// The share of the open jobs is used up. Passes when some of them end.
    #[error("open jobs have no more room in the log")]
    OpenBytes,
    /// See [`ATTEMPTS_MAX`].
    #[error("a segment has at most {ATTEMPTS_MAX} attempts")]
    Attempts,
    /// See [`ENDED_BYTES_MAX`]. Passes when jobs are forgotten.
    #[error("ended jobs have no more room in the log")]
    EndedBytes,
    /// See [`LOGICAL_BYTES_MAX`]. Passes when jobs are forgotten.
    #[error("jobs that are retained have no more room")]
    LogicalBytes,
}

impl Limit {
    /// Refused, if there are more than so many.
    pub(super) fn hold(self, are: usize, max: usize) -> Result<(), CommandRefusal> {
        if are > max { Err(CommandRefusal::Limit(self)) } else { Ok(()) }
    }

    /// Refused, if the name is too long.
    pub(super) fn name(name: &str) -> Result<(), CommandRefusal> {
        Self::NameBytes.hold(name.len(), NAME_BYTES_MAX)
    }
}

/// Sizes that tests make smaller. The same on every replica of a group: applying depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// See [`CHUNK_BYTES`].
    pub chunk_bytes: usize,
    /// See [`LOGICAL_BYTES_MAX`].
    pub logical_bytes_max: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { chunk_bytes: CHUNK_BYTES, logical_bytes_max: LOGICAL_BYTES_MAX }
    }
}

/// What asks for room.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    New,
    Open,
    Closing,
}

impl Share {
    const fn bytes_max(self) -> usize {
        match self {
            Self::New => NEW_BYTES_MAX,
            Self::Open => OPEN_BYTES_MAX,
            Self::Closing => CLOSING_BYTES_MAX,
        }
    }
}

/// What the open jobs weigh beside the one that grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) others: usize,
}

impl Room {
    /// Whether the job may weigh so much more.
    pub(super) fn check(self, job: &Job, more: usize, share: Share) -> Result<(), CommandRefusal> {
        let job = job.weight() + more;
        Limit::JobBytes.hold(job, JOB_BYTES_MAX)?;
        Limit::OpenBytes.hold(self.others + job, share.bytes_max())
    }
}
