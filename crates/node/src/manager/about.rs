//! What a manager says about itself in probes, and how busy it tells its core that it is.

use hyperscale_cluster::manager::{Busy, Input, Manager};
use hyperscale_consensus::RaftGroup;
use hyperscale_consensus::register::Register;
use hyperscale_swim::{Command, EmbeddedState, LoadLevel, ManagerLoad, Phase, WorkerState};
use hyperscale_types::Now;

use super::{LOG_BACKLOG_MAX, ManagerLoop};
use crate::clock;

/// How often what probes say is looked at.
const EVERY: std::time::Duration = std::time::Duration::from_secs(1);

/// What was said last, and how full queues were since.
#[derive(Debug, Default)]
pub(super) struct About {
    said: Option<ManagerLoad>,
    said_at: Option<Now>,
    /// The fullest that a queue of what arrives was since the core was told, in percent.
    fill: u8,
    busy: Busy,
    pub(super) level: LoadLevel,
}

impl ManagerLoop {
    /// Remembers how full the queues are: what waits is looked at before it is taken.
    pub(super) fn look_at_queues(&mut self) {
        let events = &self.sources.transport;
        let arrived = percent(events.len(), events.max_capacity());
        let logged = percent(self.log.backlog(), LOG_BACKLOG_MAX);
        self.about.fill = self.about.fill.max(arrived).max(logged);
    }

    /// Tells the core how busy this node is, and the failure detector what the core is doing.
    pub(super) fn tell_about(&mut self) {
        let busy = Busy { queue_percent: std::mem::take(&mut self.about.fill), level: self.about.level };
        if busy != self.about.busy {
            self.about.busy = busy;
            self.core.handle(clock::now(), Input::Busy(busy), &mut self.outputs);
        }
        let now = clock::now();
        if self.about.said_at.is_some_and(|at| now.since(at) < EVERY) {
            return;
        }
        self.about.said_at = Some(now);
        let load = load(&self.core, &self.group, self.hands.membership.view().lhm, self.about.level);
        if self.about.said.as_ref() != Some(&load) {
            self.about.said = Some(load.clone());
            self.order(Command::SetState(EmbeddedState::Manager(load)));
        }
    }
}

fn load(core: &Manager<Register>, datacenter: &str, lhm: u8, backpressure: LoadLevel) -> ManagerLoad {
    let (group, register) = (core.replica().group(), core.register());
    let mut load = ManagerLoad {
        datacenter: datacenter.into(),
        leader: group.is_some_and(RaftGroup::is_established),
        term: group.map_or(0, RaftGroup::term),
        phase: match group {
            _ if core.is_leaving() => Phase::Draining,
            Some(_) => Phase::Active,
            None => Phase::Syncing,
        },
        jobs: register.map_or(0, Register::jobs_open) as u32,
        segments: 0,
        workers_total: 0,
        workers_healthy: 0,
        cores_total: 0,
        cores_available: 0,
        lhm,
        backpressure,
    };
    for (id, worker) in register.into_iter().flat_map(Register::workers) {
        load.segments += worker.promised().len() as u32;
        load.workers_total += 1;
        load.workers_healthy += u32::from(core.worker_state(*id) == Some(WorkerState::Healthy));
        load.cores_total = load.cores_total.saturating_add(worker.cores);
        load.cores_available = load.cores_available.saturating_add(worker.free());
    }
    load
}

fn percent(part: usize, all: usize) -> u8 {
    (part.saturating_mul(100) / all.max(1)).min(100) as u8
}
