//! Golden bytes of the layouts that are ours and not protocol buffers: chunks, handshake, sealed frames, datagrams,
//! compressed bytes. A seed stands for randomness, so that the same bytes come out every time.

use bytes::Bytes;
use hyperscale_types::{NodeId, Now};
use hyperscale_wire::chunk::{Chunk, First};
use hyperscale_wire::class::{Class, Lane};
use hyperscale_wire::compress::{compress, decompress};
use hyperscale_wire::counters::Counters;
use hyperscale_wire::datagram::{BootId, Datagrams, Received};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::entropy::SeededEntropy;
use hyperscale_wire::link::{Keys, Link};
use hyperscale_wire::mux::Event;
use hyperscale_wire::secret::{Secret, SecretChoice, Secrets};

use crate::golden::kept;

fn keys() -> Keys {
    let domain = Domain::new("default", "prod").unwrap();
    Keys { domain, secrets: Secrets { current: Secret::development(), previous: None } }
}

fn transmitted(link: &mut Link) -> Vec<u8> {
    let mut out = Vec::new();
    while link.transmit(Now::ZERO, &mut out) {}
    out
}

#[test]
fn chunks_are_read_and_written_as_their_golden_bytes() {
    let first = First { class: Class::Dispatch, transfer: false, zstd: true };
    let head = First { class: Class::Data, transfer: true, zstd: false };
    for (name, chunk) in [
        ("chunk_message", Chunk::Data { stream: 7, first: Some(first), last: true, payload: b"payload" }),
        ("chunk_transfer", Chunk::Data { stream: 8, first: Some(head), last: false, payload: b"head" }),
        ("chunk_rest", Chunk::Data { stream: 8, first: None, last: true, payload: b"rest" }),
        ("chunk_credit", Chunk::Credit { stream: 0, bytes: 65_536 }),
        ("chunk_abort", Chunk::Abort { stream: 9 }),
        ("chunk_stop", Chunk::Stop { stream: 10 }),
    ] {
        let mut written = Vec::new();
        chunk.encode(&mut written);
        assert_eq!(Chunk::decode(&kept("layout", name, &written)).unwrap(), chunk, "{name}");
    }
}

#[test]
fn handshake_and_sealed_frames_are_read_and_written_as_their_golden_bytes() {
    let keys = keys();
    let mut ours =
        Link::connect(&keys, Lane::Bulk, SecretChoice::Current, &mut SeededEntropy::new(1)).unwrap();
    let mut theirs = Link::accept();
    let receive = |link: &mut Link, bytes: &[u8]| {
        let mut events = Vec::new();
        link.receive(Now::ZERO, &keys, bytes, &mut SeededEntropy::new(2), &mut events).unwrap();
        events
    };
    let first = kept("layout", "handshake_first", &transmitted(&mut ours));
    assert!(receive(&mut theirs, &first).is_empty());
    let second = kept("layout", "handshake_second", &transmitted(&mut theirs));
    assert!(receive(&mut ours, &second).is_empty());
    ours.mux().unwrap().send(Class::Data, Bytes::from_static(b"message")).unwrap();
    let sealed = kept("layout", "sealed_frame", &transmitted(&mut ours));
    let events = receive(&mut theirs, &sealed);
    let [Event::Message { data, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(data.open(&mut Counters::default()).unwrap(), &b"message"[..]);
}

#[test]
fn datagrams_are_read_and_written_as_their_golden_bytes() {
    let node = |number: u8| {
        let keys = keys();
        let id = NodeId::new(number.into()).unwrap();
        Datagrams::new(id, BootId([number; 16]), keys.domain, keys.secrets)
    };
    let (mut ours, mut theirs) = (node(1), node(2));
    let open =
        |at: &mut Datagrams, bytes: &[u8]| at.open(Now::ZERO, bytes, &mut SeededEntropy::new(3)).unwrap();
    let mut data = Vec::new();
    ours.seal(NodeId::new(2).unwrap(), b"probe", &mut data).unwrap();
    let Received::Reply { datagram, .. } = open(&mut theirs, &kept("layout", "datagram", &data)) else {
        panic!("a new boot is challenged")
    };
    let challenge = kept("layout", "datagram_challenge", &datagram);
    let Received::Reply { datagram, .. } = open(&mut ours, &challenge) else {
        panic!("a challenge is answered")
    };
    let answer = kept("layout", "datagram_answer", &datagram);
    let Received::Confirmed { held, .. } = open(&mut theirs, &answer) else { panic!("the answer counts") };
    assert_eq!(held.as_deref(), Some(&b"probe"[..]));
    let mut hail = Vec::new();
    ours.hail(SecretChoice::Current, &mut hail);
    assert!(matches!(open(&mut theirs, &kept("layout", "datagram_hail", &hail)), Received::Reply { .. }));
}

#[test]
fn compressed_bytes_of_version_1_are_read() {
    let plain: Vec<u8> = b"status 200 latency 12ms ".repeat(40);
    let golden = kept("layout", "compressed", &compress(&plain).unwrap());
    assert_eq!(decompress(&golden, 1 << 20).unwrap(), plain);
}
