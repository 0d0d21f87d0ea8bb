//! What is written is read back the same, and every sender may say it.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::lease::{Claim, LeaseError};
use hyperscale_consensus::register::{JobId, OnIsolation};
use hyperscale_job::entry::Assignment;
use hyperscale_job::segment::RateChange;
use hyperscale_job::{
    AttemptId, Directive, Failure, FailureKind, SegmentId, SegmentKind, SegmentOrder, SegmentResult,
    StopPhase,
};
use hyperscale_plan::load::SegmentShare;
use hyperscale_swim::{WorkerLoad, WorkerState};
use hyperscale_types::{BootEpoch, NodeId, Rate, Role, Token};
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::kind::Envelope;
use hyperscale_wire::messages as wire;
use hyperscale_wire::speak::permit;
use prost::Message;
use serde_json::json;

use super::*;
use crate::manager::ToPeer;
use crate::message::{
    AttemptPhase, AttemptStatus, Backpressure, CallNumber, Dispatch, DispatchRefusal, HowEnded, JobAttempt,
    ToManager, ToWorker, WorkerSaid, examples::load,
};
use crate::record::{AttemptLeft, RecordError};

/// Through bytes, as it travels, if this role may say it to that one.
fn travel(outgoing: Outgoing, from: Role, to: Role) -> Incoming {
    let may = |kind| permit(from, to, kind).unwrap();
    let bulk = |message: wire::Bulk| {
        may(message.kind().unwrap());
        wire::Bulk::decode(&message.encode_to_vec()[..]).unwrap()
    };
    match outgoing {
        Outgoing::Control(message) => {
            may(message.kind().unwrap());
            Incoming::Control(wire::Control::decode(&message.encode_to_vec()[..]).unwrap())
        }
        Outgoing::Bulk(message) => Incoming::Bulk(bulk(message)),
        Outgoing::Transfer(head, bytes) => Incoming::Transfer(bulk(head), bytes),
    }
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn attempt() -> JobAttempt {
    let segment = SegmentId { workflow: 3, kind: SegmentKind::Load, index: 2 };
    JobAttempt { job: JobId(*b"0123456789abcdef"), attempt: AttemptId { segment, number: 4 } }
}

fn failure() -> Failure {
    Failure { kind: FailureKind::Check, message: "wrong".to_owned(), step: Some("pay".parse().unwrap()) }
}

fn statuses() -> Vec<AttemptStatus> {
    let plain = AttemptStatus {
        attempt: attempt(),
        phase: AttemptPhase::Accepted,
        is_finishing: false,
        cores_completed: BTreeSet::new(),
        stopped: None,
        is_orphaned: false,
    };
    let full = AttemptStatus {
        phase: AttemptPhase::Prepared,
        is_finishing: true,
        cores_completed: BTreeSet::from([0, 7]),
        stopped: Some(failure()),
        is_orphaned: true,
        ..plain.clone()
    };
    vec![AttemptStatus { phase: AttemptPhase::Ended, ..plain.clone() }, plain, full]
}

fn left(totals: usize) -> AttemptLeft {
    let result = SegmentResult { failure: Some(failure()), ..SegmentResult::default() };
    AttemptLeft { result, totals: vec![7; totals].into() }
}

fn lease_answers() -> Vec<Result<Duration, LeaseError>> {
    vec![
        Ok(Duration::from_secs(15)),
        Err(LeaseError::NotHeld),
        Err(LeaseError::Stale { current: Token(9) }),
        Err(LeaseError::Ending),
        Err(LeaseError::NotLeader),
        Err(LeaseError::Overloaded),
    ]
}

fn dispatch() -> Dispatch {
    let assignment = Assignment {
        attempt: attempt().attempt,
        worker: node(0xab).to_string().into(),
        group: 1,
        offset: 1,
        share: SegmentShare { first_core: 2, cores: 3, cores_total: 8, vus: 100 },
        joins_at: Duration::from_nanos(11),
        iterations_done: 7,
    };
    Dispatch {
        attempt: attempt(),
        token: Token(130),
        grant: Token(120),
        plan: BlobId::of(b"plan"),
        cores: 4,
        job_time: Duration::from_nanos(1_234_567_891),
        order: SegmentOrder {
            assignment,
            context: [json!({"token": "secret"}), json!(null)].into(),
            setup: [json!(7.5)].into(),
            offset: Duration::from_nanos(99),
            iterations_done: 7,
        },
        capabilities: BTreeSet::from(["http3".to_owned()]),
        on_isolation: OnIsolation::Finish,
    }
}

fn directives() -> Vec<Directive> {
    let full = Directive {
        go: Some(Duration::from_nanos(5)),
        phase: StopPhase::Finishing,
        paused: true,
        vus: Some(0),
        rate: Some(RateChange { rate: Rate::per_second(99.5), from: Duration::from_nanos(8), before: 1.25 }),
    };
    let phases = [StopPhase::Running, StopPhase::Cancelling, StopPhase::Aborted];
    let of_phase = |phase| Directive { phase, ..Directive::default() };
    phases.into_iter().map(of_phase).chain([full]).collect()
}

fn to_worker() -> Vec<ToWorker> {
    let (attempt, token, call) = (attempt(), Token(130), CallNumber(u64::MAX));
    let managers = vec![node(1), node(2)];
    let levels = [Backpressure::None, Backpressure::Slower, Backpressure::Batch, Backpressure::Drop];
    let mut all = vec![
        ToWorker::Registered { call, grant: token, lease: Some(Duration::from_secs(15)), managers },
        ToWorker::Registered { call, grant: token, lease: None, managers: Vec::new() },
        ToWorker::Dispatch(Box::new(dispatch())),
        ToWorker::Dispatch(Box::new(Dispatch { on_isolation: OnIsolation::Stop, ..dispatch() })),
        ToWorker::LeaderChanged { job: attempt.job, token },
        ToWorker::Confirmed { attempt },
        ToWorker::Drain { grant: Token(120) },
    ];
    all.extend(lease_answers().into_iter().map(|answer| ToWorker::Renewed { call, grant: token, answer }));
    all.extend(directives().into_iter().map(|directive| ToWorker::Direct {
        attempt,
        token,
        grant: Token(4),
        decisions: 12,
        directive,
    }));
    all.extend(levels.map(ToWorker::Backpressure));
    all
}

fn to_manager() -> Vec<ToManager> {
    let (attempt, token, call) = (attempt(), Token(130), CallNumber(7));
    let capabilities = BTreeSet::from(["gpu".to_owned()]);
    let refusals = [
        DispatchRefusal::Superseded,
        DispatchRefusal::OtherOrder,
        DispatchRefusal::CoresNotFree { free: 3 },
        DispatchRefusal::Capabilities { missing: vec!["a".to_owned(), "b, c".to_owned()] },
        DispatchRefusal::Draining,
        DispatchRefusal::Cancelled,
    ];
    let register = |grant| ToManager::Register {
        call,
        boot: BootEpoch(8),
        cores: 16,
        capabilities: capabilities.clone(),
        grant,
        attempts: statuses(),
    };
    let ended = |how, size| ToManager::Ended { attempt, token, how, left: left(size) };
    let mut all = vec![
        register(None),
        register(Some(token)),
        ToManager::Renew { call, grant: token, load: said().load },
        ended(HowEnded::Ran, 10),
        ended(HowEnded::LeaseEnded, 1 << 20),
        ended(HowEnded::Orphaned, 0),
        ToManager::LeaderAccepted { job: attempt.job, token, attempts: statuses() },
        ToManager::StaleToken { job: attempt.job, current: token },
    ];
    all.extend(statuses().into_iter().map(|status| ToManager::Taken { status, cores_free: 2 }));
    all.extend(refusals.map(|refusal| ToManager::Refused { attempt, token, refusal }));
    let windows = vec![Bytes::from_static(b"one"), Bytes::new()];
    let progress = |status| ToManager::Progress { status, windows: windows.clone(), dropped: 5 };
    all.extend(statuses().into_iter().map(progress));
    all
}

fn said() -> WorkerSaid {
    let load =
        WorkerLoad { queue_depth: 3, segments: 2, segments_digest: 9, lhm: 4, ..load(WorkerState::Degraded) };
    WorkerSaid { worker: node(5), grant: Token(9), number: CallNumber(12), load: Box::new(load) }
}

fn to_peer() -> Vec<ToPeer> {
    let claims = vec![Claim { key: node(5), token: Token(9) }, Claim { key: node(6), token: Token(10) }];
    let answers = (1..).map(node).zip(lease_answers()).collect();
    let ended = |size| ToPeer::AttemptEnded {
        worker: node(5),
        attempt: attempt(),
        how: HowEnded::Ran,
        left: Box::new(left(size)),
    };
    vec![
        ToPeer::Here { is_leaving: false },
        ToPeer::Here { is_leaving: true },
        ToPeer::Workers(vec![said(), said()]),
        ToPeer::Removed,
        ToPeer::RollCall,
        ToPeer::Renewals { batch: 3, claims },
        ToPeer::RenewalsAnswered { batch: 3, answers },
        ended(1),
        ended(1 << 20),
    ]
}

#[test]
fn what_a_manager_says_to_a_worker_is_read_back_the_same() {
    for message in to_worker() {
        let travelled = travel(to_worker_out(message.clone()), Role::Manager, Role::Worker);
        assert_eq!(to_worker_in(travelled), Ok(Some(message)));
    }
}

#[test]
fn what_a_worker_says_to_a_manager_is_read_back_the_same() {
    for message in to_manager() {
        let travelled = travel(to_manager_out(message.clone()), Role::Worker, Role::Manager);
        assert_eq!(to_manager_in(travelled), Ok(Some(message)));
    }
}

#[test]
fn what_managers_say_to_each_other_is_read_back_the_same() {
    for message in to_peer() {
        let travelled = travel(to_peer_out(message.clone()), Role::Manager, Role::Manager);
        assert_eq!(to_peer_in(travelled), Ok(Some(message)));
    }
}

#[test]
fn large_result_is_a_transfer_and_a_small_one_is_not() {
    let of =
        |size| ToManager::Ended { attempt: attempt(), token: Token(1), how: HowEnded::Ran, left: left(size) };
    assert!(matches!(to_manager_out(of(10)), Outgoing::Bulk(_)));
    assert!(matches!(to_manager_out(of(1 << 20)), Outgoing::Transfer(..)));
}

#[test]
fn what_is_missing_or_unknown_is_an_error() {
    use wire::control::Body;
    let control = |body| Incoming::Control(wire::Control { body: Some(body), ..wire::Control::default() });
    let direct = wire::Direct { attempt: None, ..wire::Direct::default() };
    assert_eq!(to_worker_in(control(Body::Direct(direct))), Err(RecordError::Unknown("phase")));
    let changed = Body::JobLeaderChanged(wire::JobLeaderChanged::default());
    assert_eq!(to_worker_in(control(changed)), Err(RecordError::Missing("job")));
    let renew = Body::LeaseRenew(wire::LeaseRenew::default());
    assert_eq!(to_manager_in(control(renew)), Err(RecordError::Missing("claims")));
    let short = wire::JobRef { job_id: Bytes::from_static(b"short"), ..wire::JobRef::default() };
    let answer = wire::JobLeaderChangedAnswer { job: Some(short), ..wire::JobLeaderChangedAnswer::default() };
    let answer = Body::JobLeaderChangedAnswer(answer);
    assert_eq!(to_manager_in(control(answer)), Err(RecordError::Unknown("job")));
    // What others say is not for these readers.
    assert_eq!(to_worker_in(control(Body::Ping(wire::Ping::default()))), Ok(None));
}

#[test]
fn secret_values_of_a_dispatch_are_not_shown() {
    let shown = format!("{:?}", to_worker_out(ToWorker::Dispatch(Box::new(dispatch()))));
    assert!(!shown.contains("secret"), "{shown}");
}
