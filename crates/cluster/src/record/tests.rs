//! What is written is read back the same.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_job::entry::{
    Assignment, Batch, Change, ContextValues, Group, GroupMember, GroupPart, Retarget, Stop, StopCause,
    StopScope,
};
use hyperscale_job::segment::{Provided, VuCounts};
use hyperscale_job::state::{AttemptEnd, JobEnd, WorkflowEnd};
use hyperscale_job::{
    AttemptId, Entry, Failure, FailureKind, Reason, SegmentId, SegmentKind, SegmentResult, StopPhase,
};
use hyperscale_plan::cores::Release;
use hyperscale_plan::load::SegmentShare;
use hyperscale_stats::event::Target;
use hyperscale_stats::result::ChangedBy;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const AT: Duration = Duration::from_nanos(1_234_567_891);

fn attempt(kind: SegmentKind) -> AttemptId {
    AttemptId { segment: SegmentId { workflow: 3, kind, index: 2 }, number: 4 }
}

fn worker() -> Arc<str> {
    "00000000000000ab".into()
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, message: "no route".to_owned(), step: Some("login".parse().unwrap()) }
}

fn batch() -> Batch {
    let share = SegmentShare { first_core: 2, cores: 3, cores_total: 8, vus: 100 };
    Batch {
        groups: vec![Group {
            id: 1,
            members: vec![GroupMember { workflow: 3, first: 0, cores: 8 }],
            parts: vec![GroupPart { worker: worker(), first: 2, cores: 3 }],
            release: Release::EachCore,
        }],
        assignments: vec![Assignment {
            attempt: attempt(SegmentKind::Load),
            worker: worker(),
            group: 1,
            offset: 1,
            share,
            joins_at: AT,
            iterations_done: 7,
        }],
    }
}

fn reasons() -> Vec<Reason> {
    vec![
        Reason::Interrupted,
        Reason::Asked("wrong target".to_owned()),
        Reason::Threshold,
        Reason::Check,
        Reason::Unreachable,
        Reason::Dependency { name: "Login".parse().unwrap(), end: WorkflowEnd::Skipped },
        Reason::Failed(FailureKind::VuSetup),
        Reason::Failed(FailureKind::Refused),
        Reason::Failed(FailureKind::Limit),
        Reason::NoWorker,
        Reason::Timeout,
        Reason::Stuck,
        Reason::WorkerLost,
        Reason::Imbalance,
    ]
}

fn entries() -> Vec<Entry> {
    let mut all = vec![
        Entry::Ready { workflows: vec![0, 3], at: AT },
        Entry::Assign(batch()),
        Entry::Context { workflow: 1, values: ContextValues::Setup([json!({"a": 1}), json!(null)].into()) },
        Entry::Context { workflow: 1, values: ContextValues::Provided([None, Some(json!("t"))].into()) },
        Entry::Start { workflow: 2, at: AT },
        Entry::Restart { attempt: attempt(SegmentKind::Load), at: AT },
    ];
    for reason in reasons() {
        let stop = Stop {
            request: Some(9),
            scope: StopScope::Workflows(vec![1, 2]),
            phase: StopPhase::Cancelling,
            reason: reason.clone(),
            cause: Some(StopCause::Check { workflow: 1, failure: failure(FailureKind::Check) }),
            at: AT,
        };
        let cause = Some(StopCause::Threshold { rule: "latency.p99 < 1s".to_owned() });
        all.push(Entry::Stop(Stop { request: None, scope: StopScope::Job, cause, ..stop.clone() }));
        all.push(Entry::Stop(Stop { cause: None, phase: StopPhase::Finishing, ..stop.clone() }));
        all.push(Entry::Stop(stop));
        all.push(Entry::WorkflowEnd {
            workflow: 1,
            end: WorkflowEnd::TimedOut,
            reason: Some(reason),
            failure: Some(failure(FailureKind::Engine)),
            at: AT,
        });
    }
    let target = |from, to| Retarget { workflow: 1, from, to, since: AT, planned: 12.5 };
    let load = Change::Load {
        targets: vec![target(Target::Vus(1), Target::Vus(2)), target(Target::Rate(0.5), Target::Rate(1e6))],
    };
    for change in [Change::Pause, Change::Resume, load] {
        all.push(Entry::Control { request: 7, by: ChangedBy::Screen, change: change.clone(), at: AT });
        all.push(Entry::Control { request: 7, by: ChangedBy::Control, change, at: AT });
    }
    all
}

#[test]
fn every_decision_is_read_back_the_same() {
    for entry in entries() {
        let bytes = encode(&entry).unwrap();
        assert_eq!(decode(&bytes), Ok(Stored::Whole(entry)));
    }
}

#[test]
fn end_of_an_attempt_is_kept_without_what_it_left() {
    let left = SegmentResult { values: vec![json!(1)], ..SegmentResult::default() };
    for end in [
        AttemptEnd::Completed,
        AttemptEnd::Failed,
        AttemptEnd::Cancelled,
        AttemptEnd::Refused,
        AttemptEnd::Lost,
        AttemptEnd::Superseded,
        AttemptEnd::TimedOut,
    ] {
        let attempt = attempt(SegmentKind::Teardown);
        let entry = Entry::AttemptEnd { attempt, end, result: Box::new(left.clone()), at: AT };
        let stored = decode(&encode(&entry).unwrap()).unwrap();
        assert_eq!(stored, Stored::AttemptEnd { attempt, end, at: AT });
        assert_eq!(stored.with(left.clone()), entry);
    }
}

#[test]
fn end_of_a_job_is_not_kept() {
    assert_eq!(encode(&Entry::JobEnd { end: JobEnd::Completed, reason: None, at: AT }), None);
}

#[test]
fn what_an_attempt_left_is_read_back_the_same() {
    let left = AttemptLeft {
        result: SegmentResult {
            failure: Some(failure(FailureKind::Prepare)),
            values: vec![json!([1, 2]), json!("text")],
            provided: vec![Provided { provide: 1, produced: AT, value: json!({"token": "t"}) }],
            vus: VuCounts { started: 5, failed: 2, out_of_rows: vec![0, 3] },
            stopped: Some(Failure::new(FailureKind::Check, "stopped")),
        },
        totals: Bytes::from_static(b"statistics"),
    };
    assert_eq!(AttemptLeft::decode(&left.encode()), Ok(left));
    assert_eq!(AttemptLeft::decode(&Bytes::new()), Ok(AttemptLeft::default()));
}

#[test]
fn windows_of_a_lost_attempt_are_read_back_the_same() {
    let windows = WindowsLeft { totals: Bytes::from_static(b"statistics"), to: AT, missing: 7 };
    assert_eq!(WindowsLeft::decode(&windows.encode()), Ok(windows));
}

#[test]
fn words_that_are_not_known_are_errors() {
    use hyperscale_wire::messages as wire;
    use prost::Message as _;
    let encoded = |body| -> Bytes { wire::JobEntry { at_ns: 0, body }.encode_to_vec().into() };
    assert_eq!(decode(&encoded(None)), Err(RecordError::Unknown("body")));
    let stop = wire::JobStop { phase: 99, ..wire::JobStop::default() };
    let stop = wire::job_entry::Body::Stop(stop);
    assert_eq!(decode(&encoded(Some(stop))), Err(RecordError::Unknown("phase")));
    let end = wire::JobAttemptEnd { attempt: None, end: 1 };
    let end = wire::job_entry::Body::AttemptEnd(end);
    assert_eq!(decode(&encoded(Some(end))), Err(RecordError::Missing("attempt")));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = Bytes::from(bytes);
        drop(decode(&bytes));
        drop(AttemptLeft::decode(&bytes));
        drop(WindowsLeft::decode(&bytes));
    }
}
