use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use super::*;
use crate::domain::Domain;
use crate::entropy::SeededEntropy;
use crate::limits::{CHALLENGES_MAX, DATAGRAM_PEERS_MAX, UNHEARD_MAX};
use crate::secret::{Secret, SecretChoice, Secrets};

const OTHER: &str = "8f1c2d3b4a5968778695a4b3c2d1e0f00112a3344c5566d788f9aabbccddee0e";

fn id(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn secrets() -> Secrets {
    Secrets { current: Secret::development(), previous: None }
}

fn node_with(number: u64, boot: u8, cluster: &str, secrets: Secrets) -> Datagrams {
    Datagrams::new(id(number), BootId([boot; 16]), Domain::new(cluster, "").unwrap(), secrets)
}

fn node(number: u64, boot: u8) -> Datagrams {
    node_with(number, boot, "default", secrets())
}

fn sealed(from: &mut Datagrams, to: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    from.seal(id(to), payload, &mut out).unwrap();
    out
}

fn open(at: &mut Datagrams, datagram: &[u8]) -> Result<Received, DatagramError> {
    open_at(at, Now::ZERO, datagram)
}

fn open_at(at: &mut Datagrams, now: Now, datagram: &[u8]) -> Result<Received, DatagramError> {
    at.open(now, datagram, &mut SeededEntropy::new(now.0 + 17))
}

fn reply(received: Result<Received, DatagramError>) -> Vec<u8> {
    match received {
        Ok(Received::Reply { datagram, .. }) => datagram,
        other => panic!("expected a reply, got {other:?}"),
    }
}

/// `a` sends something to `b`, is challenged and answers.
fn introduce(a: &mut Datagrams, b: &mut Datagrams) -> Received {
    let to = b.me.get();
    let first = sealed(a, to, b"first");
    let challenge = reply(open(b, &first));
    let answer = reply(open(a, &challenge));
    open(b, &answer).unwrap()
}

fn payload(data: &[u8], from: u64, boot: u8) -> Received {
    let secret = SecretChoice::Current;
    let (boot, data) = (BootId([boot; 16]), data.to_vec());
    Received::Payload { from: id(from), boot, secret, proven: None, data }
}

#[test]
fn a_new_boot_answers_a_challenge_and_its_first_datagram_is_not_lost() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    let confirmed = introduce(&mut a, &mut b);
    let (secret, held) = (SecretChoice::Current, Some(b"first".to_vec()));
    let boot = BootId([1; 16]);
    assert_eq!(confirmed, Received::Confirmed { from: id(1), boot, secret, proven: None, held });
    assert_eq!(open(&mut b, &sealed(&mut a, 2, b"second")), Ok(payload(b"second", 1, 1)));
    assert_eq!(b.counters().refused(Refusal::DatagramUnconfirmed), 1);
}

#[test]
fn nothing_is_delivered_before_the_challenge_is_answered() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    let recorded: Vec<_> = (0..5u8).map(|i| sealed(&mut a, 2, &[i])).collect();
    reply(open(&mut b, &recorded[0]));
    for datagram in &recorded[1..] {
        assert_eq!(open(&mut b, datagram), Ok(Received::Held));
    }
    assert_eq!(b.table_sizes(), (0, 1));
}

#[test]
fn recordings_of_an_earlier_boot_have_no_effect() {
    let (mut old, mut b) = (node(1, 1), node(2, 2));
    introduce(&mut old, &mut b);
    let recorded = sealed(&mut old, 2, b"alive, incarnation 9");
    let mut new = node(1, 7);
    introduce(&mut new, &mut b);
    let challenge = reply(open(&mut b, &recorded));
    assert_eq!(open(&mut new, &challenge), Err(DatagramError::MisdirectedChallenge));
    assert_eq!(open(&mut b, &sealed(&mut new, 2, b"still here")), Ok(payload(b"still here", 1, 7)));
}

#[test]
fn replayed_and_old_datagrams_are_refused_and_counted() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    introduce(&mut a, &mut b);
    let datagram = sealed(&mut a, 2, b"once");
    assert!(open(&mut b, &datagram).is_ok());
    assert_eq!(open(&mut b, &datagram), Err(DatagramError::Replayed));
    for _ in 0..REPLAYED_LATER {
        open(&mut b, &sealed(&mut a, 2, b"more")).unwrap();
    }
    assert_eq!(open(&mut b, &datagram), Err(DatagramError::TooOld));
    assert_eq!(b.counters().refused(Refusal::DatagramReplayed), 1);
    assert_eq!(b.counters().refused(Refusal::DatagramTooOld), 1);
}

const REPLAYED_LATER: u64 = crate::limits::REPLAY_WINDOW;

#[test]
fn the_held_datagram_and_the_answer_cannot_be_replayed_either() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    let first = sealed(&mut a, 2, b"first");
    let challenge = reply(open(&mut b, &first));
    let answer = reply(open(&mut a, &challenge));
    open(&mut b, &answer).unwrap();
    assert_eq!(open(&mut b, &first), Err(DatagramError::Replayed));
    assert_eq!(open(&mut b, &answer), Err(DatagramError::UnexpectedAnswer));
}

#[test]
fn receiver_that_restarted_takes_nothing_again_that_was_sent_before_it_met_the_sender() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    introduce(&mut a, &mut b);
    let delivered: Vec<_> = (0..20u8).map(|i| sealed(&mut a, 2, &[i])).collect();
    for datagram in &delivered {
        open(&mut b, datagram).unwrap();
    }
    let mut restarted = node(2, 3);
    introduce(&mut a, &mut restarted);
    for datagram in &delivered {
        assert_eq!(open(&mut restarted, datagram), Err(DatagramError::Replayed));
    }
    assert_eq!(open(&mut restarted, &sealed(&mut a, 2, b"new")), Ok(payload(b"new", 1, 1)));
}

#[test]
fn held_datagram_that_overtook_the_answer_counts_once_and_hides_nothing() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    let challenge = reply(open(&mut b, &sealed(&mut a, 2, b"first")));
    let answer = reply(open(&mut a, &challenge));
    let [between, overtakes] = [b"between", b"overtak"].map(|data| sealed(&mut a, 2, data));
    assert_eq!(open(&mut b, &overtakes), Ok(Received::Held));
    let confirmed = open(&mut b, &answer).unwrap();
    assert!(matches!(confirmed, Received::Confirmed { held: Some(data), .. } if data == b"overtak"));
    assert_eq!(open(&mut b, &overtakes), Err(DatagramError::Replayed));
    assert_eq!(open(&mut b, &between), Ok(payload(b"between", 1, 1)));
}

#[test]
fn a_datagram_for_another_node_cluster_or_environment_is_refused() {
    let (mut a, mut b, mut c) = (node(1, 1), node(2, 2), node(3, 3));
    introduce(&mut a, &mut b);
    introduce(&mut a, &mut c);
    let for_b = sealed(&mut a, 2, b"x");
    assert_eq!(open(&mut c, &for_b), Err(DatagramError::Forged));
    for (cluster, environment) in [("other", ""), ("default", "staging")] {
        let domain = Domain::new(cluster, environment).unwrap();
        let mut foreign = Datagrams::new(id(2), BootId([2; 16]), domain, secrets());
        assert_eq!(open(&mut foreign, &for_b), Err(DatagramError::Forged), "{cluster}/{environment}");
        assert_eq!(foreign.counters().refused(Refusal::DatagramForged), 1);
        let mut hail = Vec::new();
        a.hail(SecretChoice::Current, &mut hail);
        assert_eq!(open(&mut foreign, &hail), Err(DatagramError::Forged), "nor is a hail answered");
    }
    assert_eq!(open(&mut a, &for_b), Err(DatagramError::Forged), "reflected to its sender");
}

#[test]
fn no_changed_bit_is_accepted() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    introduce(&mut a, &mut b);
    let datagram = sealed(&mut a, 2, b"payload");
    for bit in 0..datagram.len() * 8 {
        let mut changed = datagram.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&mut b, &changed).is_err(), "bit {bit}");
    }
    assert_eq!(open(&mut b, &datagram), Ok(payload(b"payload", 1, 1)));
}

#[test]
fn sizes_are_checked_at_both_ends() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    introduce(&mut a, &mut b);
    let largest = sealed(&mut a, 2, &[7; DATAGRAM_PAYLOAD_MAX]);
    assert_eq!(largest.len(), crate::limits::DATAGRAM_MAX);
    assert!(open(&mut b, &largest).is_ok());
    let mut out = Vec::new();
    assert_eq!(
        a.seal(id(2), &[7; DATAGRAM_PAYLOAD_MAX + 1], &mut out),
        Err(PayloadTooLarge(DATAGRAM_PAYLOAD_MAX + 1))
    );
    for length in [0, 1, DATAGRAM_OVERHEAD - 1, crate::limits::DATAGRAM_MAX + 1] {
        assert_eq!(open(&mut b, &vec![1; length]), Err(DatagramError::Malformed), "{length} bytes");
    }
}

#[test]
fn challenges_are_repeated_slowly_and_forgotten() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    let at = |ms: u64| Now::after_start(Duration::from_millis(ms));
    let first = reply(open_at(&mut b, at(0), &sealed(&mut a, 2, b"1")));
    assert_eq!(open_at(&mut b, at(99), &sealed(&mut a, 2, b"2")), Ok(Received::Held));
    let again = reply(open_at(&mut b, at(100), &sealed(&mut a, 2, b"3")));
    let answer = reply(open(&mut a, &first));
    assert!(open_at(&mut b, at(150), &answer).is_ok(), "the first challenge is still valid");
    let answer = reply(open(&mut a, &again));
    assert_eq!(open_at(&mut b, at(150), &answer), Err(DatagramError::UnexpectedAnswer));

    let mut c = node(3, 3);
    let stale = reply(open_at(&mut b, at(0), &sealed(&mut c, 2, b"1")));
    reply(open_at(&mut b, at(5_000), &sealed(&mut c, 2, b"2")));
    let answer = reply(open(&mut c, &stale));
    assert_eq!(
        open_at(&mut b, at(5_001), &answer),
        Err(DatagramError::UnexpectedAnswer),
        "a new nonce is needed"
    );
}

fn at_seconds(seconds: u64) -> Now {
    Now::after_start(Duration::from_secs(seconds))
}

/// Boot 1 of node 1 was challenged at second 0 and answered, but somebody keeps the answer back.
fn kept_back() -> (Datagrams, Datagrams, Vec<u8>) {
    let (mut old, mut b) = (node(1, 1), node(2, 2));
    let challenge = reply(open_at(&mut b, at_seconds(0), &sealed(&mut old, 2, b"alive")));
    let answer = reply(open_at(&mut old, at_seconds(0), &challenge));
    (old, b, answer)
}

#[test]
fn an_answer_counts_until_its_challenge_is_over_and_not_after() {
    let (_, mut b, answer) = kept_back();
    let just_in_time = Now(at_seconds(5).0 - 1);
    assert!(matches!(open_at(&mut b, just_in_time, &answer), Ok(Received::Confirmed { .. })));
    let (_, mut b, answer) = kept_back();
    assert_eq!(open_at(&mut b, at_seconds(5), &answer), Err(DatagramError::UnexpectedAnswer));
    assert_eq!(b.counters().refused(Refusal::ChallengeUnexpected), 1);
}

#[test]
fn an_answer_that_was_kept_back_does_not_bring_an_earlier_boot_back() {
    for (restarted, arrives) in [(10, 3_600), (1, 2)] {
        let (mut old, mut b, answer) = kept_back();
        let recorded = sealed(&mut old, 2, b"of the earlier boot");
        let mut new = node(1, 7);
        let challenge = reply(open_at(&mut b, at_seconds(restarted), &sealed(&mut new, 2, b"x")));
        let new_answer = reply(open_at(&mut new, at_seconds(restarted), &challenge));
        open_at(&mut b, at_seconds(restarted), &new_answer).unwrap();
        assert_eq!(b.table_sizes(), (1, 0), "the challenge of the earlier boot is forgotten");

        let late = open_at(&mut b, at_seconds(arrives), &answer);
        assert_eq!(late, Err(DatagramError::UnexpectedAnswer), "at {arrives} s");
        reply(open_at(&mut b, at_seconds(arrives), &recorded));
        let live = open_at(&mut b, at_seconds(arrives), &sealed(&mut new, 2, b"live"));
        assert_eq!(live, Ok(payload(b"live", 1, 7)));
    }
}

#[test]
fn a_confirmed_boot_ends_the_challenges_of_its_own_node_only() {
    let (_, mut b, answer) = kept_back();
    let mut c = node(3, 3);
    let challenge = reply(open(&mut b, &sealed(&mut c, 2, b"x")));
    open(&mut b, &answer).unwrap();
    let answer = reply(open(&mut c, &challenge));
    assert!(matches!(open(&mut b, &answer), Ok(Received::Confirmed { .. })));
}

#[test]
fn a_hail_introduces_two_nodes_that_know_only_addresses() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    let mut hail = Vec::new();
    a.hail(SecretChoice::Current, &mut hail);
    let received = open(&mut b, &hail);
    let challenge = reply(received);
    let Ok(Received::Reply { to, datagram }) = open(&mut a, &challenge) else { panic!("no answer") };
    assert_eq!(to, id(2), "now we know who lives there");
    let confirmed = open(&mut b, &datagram);
    assert!(matches!(confirmed, Ok(Received::Confirmed { held: None, .. })));
    open(&mut b, &sealed(&mut a, 2, b"x")).unwrap();

    // Hailing again (we forgot the other side) must not open the window for old datagrams.
    let old = sealed(&mut a, 2, b"y");
    open(&mut b, &old).unwrap();
    hail.clear();
    a.hail(SecretChoice::Current, &mut hail);
    let challenge = reply(open(&mut b, &hail));
    let answer = reply(open(&mut a, &challenge));
    open(&mut b, &answer).unwrap();
    assert_eq!(open(&mut b, &old), Err(DatagramError::Replayed));
}

#[test]
fn answer_that_is_too_old_leaves_its_challenge_open() {
    let (mut a, mut b) = (node(1, 1), node(2, 2));
    introduce(&mut a, &mut b);
    let mut hail = Vec::new();
    a.hail(SecretChoice::Current, &mut hail);
    let challenge = reply(open(&mut b, &hail));
    let late = reply(open(&mut a, &challenge));
    for _ in 0..REPLAYED_LATER {
        open(&mut b, &sealed(&mut a, 2, b"overtakes the answer")).unwrap();
    }
    assert_eq!(open(&mut b, &late), Err(DatagramError::TooOld));
    assert_eq!(b.table_sizes(), (1, 1), "nothing was changed by it");
    let again = reply(open(&mut a, &challenge));
    assert!(matches!(open(&mut b, &again), Ok(Received::Confirmed { .. })));
}

#[test]
fn rotating_nodes_understand_old_and_new_ones() {
    let new = Secret::parse(OTHER, "default").unwrap();
    let rotating = Secrets { current: new, previous: Some(Secret::development()) };
    let (mut old, mut between) = (node(1, 1), node_with(2, 2, "default", rotating.clone()));
    introduce(&mut old, &mut between);
    assert_eq!(between.counters().previous_secret(), 1);
    // It answers with the secret that the old node knows.
    let first = sealed(&mut between, 1, b"back");
    let challenge = reply(open(&mut old, &first));
    let answer = reply(open(&mut between, &challenge));
    assert!(matches!(open(&mut old, &answer), Ok(Received::Confirmed { held: Some(_), .. })));
    // The old node comes back with the new secret.
    let mut upgraded = node_with(1, 9, "default", rotating);
    introduce(&mut upgraded, &mut between);
    assert_eq!(between.counters().previous_secret(), 1, "the previous secret is not used any more");
    assert_eq!(open(&mut old, &sealed(&mut between, 1, b"new")), Err(DatagramError::Forged));
}

/// Under which secret a datagram was accepted.
fn secret_of(received: Result<Received, DatagramError>) -> SecretChoice {
    match received {
        Ok(Received::Payload { secret, .. } | Received::Confirmed { secret, .. }) => secret,
        other => panic!("expected to be told something, got {other:?}"),
    }
}

#[test]
fn every_accepted_datagram_under_the_previous_secret_is_said_and_counted_and_no_other() {
    let new = Secret::parse(OTHER, "default").unwrap();
    let rotating = Secrets { current: new, previous: Some(Secret::development()) };
    let (mut old, mut between) = (node(1, 1), node_with(2, 2, "default", rotating.clone()));
    assert_eq!(secret_of(Ok(introduce(&mut old, &mut between))), SecretChoice::Previous);
    for count in 2..10 {
        let datagram = sealed(&mut old, 2, b"x");
        assert_eq!(secret_of(open(&mut between, &datagram)), SecretChoice::Previous);
        assert_eq!(open(&mut between, &datagram), Err(DatagramError::Replayed));
        assert_eq!(between.counters().previous_secret(), count);
    }

    // A boot that is met under the current secret, and tries both in turn, as nobody speaks to it.
    let (mut a, mut b) = (node_with(3, 3, "default", rotating.clone()), node_with(2, 2, "default", rotating));
    assert_eq!(secret_of(Ok(introduce(&mut a, &mut b))), SecretChoice::Current);
    let secrets = [b"1", b"2", b"3", b"4"].map(|data| secret_of(open(&mut b, &sealed(&mut a, 2, data))));
    let previous = secrets.iter().filter(|secret| **secret == SecretChoice::Previous).count();
    assert_eq!((previous, b.counters().previous_secret()), (2, 2));
}

#[test]
fn rotating_node_is_heard_by_an_old_one_that_never_spoke_to_it() {
    let new = Secret::parse(OTHER, "default").unwrap();
    let rotating = Secrets { current: new.clone(), previous: Some(Secret::development()) };
    let finished = Secrets { current: new, previous: None };
    for mut silent in [node(1, 1), node_with(1, 1, "default", finished)] {
        let mut between = node_with(2, 2, "default", rotating.clone());
        let heard = [b"one", b"two"].map(|data| open(&mut silent, &sealed(&mut between, 1, data)));
        let challenged = heard.into_iter().filter(Result::is_ok).map(reply).collect::<Vec<_>>();
        let [challenge] = &challenged[..] else { panic!("one of two is understood") };
        let answer = reply(open(&mut between, challenge));
        assert!(matches!(open(&mut silent, &answer), Ok(Received::Confirmed { held: Some(_), .. })));
    }
}

#[test]
fn node_that_came_back_with_the_new_secret_only_is_reached_though_it_never_speaks_first() {
    let new = Secret::parse(OTHER, "default").unwrap();
    let rotating = Secrets { current: new.clone(), previous: Some(Secret::development()) };
    let finished = Secrets { current: new, previous: None };
    let (mut old, mut between) = (node(1, 1), node_with(2, 2, "default", rotating));
    introduce(&mut old, &mut between);
    let mut back = node_with(1, 9, "default", finished);
    let understood = |_| open(&mut back, &sealed(&mut between, 1, b"there?")).is_ok();
    assert!((0..UNHEARD_MAX + 2).any(understood));
}

#[test]
fn known_boot_may_change_to_the_other_secret_and_back_but_not_repeat_itself() {
    let new = Secret::parse(OTHER, "default").unwrap();
    let rotating = Secrets { current: new, previous: Some(Secret::development()) };
    let (mut a, mut b) = (node_with(1, 1, "default", rotating.clone()), node_with(2, 2, "default", rotating));
    introduce(&mut a, &mut b);
    // It is not answered for so long that it tries both in turn.
    for _ in 0..UNHEARD_MAX + 6 {
        let datagram = sealed(&mut a, 2, b"x");
        assert!(matches!(open(&mut b, &datagram), Ok(Received::Payload { .. })));
        assert_eq!(open(&mut b, &datagram), Err(DatagramError::Replayed));
    }
}

#[test]
fn tables_stay_within_their_limits() {
    let mut b = node(2, 2);
    for number in 0..CHALLENGES_MAX as u64 + 50 {
        let mut stranger = node(1_000 + number, 1);
        reply(open(&mut b, &sealed(&mut stranger, 2, b"hello")));
    }
    assert_eq!(b.table_sizes(), (0, CHALLENGES_MAX));
    assert_eq!(b.counters().refused(Refusal::ChallengesFull), 50);
}

#[test]
fn known_sender_that_was_not_heard_for_the_longest_time_makes_room_and_is_challenged_again() {
    let (mut b, mut busy, mut silent) = (node(2, 2), node(1_000, 1), node(1_001, 1));
    introduce(&mut busy, &mut b);
    introduce(&mut silent, &mut b);
    for number in 2..DATAGRAM_PEERS_MAX as u64 {
        introduce(&mut node(1_000 + number, 1), &mut b);
    }
    open(&mut b, &sealed(&mut busy, 2, b"still here")).unwrap();
    assert_eq!((b.table_sizes(), b.counters().refused(Refusal::PeersFull)), ((DATAGRAM_PEERS_MAX, 0), 0));
    introduce(&mut node(3, 1), &mut b);
    assert_eq!((b.table_sizes(), b.counters().refused(Refusal::PeersFull)), ((DATAGRAM_PEERS_MAX, 0), 1));
    assert_eq!(open(&mut b, &sealed(&mut busy, 2, b"x")), Ok(payload(b"x", 1_000, 1)));
    reply(open(&mut b, &sealed(&mut silent, 2, b"x")));
}

fn proven(received: Result<Received, DatagramError>) -> Result<Option<Role>, DatagramError> {
    match received? {
        Received::Payload { proven, .. } | Received::Confirmed { proven, .. } => Ok(proven),
        other => panic!("nothing was delivered: {other:?}"),
    }
}

/// Two nodes meet over TLS.
fn met(a: &mut Datagrams, role_a: Role, b: &mut Datagrams, role_b: Role) {
    let exported = || Secret::exported([9; 32]);
    a.pair_with(b.me, role_b, exported());
    b.pair_with(a.me, role_a, exported());
}

#[test]
fn worker_with_the_shared_secret_cannot_seal_as_a_manager_that_proved_itself() {
    let mut manager = node(1, 1).with_certificates(Role::Manager);
    let mut other = node(2, 2).with_certificates(Role::Manager);
    met(&mut manager, Role::Manager, &mut other, Role::Manager);
    assert_eq!(proven(Ok(introduce(&mut manager, &mut other))), Ok(Some(Role::Manager)));
    // A worker knows the shared secret, the manager's id and, from any datagram, its boot.
    let mut worker = node(1, 1);
    let forged = sealed(&mut worker, 2, b"I lead");
    assert_eq!(open(&mut other, &forged), Err(DatagramError::Forged));
    let second = sealed(&mut manager, 2, b"second");
    assert_eq!(proven(open(&mut other, &second)), Ok(Some(Role::Manager)));
}

#[test]
fn whoever_has_proven_nothing_to_this_node_is_heard_as_a_worker_at_most() {
    let mut receiver = node(2, 2).with_certificates(Role::Manager);
    let mut claims = node(1, 1).with_certificates(Role::Manager);
    assert_eq!(proven(Ok(introduce(&mut claims, &mut receiver))), Ok(Some(Role::Worker)));
    // Once they have met it is heard as what it is, and no more by the shared secret.
    met(&mut claims, Role::Manager, &mut receiver, Role::Manager);
    assert_eq!(proven(Ok(introduce(&mut claims, &mut receiver))), Ok(Some(Role::Manager)));
    assert_eq!(open(&mut receiver, &sealed(&mut node(1, 1), 2, b"again")), Err(DatagramError::Forged));
}

#[test]
fn workers_with_certificates_hear_each_other_and_their_manager() {
    let [mut one, mut two] = [1, 2].map(|number| node(number, number as u8).with_certificates(Role::Worker));
    assert_eq!(proven(Ok(introduce(&mut one, &mut two))), Ok(Some(Role::Worker)), "without a connection");
    let mut manager = node(3, 3).with_certificates(Role::Manager);
    met(&mut one, Role::Worker, &mut manager, Role::Manager);
    assert_eq!(proven(Ok(introduce(&mut one, &mut manager))), Ok(Some(Role::Worker)));
    assert_eq!(proven(Ok(introduce(&mut manager, &mut one))), Ok(Some(Role::Manager)));
    // The secret of that pair is worth nothing to others.
    let forged = sealed(&mut node(3, 3), 1, b"I lead");
    assert_eq!(open(&mut one, &forged), Err(DatagramError::Forged));
}
