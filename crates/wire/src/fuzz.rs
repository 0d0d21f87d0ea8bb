//! Fuzz harnesses of every decoder of bytes from outside; `datagram` has one more, for what only it can seal.
//!
//! As tests they replay `__fuzz__/<name>/corpus` and make a short random run; `cargo bolero test <test>` runs the same
//! harness for long. Beyond "no panic" each checks what must hold for any input.

use bytes::Bytes;
use hyperscale_types::{NodeId, Now};
use prost::Message;

use crate::chunk::Chunk;
use crate::class::Lane;
use crate::compress::decompress;
use crate::counters::Counters;
use crate::datagram::{BootId, Datagrams, Received};
use crate::domain::Domain;
use crate::entropy::SeededEntropy;
use crate::frame::{FrameReader, put_frame};
use crate::hello::{Admission, Local};
use crate::identity::CertificateIdentity;
use crate::kind::Envelope;
use crate::limits::{DECOMPRESSED_RATIO_MAX, FRAME_MAX};
use crate::link::{Keys, Link};
use crate::messages::{
    Bulk, Command, Control, Gossip, HardState, Hello, LogEntry, NodeRef, RaftMessage, RaftSnapshot, Role,
};
use crate::mux::{Event, Mux};
use crate::noise::{Initiator, answer};
use crate::secret::{Secret, SecretChoice, Secrets};

fn keys() -> Keys {
    let domain = Domain::new("default", "").unwrap();
    Keys { domain, secrets: Secrets { current: Secret::development(), previous: None } }
}

#[test]
fn fuzz_frames() {
    bolero::check!(name = "frames").for_each(|bytes: &[u8]| {
        let mut reader = FrameReader::default();
        let (mut input, mut total) = (bytes, 0);
        while let Ok(Some(frame)) = reader.next(&mut input) {
            assert!(!frame.is_empty() && frame.len() <= FRAME_MAX);
            total += frame.len();
        }
        assert!(total <= bytes.len());
        assert!(reader.allocated() <= 2 * bytes.len().max(8), "the buffer grows with what arrives");
    });
}

#[test]
fn fuzz_chunks() {
    bolero::check!(name = "chunks").for_each(|bytes: &[u8]| {
        if let Ok(chunk) = Chunk::decode(bytes) {
            let mut again = Vec::new();
            chunk.encode(&mut again);
            assert_eq!(again, bytes, "a chunk has one encoding");
        }
    });
}

/// Any sequence of chunks: the first two bytes are the length of the next one. At a length of zero the application takes
/// what has arrived, and the peer is told.
#[test]
fn fuzz_streams() {
    bolero::check!(name = "streams").for_each(|bytes: &[u8]| {
        for lane in [Lane::Control, Lane::Bulk] {
            let (mut mux, mut rest) = (Mux::new(lane), bytes);
            let mut events = Vec::new();
            while let Some((length, after)) = rest.split_first_chunk::<2>() {
                let (chunk, after) = after.split_at(after.len().min(u16::from_be_bytes(*length).into()));
                rest = after;
                if *length == [0, 0] {
                    take_all(&mut mux, &mut events);
                } else if mux.handle(chunk, &mut events).is_err() {
                    break;
                }
                assert!(mux.received_bytes() <= lane.credit() as usize);
            }
            take_all(&mut mux, &mut events);
        }
    });
}

fn take_all(mux: &mut Mux, events: &mut Vec<Event>) {
    for event in events.drain(..) {
        if let Event::Message { credit, .. } | Event::Begin { credit, .. } | Event::Data { credit, .. } =
            event
        {
            mux.release(credit);
        }
    }
    while mux.next_chunk(&mut Vec::new()) {}
}

#[test]
fn fuzz_handshake_of_a_stranger() {
    bolero::check!(name = "handshake").for_each(|bytes: &[u8]| {
        let keys = keys();
        let mut out = Vec::new();
        let mut entropy = SeededEntropy::new(1);
        assert!(answer(&keys.domain, &keys.secrets, Now::ZERO, bytes, &mut entropy, &mut out).is_err());
        assert!(out.is_empty(), "a stranger gets no answer");
        let initiator = Initiator::start(
            &keys.domain,
            Lane::Bulk,
            &keys.secrets,
            SecretChoice::Current,
            &mut SeededEntropy::new(2),
            &mut out,
        );
        assert!(initiator.unwrap().finish(Now::ZERO, bytes).is_err());
    });
}

#[test]
fn fuzz_link_before_authentication() {
    bolero::check!(name = "link").for_each(|bytes: &[u8]| {
        let (keys, mut link, mut events) = (keys(), Link::accept(), Vec::new());
        let _refused = link.receive(Now::ZERO, &keys, bytes, &mut SeededEntropy::new(1), &mut events);
        assert!(!link.is_open() && events.is_empty());
    });
}

#[test]
fn fuzz_link_over_tls() {
    bolero::check!(name = "link_over_tls").for_each(|bytes: &[u8]| {
        let (keys, mut link, mut events) = (keys(), Link::over_tls(Lane::Bulk), Vec::new());
        let mut framed = Vec::new();
        for chunk in bytes.chunks(64) {
            put_frame(chunk, &mut framed);
        }
        let outcome = link.receive(Now::ZERO, &keys, &framed, &mut SeededEntropy::new(1), &mut events);
        assert_eq!(refused(link.counters()), u64::from(outcome.is_err()), "every refusal is counted once");
    });
}

#[test]
fn fuzz_datagrams_of_a_stranger() {
    let node = |id: u64| {
        let keys = keys();
        Datagrams::new(NodeId::new(id).unwrap(), BootId([id as u8; 16]), keys.domain, keys.secrets)
    };
    bolero::check!(name = "datagrams").for_each(|bytes: &[u8]| {
        let mut receiver = node(2);
        assert!(receiver.open(Now::ZERO, bytes, &mut SeededEntropy::new(1)).is_err());
        assert_eq!(receiver.table_sizes(), (0, 0), "a stranger leaves nothing behind");
    });
    // Sealed rightly it is answered. What is inside of such ones has a harness of its own, beside the datagrams.
    let mut out = Vec::new();
    node(1).seal(NodeId::new(2).unwrap(), b"x", &mut out).unwrap();
    let opened = node(2).open(Now::ZERO, &out, &mut SeededEntropy::new(1));
    assert!(matches!(opened, Ok(Received::Reply { .. })));
}

#[test]
fn fuzz_hellos() {
    let node = NodeRef { node_id: 1, role: Role::Manager.into(), ..NodeRef::default() };
    let (domain, build) = (keys().domain, "test".to_owned());
    let local = Local { domain, node, versions: (1, 3), features: vec!["drain".to_owned()], build };
    bolero::check!(name = "hellos").for_each(|bytes: &[u8]| {
        let Ok(hello) = Hello::decode(bytes) else { return };
        let mut admission = Admission::new(Lane::Control, None);
        let mut counters = Counters::default();
        let Ok(peer) = admission.admit(&local, &hello, &mut counters) else {
            assert_eq!(refused(&counters), 1, "every refusal is counted once");
            assert!(admission.peer().is_none(), "who is refused stays a stranger");
            return;
        };
        assert!((1..=3).contains(&peer.version) && peer.features.len() <= 1);
        assert!(admission.admit(&local, &hello, &mut counters).is_err(), "a hello comes once");
    });
}

fn refused(counters: &Counters) -> u64 {
    counters.iter().map(|(_, count)| count).sum()
}

/// Bytes that are no message of a plane are counted once.
fn decode_known<M: Envelope>(bytes: &[u8]) {
    let mut counters = Counters::default();
    let decoded = M::decode_known(Bytes::copy_from_slice(bytes), &mut counters);
    assert_eq!(refused(&counters), u64::from(decoded.is_err()));
}

/// Decoding never fails twice differently, and what was decoded is encoded and decoded to the same.
fn decode<M: Message + Default + PartialEq>(bytes: &[u8]) {
    if let Ok(message) = M::decode(bytes) {
        let again = message.encode_to_vec();
        // Not compared as messages: a NaN is not equal to itself.
        assert_eq!(M::decode(&again[..]).unwrap().encode_to_vec(), again);
    }
}

#[test]
fn fuzz_gossip_messages() {
    bolero::check!(name = "gossip").for_each(|bytes: &[u8]| {
        decode::<Gossip>(bytes);
        decode_known::<Gossip>(bytes);
    });
}

#[test]
fn fuzz_control_messages() {
    bolero::check!(name = "control").for_each(|bytes: &[u8]| {
        decode::<Control>(bytes);
        decode_known::<Control>(bytes);
    });
}

#[test]
fn fuzz_bulk_messages() {
    bolero::check!(name = "bulk").for_each(|bytes: &[u8]| {
        decode::<Bulk>(bytes);
        decode_known::<Bulk>(bytes);
    });
}

#[test]
fn fuzz_log_messages() {
    bolero::check!(name = "log").for_each(|bytes: &[u8]| {
        decode::<RaftMessage>(bytes);
        decode::<LogEntry>(bytes);
        decode::<Command>(bytes);
        decode::<HardState>(bytes);
        decode::<RaftSnapshot>(bytes);
    });
}

#[test]
fn fuzz_decompression() {
    bolero::check!(name = "decompression").for_each(|bytes: &[u8]| {
        if let Ok(plain) = decompress(bytes, 1 << 20) {
            assert!(plain.len() as u64 <= bytes.len() as u64 * DECOMPRESSED_RATIO_MAX);
        }
    });
}

/// Without passphrases: stretching one is slow on purpose.
#[test]
fn fuzz_secrets() {
    bolero::check!(name = "secrets").for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        for prefix in ["hex:", "base64:"] {
            let parsed = Secret::parse(&format!("{prefix}{text}"), "default");
            assert!(parsed.is_err() || text.len() >= 43, "32 bytes need 43 characters");
        }
    });
}

#[test]
fn fuzz_identities() {
    bolero::check!(name = "identities").for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let mut counters = Counters::default();
        if let Ok(identity) = CertificateIdentity::from_uri_names([&*text], &mut counters) {
            assert_eq!(
                CertificateIdentity::from_uri_names([&*identity.to_string()], &mut counters),
                Ok(identity)
            );
        }
    });
}
