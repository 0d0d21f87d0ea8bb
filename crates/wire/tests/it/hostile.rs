//! Hostile and broken peers at whole links: refused, counted, in bounded memory.

use bytes::Bytes;
use hyperscale_types::Now;
use hyperscale_wire::chunk::{Chunk, First};
use hyperscale_wire::class::{Class, Lane};
use hyperscale_wire::compress::{DecompressError, Packed};
use hyperscale_wire::counters::{Counters, Refusal};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::entropy::SeededEntropy;
use hyperscale_wire::frame::{FrameError, put_frame};
use hyperscale_wire::kind::{Envelope, Kind, MessageError};
use hyperscale_wire::limits::{BULK_CREDIT, CHUNK_COST, CHUNK_MAX, MESSAGE_MAX};
use hyperscale_wire::link::{Keys, Link, LinkError};
use hyperscale_wire::messages::{Bulk, Control, Ping, control};
use hyperscale_wire::mux::{Event, SendError, Sending};
use hyperscale_wire::noise::{HandshakeError, OpenError};
use hyperscale_wire::secret::{Secret, SecretChoice, Secrets};
use hyperscale_wire::speak::class_of;

use crate::samples;

const OTHER: &str = "8f1c2d3b4a5968778695a4b3c2d1e0f00112a3344c5566d788f9aabbccddee0e";

fn keys_of(cluster: &str, environment: &str) -> Keys {
    let domain = Domain::new(cluster, environment).unwrap();
    Keys { domain, secrets: Secrets { current: Secret::development(), previous: None } }
}

fn keys() -> Keys {
    keys_of("default", "")
}

fn other_keys() -> Keys {
    let mut keys = keys();
    keys.secrets.current = Secret::parse(OTHER, "default").unwrap();
    keys
}

fn connect(keys: &Keys, lane: Lane) -> Link {
    Link::connect(keys, lane, SecretChoice::Current, &mut SeededEntropy::new(1)).unwrap()
}

fn bytes_of(link: &mut Link) -> Vec<u8> {
    let mut out = Vec::new();
    while link.transmit(Now::ZERO, &mut out) {}
    out
}

fn receive(link: &mut Link, keys: &Keys, bytes: &[u8]) -> Result<Vec<Event>, LinkError> {
    let mut events = Vec::new();
    link.receive(Now::ZERO, keys, bytes, &mut SeededEntropy::new(2), &mut events).map(|()| events)
}

/// Two links that have shook hands; the first one connected.
fn pair(lane: Lane) -> (Link, Link) {
    let (keys, mut a, mut b) = (keys(), connect(&keys(), lane), Link::accept());
    receive(&mut b, &keys, &bytes_of(&mut a)).unwrap();
    receive(&mut a, &keys, &bytes_of(&mut b)).unwrap();
    (a, b)
}

/// Queues bytes that need not be a message.
fn say(link: &mut Link, bytes: Vec<u8>) {
    link.mux().unwrap().send(Class::Control, bytes.into()).unwrap();
}

fn ping() -> Control {
    Control { body: Some(control::Body::Ping(Ping::default())), ..Control::default() }
}

fn count(link: &Link, refusal: Refusal) -> u64 {
    link.counters().refused(refusal)
}

#[test]
fn messages_pass_between_honest_links_split_anywhere() {
    for split in [1, 7, 1_000, 100_000] {
        let (mut a, mut b) = pair(Lane::Bulk);
        let message = vec![42; 100_000];
        say(&mut a, message.clone());
        let mut events = Vec::new();
        for part in bytes_of(&mut a).chunks(split) {
            events.extend(receive(&mut b, &keys(), part).unwrap());
        }
        assert!(b.is_open());
        assert_eq!(b.lane(), Some(Lane::Bulk));
        let [Event::Message { data, .. }] = &events[..] else { panic!("{events:?}") };
        assert_eq!(data.open(&mut Counters::default()).unwrap(), message);
    }
}

#[test]
fn nothing_is_said_to_a_peer_that_has_not_shown_the_secret() {
    let (keys, mut a, mut b) = (keys(), connect(&keys(), Lane::Control), Link::accept());
    say(&mut a, b"from the one that connected".to_vec());
    let first = bytes_of(&mut a);
    assert_eq!(first.len(), 4 + 21 + 48, "the first frame of the handshake and nothing else");
    receive(&mut b, &keys, &first).unwrap();
    say(&mut b, b"from the one that was connected to".to_vec());
    let answer = bytes_of(&mut b);
    assert_eq!(answer.len(), 4 + 48, "the answer of the handshake and nothing else");
    assert!(!b.is_open());

    // What was queued is said once both have shown it.
    assert_eq!(receive(&mut a, &keys, &answer).unwrap().len(), 0);
    assert_eq!(receive(&mut b, &keys, &bytes_of(&mut a)).unwrap().len(), 1);
    assert!(b.is_open());
    assert_eq!(receive(&mut a, &keys, &bytes_of(&mut b)).unwrap().len(), 1);
}

#[test]
fn nothing_is_queued_where_it_would_be_lost() {
    let (keys, mut link) = (keys(), Link::accept());
    assert_eq!(link.lane(), None, "the peer has not said it yet");
    assert_eq!(link.send(&ping()), Err(SendError::NoLane), "early");
    receive(&mut link, &keys, &bytes_of(&mut connect(&keys, Lane::Bulk))).unwrap();
    assert_eq!(link.lane(), Some(Lane::Bulk));
    say(&mut link, b"in time".to_vec());
    receive(&mut link, &keys, &[0xff; 4]).unwrap_err();
    assert_eq!(link.send(&ping()), Err(SendError::NoLane), "late");
    assert!(link.mux().is_none() && bytes_of(&mut link).is_empty());
}

#[test]
fn a_frame_of_four_gigabytes_is_refused_at_its_fourth_byte() {
    let mut link = Link::accept();
    assert!(receive(&mut link, &keys(), &[0xff, 0xff, 0xff]).is_ok());
    let refused = receive(&mut link, &keys(), &[0xff]);
    assert_eq!(refused, Err(LinkError::Frame(FrameError::TooLarge(u32::MAX))));
    assert_eq!(count(&link, Refusal::FrameTooLarge), 1);
    assert!(receive(&mut link, &keys(), b"more").is_err(), "it stays closed");
    assert_eq!(count(&link, Refusal::FrameTooLarge), 1, "and is counted once");
}

#[test]
fn a_truncated_frame_is_counted_when_the_connection_ends() {
    let (mut a, mut b) = pair(Lane::Control);
    say(&mut a, b"cut off".to_vec());
    let bytes = bytes_of(&mut a);
    receive(&mut b, &keys(), &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(b.finish(), Err(LinkError::Frame(FrameError::Truncated)));
    assert_eq!(count(&b, Refusal::FrameTruncated), 1);
}

#[test]
fn strangers_and_foreign_clusters_are_refused_and_counted() {
    for (theirs, error, refusal) in [
        (keys_of("other", ""), HandshakeError::ForeignCluster, Refusal::ForeignCluster),
        (keys_of("default", "staging"), HandshakeError::ForeignEnvironment, Refusal::ForeignEnvironment),
        (other_keys(), HandshakeError::Forged, Refusal::HandshakeForged),
    ] {
        let mut link = Link::accept();
        let first = bytes_of(&mut connect(&theirs, Lane::Control));
        assert_eq!(receive(&mut link, &keys(), &first), Err(LinkError::Handshake(error)));
        assert_eq!(count(&link, refusal), 1);
        assert!(bytes_of(&mut link).is_empty(), "no answer");
    }
    let mut link = Link::accept();
    let http = b"\0\0\0\x20GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(receive(&mut link, &keys(), http), Err(LinkError::Handshake(HandshakeError::NotOurProtocol)));
}

#[test]
fn the_previous_secret_is_counted_once_per_confirmed_link_on_both_sides() {
    let rotating = Keys {
        domain: keys().domain,
        secrets: Secrets { current: other_keys().secrets.current, previous: Some(Secret::development()) },
    };
    // An old node connects to one that rotates; a replayed first frame is no use of the secret.
    let (mut old, mut new) = (connect(&keys(), Lane::Control), Link::accept());
    receive(&mut new, &rotating, &bytes_of(&mut old)).unwrap();
    assert_eq!((new.counters().previous_secret(), new.secret()), (0, None));
    receive(&mut old, &keys(), &bytes_of(&mut new)).unwrap();
    for _ in 0..2 {
        say(&mut old, b"hello".to_vec());
        receive(&mut new, &rotating, &bytes_of(&mut old)).unwrap();
        assert_eq!((new.counters().previous_secret(), new.secret()), (1, Some(SecretChoice::Previous)));
    }
    assert_eq!((old.counters().previous_secret(), old.secret()), (0, Some(SecretChoice::Current)));

    // The other way round.
    let choice = SecretChoice::Previous;
    let mut new = Link::connect(&rotating, Lane::Control, choice, &mut SeededEntropy::new(1)).unwrap();
    let mut old = Link::accept();
    receive(&mut old, &keys(), &bytes_of(&mut new)).unwrap();
    assert_eq!(new.counters().previous_secret(), 0, "the peer has not answered yet");
    receive(&mut new, &rotating, &bytes_of(&mut old)).unwrap();
    assert_eq!((new.counters().previous_secret(), new.secret()), (1, Some(choice)));
}

/// Makes a false frame from a true one.
type Forge = fn(&[u8]) -> Vec<u8>;

#[test]
fn replayed_and_forged_frames_close_the_link() {
    let forgeries: [Forge; 2] = [
        |bytes| [bytes, bytes].concat(),
        |bytes| {
            let mut changed = bytes.to_vec();
            *changed.last_mut().unwrap() ^= 1;
            changed
        },
    ];
    for forge in forgeries {
        let (mut a, mut b) = pair(Lane::Control);
        say(&mut a, b"assign".to_vec());
        let bytes = forge(&bytes_of(&mut a));
        assert_eq!(receive(&mut b, &keys(), &bytes), Err(LinkError::Open(OpenError::Forged)));
        assert_eq!(count(&b, Refusal::FrameForged), 1);
        assert!(!b.is_open() && bytes_of(&mut b).is_empty());
    }
}

#[test]
fn a_replayed_connection_gets_no_further_than_the_handshake() {
    let (keys, mut a, mut b) = (keys(), connect(&keys(), Lane::Control), Link::accept());
    let mut recorded = bytes_of(&mut a);
    receive(&mut b, &keys, &recorded).unwrap();
    receive(&mut a, &keys, &bytes_of(&mut b)).unwrap();
    say(&mut a, b"cancel everything".to_vec());
    recorded.extend(bytes_of(&mut a));

    let mut again = Link::accept();
    let mut events = Vec::new();
    let replayed = again.receive(Now::ZERO, &keys, &recorded, &mut SeededEntropy::new(77), &mut events);
    assert_eq!(replayed, Err(LinkError::Open(OpenError::Forged)));
    assert!(events.is_empty() && !again.is_open());
}

fn framed(chunk: Chunk<'_>) -> Vec<u8> {
    let (mut bytes, mut frame) = (Vec::new(), Vec::new());
    chunk.encode(&mut bytes);
    put_frame(&bytes, &mut frame);
    frame
}

#[test]
fn a_compression_bomb_costs_no_more_than_its_limit_and_is_counted() {
    // Blocks of one repeated byte: 4 bytes of input become 128 KiB each.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for _ in 0..10_000 {
        bomb.extend_from_slice(&[0x02, 0x00, 0x10, 0x00]);
    }
    bomb.extend_from_slice(&[0x03, 0x00, 0x00, 0x00]);
    let mut link = Link::over_tls(Lane::Bulk);
    let first = First { class: Class::Data, transfer: false, zstd: true };
    let chunk = Chunk::Data { stream: 1, first: Some(first), last: true, payload: &bomb };
    let events = receive(&mut link, &keys(), &framed(chunk)).unwrap();
    let [Event::Message { data, .. }] = &events[..] else { panic!("{events:?}") };
    let refused = link.decode::<Bulk>(data).unwrap_err();
    let limit = (bomb.len() as u64 * 100).min(4 << 20);
    let expected = MessageError::Packed(DecompressError::Bomb(limit));
    assert_eq!(refused, expected, "{} bytes would have been 1.3 GB", bomb.len());
    assert_eq!(count(&link, Refusal::CompressionBomb), 1);
    assert!(link.is_open(), "the peer can be told");
}

/// What arrives of a message, and the link it arrived at.
fn arrived(lane: Lane, queue: impl FnOnce(&mut Link) -> Sending) -> (Packed, Link) {
    let (mut from, mut to) = (Link::over_tls(lane), Link::over_tls(lane));
    queue(&mut from);
    let mut events = receive(&mut to, &keys(), &bytes_of(&mut from)).unwrap();
    match events.remove(0) {
        Event::Message { data, .. } | Event::Begin { head: data, .. } => (data, to),
        other => panic!("{other:?}"),
    }
}

fn travels_in_its_class<M: Envelope + PartialEq + std::fmt::Debug>(lane: Lane, samples: &[M]) {
    for sample in samples {
        let kind = sample.kind().unwrap();
        let (data, mut link) = arrived(lane, |link| link.send(sample).unwrap());
        assert_eq!(data.class(), class_of(kind), "{}", kind.name());
        let (read, message) = link.decode::<M>(&data).unwrap();
        assert!(read == kind && message == *sample);

        let wrong = Class::ALL.into_iter().find(|class| *class != class_of(kind)).unwrap();
        let bytes = Bytes::from(sample.encode_to_vec());
        let (data, mut link) = arrived(lane, |link| link.mux().unwrap().send(wrong, bytes).unwrap());
        assert_eq!(link.decode::<M>(&data).unwrap_err(), MessageError::WrongClass(kind));
        assert_eq!(count(&link, Refusal::WrongClass), 1);
    }
}

#[test]
fn messages_travel_in_the_class_of_their_kind_and_are_refused_in_another() {
    travels_in_its_class(Lane::Control, &samples::control());
    travels_in_its_class(Lane::Bulk, &samples::bulk());
    let no_body = Link::over_tls(Lane::Control).send(&Control::default());
    assert_eq!(no_body, Err(SendError::NoBody));
}

#[test]
fn heads_of_transfers_travel_in_the_class_of_their_kind_too() {
    let samples = samples::bulk();
    let head = samples.iter().find(|sample| sample.kind() == Some(Kind::BlobData)).unwrap();
    let (data, mut link) = arrived(Lane::Bulk, |link| link.begin(head).unwrap());
    assert_eq!(data.class(), Class::Data);
    assert_eq!(link.decode::<Bulk>(&data).unwrap().0, Kind::BlobData);
}

#[test]
fn bytes_that_are_no_message_are_counted_at_the_link() {
    let (mut a, mut b) = pair(Lane::Control);
    say(&mut a, vec![0xff]);
    let events = receive(&mut b, &keys(), &bytes_of(&mut a)).unwrap();
    let [Event::Message { data, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(b.decode::<Control>(data).unwrap_err(), MessageError::Malformed);
    assert_eq!(count(&b, Refusal::MessageMalformed), 1);
}

#[test]
fn a_peer_that_ignores_credit_cannot_fill_the_memory() {
    let mut link = Link::over_tls(Lane::Bulk);
    let payload = vec![7; CHUNK_MAX];
    let mut streams = 0u64;
    let refused = loop {
        streams += 1;
        let first = First { class: Class::Telemetry, transfer: false, zstd: false };
        let chunk = Chunk::Data { stream: streams, first: Some(first), last: false, payload: &payload };
        if let Err(error) = receive(&mut link, &keys(), &framed(chunk)) {
            break error;
        }
        assert!(link.mux().unwrap().received_bytes() <= BULK_CREDIT as usize);
    };
    assert_eq!(refused.refusal(), Refusal::CreditExceeded);
    assert_eq!(count(&link, Refusal::CreditExceeded), 1);
    assert_eq!(streams, u64::from(BULK_CREDIT) / (CHUNK_MAX as u64 + u64::from(CHUNK_COST)) + 1);
}

#[test]
fn the_largest_message_passes_a_sealed_link() {
    let (mut a, mut b) = pair(Lane::Control);
    say(&mut a, vec![9; MESSAGE_MAX]);
    let mut events = Vec::new();
    loop {
        let there = bytes_of(&mut a);
        events.extend(receive(&mut b, &keys(), &there).unwrap());
        let back = bytes_of(&mut b);
        receive(&mut a, &keys(), &back).unwrap();
        if there.is_empty() && back.is_empty() {
            break;
        }
    }
    assert_eq!(events.len(), 1);
}
