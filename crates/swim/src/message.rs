//! What members say to each other, typed. Encoding and sealing are the business of another crate.
//!
//! Nothing here is trusted beyond what the sealing proves: that the sender holds the cluster's secret and is the node
//! and boot it says it is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Role};

use crate::claim::{Claim, Incarnation, Status};
use crate::digest::Digest;
use crate::embedded::Embedded;
use crate::workers::WorkerUpdate;

/// Where and what a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its id, the same over all its lives.
    pub node: NodeId,
    /// Address of its datagrams and streams.
    pub addr: SocketAddr,
    /// Whether it is a worker, a manager or a gate.
    pub role: Role,
}

/// Who sends a message: on every datagram and stream message, so that each of them is also an `alive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Where and what it is.
    pub peer: Peer,
    /// The boot of its process; messages of a lower one are dropped.
    pub boot: BootEpoch,
    /// Raised by itself alone, to contradict an accusation.
    pub incarnation: Incarnation,
}

impl Sender {
    /// What a message says by arriving at all.
    pub fn alive(&self) -> MemberUpdate {
        MemberUpdate {
            peer: self.peer,
            claim: Claim::alive(self.boot, self.incarnation),
            accuser: self.peer.node,
        }
    }
}

/// A claim about a member, as it is gossiped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberUpdate {
    /// Whom it is about.
    pub peer: Peer,
    /// Life, incarnation and status that are claimed of it.
    pub claim: Claim,
    /// Who said so first: for a suspicion the accuser, else the node that noticed.
    pub accuser: NodeId,
}

/// One datagram: a message and what rides on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram {
    /// The sender, which counts as alive with it.
    pub from: Sender,
    /// Why it was sent.
    pub message: Message,
    /// State of the sender; on probes and acks.
    pub embedded: Option<Arc<Embedded>>,
    /// Membership news, what concerns the receiver first.
    pub members: Vec<MemberUpdate>,
    /// Worker news; between managers only.
    pub workers: Vec<Arc<WorkerUpdate>>,
}

/// Why a datagram was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Are you there? Answered with an ack of the same number.
    Probe {
        /// Number of the probe at its sender.
        seq: u32,
        /// Whom it is meant for; another node at that address does not answer.
        target: NodeId,
    },
    /// I am, or (from a helper) the target of your request is.
    Ack {
        /// Number of the probe or request answered.
        seq: u32,
    },
    /// I asked the target as you wished, and it did not answer me either.
    Nack {
        /// Number of the request answered.
        seq: u32,
    },
    /// Probe this node for me.
    PingReq {
        /// Number of the request at its sender.
        seq: u32,
        /// Whom to probe.
        target: NodeId,
        /// Where the target is reached, as the asker knows it.
        addr: SocketAddr,
        /// When to answer with a nack if it is silent.
        nack_after: Duration,
    },
    /// Nothing but news.
    Gossip,
}

/// One message on a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamMessage {
    /// The sender, which counts as alive with it.
    pub from: Sender,
    /// A probe, a list, a digest or an update.
    pub body: StreamBody,
}

/// What a stream message says. Lists come in pages of at most [`PAGE_MAX`] entries.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamBody {
    /// Let me in; answered with [`StreamBody::Members`].
    Join,
    /// The full member list, answer to a join.
    Members {
        /// A page of it.
        members: Vec<MemberUpdate>,
        /// Whether this is the last page.
        last: bool,
    },
    /// Anti-entropy, first step: digests of everything known. Answered with differences, if there are any.
    Digest {
        /// Of the members.
        members: Box<Digest>,
        /// Of the workers; between managers only.
        workers: Option<Box<Digest>>,
    },
    /// Anti-entropy, second and third step: what the sender knows in the buckets that differ.
    MemberDifference {
        /// Which buckets, one bit each.
        buckets: u64,
        /// A page of what is in them.
        members: Vec<MemberUpdate>,
        /// Whether the receiver should answer with its side. Set on the last page only.
        answer: bool,
    },
    /// The same for workers.
    WorkerDifference {
        /// Which buckets, one bit each.
        buckets: u64,
        /// A page of what is in them.
        workers: Vec<Arc<WorkerUpdate>>,
        /// Whether the receiver should answer with its side. Set on the last page only.
        answer: bool,
    },
    /// A probe over the stream, in parallel to the indirect ones.
    Probe {
        /// Number of the probe at its sender.
        seq: u32,
    },
    /// The answer to a probe over the stream.
    Ack {
        /// Number of the probe answered.
        seq: u32,
    },
    /// An owner tells at once what happened to a worker of its own.
    Worker(Arc<WorkerUpdate>),
    /// A joining manager asks for all workers; answered with [`StreamBody::WorkerList`].
    WorkerListRequest,
    /// All workers the sender knows.
    WorkerList {
        /// A page of them.
        workers: Vec<Arc<WorkerUpdate>>,
        /// Whether this is the last page.
        last: bool,
    },
}

/// Most entries of a list on one stream message; keeps every page below 1 MiB, however long addresses and names are.
pub const PAGE_MAX: usize = 2048;

impl MemberUpdate {
    /// Whether this speaks against its subject.
    pub fn is_accusation(&self) -> bool {
        matches!(self.claim.status, Status::Suspect | Status::Dead)
    }
}
