//! Ended jobs: whole for a while, then sealed in chunks that are stored like blobs and listed by their hash.
//!
//! ```text
//! open ── JobEnd ──► ended, whole ── those weigh too much ──► in the chunk that is filled ── it is full ──► sealed ── JobForget ──► forgotten
//!                        └───────────────── JobForget ──────────────────────┴───────────────────────────────────────────────────► │
//! ```
//!
//! A chunk holds the jobs as they were when they ended, see `chunk`; jobs are moved into one a few at a time, see `filling`. The
//! register keeps of each of them what it takes to recognise its key and its id, and the blobs it refers to; a replica that is
//! asked for the rest reads it from the chunk. That part is not in a snapshot: a replica that takes a snapshot gets the chunks it lists before it
//! applies anything further, see [`Register::supply`].
//!
//! Chunks are filled by applying, the same way on every replica; nothing of it depends on a disk. A chunk is forgotten at once and
//! its jobs leave the tables a few per command: until then entries of a chunk that is not listed any more count for nothing.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::change::Change;
use super::chunk::{Chunk, KeyHash, Sealed, SealedJob, jobs_of_chunk};
use super::command::JobId;
use super::filling::Filling;
use super::{CommandRefusal, Register};
use crate::apply::RestoreError;
use crate::blob::BlobId;

/// Forgotten jobs that leave the tables with each command: more than end with one, so that they never pile up.
const PURGED_PER_COMMAND: usize = 32;

/// The job that has a key, and the chunk it is in unless it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    job: JobId,
    chunk: Option<u64>,
}

/// Sealed jobs, and the ids and keys of all jobs. Chunks are numbered by the entry that began to fill them.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    chunks: BTreeMap<u64, Chunk>,
    /// Jobs of each chunk by id; a chunk without them has not been read yet.
    pub(super) jobs: BTreeMap<u64, Vec<SealedJob>>,
    /// The chunk that is being filled.
    pub(super) filling: Option<Filling>,
    /// The chunk of each sealed job.
    ids: BTreeMap<JobId, u64>,
    /// Of open and ended jobs.
    keys: BTreeMap<KeyHash, Holder>,
    /// Forgotten jobs that are still in the tables, and their chunks: no part of the state.
    forgotten: VecDeque<(u64, Vec<SealedJob>)>,
}

impl PartialEq for Ended {
    fn eq(&self, other: &Self) -> bool {
        let is_same =
            (&self.chunks, &self.jobs, &self.filling) == (&other.chunks, &other.jobs, &other.filling);
        is_same && self.live_ids().eq(other.live_ids()) && self.live_keys().eq(other.live_keys())
    }
}

impl Eq for Ended {}

impl Ended {
    pub(super) fn new(chunks: BTreeMap<u64, Chunk>, filling: Option<Filling>) -> Self {
        let mut ended = Self { chunks, ..Self::default() };
        if let Some(filling) = &filling {
            for job in filling.jobs.values() {
                ended.list(filling.number, job, !filling.contents.replaced.contains(&job.id));
            }
        }
        ended.filling = filling;
        ended
    }

    pub(super) fn chunks(&self) -> &BTreeMap<u64, Chunk> {
        &self.chunks
    }

    pub(super) fn chunk(&self, number: u64) -> Option<&Chunk> {
        self.chunks.get(&number)
    }

    pub(super) fn job_of_key(&self, key: &str) -> Option<JobId> {
        let holder = self.keys.get(&KeyHash::of(key)).filter(|holder| self.is_held(holder))?;
        Some(holder.job)
    }

    pub(super) fn bind(&mut self, key: &str, job: JobId) {
        self.keys.insert(KeyHash::of(key), Holder { job, chunk: None });
    }

    pub(super) fn unbind(&mut self, key: &str, job: JobId) {
        let key = KeyHash::of(key);
        if self.keys.get(&key).is_some_and(|holder| holder.job == job) {
            self.keys.remove(&key);
        }
    }

    pub(super) fn knows(&self, job: JobId) -> bool {
        self.chunk_of(job).is_some()
    }

    /// The chunk that holds a job and is not forgotten.
    fn chunk_of(&self, job: JobId) -> Option<u64> {
        self.ids.get(&job).copied().filter(|number| self.is_listed(*number))
    }

    fn is_listed(&self, number: u64) -> bool {
        self.chunks.contains_key(&number)
            || self.filling.as_ref().is_some_and(|filling| filling.number == number)
    }

    fn is_held(&self, holder: &Holder) -> bool {
        holder.chunk.is_none_or(|number| self.is_listed(number))
    }

    fn live_ids(&self) -> impl Iterator<Item = (&JobId, &u64)> {
        self.ids.iter().filter(|(_, number)| self.is_listed(**number))
    }

    fn live_keys(&self) -> impl Iterator<Item = (&KeyHash, &Holder)> {
        self.keys.iter().filter(|(_, holder)| self.is_held(holder))
    }

    /// Why nothing is decided about a job that is not open.
    pub(super) fn refusal(&self, job: JobId) -> CommandRefusal {
        if self.knows(job) { CommandRefusal::AlreadyEnded } else { CommandRefusal::UnknownJob }
    }

    pub(super) fn sealed(&self, job: JobId) -> Option<&SealedJob> {
        let number = self.chunk_of(job)?;
        if let Some(filling) = self.filling.as_ref().filter(|filling| filling.number == number) {
            return filling.jobs.get(&job);
        }
        let jobs = self.jobs.get(&number)?;
        jobs.binary_search_by_key(&job, |it| it.id).ok().map(|place| &jobs[place])
    }

    /// Another job takes the key, or the id, of a sealed one. The chunk, if there is one.
    pub(super) fn replace(&mut self, job: JobId) -> Option<u64> {
        let number = self.chunk_of(job)?;
        self.ids.remove(&job);
        match &mut self.filling {
            Some(filling) if filling.number == number => filling.contents.replaced.insert(job),
            _ => self.chunks.get_mut(&number)?.contents.replaced.insert(job),
        };
        Some(number)
    }

    /// Puts a sealed job into the tables, unless another one took its place.
    pub(super) fn list(&mut self, number: u64, job: &SealedJob, is_current: bool) {
        if is_current {
            self.ids.insert(job.id, number);
            self.keys.insert(job.key, Holder { job: job.id, chunk: Some(number) });
        }
    }

    /// The chunk that was filled is sealed; its blob.
    pub(super) fn seal(&mut self, filled: Filling) -> (BlobId, Bytes) {
        let number = filled.number;
        let (chunk, bytes, jobs) = filled.seal();
        let blob = chunk.blob;
        self.chunks.insert(number, chunk);
        self.jobs.insert(number, jobs);
        (blob, bytes)
    }

    fn supply(&mut self, number: u64, mut jobs: Vec<SealedJob>) {
        let replaced =
            self.chunks.get(&number).map(|chunk| chunk.contents.replaced.clone()).unwrap_or_default();
        jobs.sort_unstable_by_key(|it| it.id);
        for it in &jobs {
            self.list(number, it, !replaced.contains(&it.id));
        }
        self.jobs.insert(number, jobs);
    }

    /// Forgets a chunk; how many jobs and logical bytes.
    fn forget(&mut self, number: u64) -> Option<(u32, u64)> {
        let (contents, jobs) = match self.filling.take_if(|filling| filling.number == number) {
            Some(filling) => (filling.contents, filling.jobs.into_values().collect()),
            None => (self.chunks.remove(&number)?.contents, self.jobs.remove(&number).unwrap_or_default()),
        };
        self.forgotten.push_back((number, jobs));
        Some((contents.jobs, contents.logical_bytes))
    }

    /// Takes some forgotten jobs out of the tables.
    pub(super) fn purge(&mut self) {
        for _ in 0..PURGED_PER_COMMAND {
            let Some((number, jobs)) = self.forgotten.front_mut() else { return };
            let (number, next) = (*number, jobs.pop());
            let Some(job) = next else {
                self.forgotten.pop_front();
                continue;
            };
            if self.ids.get(&job.id) == Some(&number) {
                self.ids.remove(&job.id);
            }
            if self.keys.get(&job.key).is_some_and(|holder| holder.chunk == Some(number)) {
                self.keys.remove(&job.key);
            }
        }
    }
}

impl Register {
    /// The chunks of ended jobs, by age; the one that is being filled is not among them.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &Chunk> {
        self.ended.chunks.values()
    }

    /// Where a job is found that was sealed.
    pub fn sealed(&self, job: JobId) -> Option<Sealed> {
        let index = self.ended.sealed(job)?.index;
        let chunk = self.ended.chunks.get(&self.ended.chunk_of(job)?).map(|chunk| chunk.blob);
        Some(Sealed { chunk, index })
    }

    /// Chunks of a snapshot that were not supplied yet. Nothing may be applied before.
    pub(super) fn unread(&self) -> impl Iterator<Item = BlobId> {
        let is_unread = |number: &u64| !self.ended.jobs.contains_key(number);
        self.ended.chunks.iter().filter(move |(number, _)| is_unread(number)).map(|(_, chunk)| chunk.blob)
    }

    pub(super) fn has_unread(&self) -> bool {
        self.ended.jobs.len() < self.ended.chunks.len()
    }

    /// Reads a chunk of a snapshot.
    pub(super) fn read_chunk(&mut self, blob: BlobId, bytes: &Bytes) -> Result<(), RestoreError> {
        let found = self.ended.chunks.iter().find(|(_, chunk)| chunk.blob == blob);
        let Some((number, count)) = found.map(|(number, chunk)| (*number, chunk.contents.jobs)) else {
            return Ok(());
        };
        let broken = || RestoreError(format!("chunk {blob:?} of ended jobs cannot be read"));
        if !blob.matches(bytes) {
            return Err(broken());
        }
        let jobs = jobs_of_chunk(bytes).ok_or_else(broken)?;
        let sealed: Vec<SealedJob> = jobs.iter().filter_map(|(id, job)| SealedJob::of(*id, job)).collect();
        if sealed.len() != count as usize {
            return Err(broken());
        }
        self.ended.supply(number, sealed);
        Ok(())
    }

    /// Forgets whole chunks within a range of ends; how many jobs.
    pub(super) fn forget_chunks(&mut self, first: u64, last: u64) -> usize {
        let filling = self.ended.filling.iter().map(|filling| (filling.number, &filling.contents));
        let chunks = self.ended.chunks.iter().map(|(number, chunk)| (*number, &chunk.contents));
        let due = chunks.chain(filling).filter(|(_, contents)| contents.is_within(first, last));
        let due: Vec<u64> = due.map(|(number, _)| number).collect();
        let mut forgotten = 0;
        for number in due {
            if let Some((jobs, logical_bytes)) = self.ended.forget(number) {
                self.account.logical -= logical_bytes;
                forgotten += jobs as usize;
                self.changes.push(Change::Chunk(number));
            }
        }
        forgotten
    }

    /// Keys of open and whole jobs, after a snapshot was read. Sealed ones follow with their chunks.
    pub(super) fn bind_all(&mut self) {
        for (id, job) in self.jobs.iter() {
            self.ended.bind(&job.key, *id);
        }
    }
}
