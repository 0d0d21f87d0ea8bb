use bytes::Bytes;
use hyperscale_types::{NodeId, Now, Role};

use super::*;
use crate::counters::Refusal;
use crate::domain::Domain;
use crate::entropy::SeededEntropy;
use crate::messages::{BlobPut, NodeRef, Ping, RaftBatch};
use crate::secret::{Secret, Secrets};

/// A node with everything that its connections share.
struct Node {
    keys: Keys,
    local: Local,
}

impl Node {
    fn new(number: u64, role: Role) -> Self {
        let domain = Domain::new("default", "").unwrap();
        let secrets = Secrets { current: Secret::development(), previous: None };
        let role = crate::messages::Role::from(role);
        let node = NodeRef { node_id: number, boot_epoch: 1, role: role.into(), ..NodeRef::default() };
        let local = Local {
            domain: domain.clone(),
            node,
            versions: (1, 1),
            features: Vec::new(),
            build: "test".into(),
        };
        Self { keys: Keys { domain, secrets }, local }
    }

    fn shared(&self) -> Shared<'_> {
        Shared { keys: &self.keys, local: &self.local }
    }

    fn connect(&self, lane: Lane, to: u64) -> Connection {
        let entropy = &mut SeededEntropy::new(1);
        Connection::connect(self.shared(), lane, NodeId::new(to), SecretChoice::Current, entropy).unwrap()
    }
}

/// Everything that one end has to say reaches the other.
fn pass(from: &mut Connection, to: &mut Connection, node: &Node) -> Result<Vec<Incoming>, ConnectionError> {
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    while from.transmit(Now::ZERO, &mut bytes) {}
    for part in bytes.chunks(10_000) {
        to.receive(Now::ZERO, node.shared(), part, &mut SeededEntropy::new(2), &mut out)?;
    }
    Ok(out)
}

/// Back and forth until nobody has anything to say; what the accepting side heard.
fn talk([a, b]: [&mut Connection; 2], [first, second]: [&Node; 2]) -> Vec<Incoming> {
    let mut heard = Vec::new();
    for _ in 0..1_000 {
        heard.extend(pass(a, b, second).unwrap());
        pass(b, a, first).unwrap();
    }
    heard
}

fn ping(sequence: u64) -> Outgoing {
    let body = Some(control::Body::Ping(Ping { sequence }));
    Outgoing::Control(Control { body, ..Control::default() })
}

#[test]
fn both_sides_are_admitted_and_what_was_said_early_arrives_after_the_hello() {
    let (manager, other) = (Node::new(1, Role::Manager), Node::new(2, Role::Manager));
    let (mut a, mut b) = (manager.connect(Lane::Control, 2), Connection::accept());
    a.send(&ping(7)).unwrap();
    assert!(pass(&mut a, &mut b, &other).unwrap().is_empty(), "the handshake comes first");
    assert!(pass(&mut b, &mut a, &manager).unwrap().is_empty());
    let heard = pass(&mut a, &mut b, &other).unwrap();
    assert!(matches!(&heard[0], Incoming::Admitted(peer) if peer.node.get() == 1 && peer.newest == 1));
    assert!(
        matches!(&heard[1], Incoming::Control(Control { body: Some(control::Body::Ping(it)), .. }) if it.sequence == 7)
    );
    let heard = pass(&mut b, &mut a, &manager).unwrap();
    assert!(matches!(&heard[0], Incoming::Admitted(peer) if peer.node.get() == 2));
    b.send(&ping(8)).unwrap();
    assert_eq!(pass(&mut b, &mut a, &manager).unwrap().len(), 1, "and in the other direction");
}

#[test]
fn transfer_arrives_whole_and_one_more_than_may_wait_is_refused() {
    let (manager, other) = (Node::new(1, Role::Manager), Node::new(2, Role::Manager));
    let (mut a, mut b) = (manager.connect(Lane::Bulk, 2), Connection::accept());
    let data: Bytes = (0..3_000_000u32).map(|number| number as u8).collect::<Vec<_>>().into();
    let head = Bulk { body: Some(bulk::Body::BlobPut(BlobPut::default())), ..Bulk::default() };
    let transfer = Outgoing::Transfer(head, data.clone());
    for _ in 0..TRANSFERS_MAX {
        a.send(&transfer).unwrap();
    }
    assert_eq!(a.send(&transfer), Err(SendError::Full));
    let arrived = talk([&mut a, &mut b], [&manager, &other]);
    let whole = arrived.iter().filter(|it| matches!(it, Incoming::Transfer(_, bytes) if *bytes == data));
    assert_eq!(whole.count(), TRANSFERS_MAX);
    a.send(&transfer).unwrap();
}

#[test]
fn hello_that_does_not_fit_is_refused_and_its_sender_is_told() {
    let receiver = Node::new(2, Role::Manager);
    let sender = Node::new(1, Role::Manager);
    let (mut a, mut b) = (sender.connect(Lane::Control, 9), Connection::accept());
    pass(&mut a, &mut b, &receiver).unwrap();
    pass(&mut b, &mut a, &sender).unwrap();
    assert!(pass(&mut a, &mut b, &receiver).is_err() && b.is_closed());
    assert_eq!(b.counters().refused(Refusal::HelloMisdirected), 1);
    assert!(matches!(pass(&mut b, &mut a, &sender), Err(ConnectionError::Refused(_))));
    assert!(a.is_closed() && a.send(&ping(1)).is_err());
}

#[test]
fn role_that_may_not_say_something_ends_its_connection() {
    let (worker, manager) = (Node::new(1, Role::Worker), Node::new(2, Role::Manager));
    let (mut a, mut b) = (worker.connect(Lane::Control, 2), Connection::accept());
    let body = Some(control::Body::Raft(RaftBatch::default()));
    a.send(&Outgoing::Control(Control { body, ..Control::default() })).unwrap();
    pass(&mut a, &mut b, &manager).unwrap();
    pass(&mut b, &mut a, &worker).unwrap();
    assert!(matches!(
        pass(&mut a, &mut b, &manager),
        Err(ConnectionError::Hello(HelloError::NotPermitted(_)))
    ));
    assert_eq!(b.counters().refused(Refusal::NotPermitted), 1);
}

#[test]
fn certificate_of_another_node_does_not_open_a_connection() {
    let (worker, manager) = (Node::new(1, Role::Worker), Node::new(2, Role::Manager));
    let proven = |number, role| CertificateIdentity {
        cluster: "default".into(),
        role,
        node: NodeId::new(number).unwrap(),
    };
    // A worker's certificate, and a hello that says manager.
    let liar = Node::new(1, Role::Manager);
    let mut a = Connection::over_tls(liar.shared(), Lane::Control, proven(2, Role::Manager), true);
    let mut b = Connection::over_tls(manager.shared(), Lane::Control, proven(1, Role::Worker), false);
    assert!(pass(&mut a, &mut b, &manager).is_err());
    let mut a = Connection::over_tls(worker.shared(), Lane::Control, proven(2, Role::Manager), true);
    let mut b = Connection::over_tls(manager.shared(), Lane::Control, proven(1, Role::Worker), false);
    assert!(matches!(&pass(&mut a, &mut b, &manager).unwrap()[0], Incoming::Admitted(_)));
}

#[test]
fn connection_tells_its_lane_and_secret_and_a_truncated_end_is_counted() {
    let (first, second) = (Node::new(1, Role::Manager), Node::new(2, Role::Manager));
    let (mut a, mut b) = (first.connect(Lane::Bulk, 2), Connection::accept());
    assert_eq!((a.lane(), b.lane(), b.secret()), (Some(Lane::Bulk), None, None));
    talk([&mut a, &mut b], [&first, &second]);
    assert!(a.is_open() && b.is_open());
    assert_eq!((b.lane(), b.secret()), (Some(Lane::Bulk), Some(SecretChoice::Current)));
    a.finish().unwrap();
    b.receive(Now::ZERO, second.shared(), &[0, 1], &mut SeededEntropy::new(3), &mut Vec::new()).unwrap();
    assert!(b.finish().is_err() && b.is_closed());
    assert_eq!(b.counters().refused(Refusal::FrameTruncated), 1);
}
