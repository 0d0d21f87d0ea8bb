//! What a log group asks of its host, and what it tells.

use bytes::Bytes;

use crate::apply::{Outdated, StateHash};
use crate::blob::BlobId;
use crate::check::MessageRefusal;
use crate::group::SnapshotJob;
use crate::id::{ProposalId, RaftId, ReadId};
use crate::message::{Addresses, Configuration, Leader, Message};
use crate::quorum::QuorumError;
use crate::roster::ChangeError;
use crate::storage::Batch;

/// Something the host has to do, in this order.
#[derive(Debug)]
pub enum Action<O> {
    /// Write this, sync it, then call `persisted` with its ticket. Batches are written in the order they come in.
    Persist(Batch),
    /// Run this where nothing waits for it, then call `snapshot_made` with what it returns.
    MakeSnapshot(SnapshotJob),
    /// Store this blob, synced, before anything that follows is written: a snapshot may list it from now on.
    Store {
        /// The hash and length under which snapshots and entries name it.
        blob: BlobId,
        /// The content, which matches the id.
        bytes: Bytes,
    },
    /// Get this blob, from the own disk or from a member, and call `supply`: nothing is applied before. Said once; the host
    /// tries until it has it.
    Fetch(BlobId),
    /// Send this. It may be lost, doubled or overtaken.
    Send(Message),
    /// An entry was applied.
    Applied(Applied<O>),
    /// A proposal has no outcome, or a known bad one.
    Failed {
        /// The number that the host gave it.
        proposal: ProposalId,
        /// What is known of its fate, and whether it may be tried again.
        error: ProposeError,
    },
    /// The reader may read now: the state holds everything that was committed when the read was asked for.
    ReadReady {
        /// The number that the host gave it.
        read: ReadId,
        /// The state is at least that of this entry.
        index: u64,
    },
    /// The read cannot be answered here.
    ReadFailed {
        /// The number that the host gave it.
        read: ReadId,
        /// What is known of its fate, and whether it may be tried again.
        error: ProposeError,
    },
    /// Tell the layers above.
    Event(Event),
}

/// An applied command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied<O> {
    /// Place of the entry: the token of whatever it granted.
    pub index: u64,
    /// Term of the leader that wrote the entry.
    pub term: u64,
    /// The proposal, if it was made on this node in this life.
    pub proposal: Option<ProposalId>,
    /// The command; nothing for a change of the configuration and for the first entry of a term.
    pub command: Option<Bytes>,
    /// What the machine said to it.
    pub outcome: Option<O>,
}

/// Why a proposal or a read was not taken, or came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Somebody else leads. The caller asks there.
    #[error("not the leader")]
    NotLeader {
        /// Who does, if the log of who was asked names it.
        leader: Option<Leader>,
    },
    /// Nobody can lead: too few voters are in reach.
    #[error("no quorum: {reachable} of {needed} needed voters reachable")]
    NoQuorum {
        /// Voters heard of lately, this node included.
        reachable: usize,
        /// Voters that must agree.
        needed: usize,
    },
    /// The quorum did not answer, or is not asked.
    #[error(transparent)]
    Quorum(#[from] QuorumError),
    /// Leadership is being handed over. Try again in a moment.
    #[error("leadership is being handed over")]
    Transferring,
    /// Too much waits already. Try again later.
    #[error("too many proposals wait")]
    Overloaded,
    /// Empty, or too large for the log.
    #[error("a command has 1 to 131072 bytes; larger values are blobs")]
    Size,
    /// Another leader's entry took its place: it was never applied. May be proposed again.
    #[error("replaced by another leader's entry")]
    Replaced,
    /// A change of the configuration that was not made.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// This replica has stopped.
    #[error("replica has stopped")]
    Halted,
    /// This replica does not take part in a group yet: it founds one, or waits to be added.
    #[error("replica does not take part in a group yet")]
    NotStarted,
}

/// What a replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaftRole {
    /// Follows a leader, or waits for one.
    Follower,
    /// Asks for votes, or whether it would get them.
    Candidate,
    /// Replicates its log to the others, and proposes.
    Leader,
}

/// Something that the layers above, or an operator, should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another leader, or none.
    LeaderChanged {
        /// In this term.
        term: u64,
        /// The leader of that term; `None` while nobody leads.
        leader: Option<RaftId>,
        /// What this replica is now.
        role: RaftRole,
    },
    /// This leader has committed an entry of its term: it knows everything that was decided before.
    Established {
        /// The term in which it leads.
        term: u64,
        /// It has applied up to here.
        index: u64,
    },
    /// The configuration is another one.
    ConfigurationChanged(Configuration),
    /// A member is reached elsewhere from now on.
    MemberMoved {
        /// Its id in the group, which stays the same.
        id: RaftId,
        /// Where it is now.
        addresses: Addresses,
    },
    /// A learner was close for long enough; it is being made a voter.
    Promoting {
        /// Id of the learner in the group.
        id: RaftId,
        /// The entry that makes it one.
        index: u64,
    },
    /// Leadership is being handed over.
    Transferring {
        /// The voter that campaigns next.
        to: RaftId,
        /// Whether somebody asked for it or the leader is ill.
        cause: TransferCause,
    },
    /// An ill leader would hand over but did so a short while ago.
    Flapping,
    /// A snapshot of the own state was made.
    SnapshotMade {
        /// After this entry.
        index: u64,
    },
    /// A snapshot of the leader took the place of the state.
    SnapshotRestored {
        /// After this entry.
        index: u64,
    },
    /// A peer's state differs from this leader's. The minority stops; somebody must look.
    PeerDiverged {
        /// The member whose state is another one.
        peer: RaftId,
        /// After this entry.
        index: u64,
    },
    /// A message was not taken.
    Refused {
        /// The member that the message names as its sender.
        from: RaftId,
        /// The rule that it broke.
        refusal: MessageRefusal,
    },
    /// This replica has stopped for good. Loud: somebody must look.
    Halted(Halt),
}

/// Why leadership is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferCause {
    /// Somebody asked, or the node drains.
    Asked,
    /// The leader is ill.
    Ill,
}

/// Why a replica stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// Its state is not the one that a majority came to.
    #[error(
        "state after entry {index} is {ours:?} here and {theirs:?} on a majority: applying is not deterministic"
    )]
    Diverged {
        /// The entry after which the states were compared.
        index: u64,
        /// Hash here.
        ours: StateHash,
        /// Hash there.
        theirs: StateHash,
    },
    /// This leader's state is not the one that a majority came to. The others elect another one.
    #[error(
        "state after entry {index} is {ours:?} here and another one on a majority: applying is not deterministic"
    )]
    Outvoted {
        /// The entry of the last voter that differed.
        index: u64,
        /// Hash here.
        ours: StateHash,
    },
    /// Entries are missing that this replica had acknowledged: its disk lost them. It is removed and added as new.
    #[error(
        "entry {committed} is committed here and the last one is {last}: the disk lost what was acknowledged"
    )]
    LostEntries {
        /// Committed, as the leader says.
        committed: u64,
        /// The last entry on this disk.
        last: u64,
    },
    /// The group has agreed on something this build does not understand. Nothing is lost: a newer build goes on from here.
    #[error("stopped after entry {index}: {outdated}")]
    Outdated {
        /// The last entry that was applied.
        index: u64,
        /// The version that was agreed on, and the newest one understood here.
        outdated: Outdated,
    },
    /// A snapshot cannot be read. The disk holds what it held before.
    #[error("snapshot of entry {index} cannot be used: {reason}")]
    BadSnapshot {
        /// The last entry that the snapshot covers.
        index: u64,
        /// What could not be read.
        reason: String,
    },
}
