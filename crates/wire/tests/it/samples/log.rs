//! Samples of the logs.

use bytes::Bytes;
use hyperscale_wire::messages::*;
use prost::Message as _;

use super::{JOB, attempt, blob, bytes, error, job, node, texts};

pub(super) fn options() -> JobOptions {
    JobOptions {
        on_isolation: OnIsolation::Stop.into(),
        on_worker_loss: OnWorkerLoss::Resume.into(),
        timeout_ms: Some(60_000),
        queue_timeout_ms: 300_000,
        max_retries: 3,
        retry_budget: 20,
        spread: true,
        datacenters: texts(&["eu-1"]),
        datacenter_count: 1,
        prefer: texts(&["eu-1", "us-1"]),
        fallback: true,
        datacenter_retries: 1,
        split: Split::Divide.into(),
        callback: "http://127.0.0.1:9/".into(),
        priority: "high".into(),
        retain_ms: 3_600_000,
        share_ppm: 500_000,
    }
}

pub(super) fn job_attempt() -> JobAttemptRef {
    JobAttemptRef { job_id: bytes(JOB), attempt: Some(numbered_attempt()) }
}

fn numbered_attempt() -> JobAttempt {
    JobAttempt { workflow: 1, kind: SegmentKind::Load.into(), index: 2, number: 3 }
}

pub(super) fn failure() -> JobFailure {
    JobFailure { kind: JobFailureKind::Check.into(), message: "wrong".into(), step: "pay".into() }
}

pub(super) fn assignment() -> JobAssignment {
    JobAssignment {
        attempt: Some(numbered_attempt()),
        worker: 5,
        group: 4,
        offset: 1,
        share: Some(JobShare { first_core: 2, cores: 4, cores_total: 8, vus: 100 }),
        joins_at_ns: 900_000_000,
        iterations_done: 500,
    }
}

pub(super) fn context() -> ContextValues {
    ContextValues {
        job_id: bytes(JOB),
        workflow: "login".into(),
        version: 2,
        inline: bytes("values"),
        blob: Some(blob()),
    }
}

pub(super) fn configuration() -> ConfigurationChange {
    ConfigurationChange {
        transition: ConfigurationTransition::Auto.into(),
        steps: vec![ConfigurationStep { r#type: ConfigurationChangeType::AddLearner.into(), raft_id: 4 }],
        member: Some(member()),
    }
}

pub(super) fn member() -> Member {
    Member { raft_id: 4, node: Some(node(8, Role::Manager)), directory_id: bytes("directory") }
}

pub(super) fn command() -> Bytes {
    commands().swap_remove(0).encode_to_vec().into()
}

pub(super) fn outcome() -> Bytes {
    let outcome = ApplyOutcome {
        status: ApplyStatus::Refused.into(),
        number: 41,
        job_id: bytes(JOB),
        is_repeat: true,
        refusal: "stale_token".into(),
        message: "only 3 cores are free".into(),
    };
    outcome.encode_to_vec().into()
}

pub(super) fn snapshot_meta() -> SnapshotMeta {
    SnapshotMeta {
        index: 10_000,
        term: 9,
        configuration: Some(ConfigurationState {
            voters: vec![1, 2, 3],
            learners: vec![4],
            voters_outgoing: vec![1, 2],
            learners_next: vec![5],
            auto_leave: true,
        }),
        members: vec![Member {
            raft_id: 1,
            node: Some(node(3, Role::Manager)),
            directory_id: bytes("directory"),
        }],
        state_hash: bytes("state hash"),
        format_version: 1,
    }
}

pub(super) fn job_control() -> JobControl {
    JobControl {
        job_id: bytes(JOB),
        workflow: "checkout".into(),
        request_id: bytes("request"),
        change: Some(job_control::Change::RateMilli(250_000)),
    }
}

fn decision() -> Decide {
    Decide {
        job_id: bytes(JOB),
        inline: bytes("decision"),
        blob: Some(blob()),
        effect: Some(decide::Effect::Context(context())),
        closes: true,
    }
}

fn accept() -> JobAccept {
    JobAccept {
        job: Some(job()),
        idempotency_key: "key".into(),
        plan: Some(blob()),
        options: Some(options()),
        gate_token: 41,
        caller: "ci".into(),
        name: "shop".into(),
        submitted_at_ms: 1_700_000_000_000,
    }
}

/// Every command of the logs.
pub(crate) fn commands() -> Vec<Command> {
    use command::Body;
    let bodies = [
        Body::JobAccept(accept()),
        Body::JobLeader(JobLeader {
            job_id: bytes(JOB),
            leader: 3,
            reason: "accepted".into(),
            elapsed_ms: 90_000,
            workflows: vec![WorkflowClock { workflow: "checkout".into(), elapsed_ms: 60_000 }],
        }),
        Body::WorkerGrant(WorkerGrant {
            worker: Some(node(5, Role::Worker)),
            lease_ms: 15_000,
            cores_total: 16,
            capabilities: texts(&["http2"]),
        }),
        Body::WorkerGone(WorkerGone { worker: 5, grant_token: 120, reason: "lease".into() }),
        Body::WorkerDrain(WorkerDrain { worker: 5, grant_token: 120 }),
        Body::WorkerOwner(WorkerOwner { worker: 5, grant_token: 120, owner: 3, replaces_token: 121 }),
        Body::Ready(Ready {
            job_id: bytes(JOB),
            workflows: texts(&["checkout"]),
            priority: Priority::High.into(),
            least_cores: 12,
        }),
        Body::Assign(Assign {
            job_id: bytes(JOB),
            workers: vec![AssignWorker { worker: 5, boot: 7, grant_token: 120 }],
            workflows: vec![AssignWorkflow {
                workflow: "checkout".into(),
                segments: vec![AssignSegment {
                    segment: 3,
                    kind: SegmentKind::Load.into(),
                    attempt: 2,
                    worker: 0,
                    group: 1,
                    cores: 4,
                    vus: 100,
                    elapsed_ms: 900,
                    iterations_left: Some(500),
                }],
            }],
        }),
        Body::AttemptWindows(AttemptWindows { attempt: Some(attempt()), windows: Some(blob()) }),
        Body::AttemptEnd(AttemptEnd {
            attempt: Some(attempt()),
            status: EndStatus::Refused.into(),
            result: Some(blob()),
            error: Some(error()),
        }),
        Body::Context(context()),
        Body::WorkflowEnd(WorkflowEnd {
            job_id: bytes(JOB),
            workflow: "checkout".into(),
            status: EndStatus::TimedOut.into(),
            error: Some(error()),
        }),
        Body::Cancel(CancelMark {
            job_id: bytes(JOB),
            workflows: texts(&["checkout", "report"]),
            request_id: bytes("request"),
            reason: "wrong target".into(),
            caller: "ada".into(),
            named: texts(&["checkout"]),
        }),
        Body::Control(job_control()),
        Body::JobEnd(JobEnd {
            job_id: bytes(JOB),
            status: EndStatus::Completed.into(),
            result: Some(blob()),
            error: Some(error()),
            elapsed_ms: 61_000,
        }),
        Body::Decide(decision()),
        Body::JobForget(JobForget { first: 200, last: 260 }),
        Body::ClusterVersion(ClusterVersion { version: 1, features: texts(&["drain"]) }),
        Body::DcAssign(DcAssign {
            job_id: bytes(JOB),
            datacenter: "eu-1".into(),
            share_ppm: 500_000,
            try_number: 1,
        }),
        Body::DcEnd(DcEnd {
            job: Some(job()),
            status: EndStatus::Completed.into(),
            result: Some(blob()),
            error: Some(error()),
            late: true,
        }),
        Body::DcState(DcState {
            datacenter: "eu-1".into(),
            class: DatacenterClass::Busy.into(),
            proposer: 9,
        }),
    ];
    bodies.map(|body| Command { job_leader_token: 130, body: Some(body) }).into()
}

/// A Raft message with every field in use.
pub(crate) fn raft_message() -> RaftMessage {
    RaftMessage {
        r#type: RaftMessageType::Append.into(),
        to: 2,
        from: 1,
        term: 9,
        log_term: 8,
        index: 76,
        entries: vec![LogEntry {
            r#type: LogEntryType::Command.into(),
            term: 9,
            index: 77,
            command: bytes("command"),
            configuration: Some(configuration()),
            context: bytes("proposal"),
        }],
        commit: 76,
        commit_term: 8,
        snapshot: Some(RaftSnapshot {
            meta: Some(snapshot_meta()),
            data: bytes("state"),
            blob: Some(blob()),
        }),
        reject: true,
        reject_hint: 60,
        context: bytes("read"),
        priority: -1,
        proof: Some(StateProof { index: 75, hash: 0xfeed }),
        lacks_blobs: true,
    }
}

/// What a voter keeps beside its log.
pub(crate) fn hard_state() -> HardState {
    HardState { term: 9, vote: 1, commit: 76 }
}
