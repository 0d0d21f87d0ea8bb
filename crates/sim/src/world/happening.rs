//! Everything that can happen in the simulated world.

use bytes::Bytes;
use hyperscale_cluster::message::JobAttempt;
use hyperscale_consensus::{BlobId, Snapshot};
use hyperscale_swim::federation::{CrossBody, CrossMessage, FederationTimer};
use hyperscale_swim::{Command, Datagram, Message, StreamMessage, Timer};
use hyperscale_types::{BootEpoch, Now};

use crate::cpu::Arrival;
use crate::faults::Fault;
use crate::jobs::Answer;
use crate::log::Letter;
use crate::world::links::BytePlace;

/// One event of the world, due at its time.
#[derive(Debug)]
pub enum Happening {
    /// A node starts in a new life.
    Start {
        /// Index of the node in the world.
        node: usize,
    },
    /// A datagram arrives.
    Datagram {
        /// Index of the sender.
        from: usize,
        /// Index of the receiver.
        to: usize,
        /// The decoded datagram; sealed worlds carry bytes instead.
        datagram: Datagram,
    },
    /// A datagram arrives, sealed.
    Sealed {
        /// Index of the sender.
        from: usize,
        /// Index of the receiver.
        to: usize,
        /// The sealed datagram.
        bytes: Vec<u8>,
    },
    /// A message between clusters arrives.
    Cross {
        /// Index of the sender.
        from: usize,
        /// Index of the receiver.
        to: usize,
        /// A probe or its response.
        message: Box<CrossMessage>,
    },
    /// A message between clusters arrives on a connection.
    CrossStream {
        /// The node that sent it.
        from: usize,
        /// The node it reaches.
        to: usize,
        /// A probe or its answer.
        message: Box<CrossMessage>,
    },
    /// A message arrives on a stream.
    Stream {
        /// Index of the sender.
        from: usize,
        /// Index of the receiver.
        to: usize,
        /// The decoded message.
        message: StreamMessage,
    },
    /// A timer of a core is due.
    Timer {
        /// Index of the node in the world.
        node: usize,
        /// Of which life.
        boot: BootEpoch,
        /// When, on the node's clock.
        at: Now,
        /// The timer, as the core named it when it set it.
        timer: Timer,
    },
    /// A timer of a core for probes between clusters is due.
    CrossTimer {
        /// Index of the node in the world.
        node: usize,
        /// Of which life.
        boot: BootEpoch,
        /// When, on the node's clock.
        at: Now,
        /// The timer, as the core named it when it set it.
        timer: FederationTimer,
    },
    /// The host of a core wants something of it.
    Command {
        /// Of whose core.
        node: usize,
        /// In which life.
        boot: BootEpoch,
        /// The command for the core.
        command: Command,
    },
    /// A node's embedded state changes.
    State {
        /// Index of the node in the world.
        node: usize,
        /// In which life.
        boot: BootEpoch,
    },
    /// A letter of the log's world arrives.
    Letter {
        /// Index of the sender.
        from: usize,
        /// Index of the receiver.
        to: usize,
        /// In which life it was written to.
        boot: BootEpoch,
        /// The message, as data.
        letter: Box<Letter>,
    },
    /// A node sees that another one's process ended: its connections were closed.
    HungUp {
        /// Index of the node at the other end.
        node: usize,
        /// In which life.
        boot: BootEpoch,
        /// Index of the node whose process ended.
        by: usize,
    },
    /// The timer of a voter or a worker is due.
    Tick {
        /// Index of the node in the world.
        node: usize,
        /// Of which life.
        boot: BootEpoch,
        /// When, on the node's clock.
        at: Now,
    },
    /// A gate looks at what is to be done.
    Duty {
        /// Index of the node in the world.
        node: usize,
        /// In which life.
        boot: BootEpoch,
    },
    /// The time of a window has passed for an attempt.
    Step {
        /// Index of the worker in the world.
        node: usize,
        /// In which life.
        boot: BootEpoch,
        /// The attempt that runs there.
        attempt: JobAttempt,
    },
    /// A disk has had the time it needs.
    Disk {
        /// Index of the node in the world.
        node: usize,
        /// In which life.
        boot: BootEpoch,
    },
    /// A blob has had the time it needs to reach the disk.
    BlobSynced {
        /// Index of the node whose disk it is.
        node: usize,
        /// In which life.
        boot: BootEpoch,
        /// The id that it is stored under.
        blob: BlobId,
        /// The content, on disk from now on.
        bytes: Bytes,
    },
    /// A snapshot of a replica's state has been encoded.
    SnapshotMade {
        /// On this node.
        node: usize,
        /// If it is still in this life.
        boot: BootEpoch,
        /// The encoded state, to be handed to the replica.
        snapshot: Box<Snapshot>,
    },
    /// A node gets the present build.
    Update {
        /// Whose process starts anew with it.
        node: usize,
        /// If it is still in this life.
        boot: BootEpoch,
    },
    /// Bytes of a connection arrive.
    Bytes {
        /// Index of the sender.
        from: usize,
        /// Index of the receiver.
        to: usize,
        /// In which life they were written to.
        boot: BootEpoch,
        /// Which connection, and their place in it.
        place: BytePlace,
        /// What was written, sealed by the sender's link.
        bytes: Vec<u8>,
    },
    /// A client looks at its job.
    Client {
        /// Index among all jobs of clients.
        client_job: usize,
    },
    /// A client is answered.
    Answered {
        /// About which job.
        client_job: usize,
        /// The response of the manager that was asked.
        answer: Answer,
    },
    /// An operator looks after the groups.
    Operator,
    /// Workers look for owners.
    Registry,
    /// Something breaks or heals.
    Fault(Fault),
    /// An event that waits until its node has time for it.
    Deferred(Box<Happening>),
}

/// The threads of a node: membership has its own, so that nothing else delays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// Membership.
    Gossip,
    /// Everything else.
    Control,
}

impl Happening {
    /// The node whose processor deals with it, and how it gets there.
    pub fn target(&self) -> Option<(usize, Thread, Arrival)> {
        let gossip = |node: usize, arrival| Some((node, Thread::Gossip, arrival));
        let control = |node: usize, arrival| Some((node, Thread::Control, arrival));
        match self {
            Happening::Datagram { to, .. } | Happening::Sealed { to, .. } | Happening::Cross { to, .. } => {
                gossip(*to, Arrival::Datagram)
            }
            Happening::Stream { to, .. } | Happening::CrossStream { to, .. } => gossip(*to, Arrival::Stream),
            Happening::Letter { to, .. } | Happening::Bytes { to, .. } => control(*to, Arrival::Stream),
            Happening::HungUp { node, .. } => control(*node, Arrival::Stream),
            Happening::Timer { node, .. }
            | Happening::CrossTimer { node, .. }
            | Happening::Command { node, .. }
            | Happening::State { node, .. } => gossip(*node, Arrival::Own),
            Happening::Tick { node, .. }
            | Happening::Duty { node, .. }
            | Happening::Step { node, .. }
            | Happening::Disk { node, .. }
            | Happening::SnapshotMade { node, .. }
            | Happening::BlobSynced { node, .. } => control(*node, Arrival::Own),
            Happening::Start { .. }
            | Happening::Update { .. }
            | Happening::Client { .. }
            | Happening::Answered { .. }
            | Happening::Operator
            | Happening::Registry
            | Happening::Fault(_)
            | Happening::Deferred(_) => None,
        }
    }

    /// What the trace takes in: kind, node, and something of the content.
    pub fn fingerprint(&self) -> [u64; 3] {
        match self {
            Happening::Start { node } => [1, *node as u64, 0],
            Happening::Datagram { from, to, datagram } => {
                let kind = match datagram.message {
                    Message::Probe { seq, .. } => 1 + 8 * u64::from(seq),
                    Message::Ack { seq } => 2 + 8 * u64::from(seq),
                    Message::Nack { seq } => 3 + 8 * u64::from(seq),
                    Message::PingReq { seq, .. } => 4 + 8 * u64::from(seq),
                    Message::Gossip => 5,
                };
                let news = (datagram.members.len() as u64) << 40 | (datagram.workers.len() as u64) << 52;
                [2 | (*from as u64) << 8, *to as u64, kind | news]
            }
            Happening::Stream { from, to, .. } => [3 | (*from as u64) << 8, *to as u64, 0],
            Happening::Timer { node, at, .. } => [4, *node as u64, at.0],
            Happening::Command { node, .. } => [5, *node as u64, 0],
            Happening::State { node, .. } => [6, *node as u64, 0],
            Happening::Registry => [7, 0, 0],
            Happening::Fault(_) => [8, 0, 0],
            Happening::Sealed { from, to, bytes } => {
                let tag = bytes.last_chunk().map_or(0, |tag| u64::from_be_bytes(*tag));
                [9 | (*from as u64) << 8, *to as u64, tag]
            }
            Happening::Letter { from, to, letter, .. } => {
                [0xa | (*from as u64) << 8, *to as u64, letter.fingerprint()]
            }
            Happening::Tick { node, .. } => [11, *node as u64, 0],
            Happening::Duty { node, .. } => [12, *node as u64, 0],
            Happening::Disk { node, .. } => [13, *node as u64, 0],
            Happening::Step { node, attempt, .. } => {
                [25, *node as u64, u64::from(attempt.job.0[15]) | u64::from(attempt.attempt.number) << 8]
            }
            Happening::BlobSynced { node, blob, .. } => [22, *node as u64, u64::from(blob.hash[0])],
            Happening::SnapshotMade { node, snapshot, .. } => [24, *node as u64, snapshot.index],
            Happening::Update { node, .. } => [14, *node as u64, 0],
            Happening::Bytes { from, to, place, bytes, .. } => {
                let tag = bytes.last_chunk().map_or(0, |tag| u64::from_be_bytes(*tag));
                [0x15 | (*from as u64) << 8, *to as u64 | place.number << 20, tag]
            }
            Happening::Client { client_job } => [15, *client_job as u64, 0],
            Happening::Answered { client_job, .. } => [16, *client_job as u64, 0],
            Happening::Operator => [17, 0, 0],
            Happening::CrossStream { from, to, .. } => [0x17 | (*from as u64) << 8, *to as u64, 0],
            Happening::Cross { from, to, message } => {
                let seq = match message.body {
                    CrossBody::XProbe { seq, .. } => u64::from(seq),
                    CrossBody::XAck { seq, .. } => 1 << 32 | u64::from(seq),
                };
                [0x12 | (*from as u64) << 8, *to as u64, seq]
            }
            Happening::CrossTimer { node, at, .. } => [19, *node as u64, at.0],
            Happening::HungUp { node, by, .. } => [20, *node as u64, *by as u64],
            Happening::Deferred(inner) => inner.fingerprint(),
        }
    }
}
