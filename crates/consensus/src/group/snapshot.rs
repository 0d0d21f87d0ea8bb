//! Snapshots of the own state, so that the log stays short.
//!
//! Encoding takes as long as the state is large, so it is not done here: the host gets a [`SnapshotJob`] with a view of the
//! state, runs it wherever it holds up nobody, and hands the snapshot back. Heartbeats and entries pass meanwhile.
//!
//! | state  | input                                    | next   | and                                                     |
//! | ------ | ---------------------------------------- | ------ | ------------------------------------------------------- |
//! | idle   | the log is long, or a peer needs one     | making | `MakeSnapshot`                                          |
//! | making | the same                                 | making | one at a time; looked at again when this one is made    |
//! | making | `snapshot_made`                          | idle   | `Persist`; entries before it go                         |
//! | making | a snapshot of the leader takes its place | making | what is made is thrown away                             |

use std::fmt;

use super::RaftGroup;
use super::disk::Held;
use crate::action::{Action, Event};
use crate::apply::{Machine, StateView};
use crate::message::{Configuration, Snapshot};
use crate::storage::{Batch, SnapshotWrite};

/// A snapshot that is to be made: everything but the encoded state.
pub struct SnapshotJob {
    index: u64,
    term: u64,
    configuration: Configuration,
    view: StateView,
}

impl SnapshotJob {
    /// The entry whose state it is.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Encodes the state. May take long; to be called where nothing waits for it.
    pub fn run(self) -> Snapshot {
        let Self { index, term, configuration, view } = self;
        Snapshot { index, term, configuration, state: view.encode() }
    }
}

impl fmt::Debug for SnapshotJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotJob").field("index", &self.index).finish_non_exhaustive()
    }
}

/// The snapshot that is on its way.
#[derive(Debug, Default)]
pub(super) struct Making {
    /// Its entry, while the host makes it.
    begun: Option<u64>,
    /// Made, and not handed to the disk yet.
    made: Option<Snapshot>,
}

impl<M: Machine> RaftGroup<M> {
    /// The host ran a [`SnapshotJob`]. It is written with the next `ready`.
    pub fn snapshot_made(&mut self, snapshot: Snapshot) {
        if self.state.making.begun == Some(snapshot.index) {
            self.state.making = Making { begun: None, made: Some(snapshot) };
        }
    }

    pub(super) fn begin_snapshot_if_due(&mut self, out: &mut Vec<Action<M::Outcome>>) {
        if self.state.making.begun.is_some() || self.state.halt.is_some() {
            return;
        }
        let (entries, bytes) = self.state.since_snapshot;
        let is_wanted = self.raft.store().take_wanted();
        let is_long = entries >= self.config.snapshot_entries || bytes >= self.config.snapshot_bytes;
        let index = self.applier.applied();
        if !(is_long || is_wanted) || index <= self.raft.store().snapshot_index() {
            return;
        }
        let Some(term) = self.raft.store().term_at(index) else { return };
        let (configuration, view) = (self.configuration.clone(), self.applier.view());
        self.state.since_snapshot = (0, 0);
        self.state.making.begun = Some(index);
        out.push(Action::MakeSnapshot(SnapshotJob { index, term, configuration, view }));
    }

    pub(super) fn write_made_snapshot(&mut self, out: &mut Vec<Action<M::Outcome>>) {
        let Some(snapshot) = self.state.making.made.take() else { return };
        let index = snapshot.index;
        if self.state.halt.is_some() || index <= self.raft.store().snapshot_index() {
            return;
        }
        let drop_to = self.raft.mut_store().keep(snapshot.clone(), self.config.trailing_entries);
        let ticket = self.disk.begin(Held::default());
        let write = SnapshotWrite { snapshot, drop_to, replaces_log: false };
        out.push(Action::Persist(Batch { ticket, snapshot: Some(write), ..Batch::default() }));
        self.events.push(Event::SnapshotMade { index });
    }
}
