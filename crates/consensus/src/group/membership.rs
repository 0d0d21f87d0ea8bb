//! Changes of the configuration: joint, one at a time, asked for by an operator.
//!
//! ```text
//! Move ──► the same member, reached elsewhere: proposed by the leader itself, see `replica::peers`
//! Add ──► learner ── close, with its blobs, for 10 s ──► voter          Remove ──► gone; its raft id and directory are never used again
//! ```
//!
//! Each arrow is a joint change: an entry that enters it, and one that leaves it, proposed by whoever leads then. A voter that
//! is removed votes, and is in the roster, until the joint configuration is left.

use hyperscale_types::{BootEpoch, NodeId, Now};

use super::RaftGroup;
use crate::action::{Event, ProposeError, RaftRole};
use crate::apply::Machine;
use crate::config::{COMMAND_BYTES_MAX, Promotion, UNCOMMITTED_BYTES_MAX};
use crate::convert;
use crate::id::{DirectoryId, ProposalId, RaftId};
use crate::learner::Standing;
use crate::message::{Addresses, Configuration, ConfigurationChange, ConfigurationStep, Member};
use crate::roster::ChangeError;

/// What an operator may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A node joins, with an empty data directory, as a learner.
    Add {
        /// The node that joins; one that is a member already is refused.
        node: NodeId,
        /// Its data directory; one that ever belonged to a member is refused.
        directory: DirectoryId,
        /// Where it is reached.
        addresses: Addresses,
    },
    /// A member goes. The leader hands over first.
    Remove(RaftId),
    /// A member is reached elsewhere. It stays what it is: a voter or a learner.
    Move {
        /// Its id in the group, which it keeps.
        id: RaftId,
        /// Where it is now.
        addresses: Addresses,
        /// The life of its node that is reached there; later than the one that the log knows.
        boot: BootEpoch,
    },
}

impl<M: Machine> RaftGroup<M> {
    pub(super) fn on_change(
        &mut self,
        now: Now,
        proposal: ProposalId,
        change: Change,
    ) -> Result<(), ProposeError> {
        self.admit(now)?;
        let change = match change {
            Change::Add { node, directory, addresses } => {
                let raft_id = self.applier.roster.next_id();
                let member = Some(Member { raft_id, node, directory, addresses, boot: BootEpoch(0) });
                ConfigurationChange { steps: vec![ConfigurationStep::AddLearner(raft_id)], member }
            }
            Change::Remove(id) if id == self.id && self.configuration.voters.len() > 1 => {
                return Err(ChangeError::IsLeader.into());
            }
            Change::Move { id, addresses, boot } => {
                let known = *self.applier.roster.member(id).ok_or(ChangeError::UnknownMember)?;
                if known.addresses == addresses {
                    return Err(ChangeError::SameAddresses.into());
                }
                let member = Some(Member { addresses, boot, ..known });
                ConfigurationChange { steps: vec![self.configuration.step_of(id)], member }
            }
            Change::Remove(id) => {
                ConfigurationChange { steps: vec![ConfigurationStep::Remove(id)], member: None }
            }
        };
        self.propose_change(now, Some(proposal), &change)
    }

    fn propose_change(
        &mut self,
        now: Now,
        proposal: Option<ProposalId>,
        change: &ConfigurationChange,
    ) -> Result<(), ProposeError> {
        if self.raft.raft.has_pending_conf() {
            return Err(ChangeError::Pending.into());
        }
        self.applier.roster.check(change, &self.configuration)?;
        if !self.may_propose() || !self.has_log_room() {
            return Err(ProposeError::Overloaded);
        }
        let context = convert::change_bytes(change).to_vec();
        let proposed = self.raft.propose_conf_change(context, convert::change_in(change));
        self.settle(now);
        proposed.map_err(|_| ProposeError::Transferring)?;
        #[cfg(feature = "bugs")]
        if !change.steps.is_empty() {
            self.state.joint_entered = Some(self.term());
        }
        if let Some(proposal) = proposal {
            self.proposals.wait(self.last_index(), self.term(), proposal, now);
        }
        Ok(())
    }

    /// Whether a change fits into what may be uncommitted; it is smaller than the largest command. Asked before raft-rs is,
    /// which refuses a change that does not fit and yet takes it for pending from then on.
    fn has_log_room(&self) -> bool {
        self.raft.raft.uncommitted_size() + COMMAND_BYTES_MAX <= UNCOMMITTED_BYTES_MAX as usize
    }

    /// A joint configuration is left as soon as it is applied, whoever entered it.
    pub(super) fn leave_joint(&mut self, now: Now) {
        #[cfg(feature = "bugs")]
        if bug!(self.config.bugs, JointLeftByItsLeaderOnly) && self.state.joint_entered != Some(self.term()) {
            return;
        }
        if self.configuration.is_joint() && self.raft.raft.lead_transferee.is_none() {
            // Refused while an earlier change is not applied; the next tick tries again.
            let _ = self.propose_change(now, None, &ConfigurationChange::default());
        }
    }

    /// Makes a learner a voter that was close for long enough.
    pub(super) fn promote(&mut self, now: Now) {
        let (first, last) = (self.raft.raft.raft_log.first_index(), self.last_index());
        let learners = self.configuration.learners.iter().filter_map(|id| {
            let progress = self.raft.raft.prs().get(id.get())?;
            let is_heard = self.contacts.is_heard(*id, now, self.config.election_min);
            if bug!(self.config.bugs, PromoteLearnerByTimeout) {
                return Some(Standing { id: *id, lag: Some(0), is_heard: true, has_blobs: true });
            }
            let has_state = progress.matched + 1 >= first;
            let lag = has_state.then(|| last.saturating_sub(progress.matched));
            let has_blobs = !self.contacts.lacks_blobs(*id);
            Some(Standing { id: *id, lag, is_heard, has_blobs })
        });
        let Promotion { lag_max, stable } = self.config.promotion;
        let Some(id) = self.promotions.observe(now, learners, lag_max, stable) else { return };
        let change = ConfigurationChange { steps: vec![ConfigurationStep::AddVoter(id)], member: None };
        if self.propose_change(now, None, &change).is_ok() {
            self.promotions.clear();
            self.events.push(Event::Promoting { id, index: self.last_index() });
        }
    }

    /// Applies a configuration entry; the same on every replica.
    pub(super) fn apply_change(
        &mut self,
        index: u64,
        change: &ConfigurationChange,
    ) -> Result<(), ChangeError> {
        let made = self.applier.roster.check(change, &self.configuration).and_then(|()| {
            let applied = self.raft.apply_conf_change(&convert::change_in(change));
            applied.map_err(|error| ChangeError::not_applied(&error))
        });
        let word: &[u8] = if made.is_ok() { b"made" } else { b"refused" };
        self.applier.other(index, &[&convert::change_bytes(change)[..], word].concat());
        let configuration = convert::configuration_out(&made?);
        let moved = self.applier.roster.moved(change).zip(change.member);
        self.applier.roster.make(change, &configuration);
        self.adopt(configuration);
        if let Some((id, Member { addresses, .. })) = moved {
            self.events.push(Event::MemberMoved { id, addresses });
        }
        self.step_down_if_removed();
        Ok(())
    }

    /// Who hands over to a voter that it was about to remove makes it the leader of its own removal. raft-rs would let it lead
    /// on and panic with the next answer; a candidate would when it wins. Those who stay elect another one.
    fn step_down_if_removed(&mut self) {
        if !self.configuration.contains(self.id) && self.role() != RaftRole::Follower {
            let term = self.term();
            self.raft.raft.become_follower(term, raft::INVALID_ID);
        }
    }

    pub(super) fn adopt(&mut self, configuration: Configuration) {
        self.contacts.forget_others(|id| configuration.contains(id));
        self.health.forget_others(|id| configuration.contains(id));
        self.events.push(Event::ConfigurationChanged(configuration.clone()));
        self.configuration = configuration;
    }
}
