//! Bytes that lie on disks and travel between builds: what one build wrote, every later one reads and writes the same way.
//!
//! The rolling hash is among them: replicas of two builds compare theirs, so that another way of hashing would stop half of
//! a group. The state of the register has golden bytes of its own, and so has what it adds to the hash.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId};
use prost::Message as _;

use crate::apply::{Applier, Effects, Machine, Outdated, RestoreError};
use crate::bootstrap::founding;
use crate::id::{DirectoryId, RaftId};
use crate::message::{Addresses, Configuration, ConfigurationChange, ConfigurationStep, Founder, Member};
use crate::record;
use crate::storage::DirectoryOwner;

/// A machine whose state is the last command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Last(Bytes);

impl Machine for Last {
    type Outcome = ();

    fn apply(&mut self, _index: u64, command: &Bytes, effects: &mut Effects) {
        effects.bytes(command);
        self.0 = command.clone();
    }

    fn snapshot(&self) -> Bytes {
        self.0.clone()
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        self.0 = state;
        Ok(())
    }

    fn outdated(&self) -> Option<Outdated> {
        None
    }
}

fn id(number: u64) -> RaftId {
    RaftId::new(number).unwrap()
}

fn founders() -> BTreeMap<NodeId, Founder> {
    let founder =
        |n: u64| Founder { directory: DirectoryId([n as u8; 16]), addresses: Addresses::example(n as u8) };
    (1..=3).map(|n| (NodeId::new(n * 10).unwrap(), founder(n))).collect()
}

/// The bytes of a golden file, which must be what is written now. They may change until the first release:
/// `HYPERSCALE_GOLDEN=write` writes them again. From then on another layout gets another number.
pub(crate) fn golden(path: &str, written: &[u8]) -> Bytes {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path);
    if std::env::var_os("HYPERSCALE_GOLDEN").is_some_and(|value| value == "write") {
        let mut text = String::new();
        for (place, byte) in written.iter().enumerate() {
            write!(text, "{byte:02x}{}", if place % 32 == 31 { "\n" } else { "" }).unwrap();
        }
        std::fs::write(&path, text + "\n").unwrap();
    }
    let digits: String = std::fs::read_to_string(path).unwrap().split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// A state with something in every field: founders, one that came, one that went, entries of every kind.
fn full() -> Applier<Last> {
    let founding = founding(&founders()).snapshot.expect("a founding is a snapshot").snapshot;
    let mut applier = Applier::new(Last::default());
    applier.restore(founding.index, founding.state).unwrap();
    applier.other(2, b"");
    let (node, directory) = (NodeId::new(40).unwrap(), DirectoryId([4; 16]));
    let member =
        Member { raft_id: id(4), node, directory, addresses: Addresses::example(4), boot: BootEpoch(0) };
    let come =
        ConfigurationChange { steps: vec![ConfigurationStep::AddLearner(id(4))], member: Some(member) };
    let mut after = founding.configuration;
    after.learners.push(id(4));
    applier.roster.make(&come, &after);
    let go = ConfigurationChange { steps: vec![ConfigurationStep::Remove(id(2))], member: None };
    let after = Configuration { voters: vec![id(1), id(3)], ..after };
    applier.roster.make(&go, &after);
    applier.other(3, b"made");
    applier.command(4, &Bytes::from_static(b"state of the machine"));
    applier
}

#[test]
fn founding_is_written_as_its_golden_bytes() {
    let batch = founding(&founders());
    let snapshot = batch.snapshot.expect("a founding is a snapshot").snapshot;
    let written = record::snapshot_out(snapshot.clone()).encode_to_vec();
    let golden = golden("golden/founding_v1.hex", &written);
    assert_eq!(written, golden, "founders of two builds would found two groups");
    let read = record::snapshot_in(hyperscale_wire::messages::RaftSnapshot::decode(golden).unwrap());
    assert_eq!(read.unwrap(), snapshot);
}

#[test]
fn hash_of_a_founding_covers_the_members_and_their_directories() {
    let proof = |founders: &BTreeMap<NodeId, Founder>| {
        let founding = founding(founders).snapshot.expect("a founding is a snapshot").snapshot;
        let mut applier = Applier::new(Last::default());
        applier.restore(founding.index, founding.state).unwrap();
        applier.proof()
    };
    let (same, mut fewer, mut moved) = (founders(), founders(), founders());
    fewer.pop_last();
    moved.get_mut(&NodeId::new(10).unwrap()).unwrap().directory = DirectoryId([9; 16]);
    assert_eq!(proof(&same), proof(&founders()));
    assert_ne!(proof(&fewer), proof(&same));
    assert_ne!(proof(&moved), proof(&same), "one of them lost its disk in between");
}

#[test]
fn state_of_a_replica_is_read_and_written_as_its_golden_bytes() {
    let applier = full();
    let golden = golden("golden/replica_v1.hex", &applier.view().encode());
    assert_eq!(applier.view().encode(), golden, "written differently: give the layout another number");
    let mut read = Applier::new(Last::default());
    read.restore(4, golden).unwrap();
    assert_eq!((read.proof(), &read.machine), (applier.proof(), &applier.machine));
    assert_eq!(read.roster, applier.roster);
}

#[test]
fn identity_of_a_directory_is_read_and_written_as_its_golden_text() {
    let golden = "default\ndc-a\n0000000000000007\n0102030405060708090a0b0c0d0e0f10\n";
    let identity = DirectoryOwner {
        cluster: "default".to_owned(),
        group: "dc-a".to_owned(),
        node: NodeId::new(7).unwrap(),
    };
    let directory = DirectoryId(std::array::from_fn(|place| place as u8 + 1));
    assert_eq!(identity.text(directory), golden);
    assert_eq!(DirectoryOwner::parse(golden), Some((identity, directory)));
}
