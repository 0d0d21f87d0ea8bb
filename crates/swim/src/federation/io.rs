//! What goes into the federation core, what comes out, and what crosses between clusters.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Now};

use crate::claim::Incarnation;
use crate::embedded::GateLoad;
use crate::load::LoadLevel;

/// Name of a cluster: a datacenter, or the gates. Cheap to copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterName(pub Arc<str>);

impl ClusterName {
    /// A name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }
}

/// Who sends a message between clusters. Incarnations of different clusters are never compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossSender {
    /// Name of the sender's cluster.
    pub cluster: ClusterName,
    /// Id of the sender in it.
    pub node: NodeId,
    /// Where answers go.
    pub addr: SocketAddr,
    /// The boot of its process; answers of a lower one are dropped.
    pub boot: BootEpoch,
    /// Its incarnation in its own cluster.
    pub incarnation: Incarnation,
}

/// One message between clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossMessage {
    /// A member of the other cluster.
    pub from: CrossSender,
    /// A probe or its answer.
    pub body: CrossBody,
}

/// What a message between clusters says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrossBody {
    /// Is your cluster there? Another node at that address does not answer.
    XProbe {
        /// Number at the sender.
        seq: u32,
        /// Whom it is meant for; nobody in particular before the id is known.
        target: Option<NodeId>,
    },
    /// It is, and this is how it is.
    XAck {
        /// Number of the probe answered.
        seq: u32,
        /// The cluster in one look, if the sender knows.
        aggregate: Option<Arc<Aggregate>>,
    },
}

/// A cluster in one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// Said by a manager.
    Datacenter(DatacenterLoad),
    /// Said by a gate.
    Gates(GateLoad),
}

impl Aggregate {
    /// The log's term: an aggregate of an older one is stale.
    pub fn term(&self) -> u64 {
        match self {
            Aggregate::Datacenter(load) => load.term,
            Aggregate::Gates(load) => load.term,
        }
    }
}

/// Managers that one answer names; a group has fewer voters.
pub const MANAGERS_MAX: usize = 16;

/// A datacenter in one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatacenterLoad {
    /// Term of its log.
    pub term: u64,
    /// Its cluster leader, if there is one.
    pub leader: Option<NodeId>,
    /// Managers that live.
    pub managers_alive: u32,
    /// Voters of its log, whether they live or not.
    pub managers_total: u32,
    /// Where its managers are, at most [`MANAGERS_MAX`] of them: whom to probe and to write to from now on.
    pub managers: Vec<(NodeId, SocketAddr)>,
    /// Workers it knows.
    pub workers_total: u32,
    /// Workers that may get work.
    pub workers_healthy: u32,
    /// Workers under pressure.
    pub workers_degraded: u32,
    /// Cores of all workers.
    pub cores_total: u32,
    /// Cores nothing runs on.
    pub cores_available: u32,
    /// Health multiplier of the manager that answers.
    pub lhm: u8,
    /// How hard it pushes back.
    pub backpressure: LoadLevel,
}

/// Something the federation core has to deal with.
#[derive(Clone, Debug)]
pub enum FederationInput {
    /// A message arrived as a datagram.
    Message(CrossMessage),
    /// A message arrived on a connection; its answer goes the same way.
    Stream(CrossMessage),
    /// A timer has come.
    Timer(FederationTimer),
    /// The host wants something.
    Command(FederationCommand),
}

/// What the host wants.
#[derive(Clone, Debug)]
pub enum FederationCommand {
    /// Watch this cluster at these addresses, or replace the addresses of one that is watched. An address whose node is
    /// not known yet is probed by address only.
    Watch {
        /// The name that its members answer under.
        cluster: ClusterName,
        /// Addresses to probe, with the node at each if its id is known.
        members: Vec<(SocketAddr, Option<NodeId>)>,
    },
    /// Watch it no longer.
    Forget(ClusterName),
    /// What this node's answers say about its own cluster.
    SetAggregate(Aggregate),
    /// This node's incarnation in its own cluster changed.
    SetIncarnation(Incarnation),
}

/// Something the host has to do.
#[derive(Clone, Debug)]
pub enum FederationAction {
    /// Send a message over a connection, opened for it if there is none: a cluster that does not answer datagrams may still
    /// be there.
    SendStream {
        /// Where to connect to.
        to: SocketAddr,
        /// The node there, if its id is known.
        node: Option<NodeId>,
        /// A probe or its answer.
        message: CrossMessage,
    },
    /// Send a message as a datagram.
    Send {
        /// To whom; the node may be unknown.
        to: SocketAddr,
        /// Its id, if known.
        node: Option<NodeId>,
        /// A probe, or the answer to one.
        message: CrossMessage,
    },
    /// Give the timer back at that time.
    SetTimer {
        /// A time of the clock that the core is called with.
        at: Now,
        /// What to give back.
        timer: FederationTimer,
    },
    /// Tell the layers above.
    Event(FederationEvent),
}

/// The only timer: a tick. The number tells the wanted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FederationTimer(pub u32);

/// What happened. Evidence; what a datacenter's class is, the log decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FederationEvent {
    /// A cluster answers again, or for the first time.
    Reachable {
        /// The cluster that is watched.
        cluster: ClusterName,
    },
    /// A cluster has not answered in time.
    Suspected {
        /// The cluster that is watched.
        cluster: ClusterName,
        /// For how long, excluding the lateness of this node's own ticks.
        silent: Duration,
    },
    /// A cluster has been silent for too long.
    Unreachable {
        /// The cluster that is watched.
        cluster: ClusterName,
        /// For how long, excluding the lateness of this node's own ticks.
        silent: Duration,
    },
    /// A cluster says something new about itself.
    AggregateChanged {
        /// The cluster that is watched.
        cluster: ClusterName,
        /// The newest aggregate that one of its members sent.
        aggregate: Arc<Aggregate>,
    },
    /// Too many clusters fell silent together: this node assumes that it is itself cut off and delays its judgement.
    JudgementHeld {
        /// Clusters suspected.
        suspected: usize,
        /// Clusters watched.
        total: usize,
    },
    /// Judgement goes on.
    JudgementResumed {
        /// Whether it ran into its limit rather than being resolved.
        timed_out: bool,
    },
}
