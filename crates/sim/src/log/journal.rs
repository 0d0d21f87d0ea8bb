//! The register as the machine of a simulated replica, with a note of every command it applied.
//!
//! Judges look at commands one by one, in the order of the log; a replica only tells what became of them.
//!
//! It also stands for two builds that meet in a rolling upgrade: the newer one understands version [`NEWER`] of commands,
//! which are those of today behind a byte that no build of today can read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use bytes::Bytes;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::register::{AttemptState, Command, Group, Job, Outcome, Register, VERSION};
use hyperscale_consensus::{BlobId, Effects, Machine, Outdated, RestoreError};

/// The version of commands that builds after an upgrade understand.
pub const NEWER: u32 = VERSION + 1;
/// The first byte of a command of that version.
const NEWER_MARK: u8 = 0xff;

/// A command as a newer build writes it.
pub fn newer(command: &Command) -> Bytes {
    [&[NEWER_MARK][..], &command.encode()].concat().into()
}

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
#[derive(Debug)]
pub struct Journal {
    register: Register,
    /// The newest version that this build understands.
    understood: u32,
    written: RefCell<Vec<Written>>,
}

impl Journal {
    /// An empty register of a group in a build that understands this version, with deliberate bugs.
    pub fn new(group: Group, understood: u32, bugs: Bugs) -> Self {
        Self { register: Register::with_bugs(group, bugs), understood, written: RefCell::default() }
    }

    /// The newest version that this build understands.
    pub fn understood(&self) -> u32 {
        self.understood
    }

    /// The register.
    pub fn register(&self) -> &Register {
        &self.register
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

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        self.register.restore(state)
    }

    fn blobs(&self) -> BTreeSet<BlobId> {
        self.register.jobs().flat_map(|(_, job)| blobs_of(job)).collect()
    }

    fn outdated(&self) -> Option<Outdated> {
        let agreed = self.register.version();
        (agreed > self.understood).then_some(Outdated { agreed, understood: self.understood })
    }
}

/// What a job names: its plan, the results of its attempts, its own.
fn blobs_of(job: &Job) -> impl Iterator<Item = BlobId> {
    let results = job.segments().filter_map(|(_, _, attempt)| match &attempt.state {
        AttemptState::Ended(end) => end.result,
        AttemptState::Running | AttemptState::Lost => None,
    });
    let own = job.end.as_ref().and_then(|end| end.how.result);
    results.chain(own).chain([job.plan])
}
