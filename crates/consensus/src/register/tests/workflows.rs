//! Segments of all kinds, their history, and what is known of a workflow.

use super::*;

fn of_kind(kind: SegmentKind, it: AssignSegment) -> Body {
    batch([AssignSegment { kind, ..it }])
}

fn ended(number: u32, attempt: u32, status: EndStatus) -> Body {
    Body::AttemptEnd { segment: segment(number), attempt, end: End::new(status, None) }
}

fn windows(number: u32, attempt: u32, bytes: &[u8]) -> Body {
    Body::AttemptWindows { segment: segment(number), attempt, windows: BlobId::of(bytes) }
}

fn workflow(log: &Log) -> Workflow {
    log.register().job(job(1)).unwrap().workflow("load").unwrap().clone()
}

/// A job that is led, with a worker.
fn begin() -> (Log, Token, Token) {
    let mut log = Log::new();
    let token = log.led(1);
    let grant = log.grant(9, 1);
    (log, token, grant)
}

#[test]
fn load_follows_a_set_up_that_completed_and_tear_down_follows_the_load() {
    let (mut log, token, grant) = begin();
    let (set_up, load, tear_down) = (SegmentKind::SetUp, SegmentKind::Load, SegmentKind::TearDown);
    assert_eq!(log.apply(token, of_kind(set_up, one(7, 1, grant, 1))), Outcome::Done);
    assert_eq!((workflow(&log).phase(), workflow(&log).started), (Phase::SetUp, Some(log.index)));
    let not_set_up = Outcome::Refused(CommandRefusal::NotSetUp);
    assert_eq!(log.apply(token, of_kind(load, one(0, 1, grant, 1))), not_set_up);
    log.apply(token, ended(7, 1, EndStatus::Refused));
    assert_eq!(log.apply(token, of_kind(load, one(0, 1, grant, 1))), not_set_up, "it was refused");
    assert_eq!(
        log.apply(token, of_kind(load, one(7, 2, grant, 1))),
        Outcome::Refused(CommandRefusal::NotSetUp)
    );
    assert_eq!(
        log.apply(token, of_kind(set_up, one(7, 2, grant, 1))),
        Outcome::Done,
        "retried like any other"
    );
    log.apply(token, ended(7, 2, EndStatus::Completed));
    assert_eq!(log.apply(token, of_kind(load, one(0, 1, grant, 1))), Outcome::Done);
    assert_eq!(workflow(&log).phase(), Phase::Load);
    let wrong = Outcome::Refused(CommandRefusal::WrongKind);
    assert_eq!(log.apply(token, of_kind(set_up, one(8, 1, grant, 1))), wrong, "load was assigned");
    let runs = Outcome::Refused(CommandRefusal::Running);
    assert_eq!(log.apply(token, of_kind(tear_down, one(9, 1, grant, 1))), runs);
    log.apply(token, ended(0, 1, EndStatus::Completed));
    assert_eq!(log.apply(token, of_kind(tear_down, one(0, 2, grant, 1))), wrong, "that segment is load");
    assert_eq!(log.apply(token, of_kind(tear_down, one(9, 1, grant, 1))), Outcome::Done);
    assert_eq!(workflow(&log).phase(), Phase::TearDown);
    assert_eq!(log.apply(token, of_kind(load, one(1, 1, grant, 1))), wrong);
    log.apply(token, ended(9, 1, EndStatus::Completed));
    log.apply(token, workflow_end("load", EndStatus::Completed));
    assert_eq!(workflow(&log).phase(), Phase::Ended);
}

#[test]
fn tear_down_runs_after_a_cancel_of_what_had_begun() {
    let (mut log, token, grant) = begin();
    let tear_down = |workflow: &str| {
        let it = AssignSegment { workflow: workflow.to_owned(), ..one(9, 1, grant, 1) };
        of_kind(SegmentKind::TearDown, it)
    };
    log.apply(token, assign(0, 1, grant, 1));
    log.apply(Token(0), cancel(&[], 1));
    assert_eq!(log.apply(token, tear_down("load")), Outcome::Refused(CommandRefusal::Running));
    log.apply(token, ended(0, 1, EndStatus::Cancelled));
    assert_eq!(log.apply(token, assign(1, 1, grant, 1)), Outcome::Refused(CommandRefusal::Cancelled));
    assert_eq!(log.apply(token, tear_down("never begun")), Outcome::Refused(CommandRefusal::Cancelled));
    assert_eq!(log.apply(token, tear_down("load")), Outcome::Done);
    assert_eq!(log.apply(token, job_end(EndStatus::Cancelled)), Outcome::Refused(CommandRefusal::Running));
    log.apply(token, ended(9, 1, EndStatus::Completed));
    assert_eq!(log.apply(token, job_end(EndStatus::Cancelled)), Outcome::Done);
}

#[test]
fn history_of_a_segment_names_who_is_excluded_and_counts_losses_and_refusals_apart() {
    let (mut log, token, grant) = begin();
    let second = log.grant(8, 1);
    log.apply(token, assign(0, 1, grant, 1));
    log.apply(token, ended(0, 1, EndStatus::Refused));
    let elsewhere = |attempt| batch([AssignSegment { worker: node(8), ..one(0, attempt, second, 1) }]);
    log.apply(token, elsewhere(2));
    log.apply(Token(0), worker_gone(8, second));
    let third = log.grant(7, 1);
    log.apply(token, batch([AssignSegment { worker: node(7), ..one(0, 3, third, 1) }]));
    let job = log.register().job(job(1)).unwrap();
    let record = job.segment("load", 0).unwrap();
    assert_eq!(record.attempts().iter().map(|it| it.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(record.excluded(), BTreeSet::from([node(8), node(9)]));
    assert_eq!((record.lost(), record.refused(), job.retries()), (1, 1, (1, 1)));
    let mut restored = Register::default();
    restored.restore(log.register().snapshot()).unwrap();
    assert_eq!(&restored, log.register());
}

#[test]
fn windows_of_a_lost_attempt_are_kept_once_and_of_no_other() {
    let (mut log, token, grant) = begin();
    log.apply(token, assign(0, 1, grant, 1));
    assert_eq!(log.apply(token, windows(0, 1, b"w")), Outcome::Refused(CommandRefusal::NotLost));
    log.apply(Token(0), worker_gone(9, grant));
    let again = log.grant(9, 1);
    log.apply(token, assign(0, 2, again, 1));
    assert_eq!(log.apply(token, windows(0, 1, b"w")), Outcome::Done, "though the next attempt runs");
    assert_eq!(log.apply(token, windows(0, 1, b"w")), Outcome::Repeated);
    assert_eq!(log.apply(token, windows(0, 1, b"other")), Outcome::Refused(CommandRefusal::AlreadyEnded));
    assert_eq!(log.apply(token, windows(0, 9, b"w")), Outcome::Refused(CommandRefusal::Superseded));
    assert_eq!(
        log.apply(Token(1), windows(0, 1, b"w")),
        Outcome::Refused(CommandRefusal::StaleToken { current: token })
    );
    let job = log.register().job(job(1)).unwrap();
    let lost = &job.segment("load", 0).unwrap().attempts()[0];
    assert_eq!(lost.state, AttemptState::Lost { windows: Some(BlobId::of(b"w")) });
}

#[test]
fn every_blob_that_is_referred_to_is_listed() {
    let (mut log, token, grant) = begin();
    let blob = |name: &str| BlobId::of(name.as_bytes());
    let end = |name: &str| End::new(EndStatus::Completed, Some(blob(name)));
    log.apply(token, batch([one(0, 1, grant, 1), one(1, 1, grant, 1)]));
    log.apply(token, Body::AttemptEnd { segment: segment(0), attempt: 1, end: end("result") });
    log.apply(Token(0), worker_gone(9, grant));
    log.apply(token, windows(1, 1, b"windows"));
    log.apply(token, context(1, Values::Blob(blob("context"))));
    log.apply(token, Body::JobEnd { job: job(1), end: end("job"), elapsed_ms: 0 });
    let expected = ["plan", "result", "windows", "context", "job"].map(blob);
    assert_eq!(log.register().blobs(), BTreeSet::from(expected));
    let bytes: u64 = expected.iter().map(|blob| blob.length).sum();
    let weight = log.register().job(job(1)).unwrap().weight() as u64;
    assert_eq!(log.register().logical_bytes(), weight + bytes);

    let mut log = Log::of(Group::Gates);
    let token = log.led(1);
    log.apply(token, Body::DcAssign { job: job(1), datacenter: "a".to_owned(), try_number: 1, share_ppm: 1 });
    let part = PartId { job: job(1), datacenter: "a".to_owned(), token: Token(log.index) };
    log.apply(token, Body::DcEnd { part, end: end("part"), is_late: false });
    assert_eq!(log.register().blobs(), BTreeSet::from(["plan", "part"].map(blob)));
}
