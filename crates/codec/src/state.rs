//! What nodes and clusters say about themselves.

use std::net::SocketAddr;

use hyperscale_swim::federation::{Aggregate, DatacenterLoad, MANAGERS_MAX};
use hyperscale_swim::{
    Embedded, EmbeddedState, GateLoad, LoadLevel, ManagerLoad, Phase, WorkerLoad, WorkerState,
};
use hyperscale_types::NodeId;
use hyperscale_wire::messages::{self, MemberPhase, embedded_state, x_ack};

use crate::Unreadable;
use crate::field::{address, address_out, name, node, small};

pub(crate) fn embedded_out(embedded: &Embedded) -> messages::EmbeddedState {
    let state = match &embedded.state {
        EmbeddedState::Worker(load) => embedded_state::State::Worker(worker_load_out(load)),
        EmbeddedState::Manager(load) => embedded_state::State::Manager(manager_out(load)),
        EmbeddedState::Gate(load) => embedded_state::State::Gate(gate_out(load)),
    };
    messages::EmbeddedState { version: embedded.version, state: Some(state) }
}

pub(crate) fn embedded(message: messages::EmbeddedState) -> Result<Embedded, Unreadable> {
    let state = match message.state.ok_or(Unreadable::Unknown("state"))? {
        embedded_state::State::Worker(load) => EmbeddedState::Worker(worker_load(load)?),
        embedded_state::State::Manager(load) => EmbeddedState::Manager(manager(load)?),
        embedded_state::State::Gate(load) => EmbeddedState::Gate(gate(load)?),
    };
    Ok(Embedded { version: message.version, state })
}

pub(crate) fn aggregate_out(aggregate: &Aggregate) -> x_ack::Aggregate {
    match aggregate {
        Aggregate::Datacenter(load) => x_ack::Aggregate::Datacenter(datacenter_out(load)),
        Aggregate::Gates(load) => x_ack::Aggregate::Gates(gate_out(load)),
    }
}

pub(crate) fn aggregate(message: x_ack::Aggregate) -> Result<Aggregate, Unreadable> {
    Ok(match message {
        x_ack::Aggregate::Datacenter(load) => Aggregate::Datacenter(datacenter(&load)?),
        x_ack::Aggregate::Gates(load) => Aggregate::Gates(gate(load)?),
    })
}

/// What a worker says of itself, as it travels.
pub fn worker_load_out(load: &WorkerLoad) -> messages::WorkerLoad {
    let state = match load.state {
        WorkerState::Registering => messages::WorkerState::Registering,
        WorkerState::Healthy => messages::WorkerState::Healthy,
        WorkerState::Degraded => messages::WorkerState::Degraded,
        WorkerState::Draining => messages::WorkerState::Draining,
        WorkerState::Offline => messages::WorkerState::Offline,
    };
    messages::WorkerLoad {
        state: state.into(),
        cores_total: load.cores_total.into(),
        cores_available: load.cores_available.into(),
        queue_depth: load.queue_depth,
        cpu_percent: load.cpu_percent.into(),
        memory_percent: load.memory_percent.into(),
        segments_running: load.segments,
        segments_digest: load.segments_digest,
        health_multiplier: load.lhm.into(),
    }
}

/// What a worker says of itself.
pub fn worker_load(load: messages::WorkerLoad) -> Result<WorkerLoad, Unreadable> {
    let state = match load.state() {
        messages::WorkerState::Unspecified => return Err(Unreadable::Unknown("worker.state")),
        messages::WorkerState::Registering => WorkerState::Registering,
        messages::WorkerState::Healthy => WorkerState::Healthy,
        messages::WorkerState::Degraded => WorkerState::Degraded,
        messages::WorkerState::Draining => WorkerState::Draining,
        messages::WorkerState::Offline => WorkerState::Offline,
    };
    Ok(WorkerLoad {
        state,
        cores_total: small("worker.cores_total", load.cores_total)?,
        cores_available: small("worker.cores_available", load.cores_available)?,
        queue_depth: load.queue_depth,
        cpu_percent: small("worker.cpu_percent", load.cpu_percent)?,
        memory_percent: small("worker.memory_percent", load.memory_percent)?,
        segments: load.segments_running,
        segments_digest: load.segments_digest,
        lhm: small("worker.health_multiplier", load.health_multiplier)?,
    })
}

fn manager_out(load: &ManagerLoad) -> messages::ManagerLoad {
    messages::ManagerLoad {
        datacenter: load.datacenter.as_ref().to_owned(),
        leader: load.leader,
        term: load.term,
        phase: phase_out(load.phase).into(),
        jobs: load.jobs,
        segments: load.segments,
        workers_total: load.workers_total,
        workers_healthy: load.workers_healthy,
        cores_total: load.cores_total,
        cores_available: load.cores_available,
        health_multiplier: load.lhm.into(),
        backpressure: level_out(load.backpressure).into(),
    }
}

fn manager(load: messages::ManagerLoad) -> Result<ManagerLoad, Unreadable> {
    Ok(ManagerLoad {
        leader: load.leader,
        term: load.term,
        phase: phase(load.phase())?,
        jobs: load.jobs,
        segments: load.segments,
        workers_total: load.workers_total,
        workers_healthy: load.workers_healthy,
        cores_total: load.cores_total,
        cores_available: load.cores_available,
        lhm: small("manager.health_multiplier", load.health_multiplier)?,
        backpressure: level(load.backpressure())?,
        datacenter: name("manager.datacenter", load.datacenter)?,
    })
}

fn gate_out(load: &GateLoad) -> messages::GateLoad {
    messages::GateLoad {
        leader: load.leader,
        term: load.term,
        phase: phase_out(load.phase).into(),
        jobs_owned: load.jobs_owned,
        health_multiplier: load.lhm.into(),
    }
}

fn gate(load: messages::GateLoad) -> Result<GateLoad, Unreadable> {
    Ok(GateLoad {
        leader: load.leader,
        term: load.term,
        phase: phase(load.phase())?,
        jobs_owned: load.jobs_owned,
        lhm: small("gate.health_multiplier", load.health_multiplier)?,
    })
}

fn datacenter_out(load: &DatacenterLoad) -> messages::DatacenterLoad {
    messages::DatacenterLoad {
        term: load.term,
        leader: load.leader.map_or(0, NodeId::get),
        managers_alive: load.managers_alive,
        managers_total: load.managers_total,
        managers: load.managers.iter().map(location_out).collect(),
        workers_total: load.workers_total,
        workers_healthy: load.workers_healthy,
        workers_degraded: load.workers_degraded,
        cores_total: load.cores_total,
        cores_available: load.cores_available,
        health_multiplier: load.lhm.into(),
        backpressure: level_out(load.backpressure).into(),
    }
}

fn location_out((node, address): &(NodeId, SocketAddr)) -> messages::NodeRef {
    let gossip_address = address_out(*address);
    messages::NodeRef { node_id: node.get(), gossip_address, ..messages::NodeRef::default() }
}

fn location(manager: &messages::NodeRef) -> Result<(NodeId, SocketAddr), Unreadable> {
    let address = address("datacenter.managers.gossip_address", &manager.gossip_address)?;
    Ok((node("datacenter.managers.node_id", manager.node_id)?, address))
}

fn datacenter(load: &messages::DatacenterLoad) -> Result<DatacenterLoad, Unreadable> {
    if load.managers.len() > MANAGERS_MAX {
        return Err(Unreadable::OutOfRange("datacenter.managers"));
    }
    Ok(DatacenterLoad {
        term: load.term,
        leader: NodeId::new(load.leader),
        managers_alive: load.managers_alive,
        managers_total: load.managers_total,
        managers: load.managers.iter().map(location).collect::<Result<_, _>>()?,
        workers_total: load.workers_total,
        workers_healthy: load.workers_healthy,
        workers_degraded: load.workers_degraded,
        cores_total: load.cores_total,
        cores_available: load.cores_available,
        lhm: small("datacenter.health_multiplier", load.health_multiplier)?,
        backpressure: level(load.backpressure())?,
    })
}

fn phase_out(phase: Phase) -> MemberPhase {
    match phase {
        Phase::Syncing => MemberPhase::Syncing,
        Phase::Active => MemberPhase::Active,
        Phase::Draining => MemberPhase::Draining,
    }
}

fn phase(phase: MemberPhase) -> Result<Phase, Unreadable> {
    match phase {
        MemberPhase::Unspecified => Err(Unreadable::Unknown("phase")),
        MemberPhase::Syncing => Ok(Phase::Syncing),
        MemberPhase::Active => Ok(Phase::Active),
        MemberPhase::Draining => Ok(Phase::Draining),
    }
}

fn level_out(level: LoadLevel) -> messages::LoadLevel {
    match level {
        LoadLevel::Normal => messages::LoadLevel::Normal,
        LoadLevel::Elevated => messages::LoadLevel::Elevated,
        LoadLevel::High => messages::LoadLevel::High,
        LoadLevel::Severe => messages::LoadLevel::Severe,
        LoadLevel::Critical => messages::LoadLevel::Critical,
    }
}

fn level(level: messages::LoadLevel) -> Result<LoadLevel, Unreadable> {
    match level {
        messages::LoadLevel::Unspecified => Err(Unreadable::Unknown("backpressure")),
        messages::LoadLevel::Normal => Ok(LoadLevel::Normal),
        messages::LoadLevel::Elevated => Ok(LoadLevel::Elevated),
        messages::LoadLevel::High => Ok(LoadLevel::High),
        messages::LoadLevel::Severe => Ok(LoadLevel::Severe),
        messages::LoadLevel::Critical => Ok(LoadLevel::Critical),
    }
}
