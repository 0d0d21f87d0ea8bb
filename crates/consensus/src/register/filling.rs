//! The chunk that is being filled with ended jobs, a few of them with every command.
//!
//! Sealing a whole chunk with one command would hold up heartbeats: thousands of jobs are encoded, hashed and moved between tables.
//! So every command moves the oldest of the ended jobs while those that are whole weigh more than a chunk, at most
//! [`SEALED_PER_COMMAND`] of them and none after [`SEALED_BYTES_PER_COMMAND`]. How far that came is part of the state, and of
//! snapshots: it follows from the log alone and is the same on every replica.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::digest;
use bytes::{Bytes, BytesMut};

use super::Register;
use super::change::Change;
use super::chunk::{self, Chunk, ChunkContents, SealedJob, jobs_of_chunk};
use super::command::JobId;
use super::job::Job;
use super::pack::{Pack, Sink};
use super::part::PartState;
use super::pieces::{Pieces, SharedPieces};
use crate::blob::BlobId;

/// Most jobs that one command moves: more than end with one, so that they do not pile up.
pub const SEALED_PER_COMMAND: usize = 16;
/// No further job is moved by a command after jobs of this weight; a single one weighs at most
/// [`JOB_BYTES_MAX`](super::JOB_BYTES_MAX).
pub const SEALED_BYTES_PER_COMMAND: usize = 64 << 10;

/// A chunk that is not full.
#[derive(Clone)]
pub(super) struct Filling {
    /// The entry that began it.
    pub(super) number: u64,
    pub(super) contents: ChunkContents,
    pub(super) jobs: BTreeMap<JobId, SealedJob>,
    /// As they will be stored.
    bytes: Pieces,
    /// What its jobs weigh; it is full when this reaches the size of a chunk.
    pub(super) weight: usize,
    hash: digest::Context,
}

impl PartialEq for Filling {
    fn eq(&self, other: &Self) -> bool {
        (self.number, &self.contents, &self.bytes) == (other.number, &other.contents, &other.bytes)
    }
}

impl Eq for Filling {}

impl fmt::Debug for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filling")
            .field("number", &self.number)
            .field("contents", &self.contents)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl Filling {
    fn new(number: u64) -> Self {
        let (mut bytes, mut hash) = (Pieces::default(), digest::Context::new(&digest::SHA256));
        bytes.append(chunk::put_head, |head| hash.update(head));
        let (contents, jobs) = (ChunkContents::default(), BTreeMap::new());
        Self { number, contents, jobs, bytes, weight: 0, hash }
    }

    /// Adds a job that has ended.
    fn add(&mut self, id: JobId, job: &Job) -> Option<&SealedJob> {
        let sealed = SealedJob::of(id, job)?;
        let write = |out: &mut BytesMut| {
            id.put(out);
            job.put(out);
        };
        self.bytes.append(write, |written| self.hash.update(written));
        self.contents.add(sealed.index, job);
        self.weight += job.weight();
        Some(self.jobs.entry(id).or_insert(sealed))
    }

    /// The chunk, its bytes, and its jobs by id.
    pub(super) fn seal(self) -> (Chunk, Bytes, Vec<SealedJob>) {
        let digest = self.hash.finish();
        let hash = digest.as_ref().try_into().expect("SHA-256 has 32 bytes");
        let blob = BlobId { hash, length: self.bytes.len() as u64 };
        (Chunk { blob, contents: self.contents }, self.bytes.join(), self.jobs.into_values().collect())
    }

    /// What the rolling hash covers: jobs were reported as they ended.
    pub(super) fn report(&self, out: &mut impl Sink) {
        self.number.put(out);
        self.contents.put(out);
        (self.bytes.len() as u64).put(out);
    }

    /// For a snapshot that is encoded later.
    pub(super) fn view(&self) -> FillingView {
        FillingView { number: self.number, contents: self.contents.clone(), bytes: self.bytes.share() }
    }
}

/// A chunk that is not full, in a snapshot.
pub(super) struct FillingView {
    pub(super) number: u64,
    pub(super) contents: ChunkContents,
    pub(super) bytes: SharedPieces,
}

impl FillingView {
    /// `None` if the jobs in it are not those that it tells of.
    pub(super) fn read(self) -> Option<Filling> {
        let mut filling = Filling::new(self.number);
        for (id, job) in jobs_of_chunk(&self.bytes.into_bytes())? {
            filling.add(id, &job)?;
        }
        filling.contents.replaced.clone_from(&self.contents.replaced);
        let is_whole = filling.contents == self.contents && filling.jobs.len() == self.contents.jobs as usize;
        is_whole.then_some(filling)
    }
}

impl Job {
    /// Whether nothing of it changes any more. A part that was lost may still come back and be late.
    pub(super) fn is_sealable(&self) -> bool {
        let may_come_back = |part: &super::part::Part| part.state == PartState::Lost { late: None };
        self.end.is_some() && !self.parts.values().any(may_come_back)
    }
}

impl Register {
    /// The jobs in the chunk that is being filled. Reads all of it: up to 8 MiB.
    pub fn jobs_being_sealed(&self) -> Vec<(JobId, Job)> {
        let bytes = self.ended.filling.as_ref().map(|filling| filling.bytes.join());
        bytes.and_then(|bytes| jobs_of_chunk(&bytes)).unwrap_or_default()
    }

    /// One of them.
    pub fn being_sealed(&self, job: JobId) -> Option<Job> {
        let is_there = self.ended.filling.as_ref().is_some_and(|filling| filling.jobs.contains_key(&job));
        let jobs = if is_there { self.jobs_being_sealed() } else { Vec::new() };
        jobs.into_iter().find(|(id, _)| *id == job).map(|(_, job)| job)
    }

    /// What is known of the chunks together, the one that is being filled included.
    pub fn chunk_contents(&self) -> impl Iterator<Item = &ChunkContents> {
        let filling = self.ended.filling.as_ref().map(|filling| &filling.contents);
        self.chunks().map(|chunk| &chunk.contents).chain(filling)
    }

    /// Moves some ended jobs into a chunk if those that are whole weigh too much. `index` is the entry that is applied.
    pub(super) fn seal_some(&mut self, index: u64) {
        let mut moved = 0;
        for _ in 0..SEALED_PER_COMMAND {
            let is_due = self.account.ended_bytes >= self.sizes.chunk_bytes;
            let Some(id) = self.account.next_to_seal().filter(|_| is_due) else { return };
            if moved >= SEALED_BYTES_PER_COMMAND || self.seal_if_full(id) {
                return;
            }
            moved += self.seal_one(index, id);
        }
    }

    /// Seals the chunk that is being filled if it is full, or has a job with the id of the next one: that was accepted again
    /// for another part.
    fn seal_if_full(&mut self, next: JobId) -> bool {
        let chunk_bytes = self.sizes.chunk_bytes;
        let is_full =
            |filling: &mut Filling| filling.weight >= chunk_bytes || filling.jobs.contains_key(&next);
        let Some(filled) = self.ended.filling.take_if(is_full) else { return false };
        self.changes.push(Change::Chunk(filled.number));
        let (blob, bytes) = self.ended.seal(filled);
        self.for_host.named.push(blob);
        self.for_host.chunks.push((blob, bytes));
        true
    }

    /// Moves one job into the chunk that is being filled; what it weighs.
    fn seal_one(&mut self, index: u64, id: JobId) -> usize {
        self.take_out(&[id].into());
        let Some(job) = self.jobs.remove(&id) else { return 0 };
        self.account.logical += job.logical_bytes();
        let mut filling = self.ended.filling.take().unwrap_or_else(|| Filling::new(index));
        let number = filling.number;
        if let Some(sealed) = filling.add(id, &job) {
            self.ended.list(number, sealed, true);
        }
        self.ended.filling = Some(filling);
        job.weight()
    }
}
