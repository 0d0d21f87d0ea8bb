//! A chunk of sealed jobs: its bytes, what a snapshot says about it, and what stays in memory of its jobs.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::command::{Accept, JobId, Origin};
use super::job::Job;
use super::pack::{Pack, Sink};
use crate::blob::BlobId;

/// Layout of a chunk: this byte, then jobs with their ids up to its end.
const FORMAT: u8 = 1;

/// Hash of an idempotency key: 16 bytes of its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct KeyHash(pub(super) [u8; 16]);

impl KeyHash {
    pub(super) fn of(key: &str) -> Self {
        let mut hash = [0; 16];
        hash.copy_from_slice(&BlobId::of(key.as_bytes()).hash[..16]);
        Self(hash)
    }
}

/// A sealed chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its bytes, as they are stored.
    pub blob: BlobId,
    /// What is known of its jobs together.
    pub contents: ChunkContents,
}

/// The jobs of a chunk, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkContents {
    /// The first end in it.
    pub first: u64,
    /// The last end in it.
    pub last: u64,
    /// How many jobs it holds.
    pub jobs: u32,
    /// The longest `retain` of its jobs: so long it is kept.
    pub retain_ms: u64,
    /// Bytes of its jobs and of the blobs they refer to.
    pub logical_bytes: u64,
    /// Jobs whose id or key another job took since.
    pub(super) replaced: BTreeSet<JobId>,
}

impl ChunkContents {
    pub(super) fn add(&mut self, end: u64, job: &Job) {
        self.first = if self.jobs == 0 { end } else { self.first.min(end) };
        self.last = self.last.max(end);
        self.jobs += 1;
        self.retain_ms = self.retain_ms.max(job.options.retain_ms);
        self.logical_bytes += job.logical_bytes();
    }

    /// Whether all its jobs ended within a range.
    pub(super) fn is_within(&self, first: u64, last: u64) -> bool {
        first <= self.first && self.last <= last
    }
}

/// What is kept of a sealed job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SealedJob {
    pub(super) id: JobId,
    pub(super) key: KeyHash,
    /// The entry that ended it.
    pub(super) index: u64,
    /// The first bytes of its plan's hash.
    plan: [u8; 8],
    origin: Option<Origin>,
    /// What it refers to: kept as long as its chunk.
    pub(super) blobs: Box<[BlobId]>,
}

impl SealedJob {
    /// `None` for a job that has not ended.
    pub(super) fn of(id: JobId, job: &Job) -> Option<Self> {
        let mut plan = [0; 8];
        plan.copy_from_slice(&job.plan.hash[..8]);
        let (key, origin, end) = (KeyHash::of(&job.key), job.origin.clone(), job.end.as_ref()?);
        let blobs = job.blobs().into_iter().collect();
        Some(Self { id, key, index: end.index, plan, origin, blobs })
    }

    pub(super) fn has_plan_of(&self, accept: &Accept) -> bool {
        self.plan[..] == accept.plan.hash[..8]
    }

    pub(super) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }
}

/// Where an ended job is found that is not whole any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The chunk that holds it; `None` while that is being filled, see [`Register::being_sealed`](super::Register::being_sealed).
    pub chunk: Option<BlobId>,
    /// The entry that ended it.
    pub index: u64,
}

/// What a chunk begins with.
pub(super) fn put_head(out: &mut impl Sink) {
    FORMAT.put(out);
}

/// The jobs in the bytes of a chunk, in the order they were put there; none if it is no chunk of a known layout.
pub fn jobs_of_chunk(bytes: &Bytes) -> Option<Vec<(JobId, Job)>> {
    let mut bytes = bytes.clone();
    if u8::take(&mut bytes)? != FORMAT {
        return None;
    }
    let mut jobs = Vec::new();
    while !bytes.is_empty() {
        jobs.push(Pack::take(&mut bytes)?);
    }
    Some(jobs)
}
