//! Samples of the gossip plane.

use hyperscale_wire::messages::*;

use super::version;

pub(super) fn sender() -> Sender {
    Sender {
        node_id: 5,
        address: "10.0.0.5:7100".into(),
        role: Role::Worker.into(),
        boot_epoch: 7,
        incarnation: 11,
    }
}

pub(super) fn worker_load() -> WorkerLoad {
    WorkerLoad {
        state: WorkerState::Healthy.into(),
        cores_total: 16,
        cores_available: 12,
        queue_depth: 2,
        cpu_percent: 55,
        memory_percent: 40,
        segments_running: 4,
        segments_digest: 0xfeed,
        health_multiplier: 1,
    }
}

pub(super) fn manager_load() -> ManagerLoad {
    ManagerLoad {
        datacenter: "eu-1".into(),
        leader: true,
        term: 9,
        phase: MemberPhase::Active.into(),
        jobs: 3,
        segments: 8,
        workers_total: 10,
        workers_healthy: 9,
        cores_total: 160,
        cores_available: 32,
        health_multiplier: 1,
        backpressure: LoadLevel::High.into(),
    }
}

pub(super) fn gate_load() -> GateLoad {
    // As gates wrote it that did not say how well they are.
    GateLoad { leader: true, term: 4, phase: MemberPhase::Active.into(), jobs_owned: 6, health_multiplier: 0 }
}

fn state(state: embedded_state::State) -> EmbeddedState {
    EmbeddedState { version: 13, state: Some(state) }
}

pub(super) fn member_update() -> MemberUpdate {
    MemberUpdate {
        node_id: 6,
        address: "10.0.0.6:7100".into(),
        role: Role::Worker.into(),
        boot_epoch: 8,
        incarnation: 2,
        state: MemberState::Suspect.into(),
        accuser: 5,
    }
}

pub(super) fn worker_update() -> WorkerUpdate {
    WorkerUpdate {
        worker: 5,
        owner: 3,
        worker_boot: 7,
        owner_token: 120,
        counter: 4,
        address: "10.0.0.5:7100".into(),
        api_address: "10.0.0.5:7102".into(),
        membership: WorkerMembership::Registered.into(),
        cores_total: 16,
        cores_available: 12,
        datacenter: "eu-1".into(),
    }
}

pub(super) fn datacenter_load() -> DatacenterLoad {
    DatacenterLoad {
        term: 9,
        leader: 3,
        managers_alive: 3,
        workers_total: 10,
        workers_healthy: 9,
        workers_degraded: 1,
        cores_total: 160,
        cores_available: 32,
        health_multiplier: 1,
        backpressure: LoadLevel::Elevated.into(),
        managers_total: 5,
        managers: vec![super::node(3, Role::Manager)],
    }
}

/// Every message of the gossip plane.
pub(crate) fn gossip() -> Vec<Gossip> {
    use gossip::Body;
    let worker = state(embedded_state::State::Worker(worker_load()));
    let manager = state(embedded_state::State::Manager(manager_load()));
    let gate = state(embedded_state::State::Gate(gate_load()));
    let aggregate = x_ack::Aggregate::Datacenter(datacenter_load());
    let bodies = [
        (None, None),
        (Some(Body::Probe(Probe { sequence: 1, target: 2 })), Some(worker)),
        (Some(Body::Ack(Ack { sequence: 1 })), Some(manager)),
        (Some(Body::Nack(Nack { sequence: 1 })), Some(gate)),
        (
            Some(Body::PingReq(PingReq {
                sequence: 1,
                target: 2,
                target_address: "10.0.0.2:7100".into(),
                nack_after_ns: 400_000_000,
            })),
            None,
        ),
        (Some(Body::Xprobe(XProbe { sequence: 1, cluster: "gates".into(), target: 3 })), None),
        (Some(Body::Xack(XAck { sequence: 1, cluster: "eu-1".into(), aggregate: Some(aggregate) })), None),
    ];
    let envelope = |(body, state)| Gossip {
        version: Some(version()),
        from: Some(sender()),
        body,
        state,
        members: vec![member_update()],
        workers: vec![worker_update()],
    };
    bodies.into_iter().map(envelope).collect()
}

/// Every message of the membership on streams.
pub(super) fn membership() -> Vec<Membership> {
    use membership::Body;
    let members = || vec![member_update()];
    let workers = || vec![worker_update()];
    let digest = |seed| Some(Digest { buckets: (seed..seed + 64).collect() });
    let bodies = [
        Body::Join(Join {}),
        Body::MemberList(MemberList { members: members(), last: true }),
        Body::SyncDigest(SyncDigest { members: digest(100), workers: digest(1_000) }),
        Body::MemberDifference(MemberDifference { buckets: 0b101, members: members(), answer: true }),
        Body::WorkerDifference(WorkerDifference { buckets: 0b110, workers: workers(), answer: true }),
        Body::StreamProbe(StreamProbe { sequence: 1 }),
        Body::StreamAck(StreamAck { sequence: 1 }),
        Body::WorkerAnnounce(worker_update()),
        Body::WorkerListRequest(WorkerListRequest {}),
        Body::WorkerList(WorkerList { workers: workers(), last: true }),
        Body::Xprobe(XProbe { sequence: 7, cluster: "eu-west-1".into(), target: 8 }),
        Body::Xack(XAck { sequence: 7, cluster: "eu-west-1".into(), aggregate: None }),
    ];
    bodies.map(|body| Membership { from: Some(sender()), body: Some(body) }).to_vec()
}
