//! The register as the machine of a simulated replica, with a note of every command it applied.
//!
//! Judges look at commands one by one, in the order of the log; a replica only tells what became of them.
//!
//! It also stands for two builds that meet in a rolling upgrade: the newer one understands version [`NEWER`] of commands,
//! which are those of today behind a byte that no build of today can read.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::register::{
    Command, Group, Job, JobEnd, JobId, LOGICAL_BYTES_MAX, Outcome, Register, Sizes, VERSION, jobs_of_chunk,
};
use hyperscale_consensus::{BlobId, Effects, Machine, NameCursor, Outdated, RestoreError, StateView};

/// The version of commands that builds after an upgrade understand.
pub const NEWER: u32 = VERSION + 1;
/// The first byte of a command of that version.
const NEWER_MARK: u8 = 0xff;
/// Small chunks, so that few jobs fill one.
const SIZES: Sizes = Sizes { chunk_bytes: 6 << 10, logical_bytes_max: LOGICAL_BYTES_MAX };

/// A command as a newer build writes it.
pub fn newer(command: &Command) -> Bytes {
    [&[NEWER_MARK][..], &command.encode()].concat().into()
}

/// A command that was applied.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its place in the log.
    pub index: u64,
    /// The command, decoded.
    pub command: Command,
    /// What the register said to it.
    pub outcome: Outcome,
}

/// The register, and what it applied since somebody last looked.
#[derive(Debug)]
pub struct Journal {
    register: Register,
    /// The newest version that this build understands.
    understood: u32,
    written: RefCell<Vec<Written>>,
    /// Chunks of ended jobs that this replica has seen.
    chunks: BTreeMap<BlobId, Bytes>,
}

impl Journal {
    /// An empty register of a group in a build that understands this version, with deliberate bugs.
    pub fn new(group: Group, understood: u32, bugs: Bugs) -> Self {
        let register = Register::with_bugs(group, bugs).with_sizes(SIZES);
        Self { register, understood, written: RefCell::default(), chunks: BTreeMap::new() }
    }

    /// The newest version that this build understands.
    pub fn understood(&self) -> u32 {
        self.understood
    }

    /// The register.
    pub fn register(&self) -> &Register {
        &self.register
    }

    /// All jobs that are not forgotten, sealed ones too.
    pub fn jobs(&self) -> Vec<Job> {
        let chunks = self.register.chunks().filter_map(|chunk| jobs_of_chunk(self.chunks.get(&chunk.blob)?));
        let whole = self.register.jobs().map(|(_, job)| job.clone());
        let sealed = chunks.flatten().chain(self.register.jobs_being_sealed());
        sealed.map(|(_, job)| job).chain(whole).collect()
    }

    /// How a job ended, whether it is sealed or not.
    pub fn end_of(&self, job: JobId) -> Option<JobEnd> {
        if let Some(known) = self.register.job(job) {
            return known.end.clone();
        }
        let Some(chunk) = self.register.sealed(job)?.chunk else {
            return self.register.being_sealed(job)?.end;
        };
        let chunk = self.chunks.get(&chunk)?;
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
        let is_newer = self.understood.min(self.register.version()) >= NEWER;
        let plain = match command.first() {
            Some(&NEWER_MARK) if is_newer => command.slice(1..),
            _ => command.clone(),
        };
        let outcome = self.register.apply(index, &plain, effects);
        if let Ok(command) = Command::decode(&plain) {
            self.written.get_mut().push(Written { index, command, outcome: outcome.clone() });
        }
        outcome
    }

    fn snapshot(&self) -> Bytes {
        self.register.snapshot()
    }

    fn view(&self) -> StateView {
        self.register.view()
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        self.register.restore(state)
    }

    fn named_blobs(&self, from: NameCursor, limit: usize, out: &mut Vec<BlobId>) -> Option<NameCursor> {
        self.register.named_blobs(from, limit, out)
    }

    fn take_named(&mut self) -> Vec<BlobId> {
        self.register.take_named()
    }

    fn outdated(&self) -> Option<Outdated> {
        let agreed = self.register.version();
        (agreed > self.understood).then_some(Outdated { agreed, understood: self.understood })
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
