//! What nodes say about themselves: drawn anew every few seconds, so that versions travel and overtake each other.

use std::time::Duration;

use fastrand::Rng;
use hyperscale_swim::{
    Command, EmbeddedState, GateLoad, Input, LoadLevel, ManagerLoad, Phase, WorkerLoad, WorkerState,
};
use hyperscale_types::{BootEpoch, Role};

use super::{Happening, World};
use crate::process::Version;

/// When a node speaks about itself for the first time.
pub(super) const FIRST: Duration = Duration::from_millis(100);
/// How often it has something new to say, on average.
const AGAIN: Duration = Duration::from_secs(4);

impl World {
    pub(super) fn new_state(&mut self, node: usize, boot: BootEpoch) {
        if !self.is_life(node, boot) {
            return;
        }
        let pause = AGAIN.mul_f64(0.5 + self.rng.f64());
        self.kernel.after(pause, Happening::State { node, boot });
        self.cross_news(node);
        // Before the upgrade nodes had nothing to say about themselves.
        if self.truth.nodes[node].process.version == Version::New {
            let (role, lhm) = (self.truth.nodes[node].role, self.nodes[node].swim.lhm());
            let state = draw(&mut self.rng, role, lhm);
            self.handle(node, Input::Command(Command::SetState(state)));
        }
    }
}

fn draw(rng: &mut Rng, role: Role, lhm: u8) -> EmbeddedState {
    match role {
        Role::Worker => EmbeddedState::Worker(WorkerLoad {
            state: WorkerState::Healthy,
            cores_total: 8,
            cores_available: rng.u16(0..=8),
            queue_depth: rng.u32(0..100),
            cpu_percent: rng.u8(0..=100),
            memory_percent: rng.u8(0..=100),
            segments: rng.u32(0..4),
            segments_digest: rng.u64(..),
            lhm,
        }),
        Role::Manager => EmbeddedState::Manager(ManagerLoad {
            datacenter: "dc".into(),
            leader: false,
            term: 1,
            phase: Phase::Active,
            jobs: rng.u32(0..100),
            segments: rng.u32(0..100),
            workers_total: 0,
            workers_healthy: 0,
            cores_total: 0,
            cores_available: 0,
            lhm,
            backpressure: LoadLevel::Normal,
        }),
        Role::Gate => EmbeddedState::Gate(GateLoad {
            leader: false,
            term: 1,
            phase: Phase::Active,
            jobs_owned: rng.u32(0..100),
            lhm,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_every_role_say_how_well_they_are() {
        for role in [Role::Worker, Role::Manager, Role::Gate] {
            assert_eq!(draw(&mut Rng::with_seed(1), role, 5).lhm(), 5, "{role:?}");
        }
    }
}
