//! Proposals and what becomes of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyperscale_types::Now;

use super::RaftGroup;
use crate::action::{Action, ProposeError};
use crate::apply::Machine;
use crate::config::{Backlog, COMMAND_BYTES_MAX};
use crate::id::{ProposalId, RaftId};
use crate::quorum::{CircuitState, QuorumError, Reach};

/// Proposals of this node whose entry is not applied yet, by its index.
#[derive(Debug, Default)]
pub(super) struct Proposals {
    waiting: BTreeMap<u64, Waiting>,
    failed: Vec<(ProposalId, ProposeError)>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    proposal: ProposalId,
    term: u64,
    since: Now,
}

impl Proposals {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn wait(&mut self, index: u64, term: u64, proposal: ProposalId, since: Now) {
        if let Some(replaced) = self.waiting.insert(index, Waiting { proposal, term, since }) {
            self.failed.push((replaced.proposal, ProposeError::Replaced));
        }
    }

    pub(super) fn fail(&mut self, proposal: ProposalId, error: ProposeError) {
        self.failed.push((proposal, error));
    }

    /// The entry at this index is applied; returns the proposal if the entry is its own.
    pub(super) fn settle(&mut self, index: u64, term: u64) -> Option<ProposalId> {
        let waiting = self.waiting.remove(&index)?;
        if waiting.term == term {
            return Some(waiting.proposal);
        }
        self.failed.push((waiting.proposal, ProposeError::Replaced));
        None
    }

    /// A snapshot covers everything up to this index: what became of proposals there is not known.
    pub(super) fn skip(&mut self, index: u64, error: ProposeError) {
        let after = self.waiting.split_off(&(index + 1));
        let skipped = std::mem::replace(&mut self.waiting, after);
        self.failed.extend(skipped.into_values().map(|waiting| (waiting.proposal, error)));
    }

    /// Nothing more will come of any of them here.
    pub(super) fn fail_all(&mut self, error: ProposeError) {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        self.failed.extend(waiting.map(|waiting| (waiting.proposal, error)));
    }

    /// Fails what waits too long; returns how many.
    pub(super) fn expire(&mut self, error: ProposeError, is_due: impl Fn(Now) -> bool) -> usize {
        let before = self.waiting.len();
        let failed = &mut self.failed;
        self.waiting.retain(|_, waiting| {
            let due = is_due(waiting.since);
            if due {
                failed.push((waiting.proposal, error));
            }
            !due
        });
        before - self.waiting.len()
    }

    pub(super) fn drain_failed<O>(&mut self, out: &mut Vec<Action<O>>) {
        out.extend(self.failed.drain(..).map(|(proposal, error)| Action::Failed { proposal, error }));
    }
}

impl<M: Machine> RaftGroup<M> {
    pub(super) fn on_propose(
        &mut self,
        now: Now,
        proposal: ProposalId,
        command: Bytes,
    ) -> Result<(), ProposeError> {
        if command.is_empty() || command.len() > COMMAND_BYTES_MAX {
            return Err(ProposeError::Size);
        }
        self.admit(now)?;
        if !self.may_propose() {
            return Err(ProposeError::Overloaded);
        }
        self.raft.propose(Vec::new(), command.into()).map_err(|_| ProposeError::Overloaded)?;
        self.settle(now);
        self.proposals.wait(self.last_index(), self.term(), proposal, now);
        Ok(())
    }

    /// Whether the quorum is asked.
    pub fn circuit(&self) -> CircuitState {
        self.circuit.state()
    }

    /// How many proposals and reads wait.
    pub fn backlog(&self) -> Backlog {
        Backlog { proposals: self.proposals.len(), reads: self.reads.len() }
    }

    /// Whether one more proposal may wait.
    pub(super) fn may_propose(&self) -> bool {
        self.proposals.len() < self.config.backlog_max.proposals || bug!(self.config.bugs, TakeWithoutLimit)
    }

    /// Whether one more read may wait.
    pub(super) fn may_read(&self) -> bool {
        self.reads.len() < self.config.backlog_max.reads || bug!(self.config.bugs, TakeWithoutLimit)
    }

    /// Whether this replica may propose now.
    pub(super) fn admit(&mut self, now: Now) -> Result<(), ProposeError> {
        if self.state.halt.is_some() {
            return Err(ProposeError::Halted);
        }
        let reach = self.reach(now);
        if !self.is_leader() {
            let lost = self.leader().is_none() && !reach.is_enough();
            return Err(if lost {
                ProposeError::NoQuorum { reachable: reach.reachable, needed: reach.needed }
            } else {
                ProposeError::NotLeader { leader: self.leader_named() }
            });
        }
        if self.raft.raft.lead_transferee.is_some() {
            return Err(ProposeError::Transferring);
        }
        Ok(self.circuit.admit(now, reach)?)
    }

    /// Voters heard of within the longest election timeout, this node included, and how many it takes. In a joint
    /// configuration that of the two which is worse off.
    pub fn reach(&self, now: Now) -> Reach {
        let count = |voters: &[RaftId]| {
            let heard =
                |id: &&RaftId| **id == self.id || self.contacts.is_heard(**id, now, self.config.election_max);
            Reach { reachable: voters.iter().filter(heard).count(), needed: voters.len() / 2 + 1 }
        };
        let incoming = count(&self.configuration.voters);
        let outgoing = count(&self.configuration.voters_outgoing);
        if self.configuration.is_joint() && !outgoing.is_enough() { outgoing } else { incoming }
    }

    /// Proposals and reads that wait too long fail; the circuit counts once.
    pub(super) fn expire(&mut self, now: Now) {
        let error = ProposeError::Quorum(QuorumError::Timeout(self.reach(now)));
        let patience = self.config.quorum_timeout;
        let is_due = |since: Now| now.since(since) >= patience;
        if self.proposals.expire(error, is_due) + self.reads.expire(error, is_due) > 0 {
            self.circuit.failed(now);
        }
    }
}
