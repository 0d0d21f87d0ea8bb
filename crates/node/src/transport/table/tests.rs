use hyperscale_types::Role;
use hyperscale_wire::messages::{Control, NodeRef, Ping, control};

use super::*;

fn table() -> Table {
    Table::new(Timing::default(), 1)
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn peer(number: u64, boot: u64) -> Peer {
    Peer {
        node: node(number),
        boot: BootEpoch(boot),
        role: Role::Manager,
        version: 1,
        newest: 1,
        features: Vec::new(),
        said: NodeRef { peer_address: "127.0.0.1:7001".to_owned(), ..NodeRef::default() },
    }
}

fn message() -> Outgoing {
    let body = Some(control::Body::Ping(Ping { sequence: 1 }));
    Outgoing::Control(Control { body, ..Control::default() })
}

fn address() -> SocketAddr {
    "127.0.0.1:7001".parse().unwrap()
}

#[test]
fn what_is_said_takes_the_dialled_link_and_else_the_one_of_the_peer() {
    let (mut table, to) = (table(), Destination::Node(node(1)));
    let (_, mut accepted) = table.admit_accepted(&peer(1, 1), Lane::Control).unwrap();
    assert!(matches!(table.offer(to, Lane::Control, message()), Offered::Taken));
    assert!(accepted.try_recv().is_ok());
    let mut dial = table.begin(to, Lane::Control, None).unwrap();
    assert_eq!(dial.address, address(), "the hello said where it listens");
    assert!(table.admit_dialled(dial.id, &peer(1, 1)));
    table.offer(to, Lane::Control, message());
    assert!(dial.messages.try_recv().is_ok() && accepted.try_recv().is_err());
    assert!(table.remove(dial.id), "the other one is still open");
    assert!(matches!(table.offer(to, Lane::Control, message()), Offered::Taken));
}

#[test]
fn later_life_of_a_peer_ends_links_to_the_former_one_and_is_not_ended_by_it() {
    let mut table = table();
    let (_, mut former) = table.admit_accepted(&peer(1, 1), Lane::Bulk).unwrap();
    let (_, mut present) = table.admit_accepted(&peer(1, 2), Lane::Control).unwrap();
    assert_eq!(former.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
    assert!(table.admit_accepted(&peer(1, 1), Lane::Control).is_none());
    assert_eq!(present.try_recv(), Err(mpsc::error::TryRecvError::Empty));
    assert!(table.is_connected(node(1), Lane::Control) && !table.is_connected(node(1), Lane::Bulk));
}

#[test]
fn peer_that_connects_again_and_again_keeps_its_newest_links_only() {
    let mut table = table();
    let queues: Vec<_> = (0..ACCEPTED_PER_PEER_MAX + 2)
        .map(|_| table.admit_accepted(&peer(1, 1), Lane::Control).unwrap().1)
        .collect();
    let ended =
        queues.into_iter().map(|mut queue| queue.try_recv() == Err(mpsc::error::TryRecvError::Disconnected));
    assert_eq!(ended.collect::<Vec<_>>(), [true, true, false, false, false, false]);
}

#[test]
fn full_queue_and_missing_address_are_told() {
    let (mut table, to) = (table(), Destination::Node(node(1)));
    assert!(matches!(table.begin(to, Lane::Control, Some(message())), Err(NotSent::NoAddress)));
    table.know(node(1), address());
    let _dial = table.begin(to, Lane::Control, Some(message())).unwrap();
    for _ in 1..LINK_QUEUE_MAX {
        assert!(matches!(table.offer(to, Lane::Control, message()), Offered::Taken));
    }
    assert!(matches!(table.offer(to, Lane::Control, message()), Offered::Full));
}

#[test]
fn dialled_address_leads_to_the_node_that_answered_there() {
    let mut table = table();
    let dial = table.begin(Destination::Address(address()), Lane::Control, None).unwrap();
    assert!(table.has_link(Destination::Address(address()), Lane::Control));
    assert!(!table.has_link(Destination::Node(node(1)), Lane::Control));
    assert!(table.admit_dialled(dial.id, &peer(1, 1)));
    assert!(table.has_link(Destination::Node(node(1)), Lane::Control));
    table.evict(node(1));
    assert!(!table.has_link(Destination::Address(address()), Lane::Control));
    assert!(table.links.is_empty() && table.by_node.is_empty() && table.by_address.is_empty());
}
