//! What goes into the core and what comes out of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Now};

use crate::audit::Cause;
use crate::embedded::{Embedded, EmbeddedState};
use crate::load::LoadLevel;
use crate::message::{Datagram, Peer, StreamMessage};
use crate::suspicion::Witnesses;
use crate::workers::{WorkerReport, WorkerUpdate};

/// Something the core has to deal with.
#[derive(Clone, Debug)]
pub enum Input {
    /// A datagram arrived, unsealed and decoded.
    Datagram(Datagram),
    /// A message arrived on a stream.
    Stream(StreamMessage),
    /// A timer set by an action has come.
    Timer(Timer),
    /// The host wants something or has something to report.
    Command(Command),
}

/// What the host wants or reports.
#[derive(Clone, Debug)]
pub enum Command {
    /// Join through these addresses; without any, start a cluster.
    Join {
        /// Configured peers.
        contacts: Vec<SocketAddr>,
    },
    /// Announce the leave, then [`Event::Departed`].
    Leave,
    /// What probes and acks say about this node from now on.
    SetState(EmbeddedState),
    /// A connection to this node was reset, or its port refused one.
    ConnectionFailed {
        /// The peer that the connection was with.
        node: NodeId,
        /// Which life of it the connection was with; unknown when none came about.
        boot: Option<BootEpoch>,
    },
    /// The host's loop ran this late.
    RuntimeLag(Duration),
    /// This manager owns a worker, and this is what became of it.
    Worker(WorkerReport),
    /// The log says that nobody owns this life of the worker any more: its grant ended. Every manager that applied that entry
    /// knows it, whether the last owner lives to tell or not.
    WorkerOver {
        /// The worker that nobody owns.
        worker: NodeId,
        /// The life whose grant ended.
        boot: BootEpoch,
    },
}

/// Something the host has to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send a datagram.
    SendDatagram {
        /// The node that is to get it, and where it is.
        to: Destination,
        /// The message, and the updates that ride on it.
        datagram: Datagram,
    },
    /// Send a message on a stream, opening a connection if there is none. Must not block on a slow peer.
    SendStream {
        /// The node, or an address of which the node is not known yet.
        to: Endpoint,
        /// The message; its body says whether an answer is due.
        message: StreamMessage,
    },
    /// Give the timer back at that time. Timers are never cancelled: one that is no longer wanted is recognised.
    SetTimer {
        /// A time of the clock that the core is called with.
        at: Now,
        /// What to give back.
        timer: Timer,
    },
    /// Tell the layers above.
    Event(Event),
}

/// A node that is known by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The node that answers count from.
    pub node: NodeId,
    /// Where it is reached now.
    pub addr: SocketAddr,
}

/// A node that may be known by its address only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its id, if known.
    pub node: Option<NodeId>,
    /// The address to connect to.
    pub addr: SocketAddr,
}

/// A timer. The number tells a timer that is still wanted from one that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A probe period ends.
    Period(u32),
    /// The direct probe of a round was not answered in time.
    ProbeTimeout(u32),
    /// A probe on behalf of another was not answered in time.
    Relay(u32),
    /// Time to gossip.
    Gossip(u32),
    /// A member's deadline.
    Deadline(u32),
    /// Time for anti-entropy.
    Sync(u32),
    /// A configured peer is to be tried.
    Contact(u32),
    /// A leaving node has told enough.
    Depart(u32),
}

/// What happened. Evidence for the layers above, never a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node is a member from now on.
    Joined {
        /// The member, with its address and role.
        peer: Peer,
        /// The boot of its process.
        boot: BootEpoch,
        /// Whether it was a member before: it restarted, or was taken for dead.
        returned: bool,
    },
    /// A member was reached for the first time; it counts for failure detection from now on.
    Confirmed {
        /// The member that it is about.
        node: NodeId,
    },
    /// A member is suspected.
    Suspected {
        /// The member that it is about.
        node: NodeId,
        /// What spoke for it: an own probe, gossip, a broken connection.
        cause: Cause,
        /// The accusers so far, oldest first.
        witnesses: Witnesses,
    },
    /// A suspected member contradicted.
    Refuted {
        /// The member that it is about.
        node: NodeId,
    },
    /// A member is taken for dead, by this node or by another.
    Died {
        /// The member that it is about.
        node: NodeId,
        /// What spoke for it: an own probe, gossip, a broken connection.
        cause: Cause,
        /// The accusers of the suspicion that ended, oldest first.
        witnesses: Witnesses,
    },
    /// A member announced that it goes.
    Left {
        /// The member that it is about.
        node: NodeId,
    },
    /// A member's embedded state changed.
    StateChanged {
        /// The member that it is about.
        node: NodeId,
        /// The state with the highest version that was heard.
        state: Arc<Embedded>,
    },
    /// A peer could not be reached for a long time. It is tried on.
    Unreachable {
        /// Who, if known.
        node: Option<NodeId>,
        /// The address that does not answer.
        addr: SocketAddr,
        /// For how long.
        since: Duration,
    },
    /// A peer known by hearsay only was never reached and is forgotten, unless it speaks or is named with a newer
    /// identity. It was never confirmed, so this is not a death.
    Forgotten {
        /// The member that it is about.
        node: NodeId,
    },
    /// This node's load level changed.
    LoadChanged {
        /// The level now.
        level: LoadLevel,
        /// The health multiplier now.
        lhm: u8,
    },
    /// Another process lives under this node's id with a newer boot. This one should end.
    Superseded {
        /// The boot of the other process.
        boot: BootEpoch,
    },
    /// The leave was told; the host may end.
    Departed,
    /// A worker's newest update, of this manager or of another.
    WorkerChanged(Arc<WorkerUpdate>),
    /// Peers know the worker as registered with this manager, from an earlier life of it. The host takes it up again if the
    /// log still names this manager, and says otherwise that it is over.
    Inherited(Arc<WorkerUpdate>),
    /// A manager is gone: its workers are unowned until they register with another. Of an owner that was gone before this node
    /// heard of it nothing is said: the standing of its workers shows it.
    OwnerLost {
        /// The manager that died or left.
        owner: NodeId,
    },
    /// A manager is back: its workers are owned again.
    OwnerReturned {
        /// The manager that was taken for dead.
        owner: NodeId,
    },
    /// This manager has the worker lists of all its peers and may call itself active.
    WorkersSynced,
    /// A report about a worker that another manager owns by now was refused.
    NotOwner {
        /// The worker that was reported.
        worker: NodeId,
        /// The manager with the higher owner token.
        owner: NodeId,
    },
}
