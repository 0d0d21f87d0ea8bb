//! Ended jobs in sealed chunks.

use super::*;

pub(super) fn id(number: u64) -> JobId {
    JobId(u128::from(number).to_be_bytes())
}

pub(super) fn accept_of(number: u64) -> Accept {
    Accept { job: id(number), key: format!("key {number}"), ..accepted(0, "", b"plan") }
}

pub(super) fn submit(log: &mut Log, number: u64) -> Outcome {
    log.apply(Token(0), Body::JobAccept(Box::new(accept_of(number))))
}

/// A job from its acceptance to its end.
pub(super) fn run(log: &mut Log, number: u64) {
    assert!(matches!(submit(log, number), Outcome::Accepted { is_repeat: false, .. }));
    log.apply(Token(0), leads(id(number), 1));
    let end = End::new(EndStatus::Completed, Some(BlobId { hash: [7; 32], length: 1_000 }));
    assert_eq!(
        log.apply(Token(log.index), Body::JobEnd { job: id(number), end, elapsed_ms: 0 }),
        Outcome::Done
    );
}

/// The register of a replica that has this snapshot and nothing else.
pub(super) fn restored(log: &Log) -> Register {
    let mut register = Register::new(Group::Managers).with_sizes(SMALL);
    register.restore(log.register().snapshot()).unwrap();
    register
}

#[test]
fn ended_jobs_are_sealed_and_everything_about_them_is_still_known() {
    let mut log = Log::small(Group::Managers);
    for number in 0..20 {
        run(&mut log, number);
    }
    assert!(log.register().chunks().len() > 2 && log.register().jobs().len() < 10);
    let sealed = log.register().sealed(id(0)).expect("the first one that ended");
    assert_eq!((log.register().job(id(0)), sealed.index), (None, 3));
    let jobs = jobs_of_chunk(&log.chunks[&sealed.chunk.unwrap()]).unwrap();
    let (_, first) = jobs.iter().find(|(job, _)| *job == id(0)).unwrap();
    assert_eq!((first.key.as_str(), first.end.as_ref().unwrap().index), ("key 0", 3));
    assert!(log.register().blobs().is_superset(&first.blobs()), "nobody collects what it refers to");
    assert_eq!(submit(&mut log, 0), Outcome::Accepted { job: id(0), is_repeat: true }, "its key is known");
    let other_plan = Accept { plan: BlobId::of(b"other"), ..accept_of(0) };
    let conflict = Outcome::Refused(CommandRefusal::KeyConflict);
    assert_eq!(log.apply(Token(0), Body::JobAccept(Box::new(other_plan))), conflict);
    let other_key = Accept { key: "new".to_owned(), ..accept_of(0) };
    let known = Outcome::Refused(CommandRefusal::JobKnown);
    assert_eq!(log.apply(Token(0), Body::JobAccept(Box::new(other_key))), known);
    let ended = Outcome::Refused(CommandRefusal::AlreadyEnded);
    let cancel = Body::Cancel {
        job: id(0),
        workflows: Vec::new(),
        named: Vec::new(),
        request: RequestId([1; 16]),
        reason: String::new(),
        caller: String::new(),
    };
    for body in [
        leads(id(0), 1),
        Body::JobEnd { job: id(0), end: End::new(EndStatus::Failed, None), elapsed_ms: 0 },
        cancel,
    ] {
        assert_eq!(log.apply(Token(2), body.clone()), ended, "{body:?}");
    }
    assert!(log.register().chunks().all(|chunk| log.register().blobs().contains(&chunk.blob)));
}

#[test]
fn replica_with_a_snapshot_needs_the_chunks_and_then_knows_the_same() {
    let mut log = Log::small(Group::Managers);
    for number in 0..20 {
        run(&mut log, number);
    }
    let mut register = restored(&log);
    let missing = register.missing();
    assert_eq!(missing.len(), log.register().chunks().len());
    assert_ne!(&register, log.register(), "keys and ids are not in the snapshot");
    let wrong = Bytes::from_static(b"something else");
    assert!(register.supply(missing[0], &wrong).is_err());
    for blob in &missing {
        assert_eq!(register.supply(*blob, &log.chunks[blob]), Ok(()));
    }
    assert_eq!((register.missing(), &register), (Vec::new(), log.register()));
}

#[test]
fn chunk_is_forgotten_when_all_of_it_is_in_the_range() {
    let mut log = Log::small(Group::Managers);
    for number in 0..12 {
        run(&mut log, number);
    }
    let before = log.register().logical_bytes();
    let chunk = log.register().chunks().next().unwrap().clone();
    let part = Body::JobForget { first: chunk.contents.first, last: chunk.contents.last - 1 };
    assert_eq!(log.apply(Token(0), part), Outcome::Repeated, "not all of it");
    assert_eq!(
        log.apply(Token(0), Body::JobForget { first: chunk.contents.first, last: chunk.contents.last }),
        Outcome::Done
    );
    assert_eq!(log.register().logical_bytes(), before - chunk.contents.logical_bytes);
    assert_eq!(log.register().sealed(id(0)), None);
    assert_eq!(submit(&mut log, 0), Outcome::Accepted { job: id(0), is_repeat: false }, "its key is free");
    assert_eq!(submit(&mut log, 11), Outcome::Accepted { job: id(11), is_repeat: true });
}

#[test]
fn full_store_refuses_new_jobs_and_forgets_nothing_before_its_time() {
    let mut log = Log::small(Group::Managers);
    let mut number = 0;
    let refusal = loop {
        match submit(&mut log, number) {
            Outcome::Accepted { .. } => {}
            other => break other,
        }
        log.apply(Token(0), leads(id(number), 1));
        let end = End::new(EndStatus::Completed, Some(BlobId { hash: [7; 32], length: 10_000 }));
        log.apply(Token(log.index), Body::JobEnd { job: id(number), end, elapsed_ms: 0 });
        number += 1;
    };
    assert_eq!(refusal, Outcome::Refused(CommandRefusal::Limit(Limit::LogicalBytes)));
    assert!(number > 50, "{number}");
    for known in 0..number {
        assert_eq!(log.register().job_of_key(&format!("key {known}")), Some(id(known)));
    }
    assert_eq!(
        submit(&mut log, 3),
        Outcome::Accepted { job: id(3), is_repeat: true },
        "what is known is answered"
    );
    let hour = Now::after_start(std::time::Duration::from_hours(1));
    let mut retention = Retention::default();
    assert_eq!(retention.due(Now::ZERO, log.register()), []);
    let due = retention.due(hour, log.register());
    assert_eq!(due.len(), 1, "one range for all of them: {due:?}");
    assert_eq!(log.apply(Token(0), Body::JobForget { first: due[0].0, last: due[0].1 }), Outcome::Done);
    assert_eq!((log.register().logical_bytes(), log.register().chunks().len()), (0, 0));
    assert!(matches!(submit(&mut log, number), Outcome::Accepted { is_repeat: false, .. }));
}

#[test]
fn chunk_is_retained_as_long_as_its_job_that_is_retained_longest() {
    let mut log = Log::small(Group::Managers);
    for number in 0..20 {
        let options =
            JobOptions { retain_ms: if number == 1 { 7_200_000 } else { 60_000 }, ..JobOptions::default() };
        let accept = Accept { options, ..accept_of(number) };
        log.apply(Token(0), Body::JobAccept(Box::new(accept)));
        log.apply(Token(0), leads(id(number), 1));
        let end = End::new(EndStatus::Completed, None);
        log.apply(Token(log.index), Body::JobEnd { job: id(number), end, elapsed_ms: 0 });
    }
    let chunks: Vec<u64> = log.register().chunks().map(|chunk| chunk.contents.retain_ms).collect();
    assert_eq!((chunks[0], chunks[1]), (7_200_000, 60_000));
    let mut retention = Retention::default();
    retention.due(Now::ZERO, log.register());
    let first = log.register().chunks().next().unwrap().contents.last;
    let due = retention.due(Now::after_start(std::time::Duration::from_mins(1)), log.register());
    assert_eq!(due.iter().map(|(from, _)| *from > first).collect::<Vec<_>>(), [true]);
}

#[test]
fn next_part_takes_the_key_of_a_sealed_one() {
    let mut log = Log::small(Group::Managers);
    let origin =
        |part| Some(Origin { datacenter: "eu-1".to_owned(), part: Token(part), gate_token: Token(9) });
    let accept = |part| Accept { origin: origin(part), ..accept_of(0) };
    log.apply(Token(0), Body::JobAccept(Box::new(accept(5))));
    log.apply(Token(0), leads(id(0), 1));
    log.apply(
        Token(log.index),
        Body::JobEnd { job: id(0), end: End::new(EndStatus::Failed, None), elapsed_ms: 0 },
    );
    for number in 1..12 {
        run(&mut log, number);
    }
    assert!(log.register().sealed(id(0)).is_some());
    let stale = Outcome::Refused(CommandRefusal::StalePart { current: Token(5) });
    assert_eq!(log.apply(Token(0), Body::JobAccept(Box::new(accept(4)))), stale);
    let next = Outcome::Accepted { job: id(0), is_repeat: false };
    assert_eq!(log.apply(Token(0), Body::JobAccept(Box::new(accept(6)))), next);
    assert!(log.register().sealed(id(0)).is_none() && log.register().job(id(0)).is_some());
    let mut register = restored(&log);
    for blob in register.missing() {
        register.supply(blob, &log.chunks[&blob]).unwrap();
    }
    assert_eq!(&register, log.register(), "who begins with a snapshot knows that it was replaced");
}

#[test]
fn job_whose_part_may_come_back_is_not_sealed() {
    let mut log = Log::small(Group::Gates);
    let token = log.led(1);
    log.apply(token, Body::DcAssign { job: job(1), datacenter: "a".to_owned(), try_number: 1, share_ppm: 1 });
    let part = PartId { job: job(1), datacenter: "a".to_owned(), token: Token(log.index) };
    let lost = End::new(EndStatus::Lost, None);
    log.apply(token, Body::DcEnd { part: part.clone(), end: lost, is_late: false });
    log.apply(token, job_end(EndStatus::Failed));
    for number in 100..120 {
        run(&mut log, number);
    }
    assert!(log.register().chunks().len() > 1 && log.register().job(job(1)).is_some());
    let late = Body::DcEnd { part, end: End::new(EndStatus::Completed, None), is_late: true };
    assert_eq!(log.apply(token, late), Outcome::Done, "its late result is kept");
}
