//! The register as the machine of a simulated replica, with a note of every command it applied.
//!
//! Judges look at commands one by one, in the order of the log; a replica only tells what became of them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::register::{
    Command, Group, Job, JobEnd, JobId, LOGICAL_BYTES_MAX, Outcome, Register, Sizes, jobs_of_chunk,
};
use hyperscale_consensus::{BlobId, Effects, Machine, Outdated, RestoreError};

/// Small chunks, so that few jobs fill one.
const SIZES: Sizes = Sizes { chunk_bytes: 6 << 10, logical_bytes_max: LOGICAL_BYTES_MAX };

/// A command that was applied.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its place in the log.
    pub index: u64,
    /// What it says.
    pub command: Command,
    /// What the register said to it.
    pub outcome: Outcome,
}

/// The register, and what it applied since somebody last looked.
#[derive(Debug, Default)]
pub struct Journal {
    register: Register,
    written: RefCell<Vec<Written>>,
    /// Chunks of ended jobs that this replica has seen.
    chunks: BTreeMap<BlobId, Bytes>,
}

impl Journal {
    /// An empty register of a group, with deliberate bugs.
    pub fn new(group: Group, bugs: Bugs) -> Self {
        let register = Register::with_bugs(group, bugs).with_sizes(SIZES);
        Self { register, written: RefCell::default(), chunks: BTreeMap::new() }
    }

    /// The register.
    pub fn register(&self) -> &Register {
        &self.register
    }

    /// All jobs that are not forgotten, sealed ones too.
    pub fn jobs(&self) -> Vec<Job> {
        let chunks = self.register.chunks().filter_map(|chunk| jobs_of_chunk(self.chunks.get(&chunk.blob)?));
        let whole = self.register.jobs().map(|(_, job)| job.clone());
        chunks.flatten().map(|(_, job)| job).chain(whole).collect()
    }

    /// How a job ended, whether it is sealed or not.
    pub fn end_of(&self, job: JobId) -> Option<JobEnd> {
        if let Some(known) = self.register.job(job) {
            return known.end.clone();
        }
        let chunk = self.chunks.get(&self.register.sealed(job)?.chunk)?;
        let jobs = jobs_of_chunk(chunk)?;
        jobs.into_iter().find(|(id, _)| *id == job)?.1.end
    }

    /// What was applied since the last call.
    pub fn take(&self) -> Vec<Written> {
        self.written.take()
    }
}

impl Machine for Journal {
    type Outcome = Outcome;

    fn apply(&mut self, index: u64, command: &Bytes, effects: &mut Effects) -> Outcome {
        let outcome = self.register.apply(index, command, effects);
        if let Ok(command) = Command::decode(command) {
            self.written.get_mut().push(Written { index, command, outcome: outcome.clone() });
        }
        outcome
    }

    fn snapshot(&self) -> Bytes {
        self.register.snapshot()
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        self.register.restore(state)
    }

    fn outdated(&self) -> Option<Outdated> {
        self.register.outdated()
    }

    fn take_sealed(&mut self) -> Vec<(BlobId, Bytes)> {
        let sealed = self.register.take_sealed();
        self.chunks.extend(sealed.iter().cloned());
        sealed
    }

    fn missing(&self) -> Vec<BlobId> {
        self.register.missing()
    }

    fn supply(&mut self, blob: BlobId, bytes: &Bytes) -> Result<(), RestoreError> {
        self.register.supply(blob, bytes)?;
        self.chunks.insert(blob, bytes.clone());
        Ok(())
    }
}
