//! Datagrams: what members of one cluster say, and probes between clusters.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_swim::federation::{ClusterName, CrossBody, CrossMessage, CrossSender};
use hyperscale_swim::{Datagram, Message, Sender};
use hyperscale_types::{NodeId, Role};
use hyperscale_wire::counters::Counters;
use hyperscale_wire::kind::Envelope;
use hyperscale_wire::messages::{self, Ack, Gossip, Nack, PingReq, Probe, XAck, XProbe, gossip};
use hyperscale_wire::speak::permit;
use prost::Message as _;

use crate::field::{address, address_out, name, node};
use crate::state::{aggregate, aggregate_out, embedded, embedded_out};
use crate::update::{members, members_out, sender, sender_out, workers, workers_out};
use crate::{Unreadable, Versions};

/// What a datagram or a stream said.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard<M = Datagram> {
    /// Something for the membership core.
    Member(M),
    /// Something for the federation core, and the role in which it was said.
    Cross(CrossMessage, Role),
}

/// The bytes of a datagram between members, to be sealed; in the version that all of them read.
pub fn encode(datagram: &Datagram, versions: Versions) -> Vec<u8> {
    let body = match datagram.message {
        Message::Probe { seq, target } => {
            Some(gossip::Body::Probe(Probe { sequence: seq, target: target.get() }))
        }
        Message::Ack { seq } => Some(gossip::Body::Ack(Ack { sequence: seq })),
        Message::Nack { seq } => Some(gossip::Body::Nack(Nack { sequence: seq })),
        Message::PingReq { seq, target, addr, nack_after } => Some(gossip::Body::PingReq(PingReq {
            sequence: seq,
            target: target.get(),
            target_address: address_out(addr),
            nack_after_ns: u64::try_from(nack_after.as_nanos()).unwrap_or(u64::MAX),
        })),
        Message::Gossip => None,
    };
    let message = Gossip {
        version: Some(versions.to_message()),
        from: Some(sender_out(&datagram.from)),
        body,
        state: datagram.embedded.as_deref().map(embedded_out),
        members: members_out(&datagram.members),
        workers: workers_out(&datagram.workers),
    };
    message.encode_to_vec()
}

/// The bytes of a datagram between clusters, to be sealed. `role` is what its sender is.
pub fn encode_cross(message: &CrossMessage, role: Role, versions: Versions) -> Vec<u8> {
    let (from, body) = cross_out(message, role);
    let body = match body {
        CrossOut::Probe(probe) => gossip::Body::Xprobe(probe),
        CrossOut::Ack(ack) => gossip::Body::Xack(ack),
    };
    let message = Gossip {
        version: Some(versions.to_message()),
        from: Some(from),
        body: Some(body),
        ..Gossip::default()
    };
    message.encode_to_vec()
}

/// A probe between clusters, or its answer, on its way out: the same in datagrams and on streams.
pub(crate) enum CrossOut {
    Probe(XProbe),
    Ack(XAck),
}

pub(crate) fn cross_out(message: &CrossMessage, role: Role) -> (messages::Sender, CrossOut) {
    let CrossSender { cluster, node, addr, boot, incarnation } = &message.from;
    let peer = hyperscale_swim::Peer { node: *node, addr: *addr, role };
    let from = sender_out(&Sender { peer, boot: *boot, incarnation: *incarnation });
    let cluster = cluster.0.as_ref().to_owned();
    let body = match &message.body {
        CrossBody::XProbe { seq, target } => {
            CrossOut::Probe(XProbe { sequence: *seq, cluster, target: target.map_or(0, NodeId::get) })
        }
        CrossBody::XAck { seq, aggregate } => {
            let aggregate = aggregate.as_deref().map(aggregate_out);
            CrossOut::Ack(XAck { sequence: *seq, cluster, aggregate })
        }
    };
    (from, body)
}

/// Who sealed a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedBy {
    /// The node whose key it was sealed with.
    pub node: NodeId,
    /// The role that its certificate proves, where there are certificates: it speaks in no other one. Comes with what
    /// [`Datagrams::open`](hyperscale_wire::datagram::Datagrams::open) delivers.
    pub proven: Option<Role>,
}

impl From<NodeId> for SealedBy {
    fn from(node: NodeId) -> Self {
        Self { node, proven: None }
    }
}

impl SealedBy {
    /// Whether it may say of itself that it has this role.
    fn is(self, role: Role) -> bool {
        self.proven.is_none_or(|proven| proven == role)
    }
}

/// Reads the payload of a datagram that `sealed_by` has sealed, as a node with the role `ours`. What is refused is counted.
pub fn decode(
    payload: &[u8],
    sealed_by: impl Into<SealedBy>,
    ours: Role,
    versions: Versions,
    counters: &mut Counters,
) -> Result<Heard, Unreadable> {
    read(payload, sealed_by.into(), ours, versions).inspect_err(|error| counters.refuse(error.refusal()))
}

fn read(payload: &[u8], sealed_by: SealedBy, ours: Role, versions: Versions) -> Result<Heard, Unreadable> {
    let message = Gossip::decode(payload).map_err(|_| Unreadable::Malformed)?;
    versions.check(message.version.unwrap_or_default())?;
    let kind = message.kind().ok_or(Unreadable::Unknown("body"))?;
    let from = sender(message.from, sealed_by.node)?;
    if !sealed_by.is(from.peer.role) {
        return Err(Unreadable::OtherRole);
    }
    permit(from.peer.role, ours, kind)?;
    let said = match message.body {
        Some(gossip::Body::Xprobe(probe)) => return xprobe(from, probe),
        Some(gossip::Body::Xack(ack)) => return xack(from, ack),
        Some(gossip::Body::Probe(probe)) => {
            Message::Probe { seq: probe.sequence, target: node("probe.target", probe.target)? }
        }
        Some(gossip::Body::Ack(ack)) => Message::Ack { seq: ack.sequence },
        Some(gossip::Body::Nack(nack)) => Message::Nack { seq: nack.sequence },
        Some(gossip::Body::PingReq(request)) => Message::PingReq {
            seq: request.sequence,
            target: node("ping_req.target", request.target)?,
            addr: address("ping_req.target_address", &request.target_address)?,
            nack_after: Duration::from_nanos(request.nack_after_ns),
        },
        None => Message::Gossip,
    };
    // A state that names a word of a newer version is left out; the rest of the datagram still counts.
    let state = match message.state.map(embedded) {
        None | Some(Err(Unreadable::Unknown(_))) => None,
        Some(state) => Some(Arc::new(state?)),
    };
    let members = members(message.members)?;
    if members.iter().any(|update| update.peer.node == sealed_by.node && !sealed_by.is(update.peer.role)) {
        return Err(Unreadable::OtherRole);
    }
    Ok(Heard::Member(Datagram {
        from,
        message: said,
        embedded: state,
        members,
        workers: workers(message.workers)?,
    }))
}

pub(crate) fn xprobe<M>(from: Sender, probe: XProbe) -> Result<Heard<M>, Unreadable> {
    let body = CrossBody::XProbe { seq: probe.sequence, target: NodeId::new(probe.target) };
    cross(from, probe.cluster, body)
}

pub(crate) fn xack<M>(from: Sender, ack: XAck) -> Result<Heard<M>, Unreadable> {
    let aggregate = ack.aggregate.map(aggregate).transpose()?.map(Arc::new);
    cross(from, ack.cluster, CrossBody::XAck { seq: ack.sequence, aggregate })
}

fn cross<M>(from: Sender, cluster: String, body: CrossBody) -> Result<Heard<M>, Unreadable> {
    let Sender { peer, boot, incarnation } = from;
    let cluster: String = name("cluster", cluster)?;
    if cluster.is_empty() {
        return Err(Unreadable::Missing("cluster"));
    }
    let cluster = ClusterName::new(&cluster);
    let from = CrossSender { cluster, node: peer.node, addr: peer.addr, boot, incarnation };
    Ok(Heard::Cross(CrossMessage { from, body }, peer.role))
}
