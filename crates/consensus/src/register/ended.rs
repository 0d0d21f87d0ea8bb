//! Ended jobs: whole for a while, then sealed in chunks that are stored like blobs and listed by their hash.
//!
//! ```text
//! open ── JobEnd ──► ended, whole in the register ── a chunk is full ──► sealed ── JobForget ──► forgotten
//!                          └──────────────── JobForget ───────────────────────────────────────────► │
//! ```
//!
//! A chunk holds the jobs as they were when they ended. The register keeps of each of them what it takes to recognise its key
//! and its id, and the blobs it refers to; the rest is read from the chunk by whoever is asked. That part is not in a snapshot: a replica
//! that takes a snapshot gets the chunks it lists before it applies anything further, see [`Register::supply`].
//!
//! Chunks are sealed by applying, the same way on every replica; nothing of it depends on a disk.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};

use super::change::Change;
use super::command::{Accept, JobId, Origin};
use super::job::Job;
use super::pack::Pack;
use super::part::PartState;
use super::{CommandRefusal, Register};
use crate::apply::RestoreError;
use crate::blob::BlobId;

/// Layout of a chunk.
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
    /// The first end in it.
    pub first: u64,
    /// The last end in it.
    pub last: u64,
    /// Jobs in it.
    pub jobs: u32,
    /// The longest `retain` of its jobs: so long it is kept.
    pub retain_ms: u64,
    /// Its jobs and the blobs they refer to.
    pub logical_bytes: u64,
    /// Jobs whose id or key another job took since.
    pub(super) replaced: BTreeSet<JobId>,
}

/// What is kept of a sealed job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SealedJob {
    pub(super) id: JobId,
    key: KeyHash,
    /// The entry that ended it.
    index: u64,
    /// The first bytes of its plan's hash.
    plan: [u8; 8],
    origin: Option<Origin>,
    /// What it refers to: kept as long as its chunk.
    blobs: Box<[BlobId]>,
}

/// Where an ended job is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The chunk that holds it.
    pub chunk: BlobId,
    /// The entry that ended it.
    pub index: u64,
}

/// Sealed chunks, and the ids and keys of all jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// By the last end in them.
    chunks: BTreeMap<u64, Chunk>,
    /// Jobs of each chunk by id; a chunk without them has not been read yet.
    jobs: BTreeMap<u64, Vec<SealedJob>>,
    /// The chunk of each sealed job.
    ids: BTreeMap<JobId, u64>,
    /// Of open and ended jobs.
    keys: BTreeMap<KeyHash, JobId>,
    /// Chunks that were sealed and not taken by the host.
    fresh: Fresh,
}

/// Bytes on their way to the host: no part of the state.
#[derive(Clone, Debug, Default)]
struct Fresh(Vec<(BlobId, Bytes)>);

impl PartialEq for Fresh {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Fresh {}

impl Ended {
    pub(super) fn new(chunks: BTreeMap<u64, Chunk>) -> Self {
        Self { chunks, ..Self::default() }
    }

    pub(super) fn chunks(&self) -> &BTreeMap<u64, Chunk> {
        &self.chunks
    }

    pub(super) fn chunk(&self, last: u64) -> Option<&Chunk> {
        self.chunks.get(&last)
    }

    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn job_of_key(&self, key: &str) -> Option<JobId> {
        self.keys.get(&KeyHash::of(key)).copied()
    }

    pub(super) fn bind(&mut self, key: &str, job: JobId) {
        self.keys.insert(KeyHash::of(key), job);
    }

    pub(super) fn unbind(&mut self, key: &str, job: JobId) {
        self.unbind_hash(KeyHash::of(key), job);
    }

    fn unbind_hash(&mut self, key: KeyHash, job: JobId) {
        if self.keys.get(&key) == Some(&job) {
            self.keys.remove(&key);
        }
    }

    pub(super) fn knows(&self, job: JobId) -> bool {
        self.ids.contains_key(&job)
    }

    /// Why nothing is decided about a job that is not open.
    pub(super) fn refusal(&self, job: JobId) -> CommandRefusal {
        if self.knows(job) { CommandRefusal::AlreadyEnded } else { CommandRefusal::UnknownJob }
    }

    pub(super) fn sealed(&self, job: JobId) -> Option<&SealedJob> {
        let jobs = self.jobs.get(self.ids.get(&job)?)?;
        jobs.binary_search_by_key(&job, |it| it.id).ok().map(|place| &jobs[place])
    }

    /// What sealed jobs refer to, as far as their chunks were read.
    pub(super) fn blobs(&self) -> impl Iterator<Item = BlobId> {
        self.jobs.values().flatten().flat_map(|job| job.blobs.iter().copied())
    }

    /// Another job takes the key, or the id, of a sealed one. The chunk, if there is one.
    pub(super) fn replace(&mut self, job: JobId) -> Option<u64> {
        let last = self.ids.remove(&job)?;
        self.chunks.get_mut(&last)?.replaced.insert(job);
        Some(last)
    }

    fn insert(&mut self, last: u64, mut jobs: Vec<SealedJob>) {
        let replaced = self.chunks.get(&last).map(|chunk| chunk.replaced.clone()).unwrap_or_default();
        jobs.sort_unstable_by_key(|it| it.id);
        for it in jobs.iter().filter(|it| !replaced.contains(&it.id)) {
            self.ids.insert(it.id, last);
            self.keys.insert(it.key, it.id);
        }
        self.jobs.insert(last, jobs);
    }

    fn remove(&mut self, last: u64) -> Option<Chunk> {
        for it in self.jobs.remove(&last).unwrap_or_default() {
            if self.ids.get(&it.id) == Some(&last) {
                self.ids.remove(&it.id);
                self.unbind_hash(it.key, it.id);
            }
        }
        self.chunks.remove(&last)
    }
}

impl SealedJob {
    fn of(id: JobId, job: &Job) -> Option<Self> {
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

impl Job {
    /// Whether nothing of it changes any more. A part that was lost may still come back and be late.
    fn is_sealable(&self) -> bool {
        let may_come_back = |part: &super::part::Part| part.state == PartState::Lost { late: None };
        !self.parts.values().any(may_come_back)
    }
}

impl Register {
    /// The chunks of ended jobs, by age.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &Chunk> {
        self.ended.chunks.values()
    }

    /// Where a job is found that was sealed.
    pub fn sealed(&self, job: JobId) -> Option<Sealed> {
        let chunk = self.ended.chunks.get(self.ended.ids.get(&job)?)?.blob;
        let index = self.ended.sealed(job)?.index;
        Some(Sealed { chunk, index })
    }

    /// Chunks of a snapshot that were not supplied yet. Nothing may be applied before.
    pub(super) fn unread(&self) -> impl Iterator<Item = BlobId> {
        let is_unread = |last: &u64| !self.ended.jobs.contains_key(last);
        self.ended.chunks.iter().filter(move |(last, _)| is_unread(last)).map(|(_, chunk)| chunk.blob)
    }

    pub(super) fn has_unread(&self) -> bool {
        self.ended.jobs.len() < self.ended.chunks.len()
    }

    /// Reads a chunk of a snapshot.
    pub(super) fn read_chunk(&mut self, blob: BlobId, bytes: &Bytes) -> Result<(), RestoreError> {
        let found = self.ended.chunks.values().find(|chunk| chunk.blob == blob);
        let Some((last, count)) = found.map(|chunk| (chunk.last, chunk.jobs)) else { return Ok(()) };
        let broken = || RestoreError(format!("chunk {blob:?} of ended jobs cannot be read"));
        if !blob.matches(bytes) {
            return Err(broken());
        }
        let jobs = jobs_of_chunk(bytes).ok_or_else(broken)?;
        let sealed: Vec<SealedJob> = jobs.iter().filter_map(|(id, job)| SealedJob::of(*id, job)).collect();
        if sealed.len() != count as usize {
            return Err(broken());
        }
        self.ended.insert(last, sealed);
        Ok(())
    }

    pub(super) fn take_fresh(&mut self) -> Vec<(BlobId, Bytes)> {
        std::mem::take(&mut self.ended.fresh.0)
    }

    /// Seals the ended jobs once they fill a chunk, in the order of their ends.
    pub(super) fn seal_if_due(&mut self) {
        if self.account.ended_bytes < self.sizes.chunk_bytes {
            return;
        }
        let is_sealable = |(_, id): &&(u64, JobId)| self.jobs.get(id).is_some_and(Job::is_sealable);
        let due: Vec<(u64, JobId)> = self.account.ended().filter(is_sealable).copied().collect();
        if due.iter().map(|(_, id)| self.jobs[id].weight()).sum::<usize>() * 2 < self.sizes.chunk_bytes {
            return;
        }
        self.seal(&due);
    }

    fn seal(&mut self, due: &[(u64, JobId)]) {
        let (Some((first, _)), Some((last, _))) = (due.first().copied(), due.last().copied()) else { return };
        self.take_out(&due.iter().map(|(_, id)| *id).collect());
        let jobs: Vec<(JobId, Job)> =
            due.iter().filter_map(|(_, id)| self.jobs.remove(id).map(|job| (*id, job))).collect();
        let mut bytes = BytesMut::new();
        FORMAT.put(&mut bytes);
        jobs.put(&mut bytes);
        let bytes = bytes.freeze();
        let blob = BlobId::of(&bytes);
        let logical_bytes = jobs.iter().map(|(_, job)| job.logical_bytes()).sum();
        let retain_ms = jobs.iter().map(|(_, job)| job.options.retain_ms).max().unwrap_or(0);
        let (count, replaced) = (jobs.len() as u32, BTreeSet::new());
        let chunk = Chunk { blob, first, last, jobs: count, retain_ms, logical_bytes, replaced };
        self.account.logical += chunk.logical_bytes;
        self.ended.chunks.insert(last, chunk);
        self.ended.insert(last, jobs.iter().filter_map(|(id, job)| SealedJob::of(*id, job)).collect());
        self.ended.fresh.0.push((blob, bytes));
        self.changes.push(Change::Chunk(last));
    }

    /// Forgets whole chunks within a range of ends; how many jobs.
    pub(super) fn forget_chunks(&mut self, first: u64, last: u64) -> usize {
        let due = self.ended.chunks.range(first..=last).filter(|(_, chunk)| chunk.first >= first);
        let due: Vec<u64> = due.map(|(last, _)| *last).collect();
        let mut jobs = 0;
        for chunk in due {
            if let Some(gone) = self.ended.remove(chunk) {
                self.account.logical -= gone.logical_bytes;
                jobs += gone.jobs as usize;
                self.changes.push(Change::Chunk(chunk));
            }
        }
        jobs
    }

    /// Keys of open and whole jobs, after a snapshot was read. Sealed ones follow with their chunks.
    pub(super) fn bind_all(&mut self) {
        for (id, job) in self.jobs.iter() {
            self.ended.keys.insert(KeyHash::of(&job.key), *id);
        }
    }
}

/// The jobs in the bytes of a chunk, in the order of their ends; none if it is no chunk of a known layout.
pub fn jobs_of_chunk(bytes: &Bytes) -> Option<Vec<(JobId, Job)>> {
    let mut bytes = bytes.clone();
    if u8::take(&mut bytes)? != FORMAT {
        return None;
    }
    let jobs = Pack::take(&mut bytes)?;
    bytes.is_empty().then_some(jobs)
}
