//! Fuzz harnesses of what this crate makes of bytes from peers and disks.
//!
//! As tests they replay `__fuzz__/<name>/corpus` and make a short random run. Beyond "no panic": what was read is written
//! and read the same again, and what was refused has changed nothing.

use bytes::Bytes;
use hyperscale_wire::messages as wire;
use prost::Message as _;

use crate::apply::{Applier, Machine as _};
use crate::convert::{change_bytes, change_read};
use crate::record;
use crate::register::{Command, Group, Register};
use crate::storage::DirectoryOwner;

#[test]
fn fuzz_raft_messages() {
    bolero::check!(name = "raft_messages").for_each(|bytes: &[u8]| {
        let Ok(message) = wire::RaftMessage::decode(bytes) else { return };
        let Ok(message) = record::message_in(message) else { return };
        assert_eq!(record::message_in(record::message_out(message.clone())), Ok(message));
    });
}

#[test]
fn fuzz_entries() {
    bolero::check!(name = "entries").for_each(|bytes: &[u8]| {
        let Ok(entry) = wire::LogEntry::decode(bytes) else { return };
        let Ok(entry) = record::entry_in(entry) else { return };
        assert_eq!(record::entry_in(record::entry_out(entry.clone())), Ok(entry));
    });
}

#[test]
fn fuzz_snapshots() {
    bolero::check!(name = "snapshots").for_each(|bytes: &[u8]| {
        let Ok(snapshot) = wire::RaftSnapshot::decode(bytes) else { return };
        let Ok(snapshot) = record::snapshot_in(snapshot) else { return };
        assert_eq!(record::snapshot_in(record::snapshot_out(snapshot.clone())), Ok(snapshot));
    });
}

#[test]
fn fuzz_hard_states() {
    bolero::check!(name = "hard_states").for_each(|bytes: &[u8]| {
        let Ok(state) = wire::HardState::decode(bytes) else { return };
        let state = record::hard_state_in(&state);
        assert_eq!(record::hard_state_in(&record::hard_state_out(state)), state);
    });
}

#[test]
fn fuzz_configuration_changes() {
    bolero::check!(name = "configuration_changes").for_each(|bytes: &[u8]| {
        let Some(change) = change_read(Bytes::copy_from_slice(bytes)) else { return };
        assert_eq!(change_read(change_bytes(&change)), Some(change));
    });
}

#[test]
fn fuzz_commands() {
    bolero::check!(name = "commands").for_each(|bytes: &[u8]| {
        let Ok(command) = Command::decode(&Bytes::copy_from_slice(bytes)) else { return };
        assert_eq!(Command::decode(&command.encode()), Ok(command));
    });
}

#[test]
fn fuzz_snapshots_of_the_register() {
    bolero::check!(name = "register_snapshots").for_each(|bytes: &[u8]| {
        for group in [Group::Managers, Group::Gates] {
            let mut register = Register::new(group);
            if register.restore(Bytes::copy_from_slice(bytes)).is_err() {
                assert_eq!(register, Register::new(group), "a refused snapshot changes nothing");
                continue;
            }
            let mut again = Register::new(group);
            again.restore(register.snapshot()).expect("what was written is read");
            assert_eq!(again, register);
        }
    });
}

/// Hash, members and machine together: what a snapshot from the leader carries.
#[test]
fn fuzz_states_of_a_replica() {
    bolero::check!(name = "states").for_each(|bytes: &[u8]| {
        let mut applier = Applier::new(Register::default());
        let before = applier.proof();
        if applier.restore(7, Bytes::copy_from_slice(bytes)).is_err() {
            assert_eq!((applier.proof(), &applier.machine), (before, &Register::default()));
            return;
        }
        let mut again = Applier::new(Register::default());
        again.restore(7, applier.view().encode()).expect("what was written is read");
        assert_eq!(
            (again.proof(), again.roster, again.machine),
            (applier.proof(), applier.roster, applier.machine)
        );
    });
}

/// Whom a data directory belongs to.
#[test]
fn fuzz_identities() {
    bolero::check!(name = "identities").for_each(|bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let Some((identity, directory)) = DirectoryOwner::parse(text) else { return };
        assert_eq!(DirectoryOwner::parse(&identity.text(directory)), Some((identity, directory)));
    });
}
