//! Samples of the control plane.

use hyperscale_wire::messages::*;

use super::gossip::{datacenter_load, membership, worker_load};
use super::log::{job_attempt, job_control, options, raft_message};
use super::{JOB, blob, bytes, error, job, node, texts, version};

pub(super) fn attempt_state() -> AttemptState {
    AttemptState {
        attempt: Some(job_attempt()),
        phase: AttemptPhase::Ended.into(),
        finishing: true,
        cores_completed: vec![0, 3],
        stopped: Some(super::log::failure()),
        orphaned: true,
    }
}

pub(super) fn workflow_cancel() -> WorkflowCancel {
    WorkflowCancel {
        workflow: "checkout".into(),
        status: CancelStatus::InProgress.into(),
        dependents: texts(&["report"]),
        errors: vec![error()],
    }
}

/// Every message of the control plane.
pub(crate) fn control() -> Vec<Control> {
    let membership = membership().into_iter().map(control::Body::Membership).collect();
    let bodies =
        [handshakes(), leases(), consensus(), jobs(), cancels(), take_over(), draining(), membership]
            .concat();
    bodies
        .into_iter()
        .map(|body| Control { call_id: 21, answer: true, deadline_ms: 1_500, body: Some(body) })
        .collect()
}

pub(super) fn hello() -> Hello {
    Hello {
        version: Some(version()),
        features: texts(&["drain"]),
        build: "0.1.0".into(),
        node: Some(node(5, Role::Worker)),
        cluster: "default".into(),
        environment: "prod".into(),
        lane: Lane::Control.into(),
        receiver: 3,
    }
}

pub(super) fn welcome() -> Welcome {
    Welcome { version: 1, features: texts(&["drain"]), node: Some(node(3, Role::Manager)) }
}

pub(super) fn handshakes() -> Vec<control::Body> {
    use control::Body;
    vec![
        Body::Error(error()),
        Body::Hello(hello()),
        Body::Welcome(welcome()),
        Body::Ping(Ping { sequence: 3 }),
        Body::Pong(Pong { sequence: 3 }),
    ]
}

fn lease_claim() -> LeaseClaim {
    LeaseClaim {
        kind: LeaseKind::Worker.into(),
        holder: 5,
        token: 120,
        job: Some(job()),
        load: Some(worker_load()),
        age_ms: 40,
        number: 7,
    }
}

pub(super) fn leases() -> Vec<control::Body> {
    use control::Body;
    vec![
        Body::Register(Box::new(Register {
            request_id: bytes("request"),
            node: Some(node(5, Role::Worker)),
            version: Some(version()),
            cores_total: 16,
            capabilities: texts(&["http2"]),
            directory_id: bytes("directory"),
            attempts: vec![attempt_state()],
            grant_token: 120,
            datacenter: Some(datacenter_load()),
        })),
        Body::Registered(Registered {
            node: Some(node(3, Role::Manager)),
            managers: vec![node(3, Role::Manager)],
            gates: vec![node(9, Role::Gate)],
            grant_token: 120,
            lease_ms: Some(15_000),
            version: 1,
            raft_id: 4,
            member_set_version: 2,
        }),
        Body::LeaseRenew(LeaseRenew { claims: vec![lease_claim()] }),
        Body::LeaseRenewed(LeaseRenewed {
            grants: vec![LeaseGrant {
                kind: LeaseKind::JobLeader.into(),
                holder: 3,
                token: 130,
                job: Some(job()),
                lease_ms: 3_000,
                error: Some(error()),
            }],
        }),
    ]
}

pub(super) fn consensus() -> Vec<control::Body> {
    use control::Body;
    vec![
        Body::Raft(RaftBatch { group: "eu-1".into(), messages: vec![raft_message()] }),
        Body::Propose(Propose {
            request_id: bytes("request"),
            group: "eu-1".into(),
            command: super::log::command(),
        }),
        Body::Proposed(Proposed {
            results: vec![ApplyResult { index: 77, error: Some(error()), outcome: super::log::outcome() }],
        }),
        Body::ReadIndex(ReadIndex { group: "eu-1".into() }),
        Body::ReadIndexAnswer(ReadIndexAnswer { index: 77 }),
        Body::BootstrapQuery(BootstrapQuery {
            peers: texts(&["10.0.0.1:7101"]),
            directory_id: bytes("directory"),
        }),
        Body::BootstrapAnswer(BootstrapAnswer {
            state: BootstrapState::Running.into(),
            node: Some(node(3, Role::Manager)),
            directory_id: bytes("directory"),
            cluster: "default".into(),
            members: vec![super::log::member()],
            learners: vec![4, 5],
        }),
    ]
}

pub(super) fn jobs() -> Vec<control::Body> {
    use control::Body;
    vec![
        Body::Dispatch(Box::new(Dispatch {
            job_id: bytes(JOB),
            assignment: Some(super::log::assignment()),
            job_leader_token: 130,
            grant_token: 120,
            plan: Some(blob()),
            cores: 4,
            job_time_ns: 900_000_000,
            context: vec![JsonValue { json: bytes("7") }],
            setup: vec![JsonValue { json: bytes("8") }],
            offset_ns: 100_000_000,
            iterations_done: 500,
            capabilities: texts(&["http3"]),
            on_isolation: OnIsolation::Finish.into(),
        })),
        Body::DispatchAnswer(Box::new(DispatchAnswer {
            state: Some(attempt_state()),
            refused: Some(job_attempt()),
            refusal: Some(error()),
            job_leader_token: 130,
            capabilities_missing: texts(&["http3"]),
            cores_available: 8,
        })),
        Body::Direct(Direct {
            attempt: Some(job_attempt()),
            job_leader_token: 130,
            go_ns: Some(1_000_000_000),
            phase: JobStopPhase::Finishing.into(),
            paused: true,
            vus: Some(50),
            rate: Some(RateChange { per_second: 99.5, from_ns: 2_000_000_000, before: 12.25 }),
            grant: 120,
            decisions: 14,
        }),
        Body::JobSubmit(Box::new(JobSubmit {
            idempotency_key: "key".into(),
            job: Some(job()),
            plan: Some(blob()),
            options: Some(options()),
            owner: Some(node(9, Role::Gate)),
            gate_token: 41,
            lease_ms: 45_000,
            caller: "ci".into(),
        })),
        Body::JobAccepted(JobAccepted {
            job: Some(job()),
            job_leader: Some(node(3, Role::Manager)),
            job_leader_token: 130,
            queue_position: 1,
            warnings: texts(&["degraded"]),
            member_set_version: 2,
        }),
        Body::JobPartEnd(JobPartEnd {
            job: Some(job()),
            job_leader_token: 130,
            status: EndStatus::Partial.into(),
            result: Some(blob()),
            error: Some(error()),
            late: true,
        }),
        Body::JobPartEndAnswer(JobPartEndAnswer { job: Some(job()) }),
        Body::JobControl(JobControlRequest { control: Some(job_control()), job_leader_token: 130 }),
        Body::JobControlAnswer(JobControlAnswer { request_id: bytes("request"), index: 77 }),
        Body::JobEvent(JobEvent {
            job: Some(job()),
            job_leader_token: 130,
            sequence: 5,
            kind: JobEventKind::ThresholdFailed.into(),
            workflow: "checkout".into(),
            message: "p99 < 300ms".into(),
        }),
    ]
}

pub(super) fn cancels() -> Vec<control::Body> {
    use control::Body;
    vec![
        Body::Cancel(Cancel {
            request_id: bytes("request"),
            job: Some(job()),
            workflows: texts(&["checkout"]),
            dependents: true,
            job_leader_token: 130,
            reason: "wrong target".into(),
            caller: "ada".into(),
        }),
        Body::CancelAnswer(CancelAnswer { request_id: bytes("request"), workflows: vec![workflow_cancel()] }),
        Body::CancelCompletion(CancelCompletion {
            request_id: bytes("request"),
            job: Some(job()),
            job_leader_token: 130,
            workflows: vec![workflow_cancel()],
            datacenters: vec![DatacenterStatus { datacenter: "us-1".into(), ..DatacenterStatus::default() }],
        }),
        Body::CancelCompletionAnswer(CancelCompletionAnswer { request_id: bytes("request") }),
    ]
}

pub(super) fn take_over() -> Vec<control::Body> {
    use control::Body;
    vec![
        Body::JobLeaderChanged(JobLeaderChanged {
            job: Some(job()),
            leader: Some(node(3, Role::Manager)),
            job_leader_token: 131,
            group: "eu-1".into(),
        }),
        Body::JobLeaderChangedAnswer(JobLeaderChangedAnswer {
            job: Some(job()),
            job_leader_token: 131,
            attempts: vec![attempt_state()],
            stale: true,
        }),
        Body::Presence(Presence { asks: true, leaving: true, workers: vec![lease_claim()], removed: true }),
        Body::StateRequest(StateRequest { jobs: vec![job()], job_leader_token: 131 }),
        Body::StateSnapshot(StateSnapshot {
            attempts: vec![attempt_state()],
            parts: vec![JobPartState {
                job: Some(job()),
                status: "running".into(),
                job_leader: 3,
                job_leader_token: 131,
                segments_running: 2,
                segments_total: 4,
                result: Some(blob()),
            }],
        }),
    ]
}

pub(super) fn draining() -> Vec<control::Body> {
    use control::Body;
    vec![
        Body::Drain(Drain {
            request_id: bytes("request"),
            node_id: 5,
            reason: "upgrade".into(),
            grant_token: 120,
        }),
        Body::DrainAnswer(DrainAnswer { request_id: bytes("request"), segments_running: 2, jobs_led: 1 }),
    ]
}
