//! What the transport tells its host.

use std::net::SocketAddr;

use hyperscale_types::{BootEpoch, NodeId, Role};
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Incoming;
use hyperscale_wire::counters;
use hyperscale_wire::hello::Peer;
use hyperscale_wire::secret::Secret;

/// A node, or whoever is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// The node with this id.
    Node(NodeId),
    /// The node at this address.
    Address(SocketAddr),
}

/// Something that happened on connections. Events of one connection come in their order; those of different connections
/// in any.
#[derive(Debug)]
pub enum Event {
    /// A connection is open.
    PeerUp {
        /// The peer, as its hello says.
        peer: Peer,
        /// What the connection is for.
        lane: Lane,
        /// The other end: where this node dialled, or the port that the peer happened to connect from.
        address: SocketAddr,
        /// Whether this node dialled.
        is_dialled: bool,
        /// What both ends exported from TLS, to seal datagrams with. Both ends of a pair of nodes have to take it from the
        /// same connection.
        exported: Option<Secret>,
    },
    /// An open connection has ended.
    PeerDown {
        /// The node at its other end.
        node: NodeId,
        /// What it was for.
        lane: Lane,
        /// The life of the node it was with.
        boot: BootEpoch,
        /// Whether it was the last one to this life of the node on this lane.
        is_last: bool,
    },
    /// A message of a peer.
    Incoming {
        /// The node at the other end.
        from: NodeId,
        /// What it is: claimed with the shared secret, proven with certificates.
        role: Role,
        /// The message; never [`Incoming::Admitted`].
        message: Incoming,
    },
    /// Something that was handed over did not leave, or its connection broke and it is not known whether it arrived.
    Undelivered {
        /// The destination that was given.
        to: Destination,
        /// What it would have been sent on.
        lane: Lane,
    },
    /// A port refused a connection, or an open one was reset: evidence for the failure detector.
    ConnectionFailed {
        /// The node, as far as it is known.
        node: NodeId,
        /// The life of it that the connection was with; unknown when none came about.
        boot: Option<BootEpoch>,
    },
}

/// Why something was not taken. It counts as undelivered; nothing more is said about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// Nobody has said where the node is, and it is not connected. Retry after [`know`](super::TransportHandle::know).
    #[error("no address of the node is known")]
    NoAddress,
    /// The peer takes less than is sent to it. Retry later.
    #[error("the queue to the peer is full")]
    Full,
    /// There are too many links. Retry later.
    #[error("too many connections are open or being opened")]
    TooManyLinks,
    /// The transport has stopped.
    #[error("the transport has stopped")]
    Stopped,
}

/// What happened so often, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Every refusal by its reason, and uses of the previous secret.
    pub wire: counters::Counters,
    /// Connections that others opened.
    pub accepted: u64,
    /// Connections that this node opened.
    pub dialled: u64,
    /// Dials that did not lead to a connection.
    pub dials_failed: u64,
    /// Connections that were closed because there are too many, or because they are of a former life of their peer.
    pub links_refused: u64,
    /// Messages that were not taken.
    pub not_sent: u64,
    /// Messages that were taken and did not leave, or may not have arrived; at least one per broken connection.
    pub undelivered: u64,
}
