//! Messages between replicas survive the wire, and what is not theirs is refused or left out.

use bytes::Bytes;
use hyperscale_consensus::replica::ReplicaMessage;
use hyperscale_consensus::{
    Addresses, BlobId, Configuration, DirectoryId, Entry, EntryBody, Leader, Member, Message, MessageKind,
    PeerState, ProposeError, QuorumError, RaftId, Reach, Report, Snapshot,
};
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::messages::{Control, Ping, control};

use crate::Unreadable;
use crate::log::{from_incoming, to_outgoing};

fn id(number: u64) -> RaftId {
    RaftId::new(number).unwrap()
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn append() -> Message {
    let body = EntryBody::Command(Bytes::from_static(b"command"));
    let entries = vec![Entry { index: 8, term: 3, body }];
    let empty = Message::of_snapshot(id(1), id(2), 3, Snapshot::default());
    Message { kind: MessageKind::Append, index: 7, log_term: 3, entries, snapshot: None, ..empty }
}

fn snapshot() -> Message {
    let configuration = Configuration { voters: vec![id(1), id(2)], ..Configuration::default() };
    let state = Bytes::from(vec![7; 100_000]);
    Message::of_snapshot(id(1), id(2), 4, Snapshot { index: 9, term: 3, configuration, state })
}

fn samples() -> Vec<ReplicaMessage> {
    let reach = Reach { reachable: 1, needed: 2 };
    let at = |port| Some(std::net::SocketAddr::from(([10, 0, 0, 1], port)));
    let addresses = Addresses { peer: at(7101).unwrap(), api: at(7100) };
    let member = Member {
        raft_id: id(1),
        node: node(3),
        directory: DirectoryId([4; 16]),
        addresses,
        boot: BootEpoch(5),
    };
    let report = |state| Report { node: node(5), directory: DirectoryId([6; 16]), addresses, state };
    let errors = [
        ProposeError::NotLeader { leader: None },
        ProposeError::NotLeader { leader: Some(Leader { node: node(3), addresses }) },
        ProposeError::NoQuorum { reachable: 1, needed: 2 },
        QuorumError::Unavailable(reach).into(),
        QuorumError::Timeout(reach).into(),
        QuorumError::CircuitOpen(reach).into(),
        ProposeError::Transferring,
        ProposeError::Overloaded,
        ProposeError::Size,
        ProposeError::Replaced,
        ProposeError::Halted,
        ProposeError::NotStarted,
    ];
    let mut samples = vec![
        ReplicaMessage::Raft(append().into()),
        ReplicaMessage::Raft(snapshot().into()),
        ReplicaMessage::BootstrapQuery { directory: DirectoryId([6; 16]) },
        ReplicaMessage::BootstrapReport(report(PeerState::Empty)),
        ReplicaMessage::BootstrapReport(report(PeerState::Acknowledged(vec![member]))),
        ReplicaMessage::BootstrapReport(report(PeerState::Running {
            members: vec![member],
            learners: vec![id(1)],
        })),
        ReplicaMessage::Propose { number: 7, command: Bytes::from_static(b"command") },
        ReplicaMessage::Proposed { number: 7, result: Ok((9, Bytes::from_static(b"outcome"))) },
        ReplicaMessage::ReadIndex { number: 8 },
        ReplicaMessage::ReadIndexAnswer { number: 8, result: Ok(9) },
        ReplicaMessage::BlobPut { blob: BlobId::of(b"blob"), bytes: Bytes::from_static(b"blob") },
        ReplicaMessage::BlobStored { blob: BlobId::of(b"blob") },
        ReplicaMessage::BlobGet { blob: BlobId::of(b"blob") },
        ReplicaMessage::BlobData { blob: BlobId::of(b"blob"), bytes: Bytes::from_static(b"blob") },
    ];
    for error in errors {
        samples.push(ReplicaMessage::Proposed { number: 7, result: Err(error) });
        samples.push(ReplicaMessage::ReadIndexAnswer { number: 7, result: Err(error) });
    }
    samples
}

fn carried(outgoing: Outgoing) -> Incoming {
    match outgoing {
        Outgoing::Control(message) => Incoming::Control(message),
        Outgoing::Bulk(message) => Incoming::Bulk(message),
        Outgoing::Transfer(head, data) => Incoming::Transfer(head, data),
    }
}

#[test]
fn everything_that_replicas_say_is_read_back() {
    for message in samples() {
        let outgoing = to_outgoing("eu-1", message.clone());
        let is_bulk = message.lane() == hyperscale_wire::class::Lane::Bulk;
        assert_eq!(matches!(outgoing, Outgoing::Transfer(..) | Outgoing::Bulk(_)), is_bulk);
        assert_eq!(from_incoming("eu-1", node(5), carried(outgoing)), Ok(vec![message]));
    }
}

#[test]
fn messages_of_another_group_and_cut_snapshots_are_refused() {
    for message in [
        ReplicaMessage::Raft(append().into()),
        ReplicaMessage::Raft(snapshot().into()),
        ReplicaMessage::ReadIndex { number: 1 },
    ] {
        let incoming = carried(to_outgoing("eu-1", message));
        assert_eq!(from_incoming("us-1", node(5), incoming), Err(Unreadable::OtherGroup));
    }
    let Outgoing::Transfer(head, data) = to_outgoing("eu-1", ReplicaMessage::Raft(snapshot().into())) else {
        panic!()
    };
    let cut = Incoming::Transfer(head, data.slice(1..));
    assert_eq!(from_incoming("eu-1", node(5), cut), Err(Unreadable::OutOfRange("blob")));
}

#[test]
fn messages_that_are_not_for_the_log_are_left_to_others() {
    let body = Some(control::Body::Ping(Ping { sequence: 1 }));
    let ping = Incoming::Control(Control { body, ..Control::default() });
    assert_eq!(from_incoming("eu-1", node(5), ping), Ok(Vec::new()));
}
