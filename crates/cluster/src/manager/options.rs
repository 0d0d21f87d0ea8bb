//! Who a manager is, and its times.

use std::time::Duration;

use hyperscale_consensus::register::Clocks;
use hyperscale_swim::WorkerState;
use hyperscale_types::NodeId;

/// Who a manager is in this life, and its times.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node.
    pub node: NodeId,
    /// Numbers of its calls and reads begin here; above every number of its former lives.
    pub first_number: u64,
    /// Decides everything that is drawn.
    pub seed: u64,
    /// How long a worker lease is.
    pub worker_lease: Duration,
    /// A manager that is silent for so long leads no job any more.
    pub job_lease: Duration,
    /// What the clocks of jobs showed in its former life, as far as that was kept.
    pub clocks: Clocks,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: crate::bugs::Bugs,
}

impl Options {
    /// With the times of a datacenter.
    pub fn lan(node: NodeId, first_number: u64, seed: u64) -> Self {
        Self {
            node,
            first_number,
            seed,
            worker_lease: Duration::from_secs(15),
            job_lease: Duration::from_secs(3),
            clocks: Clocks::default(),
            #[cfg(feature = "bugs")]
            bugs: crate::bugs::Bugs::default(),
        }
    }

    /// Whether a worker gets nothing new, as the log says, or it said so itself. With the deliberate bugs about drains leaders do not
    /// look at all of it: a register that assigns to workers that drain, or forgets who does, would go unnoticed otherwise.
    #[cfg_attr(not(feature = "bugs"), expect(clippy::unused_self, reason = "holds the deliberate bugs"))]
    pub(super) fn drains(&self, is_asked: bool, state: WorkerState) -> bool {
        let says_so = state >= WorkerState::Draining;
        #[cfg(feature = "bugs")]
        {
            use hyperscale_consensus::bugs::Bug;
            let (assigns, forgets) = (Bug::AssignToDraining, Bug::ForgetDrainAtTakeover);
            let has = |bug| self.bugs.consensus.has(bug);
            is_asked && !has(assigns) || says_so && !has(assigns) && !has(forgets)
        }
        #[cfg(not(feature = "bugs"))]
        {
            is_asked || says_so
        }
    }
}
