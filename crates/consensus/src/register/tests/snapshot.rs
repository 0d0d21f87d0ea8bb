//! The register as bytes.

use super::*;
use crate::apply::StateHash;

#[test]
fn snapshots_that_are_cut_short_or_of_another_format_are_refused() {
    let mut log = Log::new();
    log.led(1);
    let bytes = log.register().snapshot();
    let mut restored = Register::default();
    for length in 1..bytes.len() {
        assert!(restored.restore(bytes.slice(..length)).is_err(), "{length}");
    }
    let mut other = bytes.to_vec();
    other[0] = 9;
    assert!(restored.restore(other.into()).is_err());
    assert!(restored.restore([&bytes[..], b"x"].concat().into()).is_err());
    assert_eq!(restored, Register::default(), "a refused snapshot changes nothing");
    restored.restore(bytes).unwrap();
    assert_eq!(&restored, log.register());
}

/// Options that differ from what a submission gets that says nothing, all of them.
fn unusual() -> JobOptions {
    JobOptions {
        on_isolation: OnIsolation::Finish,
        on_worker_loss: OnWorkerLoss::Restart,
        timeout_ms: Some(60_000),
        queue_timeout_ms: 1,
        max_retries: 2,
        retry_budget: 4,
        spread: true,
        routing: Routing {
            datacenters: vec!["eu-1".to_owned()],
            datacenter_count: 2,
            prefer: vec!["us-1".to_owned(), "us-2".to_owned()],
            fallback: true,
            datacenter_retries: 5,
            split: Split::Divide,
        },
        callback: "http://127.0.0.1:9/".to_owned(),
        priority: "high".to_owned(),
        retain_ms: 7,
        share_ppm: 250_000,
    }
}

/// Registers of both groups with something in every field.
fn full(group: Group) -> Log {
    let mut log = Log::of(group);
    let origin = Origin { datacenter: "eu-1".to_owned(), part: Token(41), gate_token: Token(40) };
    let origin = (group == Group::Managers).then_some(origin);
    let accept_full = Accept { options: unusual(), origin, ..accepted(1, "key", b"plan") };
    log.apply(Token(0), Body::JobAccept(Box::new(accept_full)));
    let token = log.lead(1, Token(0), 1);
    let result = Some(BlobId::of(b"result"));
    let ended = || End { status: EndStatus::Partial, result, error: Some(why("two of three")) };
    let part = |token| PartId { job: job(1), datacenter: "eu-1".to_owned(), token };
    let assign_part = |try_number| Body::DcAssign {
        job: job(1),
        datacenter: "eu-1".to_owned(),
        try_number,
        share_ppm: 500_000,
    };
    let control = |workflow: &str, change, request| Body::Control {
        job: job(1),
        workflow: workflow.to_owned(),
        change,
        request: RequestId([request; 16]),
    };
    let worker = Token(log.index + 1);
    let first_part = Token(log.index + 13);
    let second_job = Token(log.index + 19);
    let lost = End::new(EndStatus::Lost, None);
    let (workflow, values) = ("b".to_owned(), Values::Blob(BlobId::of(b"b")));
    let failed = Body::WorkflowEnd {
        job: job(1),
        workflow: "setup".to_owned(),
        status: EndStatus::Failed,
        error: Some(why("no")),
    };
    for (token, body) in [
        (Token(0), grant(9, 1)),
        (token, assign(0, 1, worker, 1)),
        (token, assign(1, 1, worker, 2)),
        (token, Body::AttemptEnd { segment: segment(0), attempt: 1, end: ended() }),
        (token, context(1, Values::Inline(Bytes::from_static(b"v")))),
        (token, Body::Context { job: job(1), workflow, version: 1, values }),
        (token, control("load", LoadChange::Vus(50), 5)),
        (token, control("other", LoadChange::RateMilli(9), 6)),
        (token, control("x", LoadChange::Pause, 7)),
        (token, control("x", LoadChange::Resume, 8)),
        (token, failed),
        (Token(0), cancel(&["report"], 1)),
        (token, assign_part(1)),
        (token, Body::DcEnd { part: part(first_part), end: lost, is_late: false }),
        (token, Body::DcEnd { part: part(first_part), end: ended(), is_late: true }),
        (token, assign_part(2)),
        (
            Token(0),
            Body::DcState { datacenter: "eu-1".to_owned(), class: DatacenterClass::Busy, proposer: node(3) },
        ),
        (Token(0), accept(2, "ended", b"plan")),
        (Token(0), job_leader(2, 2)),
        (second_job, Body::JobEnd { job: job(2), end: ended(), elapsed_ms: 0 }),
        (
            token,
            Body::Decide(Box::new(Decide {
                job: job(1),
                decision: Values::Inline(Bytes::from_static(b"what the core decided")),
                effect: None,
                closes: false,
            })),
        ),
        (Token(0), Body::ClusterVersion { version: 1 }),
    ] {
        let belongs = body.belongs_to(group);
        let outcome = log.apply(token, body.clone());
        assert_eq!(matches!(outcome, Outcome::Refused(_)), !belongs, "{body:?}: {outcome:?}");
    }
    log
}

#[test]
fn what_a_job_was_submitted_with_is_known_to_whoever_takes_it_over() {
    let mut restored = Register::default();
    restored.restore(full(Group::Managers).register().snapshot()).unwrap();
    let job = restored.job(job(1)).unwrap();
    assert_eq!((&job.options, job.caller.as_str()), (&unusual(), "ci"));
    let origin = job.origin.as_ref().unwrap();
    assert_eq!((origin.datacenter.as_str(), origin.part, origin.gate_token), ("eu-1", Token(41), Token(40)));
    let attempt = job.attempt("load", 0).unwrap();
    assert_eq!((attempt.elapsed_ms, attempt.iterations_left), (900, Some(500)));
    let AttemptState::Ended(end) = &attempt.state else { panic!("{attempt:?}") };
    assert_eq!(end.error, Some(why("two of three")));
    assert_eq!(job.workflow_end("setup"), Some(&(EndStatus::Failed, Some(why("no")))));
    let capabilities = &restored.worker(node(9)).unwrap().capabilities;
    assert!(capabilities.contains("gpu=nvidia"));
    let second = restored.job(self::job(2)).unwrap().end.as_ref().unwrap();
    assert_eq!(second.how.error, Some(why("two of three")));
}

fn golden(name: &str, written: &[u8]) -> Bytes {
    crate::golden::golden(&format!("register/tests/golden/{name}.hex"), written)
}

#[test]
fn snapshot_is_read_and_written_as_its_golden_bytes() {
    for (group, name) in [(Group::Managers, "managers_v1"), (Group::Gates, "gates_v1")] {
        let log = full(group);
        let written = log.register().snapshot();
        let kept = golden(name, &written);
        assert_eq!(written, kept, "{group:?} is written differently: give the layout another number");
        let mut read = Register::new(group);
        read.restore(kept).unwrap();
        assert_eq!(&read, log.register(), "{group:?}");
    }
}

#[test]
fn every_build_comes_to_the_same_hash() {
    for (group, name) in [(Group::Managers, "managers_v1_hash"), (Group::Gates, "gates_v1_hash")] {
        let StateHash(hash) = full(group).applier.proof().hash;
        let kept = golden(name, &hash.to_be_bytes());
        assert_eq!(
            kept[..],
            hash.to_be_bytes(),
            "{group:?}: builds that take part together would stop each other"
        );
    }
}

#[test]
fn snapshot_of_the_other_group_is_refused() {
    let gates = full(Group::Gates).register().snapshot();
    let mut managers = Register::default();
    assert!(managers.restore(gates.clone()).is_err());
    assert_eq!(managers, Register::default());
    Register::new(Group::Gates).restore(gates).unwrap();
}
