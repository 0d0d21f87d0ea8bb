//! A replica of a log group, on raft-rs.
//!
//! [`LogGroup`] is the contract, [`RaftGroup`] the one implementation. It is free of I/O, clocks and randomness: inputs
//! change it, `ready` says what the host has to do. Inputs may be gathered before one `ready`; that is what batches
//! proposals into one write.
//!
//! ```text
//! propose, step, tick, persisted, read_index, transfer, change   any number of times
//!        │
//!        ▼
//! ready ──► Persist(batch)   write, sync, then `persisted(ticket)`
//!       ├─► MakeSnapshot     encode it elsewhere, then `snapshot_made`
//!       ├─► Send(message)    what depends on a batch comes only after its `persisted`
//!       ├─► Applied, Failed  outcome of a proposal
//!       ├─► ReadReady        the state is fresh enough to decide on
//!       └─► Event
//! ```
//!
//! | role      | input                                   | becomes   | and                                           |
//! | --------- | --------------------------------------- | --------- | --------------------------------------------- |
//! | follower  | election timeout, leader said to be dead | candidate | asks for pre-votes; term unchanged            |
//! | candidate | majority of pre-votes                   | candidate | term + 1, votes for itself, asks for votes    |
//! | candidate | majority of votes                       | leader    | an empty entry; established when it commits   |
//! | candidate | leader of this term or a later one      | follower  |                                               |
//! | leader    | no majority heard for an election time  | follower  | proposals fail with `no_quorum`               |
//! | leader    | higher term                             | follower  | waiting reads fail, proposals wait for the log |
//! | leader    | its own removal is applied              | follower  | those who stay elect another one              |
//! | leader    | ill for 5 s, healthier voter up to date | follower  | hands over, at most every 30 s                |
//! | any       | state differs from the leader's         | halted    | refuses everything, says nothing more         |
//! | any       | snapshot that cannot be read            | halted    | likewise; the disk stays as it is             |
//! | any       | state this build does not understand    | halted    | likewise; a newer build goes on from there    |

mod agreement;
mod contact;
mod contract;
mod disk;
mod membership;
mod propose;
mod read_index;
mod ready;
mod snapshot;
mod status;
mod step;
mod tick;
mod transfer;

pub use contact::VOUCHED_MAX;
pub use contract::LogGroup;
pub use membership::Change;
pub use snapshot::SnapshotJob;
pub use transfer::TransferError;

use std::collections::VecDeque;

use hyperscale_types::Now;
use raft::{RawNode, eraftpb};

use crate::action::{Event, Halt, ProposeError};
use crate::apply::{Applier, Machine, Outdated, RestoreError};
use crate::blob::BlobId;
use crate::config::{APPEND_BYTES_MAX, APPENDS_IN_FLIGHT_MAX, Config, ConfigError, UNCOMMITTED_BYTES_MAX};
use crate::flap::Damper;
use crate::health::Health;
use crate::id::RaftId;
use crate::learner::Promotions;
use crate::log::Log;
use crate::message::Configuration;
use crate::quorum::Circuit;
use crate::storage::Loaded;
use crate::{election, storage};

use agreement::Agreement;
use contact::Contacts;
use disk::Disk;
use propose::Proposals;
use read_index::Reads;
use snapshot::Making;

/// A replica on raft-rs.
pub struct RaftGroup<M: Machine> {
    config: Config,
    id: RaftId,
    raft: RawNode<Log>,
    applier: Applier<M>,
    configuration: Configuration,
    disk: Disk,
    proposals: Proposals,
    reads: Reads,
    contacts: Contacts,
    agreement: Agreement,
    health: Health,
    damper: Damper,
    promotions: Promotions,
    circuit: Circuit,
    events: Vec<Event>,
    /// Committed entries that wait for sealed parts of the state.
    unapplied: VecDeque<eraftpb::Entry>,
    state: State,
}

/// What the replica remembers of itself between calls.
struct State {
    ticked: Now,
    /// When a follower that was told of the leader's death campaigns.
    campaign_at: Option<Now>,
    /// Entries and bytes applied since the last snapshot.
    since_snapshot: (u64, usize),
    /// The term in which this leader is established.
    established: Option<u64>,
    is_ill_reported: bool,
    /// Blobs that the state names are missing on this disk.
    lacks_blobs: bool,
    /// A snapshot of its state that the host makes.
    making: Making,
    /// Sealed parts of the state that the host has to get.
    missing: Vec<BlobId>,
    /// Last entry that was on disk at the start.
    loaded_to: u64,
    /// The term in which this replica entered a joint configuration.
    #[cfg(feature = "bugs")]
    joint_entered: Option<u64>,
    halt: Option<Halt>,
}

/// Why a replica cannot be made from what was loaded.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The settings do not fit each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The snapshot cannot be read.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The group has agreed on something this build does not understand.
    #[error(transparent)]
    Outdated(#[from] Outdated),
    /// The disk holds something that cannot be.
    #[error(transparent)]
    Storage(#[from] storage::StorageError),
    /// raft-rs refuses it.
    #[error("raft refuses to start: {0}")]
    Raft(#[from] raft::Error),
}

impl<M: Machine> RaftGroup<M> {
    /// A replica with what its disk held. `machine` is in the state of a new group; a snapshot and the log bring it up.
    pub fn open(now: Now, config: Config, id: RaftId, loaded: Loaded, machine: M) -> Result<Self, OpenError> {
        config.check()?;
        let mut loaded = disk::checked(loaded)?;
        if bug!(config.bugs, DropHardStateOnRestart) {
            loaded.hard_state.vote = None;
        }
        let loaded_to = loaded.entries.last().map_or(0, |entry| entry.index);
        let mut applier = Applier::new(machine);
        let (index, configuration) = (loaded.snapshot.index, loaded.snapshot.configuration.clone());
        if index > 0 {
            applier.restore(index, loaded.snapshot.state.clone())?;
        }
        if let Some(outdated) = applier.machine.outdated() {
            return Err(outdated.into());
        }
        let log = Log::new(loaded.hard_state, loaded.snapshot, loaded.entries);
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&raft_config(&config, id, index), log, &logger)?;
        let mut group = Self {
            damper: Damper::new(config.transfer_gap),
            config,
            id,
            raft,
            applier,
            configuration,
            disk: Disk::default(),
            proposals: Proposals::default(),
            reads: Reads::default(),
            contacts: Contacts::default(),
            agreement: Agreement::default(),
            health: Health::default(),
            promotions: Promotions::default(),
            circuit: Circuit::default(),
            events: Vec::new(),
            unapplied: VecDeque::new(),
            state: State::new(now, loaded_to),
        };
        group.settle(now);
        group.ask_for_missing();
        Ok(group)
    }

    /// After every call into raft-rs: its random timeout is overwritten, and its priority follows health.
    fn settle(&mut self, now: Now) {
        let patience = self.config.election_max * 2;
        let leaderless = self.leader().is_none();
        self.health.set_leaderless(now, leaderless);
        let priority = self.health.priority(now, self.config.leader_priority, patience);
        let ticks = self.config.ticks(self.config.election_min)..self.config.ticks(self.config.election_max);
        let raft = &mut self.raft.raft;
        raft.set_priority(priority);
        let timeout = election::timeout(self.config.seed, self.id, raft.term, raft.state, ticks);
        raft.set_randomized_election_timeout(timeout);
    }

    /// Stops for good. Whoever waits is told, for nothing else will ever be said.
    fn halt(&mut self, halt: Halt) {
        if self.state.halt.is_none() {
            self.proposals.fail_all(ProposeError::Halted);
            self.reads.fail_all(ProposeError::Halted);
            self.events.push(Event::Halted(halt.clone()));
            self.state.halt = Some(halt);
        }
    }
}

impl State {
    fn new(now: Now, loaded_to: u64) -> Self {
        Self {
            ticked: now,
            campaign_at: None,
            since_snapshot: (0, 0),
            established: None,
            is_ill_reported: false,
            lacks_blobs: false,
            making: Making::default(),
            missing: Vec::new(),
            loaded_to,
            #[cfg(feature = "bugs")]
            joint_entered: None,
            halt: None,
        }
    }
}

fn raft_config(config: &Config, id: RaftId, applied: u64) -> raft::Config {
    raft::Config {
        id: id.get(),
        election_tick: config.ticks(config.election_min),
        min_election_tick: config.ticks(config.election_min),
        max_election_tick: config.ticks(config.election_max),
        heartbeat_tick: config.ticks(config.heartbeat),
        applied,
        max_size_per_msg: APPEND_BYTES_MAX,
        max_inflight_msgs: APPENDS_IN_FLIGHT_MAX,
        check_quorum: true,
        pre_vote: true,
        batch_append: true,
        max_uncommitted_size: UNCOMMITTED_BYTES_MAX,
        max_committed_size_per_ready: UNCOMMITTED_BYTES_MAX,
        ..raft::Config::default()
    }
}
