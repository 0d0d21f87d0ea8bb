//! The replicated log: what a group of managers or gates decides, decided once and kept.
//!
//! [`LogGroup`] is a replica: `propose`, `step`, `tick` in, actions out. It has no disk, no sockets, no clock and no
//! randomness but its seed, so that the same code runs in a node and in the simulator. The protocol is raft-rs; what is
//! around it here is what raft-rs leaves to its user or gets wrong when messages lie.
//!
//! | file                          | what it owns                                                                |
//! | ----------------------------- | --------------------------------------------------------------------------- |
//! | `group`                       | the replica: one file per input, the only place where raft-rs is called     |
//! | `message`, `convert`, `check` | messages in our words, mapped to raft-rs', looked at before it sees them    |
//! | `split`                       | appends in parts that fit on the wire                                       |
//! | `record`                      | the same as messages of `proto/log.proto`, for wire and disk                |
//! | `log`                         | the log as raft-rs reads it                                                 |
//! | `storage`                     | the disk behind one trait                                                   |
//! | `apply`, `roster`             | the replicated state and the proof that replicas agree on it                |
//! | `election`, `health`, `flap`  | who leads, and when it should be somebody else                              |
//! | `learner`                     | when a newcomer votes                                                       |
//! | `quorum`                      | what callers are told when the voters do not answer                         |
//! | `token`, `lease`              | who may write, and until when                                               |
//! | `blob`                        | values too large for the log                                                |
//! | `register`                    | the machine: what managers, or gates, have decided about jobs               |
//! | `bootstrap`                   | how a group begins                                                          |
//! | `replica`                     | all of it as one object that node and simulator drive                       |
//!
//! This crate must never depend on an async runtime or sockets, read a clock, or apply an entry in a way that depends on
//! anything but the log. The disk is touched by `storage` alone, and `storage` is called by the host alone.

/// Whether a deliberate bug is switched on; without the feature `false`, and the code behind it is not compiled in.
macro_rules! bug {
    ($bugs:expr, $name:ident) => {{
        #[cfg(feature = "bugs")]
        let is_on = $bugs.has(crate::bugs::Bug::$name);
        #[cfg(not(feature = "bugs"))]
        let is_on = false;
        is_on
    }};
}

mod action;
mod apply;
mod blob;
mod bootstrap;
#[cfg(feature = "bugs")]
pub mod bugs;
mod check;
mod config;
mod convert;
mod election;
mod flap;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod golden;
mod group;
mod health;
mod id;
mod learner;
pub mod lease;
mod log;
mod message;
mod quorum;
pub mod record;
pub mod register;
pub mod replica;
mod roster;
mod split;
pub mod storage;
mod token;

pub use action::{Action, Applied, Event, Halt, ProposeError, RaftRole, TransferCause};
pub use apply::{Effects, HASHES_MAX, Machine, NameCursor, Outdated, RestoreError, StateHash, StateView};
pub use blob::{BLOB_BYTES_MAX, BlobId, Placement};
pub use bootstrap::{
    Bootstrap, BootstrapError, Decision, FOUNDERS_MAX, Founding, PeerState, REPORT_AGE_MAX, Report,
    WaitReason, founding,
};
pub use check::MessageRefusal;
pub use config::{
    APPEND_BYTES_MAX, APPENDS_IN_FLIGHT_MAX, Backlog, COMMAND_BYTES_MAX, Config, ConfigError,
    LEADER_PRIORITY_MAX, PROPOSALS_MAX, Promotion, READS_MAX, UNCOMMITTED_BYTES_MAX,
};
pub use flap::GAP_MAX;
pub use group::{Change, LogGroup, OpenError, RaftGroup, SnapshotJob, TransferError, VOUCHED_MAX};
pub use health::{ILL_AT, priority};
pub use id::{DirectoryId, ProposalId, RaftId, ReadId, Ticket};
pub use message::{
    Addresses, Configuration, ConfigurationChange, ConfigurationStep, Entry, EntryBody, Founder, HardState,
    Leader, Member, Message, MessageKind, Snapshot, StateProof,
};
pub use quorum::{Circuit, CircuitState, FAILURES_MAX, FAILURES_WITHIN, HALF_OPEN_AFTER, QuorumError, Reach};
pub use roster::{ChangeError, RETIRED_MAX, Roster};
pub use token::{Bearer, TOKENS_MAX, TokenBook, TokenError};
