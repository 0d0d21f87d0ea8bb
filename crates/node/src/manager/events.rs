//! What happened in the cluster lately, as this manager saw it: for people, in a ring of bounded size. Nothing is decided by it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hyperscale_cluster::manager::Manager;
use hyperscale_consensus::register::Register;
use hyperscale_consensus::{Event, RaftGroup, RaftId};
use hyperscale_swim::{Event as Swim, WorkerState};
use hyperscale_types::{NodeId, Now, Token};

use crate::clock;

/// Events that are kept, which is a page of the API; the oldest makes room.
pub const EVENTS_MAX: usize = 1_000;
/// How often the workers of the log are compared with those before.
const WORKERS_EVERY: Duration = Duration::from_secs(1);

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterEvent {
    /// Counts from 1 in every life of the manager.
    pub seq: u64,
    /// By the wall clock of this machine, milliseconds since 1970.
    pub at_ms: u64,
    /// A word for programs.
    pub event: &'static str,
    /// The node it is about.
    pub node: Option<NodeId>,
    /// More about it, in words that need no name of a node.
    pub message: String,
}

/// The newest events.
#[derive(Debug, Default)]
pub struct ClusterEvents {
    ring: VecDeque<ClusterEvent>,
    last: u64,
    /// Workers with a grant when they were last compared.
    workers: BTreeMap<NodeId, (Token, WorkerState)>,
    compared: Option<Now>,
}

impl ClusterEvents {
    /// The events that are kept, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &ClusterEvent> {
        self.ring.iter()
    }

    /// The number of the newest one; zero: there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    fn note(&mut self, event: &'static str, node: Option<NodeId>, message: impl Into<String>) {
        if self.ring.len() >= EVENTS_MAX {
            self.ring.pop_front();
        }
        self.last += 1;
        let (seq, at_ms) = (self.last, clock::wall_ms());
        self.ring.push_back(ClusterEvent { seq, at_ms, event, node, message: message.into() });
    }

    /// Something about the log group.
    pub(super) fn group(&mut self, event: &Event, group: Option<&RaftGroup<Register>>) {
        let node = |id: RaftId| group.and_then(|group| Some(group.roster().member(id)?.node));
        match event {
            Event::LeaderChanged { term, leader: Some(leader), .. } => {
                self.note("leader_changed", node(*leader), format!("leads the group in term {term}"));
            }
            Event::LeaderChanged { term, leader: None, .. } => {
                self.note("leader_lost", None, format!("nobody leads the group in term {term}"));
            }
            Event::ConfigurationChanged(configuration) => {
                let (voters, learners) = (configuration.voters.len(), configuration.learners.len());
                self.note("members_changed", None, format!("{voters} voters, {learners} learners"));
            }
            Event::MemberMoved { id, addresses } => {
                self.note("member_moved", node(*id), format!("is reached at {}", addresses.peer));
            }
            Event::Promoting { id, .. } => self.note("member_promoted", node(*id), "becomes a voter"),
            Event::Transferring { to, .. } => {
                self.note("leader_transfer", node(*to), "is to lead the group");
            }
            Event::SnapshotRestored { index } => {
                let message = format!("the state was replaced by a snapshot of the leader, entry {index}");
                self.note("snapshot_restored", None, message);
            }
            Event::PeerDiverged { peer, .. } => {
                self.note("member_diverged", node(*peer), "has another state than the leader");
            }
            Event::Halted(halt) => self.note("replica_halted", None, halt.to_string()),
            Event::Established { .. }
            | Event::Flapping
            | Event::SnapshotMade { .. }
            | Event::Refused { .. } => {}
        }
    }

    /// Something that the failure detector says.
    pub(super) fn membership(&mut self, event: &Swim) {
        match event {
            Swim::Joined { peer, returned, .. } => {
                let again = if *returned { " again" } else { "" };
                self.note("node_joined", Some(peer.node), format!("{} at {}{again}", peer.role, peer.addr));
            }
            Swim::Suspected { node, .. } => {
                self.note("node_suspected", Some(*node), "does not respond to probes");
            }
            Swim::Refuted { node } => self.note("node_refuted", Some(*node), "responds again"),
            Swim::Died { node, .. } => self.note("node_died", Some(*node), "is taken for dead"),
            Swim::Left { node } => self.note("node_left", Some(*node), "has left"),
            _ => {}
        }
    }

    /// Compares the workers of the log with those before, now and then.
    pub(super) fn workers(&mut self, now: Now, manager: &Manager<Register>) {
        let is_due = self.compared.is_none_or(|at| now.since(at) >= WORKERS_EVERY);
        let Some(register) = manager.register().filter(|_| is_due) else { return };
        self.compared = Some(now);
        let state = |node: NodeId| manager.worker_state(node).unwrap_or(WorkerState::Healthy);
        let known = register.workers().map(|(node, worker)| (*node, (worker.grant, state(*node))));
        let present: BTreeMap<NodeId, (Token, WorkerState)> = known.collect();
        self.compare(present);
    }

    fn compare(&mut self, present: BTreeMap<NodeId, (Token, WorkerState)>) {
        let before = std::mem::replace(&mut self.workers, present.clone());
        for node in before.keys().filter(|node| !present.contains_key(node)) {
            self.note("worker_gone", Some(*node), "its lease has ended");
        }
        for (node, (grant, state)) in present {
            let known = before.get(&node).filter(|(known, _)| *known == grant).map(|(_, state)| *state);
            if known.is_none() {
                self.note("worker_registered", Some(node), format!("has a lease, grant {}", grant.0));
            }
            if known.unwrap_or(WorkerState::Healthy) != state {
                let (event, message) = said(state);
                self.note(event, Some(node), message);
            }
        }
    }
}

/// The event of a worker that says that it is in another state.
fn said(state: WorkerState) -> (&'static str, &'static str) {
    match state {
        WorkerState::Registering => ("worker_registering", "looks for a manager"),
        WorkerState::Healthy => ("worker_healthy", "is not under pressure any more"),
        WorkerState::Degraded => ("worker_degraded", "is under pressure and chosen last"),
        WorkerState::Draining => ("worker_draining", "takes nothing new and finishes what it has"),
        WorkerState::Offline => ("worker_offline", "has finished and leaves"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_events_are_kept_and_numbered() {
        let mut events = ClusterEvents::default();
        let node = NodeId::new(7);
        (0..EVENTS_MAX + 10).for_each(|_| events.note("node_left", node, "has left"));
        assert_eq!(events.iter().count(), EVENTS_MAX);
        let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!((numbers[0], numbers[EVENTS_MAX - 1]), (11, EVENTS_MAX as u64 + 10));
    }

    #[test]
    fn workers_that_come_change_and_go_are_noted_once() {
        let mut events = ClusterEvents::default();
        let node = NodeId::new(7).unwrap();
        let words = |events: &ClusterEvents| events.iter().map(|event| event.event).collect::<Vec<_>>();
        for (grant, state) in [
            (1, WorkerState::Healthy),
            (1, WorkerState::Healthy),
            (1, WorkerState::Degraded),
            (1, WorkerState::Draining),
            (2, WorkerState::Healthy),
        ] {
            events.compare([(node, (Token(grant), state))].into());
        }
        events.compare(BTreeMap::new());
        let expected =
            ["worker_registered", "worker_degraded", "worker_draining", "worker_registered", "worker_gone"];
        assert_eq!(words(&events), expected);
    }
}
