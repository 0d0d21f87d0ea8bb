//! Connections between nodes on loopback.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyperscale_node::transport::{Destination, EVENTS_MAX, Event, NotSent, Timing};
use hyperscale_types::BootEpoch;
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::hello::PROTOCOL_MAX;
use hyperscale_wire::messages::{BlobPut, BlobRef, Bulk, Control, Propose, RaftBatch, bulk, control};
use hyperscale_wire::secret::{Secret, Secrets};

use super::support::{Peer, development, fast, foreign, id, listen, until};

fn numbered(call_id: u64) -> Outgoing {
    let body = Some(control::Body::Raft(RaftBatch { group: "dc".to_owned(), messages: Vec::new() }));
    Outgoing::Control(Control { call_id, body, ..Control::default() })
}

fn call_of(event: Event) -> Option<u64> {
    match event {
        Event::Incoming { message: Incoming::Control(message), .. } => Some(message.call_id),
        _ => None,
    }
}

#[tokio::test]
async fn messages_arrive_in_order_and_responses_take_the_same_connection() {
    let (mut a, mut b) = (Peer::start(1), Peer::start(2));
    a.handle.know(b.node, b.address);
    for number in 1..=100 {
        a.handle.send(b.node, numbered(number)).unwrap();
    }
    for number in 1..=100 {
        assert_eq!(b.wait(call_of).await, number);
    }
    b.handle.send(id(1), numbered(7)).unwrap();
    assert_eq!(a.wait(call_of).await, 7);
    assert_eq!(b.handle.counters().dialled, 0, "the connection of the peer is used");
    a.stop().await;
    b.stop().await;
}

#[tokio::test]
async fn both_sides_dial_at_once_and_nothing_is_lost() {
    let (mut a, mut b) = (Peer::start(1), Peer::start(2));
    a.handle.know(b.node, b.address);
    b.handle.know(a.node, a.address);
    for number in 1..=200 {
        a.handle.send(b.node, numbered(number)).unwrap();
        b.handle.send(a.node, numbered(number)).unwrap();
    }
    for number in 1..=200 {
        assert_eq!((a.wait(call_of).await, b.wait(call_of).await), (number, number));
    }
    assert_eq!((a.handle.counters().undelivered, b.handle.counters().undelivered), (0, 0));
}

#[tokio::test]
async fn hello_says_who_is_at_an_address() {
    let (mut a, mut b) = (Peer::start(1), Peer::start(2));
    a.handle.send_to_addr(b.address, numbered(1)).unwrap();
    let peer = a.wait(|event| match event {
        Event::PeerUp { peer, is_dialled: true, .. } => Some(peer),
        _ => None,
    });
    let peer = peer.await;
    assert_eq!((peer.node, peer.boot, peer.said.peer_address), (b.node, BootEpoch(1), b.address.to_string()));
    assert_eq!(b.wait(call_of).await, 1);
    a.handle.send(b.node, numbered(2)).unwrap();
    assert_eq!(b.wait(call_of).await, 2);
    assert_eq!(a.handle.counters().dialled, 1);
    assert_eq!(a.handle.send(id(9), numbered(3)), Err(NotSent::NoAddress));
}

#[tokio::test]
async fn large_message_and_transfer_arrive_while_control_messages_keep_flowing() {
    let (mut a, mut b) = (Peer::start(1), Peer::start(2));
    a.handle.know(b.node, b.address);
    let blob = Bytes::from((0..8_u32 << 20).map(|at| ((at * 31) >> 7) as u8).collect::<Vec<_>>());
    let head = BlobPut {
        blob: Some(BlobRef { hash: Bytes::new(), length: blob.len() as u64 }),
        ..BlobPut::default()
    };
    let head = Bulk { body: Some(bulk::Body::BlobPut(head)), ..Bulk::default() };
    a.handle.send(b.node, Outgoing::Transfer(head, blob.clone())).unwrap();
    let command = Bytes::from(vec![7; (1 << 20) - 100]);
    let body = Propose { group: "dc".to_owned(), command: command.clone(), ..Propose::default() };
    let body = Some(control::Body::Propose(body));
    a.handle.send(b.node, Outgoing::Control(Control { call_id: 5, body, ..Control::default() })).unwrap();
    let (mut echoed, mut is_large, mut is_whole) = (100, false, false);
    a.handle.send(b.node, numbered(echoed)).unwrap();
    while !(is_large && is_whole && echoed >= 150) {
        match b.wait(Some).await {
            Event::Incoming { message: Incoming::Transfer(_, data), .. } => {
                assert_eq!(data, blob);
                is_whole = true;
            }
            Event::Incoming { message: Incoming::Control(message), .. } if message.call_id == 5 => {
                let Some(control::Body::Propose(propose)) = message.body else { panic!("not it") };
                assert_eq!(propose.command, command);
                is_large = true;
            }
            Event::Incoming { message: Incoming::Control(message), .. } => {
                assert_eq!(message.call_id, echoed);
                echoed += 1;
                a.handle.send(b.node, numbered(echoed)).unwrap();
            }
            _ => {}
        }
    }
    while a.events.try_recv().is_ok_and(|event| !matches!(event, Event::Undelivered { .. })) {}
    assert_eq!(a.handle.counters().undelivered, 0);
}

#[tokio::test]
async fn node_with_a_foreign_secret_is_refused_and_counted() {
    let stranger = Secrets { current: foreign(), previous: None };
    let (mut a, b) = (Peer::with(1, 1, stranger, fast()), Peer::start(2));
    a.handle.know(b.node, b.address);
    a.handle.send(b.node, numbered(1)).unwrap();
    let lost = a.wait(|event| match event {
        Event::Undelivered { to, lane } => Some((to, lane)),
        Event::PeerUp { .. } => panic!("it was let in"),
        _ => None,
    });
    assert_eq!(lost.await, (Destination::Node(b.node), Lane::Control));
    until(|| b.handle.counters().wire.refused(Refusal::HandshakeForged) == 1).await;
    assert!(!b.handle.is_connected(a.node, Lane::Control));
}

#[tokio::test]
async fn node_of_another_version_is_refused_and_counted_on_both_sides() {
    let newer = (PROTOCOL_MAX + 1, PROTOCOL_MAX + 2);
    let (mut a, b) = (Peer::speaking(1, newer), Peer::start(2));
    a.handle.know(b.node, b.address);
    a.handle.send(b.node, numbered(1)).unwrap();
    let lost = a.wait(|event| match event {
        Event::Undelivered { to, .. } => Some(to),
        Event::PeerUp { .. } => panic!("it was let in"),
        _ => None,
    });
    assert_eq!(lost.await, Destination::Node(b.node));
    until(|| b.handle.counters().wire.refused(Refusal::VersionMismatch) == 1).await;
    // The other way round the same is said.
    b.handle.know(a.node, a.address);
    b.handle.send(a.node, numbered(2)).unwrap();
    until(|| a.handle.counters().wire.refused(Refusal::VersionMismatch) >= 1).await;
    assert!(!b.handle.is_connected(a.node, Lane::Control));
}

#[tokio::test]
async fn while_keys_rotate_the_other_secret_is_tried_and_nothing_is_lost() {
    let both = Secrets { current: foreign(), previous: Some(Secret::development()) };
    let (a, mut b) = (Peer::with(1, 1, both, fast()), Peer::start(2));
    a.handle.know(b.node, b.address);
    for number in 1..=3 {
        a.handle.send(b.node, numbered(number)).unwrap();
    }
    for number in 1..=3 {
        assert_eq!(b.wait(call_of).await, number);
    }
    a.stop().await;
}

#[tokio::test]
async fn refused_port_is_reported_as_evidence_and_dialled_again_with_the_next_message() {
    let (mut a, (listener, address)) = (Peer::start(1), listen());
    drop(listener);
    a.handle.know(id(2), address);
    a.handle.send(id(2), numbered(1)).unwrap();
    let failed = a.wait(|event| match event {
        Event::ConnectionFailed { node, boot } => Some((node, boot)),
        _ => None,
    });
    assert_eq!(failed.await, (id(2), None));
    let listener = std::net::TcpListener::bind(address).unwrap();
    let mut b = Peer::on(listener, 2, 1, development(), fast());
    a.handle.send(id(2), numbered(2)).unwrap();
    assert_eq!(b.wait(call_of).await, 2);
}

#[tokio::test]
async fn restarted_peer_replaces_its_former_life() {
    let mut a = Peer::start(1);
    let mut b = Peer::with(2, 1, development(), fast());
    let address = b.address;
    a.handle.know(b.node, address);
    a.handle.send(b.node, numbered(1)).unwrap();
    assert_eq!(b.wait(call_of).await, 1);
    b.stop().await;
    let down = a.wait(|event| match event {
        Event::PeerDown { node, lane, boot, is_last } => Some((node, lane, boot, is_last)),
        _ => None,
    });
    assert_eq!(down.await, (id(2), Lane::Control, BootEpoch(1), true));
    let listener = std::net::TcpListener::bind(address).unwrap();
    let mut b = Peer::on(listener, 2, 2, development(), fast());
    a.handle.send(id(2), numbered(2)).unwrap();
    assert_eq!(b.wait(call_of).await, 2);
    let boot = a.wait(|event| match event {
        Event::PeerUp { peer, .. } => Some(peer.boot),
        _ => None,
    });
    assert_eq!(boot.await, BootEpoch(2));
}

#[tokio::test]
async fn garbage_and_half_open_connections_do_not_hurt() {
    let timing = Timing { handshake: Duration::from_millis(300), ..fast() };
    let (a, mut b) = (Peer::start(1), Peer::with(2, 1, development(), timing));
    let silent = TcpStream::connect(b.address).unwrap();
    let mut garbage = TcpStream::connect(b.address).unwrap();
    garbage.write_all(b"GET / HTTP/1.1\r\nhost: example.org\r\n\r\n").unwrap();
    let mut huge = TcpStream::connect(b.address).unwrap();
    huge.write_all(&[0xff; 64]).unwrap();
    a.handle.know(b.node, b.address);
    a.handle.send(b.node, numbered(1)).unwrap();
    assert_eq!(b.wait(call_of).await, 1);
    let refused = |refusal| b.handle.counters().wire.refused(refusal);
    until(|| refused(Refusal::FrameTooLarge) == 2 && refused(Refusal::HandshakeTimeout) == 1).await;
    let ended =
        tokio::task::spawn_blocking(move || (silent, garbage).0.read(&mut [0]).is_ok_and(|count| count == 0));
    assert!(ended.await.unwrap(), "whoever says nothing is not kept");
    a.handle.send(b.node, numbered(2)).unwrap();
    assert_eq!(b.wait(call_of).await, 2);
}

#[tokio::test]
async fn idle_connection_is_closed_by_its_dialler_and_opened_again() {
    let timing =
        Timing { idle_after: Duration::from_millis(200), ping_after: Duration::from_millis(50), ..fast() };
    let (mut a, mut b) = (Peer::with(1, 1, development(), timing), Peer::start(2));
    a.handle.know(b.node, b.address);
    a.handle.send(b.node, numbered(1)).unwrap();
    a.wait(|event| matches!(event, Event::PeerDown { .. }).then_some(())).await;
    a.handle.send(b.node, numbered(2)).unwrap();
    assert_eq!((b.wait(call_of).await, b.wait(call_of).await), (1, 2));
    assert_eq!((a.handle.counters().dialled, a.handle.counters().undelivered), (2, 0));
}

#[tokio::test]
async fn pings_keep_a_quiet_connection_open_until_it_is_idle() {
    let timing = Timing {
        ping_after: Duration::from_millis(50),
        silence_max: Duration::from_millis(200),
        idle_after: Duration::from_millis(800),
        ..fast()
    };
    let (mut a, b) = (Peer::with(1, 1, development(), timing), Peer::start(2));
    let begun = Instant::now();
    a.handle.know(b.node, b.address);
    a.handle.send(b.node, numbered(1)).unwrap();
    a.wait(|event| matches!(event, Event::PeerDown { .. }).then_some(())).await;
    assert!(begun.elapsed() >= timing.idle_after, "it was answered, though nothing was said");
}

#[tokio::test]
async fn peer_that_does_not_answer_is_given_up_and_what_was_sent_is_reported() {
    let ping_after = Duration::from_millis(50);
    let timing = Timing { ping_after, silence_max: ping_after * 3, ..fast() };
    let (mut a, b) = (Peer::with(1, 1, development(), timing), Peer::start(2));
    a.handle.know(b.node, b.address);
    a.handle.send(b.node, numbered(1)).unwrap();
    a.wait(|event| matches!(event, Event::PeerUp { .. }).then_some(())).await;
    // Its host never takes what it hears, so that it stops reading.
    for number in 0..4 * EVENTS_MAX as u64 {
        if a.handle.send(b.node, numbered(number)) == Err(NotSent::Full) {
            tokio::task::yield_now().await;
        }
    }
    let (mut is_down, mut is_reported) = (false, false);
    while !(is_down && is_reported) {
        match a.wait(Some).await {
            Event::PeerDown { .. } => is_down = true,
            Event::Undelivered { .. } => is_reported = true,
            _ => {}
        }
    }
    drop(b);
}

#[tokio::test]
async fn host_that_is_behind_slows_its_peer_and_every_message_arrives_or_is_reported() {
    // Who is not read by its host cannot be heard, which is no silence.
    let ping_after = Duration::from_millis(20);
    let timing = Timing { ping_after, silence_max: ping_after * 3, ..fast() };
    let (a, mut b) = (Peer::start(1), Peer::with(2, 1, development(), timing));
    a.handle.know(b.node, b.address);
    let (mut sent, mut is_told) = (0_u64, false);
    while !is_told {
        match a.handle.send(b.node, numbered(sent + 1)) {
            Ok(()) => sent += 1,
            Err(NotSent::Full) => is_told = true,
            Err(error) => panic!("{error}"),
        }
        if sent.is_multiple_of(64) {
            tokio::task::yield_now().await;
            is_told |= a.handle.counters().undelivered > 0;
        }
        assert!(sent < 1_000_000, "nobody is told");
    }
    let mut heard = 0;
    while heard + a.handle.counters().undelivered < sent {
        let number = b.wait(|event| match event {
            Event::PeerDown { .. } => panic!("it was closed"),
            event => call_of(event),
        });
        let number = number.await;
        assert!(number > heard, "in order");
        heard += 1;
    }
}
