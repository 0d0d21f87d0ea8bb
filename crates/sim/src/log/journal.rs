//! The register as the machine of a simulated replica, with a note of every command it applied.
//!
//! Judges look at commands one by one, in the order of the log; a replica only tells what became of them.
//!
//! It also stands for two builds that meet in a rolling upgrade: the newer one understands version [`NEWER`] of commands,
//! which are those of today behind a byte that no build of today can read.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use hyperscale_cluster::manager::JobMachine;
use hyperscale_cluster::record::{self, Stored};
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::register::{
    Body, Command, Group, Job, JobEnd, JobId, LOGICAL_BYTES_MAX, Outcome, Register, Sizes, VERSION, Values,
    jobs_of_chunk,
};
use hyperscale_consensus::{BlobId, Effects, Machine, NameCursor, Outdated, RestoreError, StateView};
use hyperscale_job::Entry;

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

/// What a decision of a job's core makes the register do, if it does anything, and the decision; any other command as it is.
fn carried_out(Command { token, body }: Command) -> (Command, Option<Values>) {
    match body {
        Body::Decide(mut decide) => {
            let decision = Some(decide.decision.clone());
            let body = decide.effect.take().unwrap_or(Body::Decide(decide));
            (Command { token, body }, decision)
        }
        body => (Command { token, body }, None),
    }
}

/// A command that was applied.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its place in the log.
    pub index: u64,
    /// The command, decoded; of a decision what carries it out.
    pub command: Command,
    /// The decision of the core that drives the job, if it is one.
    pub decision: Option<Values>,
    /// What the register said to it.
    pub outcome: Outcome,
}

impl Written {
    /// What the core of the job has decided, unless that is a blob, or the end of an attempt.
    pub fn decided(&self) -> Option<Entry> {
        let Some(Values::Inline(bytes)) = &self.decision else { return None };
        match record::decode(bytes).ok()? {
            Stored::Whole(entry) => Some(entry),
            Stored::AttemptEnd { .. } => None,
        }
    }
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

    /// A job, whether it is sealed or not.
    pub fn job(&self, job: JobId) -> Option<Job> {
        if let Some(known) = self.register.job(job) {
            return Some(known.clone());
        }
        let Some(chunk) = self.register.sealed(job)?.chunk else { return self.register.being_sealed(job) };
        let jobs = jobs_of_chunk(self.chunks.get(&chunk)?)?;
        Some(jobs.into_iter().find(|(id, _)| *id == job)?.1)
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

    /// A command that was applied, as this build reads it.
    pub fn read(&self, bytes: &Bytes) -> Option<Command> {
        Command::decode(&self.plain(bytes)).ok()
    }

    fn reads_newer(&self) -> bool {
        self.understood.min(self.register.version()) >= NEWER
    }

    /// A command without the mark of the newer version, where that is in force.
    fn plain(&self, command: &Bytes) -> Bytes {
        match command.first() {
            Some(&NEWER_MARK) if self.reads_newer() => command.slice(1..),
            _ => command.clone(),
        }
    }

    /// What was applied since the last call.
    pub fn take(&self) -> Vec<Written> {
        self.written.take()
    }
}

impl JobMachine for Journal {
    fn register(&self) -> &Register {
        &self.register
    }

    /// A newer build writes some of its commands in the newer way once everybody understands it.
    fn encode(&self, command: &Command) -> Bytes {
        let is_newer = self.reads_newer() && self.register.jobs_open().is_multiple_of(2);
        if is_newer { newer(command) } else { command.encode() }
    }

    fn decode(&self, bytes: &Bytes) -> Option<Command> {
        self.read(bytes)
    }
}

impl Machine for Journal {
    type Outcome = Outcome;

    fn apply(&mut self, index: u64, command: &Bytes, effects: &mut Effects) -> Outcome {
        let plain = self.plain(command);
        let outcome = self.register.apply(index, &plain, effects);
        if let Ok(command) = Command::decode(&plain) {
            let (command, decision) = carried_out(command);
            self.written.get_mut().push(Written { index, command, decision, outcome: outcome.clone() });
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
