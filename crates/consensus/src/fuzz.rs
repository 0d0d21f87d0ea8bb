//! Fuzz harnesses of what this crate makes of bytes from peers and disks.
//!
//! As tests they replay `__fuzz__/<name>/corpus` and make a short random run. Beyond "no panic": what was read is written
//! and read the same again.

use bytes::Bytes;
use hyperscale_wire::messages::{LogEntry, RaftMessage};
use prost::Message as _;

use crate::apply::Machine as _;
use crate::record::{entry_in, entry_out, message_in, message_out};
use crate::register::{Command, Register};

#[test]
fn fuzz_raft_messages() {
    bolero::check!(name = "raft_messages").for_each(|bytes: &[u8]| {
        let Ok(message) = RaftMessage::decode(bytes) else { return };
        let Ok(message) = message_in(message) else { return };
        assert_eq!(message_in(message_out(message.clone())), Ok(message));
    });
}

#[test]
fn fuzz_entries() {
    bolero::check!(name = "entries").for_each(|bytes: &[u8]| {
        let Ok(entry) = LogEntry::decode(bytes) else { return };
        let Ok(entry) = entry_in(entry) else { return };
        assert_eq!(entry_in(entry_out(entry.clone())), Ok(entry));
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
        let mut register = Register::default();
        if register.restore(Bytes::copy_from_slice(bytes)).is_err() {
            assert_eq!(register, Register::default(), "a refused snapshot changes nothing");
        }
    });
}
