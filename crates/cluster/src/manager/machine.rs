//! The machine behind the log, as a manager sees it.

use bytes::Bytes;
use hyperscale_consensus::Machine;
use hyperscale_consensus::register::{Command, Outcome, Register};

/// A machine that holds the register: the register itself, or one that notes what it applies.
pub trait JobMachine: Machine<Outcome = Outcome> {
    /// What the group has decided.
    fn register(&self) -> &Register;

    /// A command as it is written into the log.
    fn encode(&self, command: &Command) -> Bytes {
        command.encode()
    }

    /// A command that was applied; nothing if this build cannot read it.
    fn decode(&self, bytes: &Bytes) -> Option<Command> {
        Command::decode(bytes).ok()
    }
}

impl JobMachine for Register {
    fn register(&self) -> &Register {
        self
    }
}
