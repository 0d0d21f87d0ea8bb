use std::time::Duration;

use hyperscale_types::Now;

use super::*;
use crate::class::Lane;
use crate::domain::Domain;
use crate::entropy::SeededEntropy;
use crate::frame::FrameReader;
use crate::limits::{REKEY_AFTER, REKEY_FRAMES, REKEY_OVERDUE_AFTER, REKEY_OVERDUE_FRAMES};
use crate::secret::{Secret, SecretChoice, Secrets};

const OTHER: &str = "8f1c2d3b4a5968778695a4b3c2d1e0f00112a3344c5566d788f9aabbccddee0e";

fn secrets() -> Secrets {
    Secrets { current: Secret::development(), previous: None }
}

fn other_secret() -> Secret {
    Secret::parse(OTHER, "default").unwrap()
}

fn domain() -> Domain {
    Domain::new("default", "prod").unwrap()
}

fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut reader, mut input, mut frames) = (FrameReader::default(), bytes, Vec::new());
    while let Some(frame) = reader.next(&mut input).unwrap() {
        frames.push(frame);
    }
    frames
}

fn first_frame(domain: &Domain, secrets: &Secrets, choice: SecretChoice, seed: u64) -> (Initiator, Vec<u8>) {
    let mut out = Vec::new();
    let initiator =
        Initiator::start(domain, Lane::Control, secrets, choice, &mut SeededEntropy::new(seed), &mut out)
            .unwrap();
    (initiator, frames(&out).remove(0))
}

fn answered(domain: &Domain, secrets: &Secrets, frame: &[u8]) -> Result<(Answer, Vec<u8>), HandshakeError> {
    let mut out = Vec::new();
    let answer = answer(domain, secrets, Now::ZERO, frame, &mut SeededEntropy::new(99), &mut out)?;
    Ok((answer, frames(&out).remove(0)))
}

fn pair() -> (Session, Session) {
    let (initiator, first) = first_frame(&domain(), &secrets(), SecretChoice::Current, 1);
    let (answer, second) = answered(&domain(), &secrets(), &first).unwrap();
    (initiator.finish(Now::ZERO, &second).unwrap(), answer.session)
}

fn sealed(session: &mut Session, now: Now, chunk: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    session.seal(now, chunk, &mut out);
    frames(&out)
}

#[test]
fn two_nodes_with_the_same_secret_understand_each_other_in_both_directions() {
    let (mut a, mut b) = pair();
    for text in [&b"one"[..], b"two", b""] {
        let frame = sealed(&mut a, Now::ZERO, text).remove(0);
        assert!(text.is_empty() || !frame.windows(text.len()).any(|window| window == text), "it is sealed");
        assert_eq!(b.open(Now::ZERO, &frame), Ok(Opened::Chunk(text)));
        let frame = sealed(&mut b, Now::ZERO, text).remove(0);
        assert_eq!(a.open(Now::ZERO, &frame), Ok(Opened::Chunk(text)));
    }
}

#[test]
fn a_seed_decides_the_bytes_of_a_handshake() {
    let first = |seed| first_frame(&domain(), &secrets(), SecretChoice::Current, seed).1;
    assert_eq!(first(7), first(7));
    assert_ne!(first(7), first(8));
}

#[test]
fn another_secret_is_refused() {
    let strangers = Secrets { current: other_secret(), previous: None };
    let (_, first) = first_frame(&domain(), &strangers, SecretChoice::Current, 1);
    assert_eq!(answered(&domain(), &secrets(), &first).unwrap_err(), HandshakeError::Forged);
    let (initiator, first) = first_frame(&domain(), &secrets(), SecretChoice::Current, 1);
    let (_, second) = answered(&domain(), &secrets(), &first).unwrap();
    let (other_initiator, _) = first_frame(&domain(), &secrets(), SecretChoice::Current, 2);
    assert_eq!(
        other_initiator.finish(Now::ZERO, &second).unwrap_err(),
        HandshakeError::Forged,
        "a replayed answer"
    );
    assert!(initiator.finish(Now::ZERO, &second).is_ok());
}

#[test]
fn the_previous_secret_is_accepted_in_both_directions_and_said() {
    let rotating = Secrets { current: other_secret(), previous: Some(Secret::development()) };
    let (initiator, first) = first_frame(&domain(), &secrets(), SecretChoice::Current, 1);
    let (answer, second) = answered(&domain(), &rotating, &first).unwrap();
    assert_eq!(answer.choice, SecretChoice::Previous);
    assert!(initiator.finish(Now::ZERO, &second).is_ok());

    let (initiator, first) = first_frame(&domain(), &rotating, SecretChoice::Previous, 1);
    let (answer, second) = answered(&domain(), &secrets(), &first).unwrap();
    assert_eq!(answer.choice, SecretChoice::Current);
    assert!(initiator.finish(Now::ZERO, &second).is_ok());

    let mut out = Vec::new();
    let none = Initiator::start(
        &domain(),
        Lane::Bulk,
        &secrets(),
        SecretChoice::Previous,
        &mut SeededEntropy::new(1),
        &mut out,
    );
    assert_eq!(none.unwrap_err(), HandshakeError::NoSecret);
    assert!(out.is_empty());
}

#[test]
fn another_cluster_or_environment_with_the_same_secret_is_named() {
    for (cluster, environment, expected) in [
        ("other", "prod", HandshakeError::ForeignCluster),
        ("default", "staging", HandshakeError::ForeignEnvironment),
    ] {
        let foreign = Domain::new(cluster, environment).unwrap();
        let (_, mut first) = first_frame(&foreign, &secrets(), SecretChoice::Current, 1);
        assert_eq!(answered(&domain(), &secrets(), &first).unwrap_err(), expected);
        // Somebody who pretends to be of our cluster still has another key and prologue.
        let (_, ours) = first_frame(&domain(), &secrets(), SecretChoice::Current, 1);
        first[..21].copy_from_slice(&ours[..21]);
        assert_eq!(answered(&domain(), &secrets(), &first).unwrap_err(), HandshakeError::Forged);
    }
}

#[test]
fn no_changed_bit_of_a_first_frame_is_accepted() {
    let (_, first) = first_frame(&domain(), &secrets(), SecretChoice::Current, 1);
    for bit in 0..first.len() * 8 {
        let mut changed = first.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(answered(&domain(), &secrets(), &changed).is_err(), "bit {bit}");
    }
    for length in 0..first.len() {
        assert!(answered(&domain(), &secrets(), &first[..length]).is_err(), "cut to {length}");
    }
}

#[test]
fn the_answering_side_is_not_confirmed_by_a_replayed_first_frame() {
    let (initiator, first) = first_frame(&domain(), &secrets(), SecretChoice::Current, 1);
    let (mut answer, second) = answered(&domain(), &secrets(), &first).unwrap();
    assert!(!answer.session.is_confirmed());
    let mut session = initiator.finish(Now::ZERO, &second).unwrap();
    assert!(session.is_confirmed());
    let frame = sealed(&mut session, Now::ZERO, b"hello").remove(0);
    answer.session.open(Now::ZERO, &frame).unwrap();
    assert!(answer.session.is_confirmed());

    let mut out = Vec::new();
    let mut replayed =
        super::answer(&domain(), &secrets(), Now::ZERO, &first, &mut SeededEntropy::new(5), &mut out)
            .unwrap();
    assert_eq!(
        replayed.session.open(Now::ZERO, &frame),
        Err(OpenError::Forged),
        "old frames do not fit the new keys"
    );
    assert!(!replayed.session.is_confirmed());
}

#[test]
fn repeated_changed_skipped_and_reflected_frames_end_the_session() {
    type Tamper = fn(&mut Session, &mut Session) -> Vec<u8>;
    let cases: [(&str, Tamper); 4] = [
        ("repeated", |a, b| {
            let frame = sealed(a, Now::ZERO, b"x").remove(0);
            b.open(Now::ZERO, &frame).unwrap();
            frame
        }),
        ("changed", |a, _| {
            let mut frame = sealed(a, Now::ZERO, b"x").remove(0);
            frame[0] ^= 1;
            frame
        }),
        ("skipped", |a, _| {
            sealed(a, Now::ZERO, b"lost");
            sealed(a, Now::ZERO, b"x").remove(0)
        }),
        ("reflected", |_, b| sealed(b, Now::ZERO, b"x").remove(0)),
    ];
    for (why, forge) in cases {
        let (mut a, mut b) = pair();
        let frame = forge(&mut a, &mut b);
        assert_eq!(b.open(Now::ZERO, &frame), Err(OpenError::Forged), "{why}");
        let honest = sealed(&mut a, Now::ZERO, b"y").remove(0);
        assert_eq!(b.open(Now::ZERO, &honest), Err(OpenError::Forged), "nothing opens after a {why} frame");
    }
}

#[test]
fn the_key_changes_after_2_to_the_20_frames_and_after_an_hour() {
    let (mut a, mut b) = pair();
    a.set_sent_under_key(REKEY_FRAMES - 1);
    let frames = sealed(&mut a, Now::ZERO, b"many");
    assert_eq!(frames.len(), 2);
    assert_eq!(b.open(Now::ZERO, &frames[0]), Ok(Opened::Rekeyed));
    assert_eq!(b.open(Now::ZERO, &frames[1]), Ok(Opened::Chunk(b"many")));

    let later = Now::after_start(REKEY_AFTER);
    assert_eq!(sealed(&mut b, Now(later.0 - 1), b"early").len(), 1);
    let frames = sealed(&mut b, later, b"late");
    assert_eq!(frames.len(), 2);
    assert_eq!(sealed(&mut b, later.plus(Duration::from_secs(1)), b"fresh").len(), 1);
    assert_eq!((a.rekeys(), b.rekeys()), (1, 1));
}

#[test]
fn a_peer_that_never_changes_its_key_is_cut_off() {
    let (mut a, mut b) = pair();
    b.set_received_under_key(REKEY_OVERDUE_FRAMES);
    let frame = sealed(&mut a, Now::ZERO, b"x").remove(0);
    assert_eq!(b.open(Now::ZERO, &frame), Err(OpenError::RekeyOverdue));
}

#[test]
fn a_peer_whose_key_is_too_old_is_cut_off() {
    let (mut a, mut b) = pair();
    let overdue = Now::after_start(REKEY_OVERDUE_AFTER);
    // Sealed in time, and under way for a while.
    let [first, second] = [b"1", b"2"].map(|text| sealed(&mut a, Now::ZERO, text).remove(0));
    assert_eq!(b.open(Now(overdue.0 - 1), &first), Ok(Opened::Chunk(b"1")));
    assert_eq!(b.open(overdue, &second), Err(OpenError::RekeyOverdue));
    assert_eq!(b.open(overdue, &second), Err(OpenError::RekeyOverdue), "the session is over");
}

#[test]
fn a_peer_that_was_silent_for_long_changes_its_key_and_goes_on() {
    let (mut a, mut b) = pair();
    let mut now = Now::ZERO;
    for text in [b"1", b"2", b"3"] {
        now = now.plus(2 * REKEY_OVERDUE_AFTER);
        let frames = sealed(&mut a, now, text);
        assert_eq!(b.open(now, &frames[0]), Ok(Opened::Rekeyed));
        assert_eq!(b.open(now, &frames[1]), Ok(Opened::Chunk(text)));
    }
}

#[test]
fn sealed_frames_that_are_neither_chunk_nor_change_of_key_end_the_session() {
    for (kind, content) in [(2, &b"chunk"[..]), (0xff, b""), (0, b"a change of key says nothing else")] {
        let (mut a, mut b) = pair();
        let mut out = Vec::new();
        a.put(kind, content, &mut out);
        assert_eq!(b.open(Now::ZERO, &frames(&out)[0]), Err(OpenError::Malformed), "kind {kind}");
        let honest = sealed(&mut a, Now::ZERO, b"chunk").remove(0);
        assert_eq!(b.open(Now::ZERO, &honest), Err(OpenError::Malformed), "nothing opens any more");
        assert!(!b.is_confirmed());
    }
}
