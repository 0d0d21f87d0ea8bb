//! Long work in slices: no command costs more than its limit, and slices change nothing.

use super::ended::{accept_of, id, restored, run, submit};
use super::*;
use crate::apply::NameCursor;

/// Chunks of more jobs than a command moves.
const MIDDLE: Sizes = Sizes { chunk_bytes: 40 << 10, ..SMALL };

/// A register with many ended jobs that are whole, and chunks so small that most of them are due.
fn backlog(jobs: u64, sizes: Sizes) -> Log {
    let mut log = Log::new();
    for number in 0..jobs {
        run(&mut log, number);
    }
    assert_eq!(log.register().jobs().len() as u64, jobs);
    log.applier.machine = log.applier.machine.clone().with_sizes(sizes);
    log
}

/// A command that changes nothing.
fn nothing(log: &mut Log) {
    log.apply(Token(0), Body::ClusterVersion { version: 0 });
}

#[test]
fn no_command_seals_more_than_its_share() {
    let mut log = backlog(200, MIDDLE);
    let mut moved = Vec::new();
    while moved.last() != Some(&0) {
        let before = log.register().jobs().len();
        nothing(&mut log);
        moved.push(before - log.register().jobs().len());
    }
    assert!(moved.iter().all(|moved| *moved <= SEALED_PER_COMMAND) && moved.len() > 5, "{moved:?}");
    assert_eq!(moved[0], SEALED_PER_COMMAND);
    assert!(log.register().chunks().len() > 0);
    for number in 0..200 {
        assert_eq!(log.register().job_of_key(&format!("key {number}")), Some(id(number)));
    }
}

#[test]
fn a_command_stops_after_a_job_that_is_large() {
    let mut log = Log::new();
    for number in 0..4 {
        submit(&mut log, number);
        log.apply(Token(0), leads(id(number), 1));
        let (token, values) = (Token(log.index), Values::Inline(Bytes::from(vec![7; CONTEXT_BYTES_MAX])));
        let (job, workflow) = (id(number), "w".to_owned());
        log.apply(token, Body::Context { job, workflow, version: 1, values });
        log.apply(token, Body::JobEnd { job, end: End::new(EndStatus::Completed, None), elapsed_ms: 0 });
    }
    let sizes = Sizes { chunk_bytes: 100 << 10, ..SMALL };
    log.applier.machine = log.applier.machine.clone().with_sizes(sizes);
    nothing(&mut log);
    assert_eq!(log.register().jobs().len(), 3, "one of them weighs more than a command moves");
}

#[test]
fn replica_that_begins_with_a_snapshot_fills_the_chunk_like_everybody_else() {
    let mut log = Log::small(Group::Managers);
    let mut number = 0;
    while log.register().sealed(id(0)).is_none_or(|sealed| sealed.chunk.is_some()) {
        run(&mut log, number);
        number += 1;
    }
    assert!(log.register().chunks().len() == 0, "the chunk is not full");
    let whole = log.register().being_sealed(id(0)).unwrap();
    assert_eq!((whole.key.as_str(), whole.end.unwrap().index), ("key 0", 3));
    let mut other = Log::small(Group::Managers);
    let state = log.applier.view().encode();
    other.applier.restore(log.index, state).unwrap();
    other.index = log.index;
    assert_eq!(other.register(), log.register());
    for number in number..number + 20 {
        run(&mut log, number);
        run(&mut other, number);
    }
    assert!(log.register().chunks().len() > 2);
    assert_eq!((other.applier.proof(), other.register()), (log.applier.proof(), log.register()));
    assert_eq!(other.chunks, log.chunks, "byte for byte");
}

#[test]
fn keys_of_a_forgotten_chunk_are_free_at_once_and_leave_the_tables_later() {
    let mut log = backlog(200, MIDDLE);
    for _ in 0..40 {
        nothing(&mut log);
    }
    let chunk = log.register().chunks().next().unwrap().contents.clone();
    assert!(chunk.jobs > 60, "more than leave with one command: {}", chunk.jobs);
    assert_eq!(log.apply(Token(0), Body::JobForget { first: chunk.first, last: chunk.last }), Outcome::Done);
    for number in 0..u64::from(chunk.jobs) {
        assert_eq!(log.register().job_of_key(&format!("key {number}")), None, "key {number}");
        assert_eq!(log.register().sealed(id(number)), None);
    }
    // The key of a forgotten job under a new id, and the id of a forgotten job under a new key: found as what they are now.
    let new_id = Accept { job: id(900), ..accept_of(0) };
    let new_key = Accept { key: "new".to_owned(), ..accept_of(1) };
    for accept in [new_id, new_key] {
        let is_new = Outcome::Accepted { job: accept.job, is_repeat: false };
        assert_eq!(log.apply(Token(0), Body::JobAccept(Box::new(accept))), is_new);
    }
    for _ in 0..20 {
        nothing(&mut log);
        assert_eq!(log.register().job_of_key("key 0"), Some(id(900)));
        assert_eq!(
            (log.register().job_of_key("new"), log.register().job_of_key("key 1")),
            (Some(id(1)), None)
        );
    }
    let mut register = Register::new(Group::Managers).with_sizes(MIDDLE);
    register.restore(log.register().snapshot()).unwrap();
    for blob in register.missing() {
        register.supply(blob, &log.chunks[&blob]).unwrap();
    }
    assert_eq!(&register, log.register());
}

#[test]
fn whole_jobs_are_forgotten_a_limited_number_at_a_time() {
    let mut log = Log::new();
    let jobs = FORGOTTEN_PER_COMMAND as u64 + 44;
    for number in 0..jobs {
        run(&mut log, number);
    }
    let forget = Body::JobForget { first: 1, last: log.index };
    assert_eq!(log.apply(Token(0), forget.clone()), Outcome::Done);
    assert_eq!(log.register().jobs().len(), 44);
    assert_eq!(log.apply(Token(0), forget.clone()), Outcome::Done);
    assert_eq!(log.register().jobs().len(), 0);
    assert_eq!(log.apply(Token(0), forget), Outcome::Repeated);
}

#[test]
fn id_that_is_accepted_again_is_not_sealed_twice_in_one_chunk() {
    let mut log = Log::small(Group::Managers);
    let origin =
        |part| Some(Origin { datacenter: "eu-1".to_owned(), part: Token(part), gate_token: Token(9) });
    let part = |log: &mut Log, part| {
        let accept = Accept { origin: origin(part), ..accept_of(0) };
        let is_new = Outcome::Accepted { job: id(0), is_repeat: false };
        assert_eq!(log.apply(Token(0), Body::JobAccept(Box::new(accept))), is_new);
        log.apply(Token(0), leads(id(0), 1));
        log.apply(
            Token(log.index),
            Body::JobEnd { job: id(0), end: End::new(EndStatus::Failed, None), elapsed_ms: 0 },
        );
    };
    part(&mut log, 5);
    let mut number = 1;
    while log.register().sealed(id(0)).is_none() {
        run(&mut log, number);
        number += 1;
    }
    assert_eq!(log.register().sealed(id(0)).unwrap().chunk, None, "it is in the chunk that is filled");
    let last = log.register().chunk_contents().next().unwrap().last;
    log.apply(Token(0), Body::JobForget { first: last + 1, last: log.index });
    assert_eq!(log.register().jobs().len(), 0, "the next one that ends is the next one that is sealed");
    part(&mut log, 6);
    let second = log.index;
    while log.register().sealed(id(0)).is_none_or(|sealed| sealed.chunk.is_none()) {
        run(&mut log, number);
        number += 1;
    }
    assert_eq!(log.register().sealed(id(0)).unwrap().index, second);
    let mut register = restored(&log);
    for blob in register.missing() {
        register.supply(blob, &log.chunks[&blob]).unwrap();
    }
    assert_eq!(&register, log.register());
}

#[test]
fn blobs_are_listed_in_slices_also_while_jobs_are_sealed() {
    let mut log = backlog(200, SMALL);
    let named = log.register().blobs();
    let (mut listed, mut next, mut slices) = (Vec::new(), Some(NameCursor::default()), 0);
    while let Some(from) = next {
        let before = listed.len();
        next = log.register().named_blobs(from, 10, &mut listed);
        assert!(listed.len() - before <= 12, "a limit of 10, and the names of one job");
        nothing(&mut log);
        slices += 1;
    }
    assert!(slices > 20);
    let listed: BTreeSet<BlobId> = listed.into_iter().collect();
    assert!(listed.is_superset(&named));
    let all: BTreeSet<BlobId> = listed.into_iter().chain(log.applier.machine.take_named()).collect();
    assert!(all.is_superset(&log.register().blobs()), "and what was named meanwhile is told");
}
