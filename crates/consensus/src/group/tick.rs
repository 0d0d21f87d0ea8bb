//! Time: ticks of raft-rs, and what the group itself does with time.

use std::time::Duration;

use hyperscale_types::Now;
use raft::ProgressState;

use super::RaftGroup;
use crate::apply::Machine;
use crate::id::RaftId;

/// Followers that are told of the leader's death campaign one after the other, this far apart, the healthiest first.
const CAMPAIGN_STAGGER: Duration = Duration::from_millis(150);

impl<M: Machine> RaftGroup<M> {
    pub(super) fn on_tick(&mut self, now: Now) {
        if self.state.halt.is_some() {
            self.state.ticked = now;
            return;
        }
        for _ in 0..self.due_ticks(now) {
            self.tick_raft(now);
        }
        self.campaign_if_due(now);
        let progress = self.raft.raft.prs();
        let is_awaited = |id: RaftId| {
            progress.get(id.get()).is_some_and(|progress| progress.state == ProgressState::Snapshot)
        };
        for peer in self.contacts.overdue_snapshots(now, is_awaited) {
            self.snapshot_sent(now, peer, false);
        }
        self.expire(now);
        self.lead(now);
        self.settle(now);
    }

    /// Ticks that have passed. A process that slept does not make up for all of them: it would call an election at once
    /// although the leader's messages wait in its socket.
    fn due_ticks(&mut self, now: Now) -> u32 {
        let most = self.config.ticks(self.config.heartbeat) as u32;
        let passed = now.since(self.state.ticked).as_nanos() / self.config.tick.as_nanos();
        if passed > u128::from(most) {
            self.state.ticked = now;
            return most;
        }
        self.state.ticked = self.state.ticked.plus(self.config.tick * passed as u32);
        passed as u32
    }

    /// While its disk does not answer, a follower does not campaign: it could not vote for itself.
    fn tick_raft(&mut self, now: Now) {
        if self.is_leader() || self.disk.is_idle() {
            self.raft.tick();
            self.settle(now);
        }
    }

    /// SWIM says that the leader is dead, or it closed its connections. A hint: this replica no longer believes in it, and campaigns with a pre-vote. If
    /// the hint is wrong the others, who hear the leader, refuse, and its next heartbeat is believed again.
    pub fn hint_leader_dead(&mut self, now: Now, leader: RaftId) {
        if self.leader() != Some(leader) || leader == self.id || self.state.halt.is_some() {
            return;
        }
        self.raft.raft.leader_id = raft::INVALID_ID;
        let rank = self.campaign_rank(leader);
        self.state.campaign_at = Some(now.plus(CAMPAIGN_STAGGER * rank));
        self.campaign_if_due(now);
        self.settle(now);
    }

    /// How many other voters would be a better leader, by health and then by id.
    fn campaign_rank(&self, dead: RaftId) -> u32 {
        let own = (self.health.own(), self.id);
        let others = self.configuration.voters.iter().filter(|id| **id != self.id && **id != dead);
        others.filter(|id| (self.health.peer(**id), **id) < own).count() as u32
    }

    fn campaign_if_due(&mut self, now: Now) {
        let Some(at) = self.state.campaign_at else { return };
        if self.leader().is_some() {
            self.state.campaign_at = None;
        } else if now >= at && self.disk.is_idle() {
            self.state.campaign_at = None;
            if self.raft.raft.promotable() {
                let _ = self.raft.campaign();
                self.settle(now);
            }
        }
    }

    /// What a leader does with time: leaves joint configurations, promotes learners, hands over when ill.
    fn lead(&mut self, now: Now) {
        if self.is_leader() {
            self.leave_joint(now);
            self.promote(now);
            self.hand_over_if_ill(now);
        } else {
            self.promotions.clear();
        }
    }
}
