//! How a group begins, and how a node finds out what it is in it.

use std::collections::BTreeMap;

use hyperscale_types::NodeId;

use crate::apply::founding_state;
use crate::id::DirectoryId;
use crate::message::{Configuration, HardState, Snapshot};
use crate::roster::Roster;
use crate::storage::{Batch, SnapshotWrite};

/// Index and term of the state a group begins with.
const FOUNDING: u64 = 1;

/// What every founder writes to its empty directory before it starts: the same on all of them.
pub fn founding(founders: &BTreeMap<NodeId, DirectoryId>) -> Batch {
    let roster = Roster::founding(founders);
    let voters = roster.members().map(|member| member.raft_id).collect();
    let snapshot = Snapshot {
        index: FOUNDING,
        term: FOUNDING,
        configuration: Configuration { voters, ..Configuration::default() },
        state: founding_state(&roster),
    };
    Batch {
        hard_state: Some(HardState { term: FOUNDING, vote: None, commit: FOUNDING }),
        snapshot: Some(SnapshotWrite { snapshot, drop_to: FOUNDING, replaces_log: true }),
        ..Batch::default()
    }
}
