//! The small typed state that probes and acks carry about their sender (Serf style).
//!
//! Versioned by the sender, whatever its role: a receiver keeps the highest version of the sender's present boot and drops
//! the rest, and refuses a state of another role than the sender's. It is evidence for placement and display, never a
//! decision.

use hyperscale_types::Role;

use crate::load::LoadLevel;

/// A sender's state with its version. Versions of one boot only grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Raised by the sender with every change.
    pub version: u64,
    /// The state of a worker, a manager or a gate.
    pub state: EmbeddedState,
}

/// What a node says about itself, by role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbeddedState {
    /// Said by a worker.
    Worker(WorkerLoad),
    /// Said by a manager.
    Manager(ManagerLoad),
    /// Said by a gate.
    Gate(GateLoad),
}

impl EmbeddedState {
    /// The role that says such a thing.
    pub fn role(&self) -> Role {
        match self {
            EmbeddedState::Worker(_) => Role::Worker,
            EmbeddedState::Manager(_) => Role::Manager,
            EmbeddedState::Gate(_) => Role::Gate,
        }
    }

    /// The health multiplier that it says.
    pub fn lhm(&self) -> u8 {
        match self {
            EmbeddedState::Worker(load) => load.lhm,
            EmbeddedState::Manager(load) => load.lhm,
            EmbeddedState::Gate(load) => load.lhm,
        }
    }
}

/// What a worker is fit for, as it judges itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkerState {
    /// Looking for a manager.
    Registering,
    /// Takes work; neither CPU nor memory is short.
    Healthy,
    /// Under pressure; works, chosen last.
    Degraded,
    /// Finishing what it has, takes nothing new.
    Draining,
    /// About to go.
    Offline,
}

/// Where a manager or gate is between starting and going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Catching up; does not decide or take work yet.
    Syncing,
    /// In service.
    Active,
    /// Finishing what it has, takes nothing new.
    Draining,
}

/// A worker about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerLoad {
    /// What it is fit for.
    pub state: WorkerState,
    /// Cores it has.
    pub cores_total: u16,
    /// Cores nothing runs on.
    pub cores_available: u16,
    /// Segments waiting on it.
    pub queue_depth: u32,
    /// Busy share of its processors, 0…100.
    pub cpu_percent: u8,
    /// Used share of its memory, 0…100.
    pub memory_percent: u8,
    /// Segments running on it.
    pub segments: u32,
    /// Order-free hash over the running segments and attempts, to notice a difference cheaply.
    pub segments_digest: u64,
    /// Its health multiplier: 0 is healthy, 8 the worst.
    pub lhm: u8,
}

/// A manager about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagerLoad {
    /// Name of its datacenter.
    pub datacenter: Box<str>,
    /// Whether it leads its log group.
    pub leader: bool,
    /// Term of its log group, as far as it knows.
    pub term: u64,
    /// Whether it takes work.
    pub phase: Phase,
    /// Jobs it knows that have not ended.
    pub jobs: u32,
    /// Segments of those jobs that are running.
    pub segments: u32,
    /// Workers it knows.
    pub workers_total: u32,
    /// Workers that may get work.
    pub workers_healthy: u32,
    /// Cores of all workers.
    pub cores_total: u32,
    /// Cores nothing runs on.
    pub cores_available: u32,
    /// Its health multiplier: 0 is healthy, 8 the worst.
    pub lhm: u8,
    /// How hard it pushes back.
    pub backpressure: LoadLevel,
}

/// A gate about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateLoad {
    /// Whether it leads the gate group.
    pub leader: bool,
    /// Term of the gate group, as far as it knows.
    pub term: u64,
    /// Whether it takes work.
    pub phase: Phase,
    /// Jobs it leads.
    pub jobs_owned: u32,
    /// Its health multiplier: an ill leader of the gates hands over to the healthiest of them.
    pub lhm: u8,
}

/// Whether `heard` replaces `stored` of the same boot.
pub(crate) fn supersedes(heard: &Embedded, stored: Option<&Embedded>) -> bool {
    stored.is_none_or(|stored| heard.version > stored.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(version: u64) -> Embedded {
        let state = GateLoad { leader: false, term: 1, phase: Phase::Active, jobs_owned: 0, lhm: 0 };
        Embedded { version, state: EmbeddedState::Gate(state) }
    }

    #[test]
    fn stale_and_repeated_versions_are_dropped() {
        assert!(supersedes(&gate(1), None));
        assert!(supersedes(&gate(3), Some(&gate(2))));
        assert!(!supersedes(&gate(2), Some(&gate(2))));
        assert!(!supersedes(&gate(1), Some(&gate(2))));
    }
}
