//! The register as the machine of a simulated replica, with a note of every command it applied.
//!
//! Judges look at commands one by one, in the order of the log; a replica only tells what became of them.

use std::cell::RefCell;

use bytes::Bytes;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::register::{Command, Group, Outcome, Register};
use hyperscale_consensus::{Effects, Machine, Outdated, RestoreError};

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
}

impl Journal {
    /// An empty register of a group, with deliberate bugs.
    pub fn new(group: Group, bugs: Bugs) -> Self {
        Self { register: Register::with_bugs(group, bugs), written: RefCell::default() }
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
}
