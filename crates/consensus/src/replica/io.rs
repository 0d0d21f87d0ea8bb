//! What goes into a replica and what comes out of it.

use std::fmt;

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::class::Lane;

use crate::action::{Applied, Event, ProposeError};
use crate::blob::BlobId;
use crate::bootstrap::{Report, WaitReason};
use crate::group::{Change, SnapshotJob, TransferError};
use crate::id::{DirectoryId, RaftId, Ticket};
use crate::message::{Addresses, Message, MessageKind, Snapshot};
use crate::replica::StartError;
use crate::storage::Batch;

/// A call of the host, as the host numbers it. Numbers are not used twice in one life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Something that happened to the replica.
#[derive(Clone, Debug)]
pub enum Input {
    /// The time of the last [`Output::Timer`] has come.
    Timer,
    /// Everything up to this batch is durable.
    Persisted(Ticket),
    /// A configured peer was reached; its hello says that it is this node.
    PeerReached(NodeId),
    /// A message arrived on a connection that belongs to this node.
    Message {
        /// The node at the other end, as its connection authenticated it.
        from: NodeId,
        /// The decoded message; whose raft id it names is compared with `from`.
        message: ReplicaMessage,
    },
    /// Something that was to be sent did not leave, or its connection broke.
    Undelivered {
        /// The node that cannot be written to.
        to: NodeId,
        /// The connection it was written to on.
        lane: Lane,
    },
    /// A node closed its connections, or SWIM has declared it dead. A hint.
    PeerGone(NodeId),
    /// This node's health multiplier.
    Health(u8),
    /// A peer's health multiplier, as it says itself.
    PeerHealth {
        /// The peer that reports it.
        node: NodeId,
        /// 0 is healthy, 8 the worst.
        lhm: u8,
    },
    /// Where a peer is reached, from its hello: it may have moved since the log named it.
    PeerAddresses {
        /// The peer that said hello.
        node: NodeId,
        /// Where it says it is.
        addresses: Addresses,
        /// In which life, from the same hello: what an earlier life said is not believed any more.
        boot: BootEpoch,
    },
    /// The newest version of commands that a peer understands, from its hello.
    PeerVersion {
        /// The peer that said hello.
        node: NodeId,
        /// Higher ones are not proposed while it is a member.
        version: u32,
    },
    /// What [`Output::MakeSnapshot`] asked for.
    SnapshotMade(Snapshot),
    /// A blob is on disk, synced.
    BlobStored(BlobId),
    /// What [`Output::ReadBlob`] asked for; nothing if it is not there or not what it should be.
    BlobRead {
        /// The blob that was to be read.
        blob: BlobId,
        /// The peer that it was read for.
        to: NodeId,
        /// The content, compared with the id by the host.
        bytes: Option<Bytes>,
    },
    /// The host wants something of the group; answered by exactly one [`Output::Reply`].
    Call {
        /// Handed back with the reply.
        call: CallId,
        /// A proposal, a read, a blob to keep, a change of members or a hand-over.
        request: Request,
    },
}

/// What a host may want of its group.
#[derive(Clone, Debug)]
pub enum Request {
    /// That a command is committed; sent to the leader if this replica is not.
    Propose(Bytes),
    /// That a blob is on the disks of a quorum, so that an entry may name it.
    StoreBlob(Bytes),
    /// To read a state that holds everything committed before now; the leader proves how far that is.
    Read,
    /// The same, and only if this replica leads: the answer of a round that began after this call, in this term.
    ReadAsLeader,
    /// That the members change; only where the leader is.
    Change(Change),
    /// That somebody else leads; only where the leader is. The healthiest voter that is up to date if none is named.
    Transfer(Option<RaftId>),
}

/// What became of a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<O> {
    /// Committed and applied, here or on the leader.
    Applied {
        /// Place of the entry: the token of whatever it granted.
        index: u64,
        /// What the machine said; nothing for a change of the members.
        outcome: Option<O>,
    },
    /// A quorum has the blob. An entry that names it is to be proposed within the grace of unnamed blobs.
    Stored(BlobId),
    /// The state of this replica may be read now.
    Readable {
        /// It is at least that after this entry.
        index: u64,
    },
    /// Leadership is being handed over to this member.
    Transferring(RaftId),
    /// Not done, or not known whether it will be: the error says which.
    Failed(ProposeError),
    /// Leadership stays.
    NotTransferred(TransferError),
}

/// Something the host has to do, in this order.
#[derive(Debug)]
pub enum Output<O> {
    /// Write this and sync it, then say [`Input::Persisted`]. Batches are written in the order they come; several may be
    /// synced at once.
    Persist(Batch),
    /// Run this where nothing waits for it, as it takes as long as the state is large, then say [`Input::SnapshotMade`].
    /// Nothing else waits for it, and there is one at a time.
    MakeSnapshot(SnapshotJob),
    /// Send this. It may be lost, doubled or overtaken; [`Input::Undelivered`] when that is noticed.
    Send {
        /// To this node.
        to: NodeId,
        /// On this connection.
        lane: Lane,
        /// The message, to be encoded for the peer's version.
        message: ReplicaMessage,
    },
    /// Write this blob and sync it, then say [`Input::BlobStored`]. In no order with anything else.
    PutBlob {
        /// The id that it is stored under.
        blob: BlobId,
        /// Its bytes, which match the id.
        bytes: Bytes,
    },
    /// Read this blob, then say [`Input::BlobRead`].
    ReadBlob {
        /// The id that it is stored under.
        blob: BlobId,
        /// The peer that asked; named again in the input.
        to: NodeId,
    },
    /// Remove this blob: nothing names it.
    RemoveBlob(BlobId),
    /// Say [`Input::Timer`] at this time of the clock that `handle` is called with. Replaces the one before.
    Timer(hyperscale_types::Now),
    /// What became of a call.
    Reply {
        /// The number that the host gave the call.
        call: CallId,
        /// The result, or why there is none.
        reply: Reply<O>,
    },
    /// An entry was applied. Comes before the reply to whoever proposed it.
    Applied(Applied<O>),
    /// Tell the layers above.
    Event(Event),
    /// The replica cannot start by itself. Said when the reason changes; an operator must act.
    Waiting {
        /// The peer whose report says so.
        known_by: NodeId,
        /// What the operator has to do about.
        reason: WaitReason,
    },
    /// The replica takes part in its group from now on, under this id.
    Opened(RaftId),
    /// The replica cannot take part. Nothing more will be said; somebody must look.
    Failed(StartError),
}

/// Everything that replicas of one group say to each other. Commands and blobs may carry secrets: `Debug` shows sizes only.
#[derive(Clone, PartialEq, Eq)]
pub enum ReplicaMessage {
    /// Of the protocol.
    Raft(Box<Message>),
    /// From a node that starts: what are you?
    BootstrapQuery {
        /// The asker's data directory.
        directory: DirectoryId,
    },
    /// What the asked node knows of the group, and what is on its disk.
    BootstrapReport(Report),
    /// To the leader: propose this.
    Propose {
        /// The asker's number for it.
        number: u64,
        /// An encoded command.
        command: Bytes,
    },
    /// What became of it.
    Proposed {
        /// The asker's number for it.
        number: u64,
        /// Place of the entry and encoded outcome, or why there is none.
        result: Result<(u64, Bytes), ProposeError>,
    },
    /// To the leader: how far has the group come?
    ReadIndex {
        /// The asker's number for it.
        number: u64,
    },
    /// The last entry that was committed when the question came, proven by a round.
    ReadIndexAnswer {
        /// The asker's number for it.
        number: u64,
        /// The entry, or why it is not known.
        result: Result<u64, ProposeError>,
    },
    /// Keep this, and say so.
    BlobPut {
        /// The id that the bytes must match.
        blob: BlobId,
        /// The whole content.
        bytes: Bytes,
    },
    /// It is on this disk.
    BlobStored {
        /// The blob that was put; the sender counts who has it.
        blob: BlobId,
    },
    /// This one is missing here.
    BlobGet {
        /// The blob that the sender's state names and its disk lacks.
        blob: BlobId,
    },
    /// The answer; none comes from a member that does not have it either.
    BlobData {
        /// The blob that was asked for.
        blob: BlobId,
        /// The whole content; the receiver compares it with the id.
        bytes: Bytes,
    },
}

impl fmt::Debug for ReplicaMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raft(message) => message.fmt(f),
            Self::BootstrapQuery { directory } => write!(f, "BootstrapQuery({directory})"),
            Self::BootstrapReport(report) => report.fmt(f),
            Self::Propose { number, command } => write!(f, "Propose({number}, {} bytes)", command.len()),
            Self::Proposed { number, result } => {
                write!(f, "Proposed({number}, {:?})", result.as_ref().map(|(index, _)| index))
            }
            Self::ReadIndex { number } => write!(f, "ReadIndex({number})"),
            Self::ReadIndexAnswer { number, result } => write!(f, "ReadIndexAnswer({number}, {result:?})"),
            Self::BlobPut { blob, .. } => write!(f, "BlobPut({blob:?})"),
            Self::BlobStored { blob } => write!(f, "BlobStored({blob:?})"),
            Self::BlobGet { blob } => write!(f, "BlobGet({blob:?})"),
            Self::BlobData { blob, .. } => write!(f, "BlobData({blob:?})"),
        }
    }
}

impl ReplicaMessage {
    /// The connection it takes: what may be large does not delay heartbeats.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Raft(message) if message.kind == MessageKind::Snapshot => Lane::Bulk,
            Self::BlobPut { .. } | Self::BlobStored { .. } | Self::BlobGet { .. } | Self::BlobData { .. } => {
                Lane::Bulk
            }
            _ => Lane::Control,
        }
    }
}
