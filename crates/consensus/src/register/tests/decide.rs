//! Decisions of the core that drives a job.

use super::*;

fn decide(number: u8, decision: &'static [u8], effect: Option<Body>) -> Body {
    Body::Decide(Box::new(Decide {
        job: job(number),
        decision: Values::Inline(Bytes::from_static(decision)),
        effect,
        closes: false,
    }))
}

fn decisions(log: &Log) -> Vec<Values> {
    log.register().job(job(1)).unwrap().decisions().to_vec()
}

fn inline(texts: &[&'static [u8]]) -> Vec<Values> {
    texts.iter().map(|text| Values::Inline(Bytes::from_static(text))).collect()
}

#[test]
fn decisions_are_kept_in_the_order_of_the_log_and_forgotten_with_the_end() {
    let mut log = Log::new();
    let token = log.led(1);
    for decision in [&b"ready"[..], b"start"] {
        assert_eq!(log.apply(token, decide(1, decision, None)), Outcome::Done);
    }
    assert_eq!(decisions(&log), inline(&[b"ready", b"start"]));
    let before = log.register().job(job(1)).unwrap().weight();
    log.apply(token, job_end(EndStatus::Completed));
    assert_eq!(decisions(&log), []);
    assert!(log.register().job(job(1)).unwrap().weight() < before);
}

#[test]
fn decision_is_kept_only_with_the_command_that_carries_it_out() {
    let mut log = Log::new();
    let (token, grant) = (log.led(1), log.grant(9, 1));
    let too_many = assign(0, 1, grant, 100);
    let refused = log.apply(token, decide(1, b"assign", Some(too_many)));
    assert_eq!(refused, Outcome::Refused(CommandRefusal::CoresNotFree { free: 4 }));
    assert_eq!(decisions(&log), []);
    let before = log.register().job(job(1)).unwrap().weight();
    assert_eq!(log.apply(token, decide(1, b"assign", Some(assign(0, 1, grant, 2)))), Outcome::Done);
    assert!(log.register().job(job(1)).unwrap().is_running(None));
    assert_eq!(decisions(&log), inline(&[b"assign"]));
    assert!(log.register().job(job(1)).unwrap().weight() > before);
}

#[test]
fn room_for_ends_is_not_used_by_other_decisions() {
    let mut log = Log::new();
    let token = log.led(1);
    let large = |closes| {
        let decision = Values::Inline(vec![7; CONTEXT_BYTES_MAX].into());
        Body::Decide(Box::new(Decide { job: job(1), decision, effect: None, closes }))
    };
    while log.apply(token, large(false)) == Outcome::Done {}
    let refused = Outcome::Refused(CommandRefusal::Limit(Limit::JobBytes));
    assert_eq!(log.apply(token, large(false)), refused);
    for _ in 0..4 {
        assert_eq!(log.apply(token, large(true)), Outcome::Done);
    }
    assert_eq!(log.apply(token, job_end(EndStatus::Failed)), Outcome::Done);
}

#[test]
fn decision_that_is_repeated_is_kept_once() {
    let mut log = Log::new();
    let token = log.led(1);
    let end = || Body::WorkflowEnd {
        job: job(1),
        workflow: "load".to_owned(),
        status: EndStatus::Completed,
        error: None,
    };
    assert_eq!(log.apply(token, decide(1, b"end", Some(end()))), Outcome::Done);
    assert_eq!(log.apply(token, decide(1, b"end", Some(end()))), Outcome::Repeated);
    assert_eq!(decisions(&log), inline(&[b"end"]));
}

#[test]
fn decision_of_a_replaced_leader_is_refused() {
    let mut log = Log::new();
    let token = log.led(1);
    let current = log.lead(1, token, 2);
    let refused = log.apply(token, decide(1, b"late", None));
    assert_eq!(refused, Outcome::Refused(CommandRefusal::StaleToken { current }));
    assert_eq!(decisions(&log), []);
}

#[test]
fn decision_carries_a_command_about_its_own_job_only() {
    let mut log = Log::new();
    let token = log.led(1);
    let of_another = Body::WorkflowEnd {
        job: job(2),
        workflow: "load".to_owned(),
        status: EndStatus::Completed,
        error: None,
    };
    let refused = log.apply(token, decide(1, b"end", Some(of_another)));
    assert_eq!(refused, Outcome::Refused(CommandRefusal::UnknownJob));
}

#[test]
fn large_decision_is_a_blob_that_is_kept_with_the_job() {
    let mut log = Log::new();
    let token = log.led(1);
    let large = Values::Inline(vec![0; CONTEXT_BYTES_MAX + 1].into());
    let body =
        |decision| Body::Decide(Box::new(Decide { job: job(1), decision, effect: None, closes: false }));
    assert_eq!(log.apply(token, body(large)), Outcome::Refused(CommandRefusal::TooLarge));
    let blob = BlobId::of(b"a large decision");
    assert_eq!(log.apply(token, body(Values::Blob(blob))), Outcome::Done);
    assert!(log.register().job(job(1)).unwrap().blobs().contains(&blob));
    assert!(log.applier.machine.take_named().contains(&blob));
}

#[test]
fn decision_may_carry_the_windows_of_a_lost_attempt() {
    let mut log = Log::new();
    let (token, grant) = (log.led(1), log.grant(9, 1));
    log.apply(token, assign(0, 1, grant, 1));
    let windows = BlobId::of(b"windows");
    let loss = || Some(Body::AttemptWindows { segment: segment(0), attempt: 1, windows });
    let refused = Outcome::Refused(CommandRefusal::NotLost);
    assert_eq!(log.apply(token, decide(1, b"lost", loss())), refused, "it runs");
    assert_eq!(decisions(&log), []);
    log.apply(Token(0), worker_gone(9, grant));
    assert_eq!(log.apply(token, decide(1, b"lost", loss())), Outcome::Done);
    assert_eq!(decisions(&log), inline(&[b"lost"]));
    let known = log.register().job(job(1)).unwrap();
    assert_eq!(known.attempt("load", 0).unwrap().state, AttemptState::Lost { windows: Some(windows) });
    assert!(known.blobs().contains(&windows), "nobody collects it");
    assert_eq!(log.apply(token, decide(1, b"lost", loss())), Outcome::Repeated);
    assert_eq!(decisions(&log), inline(&[b"lost"]));
}
