//! Which commands every voter understands. A command of a newer kind is proposed only after the log says that it is
//! understood, so that voters of two versions never apply the same entry differently.
//!
//! | build    | command of version n + 1 | `ClusterVersion` n + 1 committed | applying                          |
//! | -------- | ------------------------ | -------------------------------- | --------------------------------- |
//! | n        | cannot be read           | no                               | refused as unreadable             |
//! | n + 1    | can be read              | no                               | refused as unreadable, like there |
//! | n + 1    | can be read              | yes                              | applied                           |
//! | n        | cannot be read           | yes                              | stops: [`Register::outdated`]     |

use bytes::Bytes;

use super::command::{Body, Command, CommandError};
use super::{CommandRefusal, Register};
use crate::apply::Outdated;
use crate::id::RaftId;
use crate::message::Configuration;

/// The newest version of commands this build understands.
pub const VERSION: u32 = 1;
/// The version every build understands: in force in a new group, before anything was committed.
const FIRST: u32 = 1;

impl Body {
    /// The version that brought this kind of command.
    pub const fn since(&self) -> u32 {
        match self {
            Self::JobAccept(_)
            | Self::JobLeader { .. }
            | Self::WorkerGrant { .. }
            | Self::WorkerGone { .. }
            | Self::WorkerOwner { .. }
            | Self::WorkerDrain { .. }
            | Self::Decide(_)
            | Self::Ready { .. }
            | Self::Assign(_)
            | Self::AttemptEnd { .. }
            | Self::AttemptWindows { .. }
            | Self::Context { .. }
            | Self::WorkflowEnd { .. }
            | Self::Cancel { .. }
            | Self::Control { .. }
            | Self::DcAssign { .. }
            | Self::DcEnd { .. }
            | Self::DcState { .. }
            | Self::JobEnd { .. }
            | Self::JobForget { .. }
            | Self::ClusterVersion { .. } => FIRST,
        }
    }
}

/// Reads a command, unless it is of a kind that is not in force yet: voters that do not know it cannot read it either.
pub(super) fn read(
    bytes: &Bytes,
    committed: u32,
    since: impl Fn(&Body) -> u32,
) -> Result<Command, CommandRefusal> {
    let unreadable = |error: CommandError| CommandRefusal::Unreadable { reason: error.0.to_owned() };
    let command = Command::decode(bytes).map_err(unreadable)?;
    let needed = since(&command.body);
    if needed <= in_force(committed) { Ok(command) } else { Err(CommandRefusal::NotInForce { needed }) }
}

const fn in_force(committed: u32) -> u32 {
    if committed > FIRST { committed } else { FIRST }
}

impl Register {
    /// Whether a command may be proposed: it is one of this group, and every voter understands it. To be asked by whoever
    /// proposes; applying refuses such a command too.
    pub fn may_propose(&self, body: &Body) -> Result<(), CommandRefusal> {
        if !body.belongs_to(self.group()) {
            return Err(CommandRefusal::WrongGroup);
        }
        if body.since() > in_force(self.version()) {
            return Err(CommandRefusal::NotInForce { needed: body.since() });
        }
        Ok(())
    }

    /// Whether the group has agreed on a version that this build does not understand: the replica stops.
    pub(super) fn ahead(&self) -> Option<Outdated> {
        let agreed = self.version();
        (agreed > VERSION).then_some(Outdated { agreed, understood: VERSION })
    }

    /// The version a leader proposes: the newest that every voter understands, if that is newer than the one in force.
    /// `understood` is what a voter has said of itself; one that has said nothing holds the version back.
    pub fn version_due(
        &self,
        configuration: &Configuration,
        understood: impl Fn(RaftId) -> Option<u32>,
    ) -> Option<u32> {
        let voters = configuration.voters.iter().chain(&configuration.voters_outgoing);
        let said = voters.map(|id| understood(*id).unwrap_or(0));
        said.min().filter(|version| *version > in_force(self.version()))
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_types::Token;

    use super::*;
    use crate::apply::Machine;

    fn ids(numbers: &[u64]) -> Vec<RaftId> {
        numbers.iter().map(|number| RaftId::new(*number).unwrap()).collect()
    }

    #[test]
    fn newer_kind_of_command_is_unreadable_until_its_version_is_committed() {
        let command = Command { token: Token(0), body: Body::JobForget { first: 1, last: 2 } };
        let bytes = command.encode();
        for (since, committed, is_read) in
            [(1, 0, true), (2, 0, false), (2, 1, false), (2, 2, true), (2, 3, true)]
        {
            let read = read(&bytes, committed, |_| since);
            let expected =
                if is_read { Ok(command.clone()) } else { Err(CommandRefusal::NotInForce { needed: since }) };
            assert_eq!(read, expected, "{since} while {committed} is committed");
        }
    }

    #[test]
    fn build_that_does_not_understand_the_committed_version_is_outdated() {
        for (version, is_outdated) in [(0, false), (VERSION, false), (VERSION + 1, true)] {
            let register = Register { version, ..Register::default() };
            let expected = is_outdated.then_some(Outdated { agreed: VERSION + 1, understood: VERSION });
            assert_eq!(register.outdated(), expected, "{version}");
        }
    }

    #[test]
    fn version_is_due_when_every_voter_understands_it() {
        let register = Register::default();
        let configuration =
            Configuration { voters: ids(&[1, 2, 3]), learners: ids(&[4]), ..Configuration::default() };
        let due =
            |said: [Option<u32>; 4]| register.version_due(&configuration, |id| said[id.get() as usize - 1]);
        assert_eq!(due([Some(3), Some(2), Some(2), Some(1)]), Some(2), "learners do not vote");
        assert_eq!(due([Some(3), None, Some(2), None]), None, "who says nothing holds it back");
        assert_eq!(due([Some(1), Some(1), Some(1), None]), None, "it is in force already");
        let joint = Configuration { voters_outgoing: ids(&[4]), ..configuration.clone() };
        let said = |id: RaftId| Some(if id.get() == 4 { 1 } else { 2 });
        assert_eq!(register.version_due(&joint, said), None, "those who voted before count too");
        assert_eq!(register.version_due(&Configuration::default(), |_| Some(9)), None);
    }
}
