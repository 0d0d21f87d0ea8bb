//! What a replica says about itself to its host. Nothing here changes it.

use hyperscale_types::Now;
use raft::StateRole;

use super::RaftGroup;
use crate::action::{Halt, RaftRole};
use crate::apply::{Machine, StateHash};
use crate::config::Config;
use crate::id::RaftId;
use crate::message::{Configuration, Leader};
use crate::roster::Roster;

impl<M: Machine> RaftGroup<M> {
    /// This replica's id.
    pub fn id(&self) -> RaftId {
        self.id
    }

    /// Returns the highest term that this replica has seen.
    pub fn term(&self) -> u64 {
        self.raft.raft.term
    }

    /// Returns whether it leads, follows or stands for election.
    pub fn role(&self) -> RaftRole {
        match self.raft.raft.state {
            StateRole::Follower => RaftRole::Follower,
            StateRole::Candidate | StateRole::PreCandidate => RaftRole::Candidate,
            StateRole::Leader => RaftRole::Leader,
        }
    }

    /// Whether it leads.
    pub fn is_leader(&self) -> bool {
        self.role() == RaftRole::Leader
    }

    /// Whether it leads and has committed an entry of its term, so that it knows all that was decided.
    pub fn is_established(&self) -> bool {
        self.is_leader() && self.state.established == Some(self.term())
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Who leads, as far as it knows.
    pub fn leader(&self) -> Option<RaftId> {
        RaftId::new(self.raft.raft.leader_id)
    }

    /// The same, with its node and addresses; `None` also if this log does not name it yet.
    pub fn leader_named(&self) -> Option<Leader> {
        let member = self.applier.roster.member(self.leader()?)?;
        Some(Leader { node: member.node, addresses: member.addresses })
    }

    /// Last entry of its log.
    pub fn last_index(&self) -> u64 {
        self.raft.raft.raft_log.last_index()
    }

    /// Last entry known to be committed.
    pub fn committed(&self) -> u64 {
        self.raft.raft.raft_log.committed
    }

    /// Last applied entry and the hash of the state after it.
    pub fn applied(&self) -> (u64, StateHash) {
        let proof = self.applier.proof();
        (proof.index, proof.hash)
    }

    /// The machine. Decide on it only after a read.
    pub fn machine(&self) -> &M {
        &self.applier.machine
    }

    /// Returns the members by the entries applied here.
    pub fn roster(&self) -> &Roster {
        &self.applier.roster
    }

    /// The configuration as applied.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Why it has stopped, if it has.
    pub fn halted(&self) -> Option<&Halt> {
        self.state.halt.as_ref()
    }

    /// Whether voluntary transfers repeat.
    pub fn is_flapping(&self, now: Now) -> bool {
        self.damper.is_flapping(now)
    }
}
