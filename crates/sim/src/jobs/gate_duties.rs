//! What the leader of the gates does beside proposing for others: it gives the jobs of gates that are silent to others, and raises
//! the version that all understand.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_cluster::manager::ToPeer;
use hyperscale_consensus::lease::RollCall;
use hyperscale_consensus::register::{Body, JobId};
use hyperscale_types::{NodeId, Now, Token};

use super::gate::{Gate, Purpose, group_of};
use super::voter::Deed;
use crate::log::Letter;

/// A gate that is silent for so long leads no job any more.
const JOB_LEASE: Duration = Duration::from_secs(3);
/// A gate that spoke within this time may get jobs.
const SPOKE_WITHIN: Duration = Duration::from_millis(1500);
/// A grant of a job is proposed again after this time.
const AGAIN: Duration = Duration::from_secs(1);

/// What the leader of the gates knows about them. Empty while this node does not lead.
#[derive(Debug, Default)]
pub(super) struct LeaderDuties {
    heard: BTreeMap<NodeId, Now>,
    roll_call: Option<RollCall>,
    /// When the grant of a job was last proposed, or a job without a leader was first seen.
    regranted: BTreeMap<JobId, Now>,
    /// When a newer version of commands was last proposed.
    version_asked: Option<Now>,
}

impl LeaderDuties {
    pub(super) fn heard(&mut self, now: Now, gate: NodeId) {
        self.heard.insert(gate, now);
        if let Some(call) = &mut self.roll_call {
            call.answered(gate);
        }
    }

    /// SWIM says that it is dead.
    pub(super) fn declare_dead(&mut self, gate: NodeId) {
        self.heard.insert(gate, Now::ZERO);
    }

    fn is_gone(&mut self, now: Now, gate: NodeId) -> bool {
        let is_silent = now.since(*self.heard.entry(gate).or_insert(now)) >= JOB_LEASE;
        let call = self.roll_call.as_ref();
        is_silent || call.and_then(|call| call.silent(now)).is_some_and(|silent| silent.contains(&gate))
    }

    fn may_regrant(&mut self, now: Now, job: JobId, is_led: bool) -> bool {
        // A job that nobody leads yet is left to the gate that accepted it for a moment.
        let since = self.regranted.entry(job).or_insert(if is_led { Now::ZERO } else { now });
        let is_due = now.since(*since) >= AGAIN;
        if is_due {
            *since = now;
        }
        is_due
    }
}

impl Gate {
    /// This node leads and knows everything that was decided before.
    pub(super) fn begin_leading(&mut self, now: Now) {
        let open = group_of(&self.replica).machine().register().jobs().filter(|(_, job)| job.end.is_none());
        let gates: Vec<NodeId> = open.filter_map(|(_, job)| job.leader.map(|it| it.0)).collect();
        self.leader_duties = LeaderDuties::default();
        self.leader_duties.roll_call = Some(RollCall::begin(now, gates));
        self.leader_duties.heard(now, self.me);
        let peers = group_of(&self.replica).roster().members().map(|member| member.node);
        let others: Vec<NodeId> = peers.filter(|node| *node != self.me).collect();
        for to in others {
            self.deeds.push(Deed::Send { to, letter: Letter::Peer(ToPeer::RollCall) });
        }
    }

    pub(super) fn stop_leading(&mut self) {
        self.leader_duties = LeaderDuties::default();
    }

    pub(super) fn lead(&mut self, now: Now) {
        if !group_of(&self.replica).is_established() {
            return;
        }
        self.leader_duties.heard(now, self.me);
        for (job, token) in self.abandoned(now) {
            let (leader, elapsed) = (self.successor(now), self.clocks.elapsed(now, job));
            let lead = Body::JobLeader { job, leader, elapsed, reason: "its leader is gone".to_owned() };
            self.ask(now, Purpose::Other, token, lead);
        }
        self.raise_version(now);
        let is_over = |call: &mut RollCall| now >= call.ends().plus(JOB_LEASE);
        self.leader_duties.roll_call.take_if(is_over);
    }

    /// Every voter understands a newer version: it is agreed on.
    fn raise_version(&mut self, now: Now) {
        let group = group_of(&self.replica);
        let due =
            group.machine().register().version_due(group.configuration(), |id| self.replica.understood(id));
        let is_asked = self.leader_duties.version_asked.is_some_and(|asked| now.since(asked) < AGAIN);
        if let Some(version) = due.filter(|_| !is_asked) {
            self.leader_duties.version_asked = Some(now);
            self.ask(now, Purpose::Other, Token(0), Body::ClusterVersion { version });
        }
    }

    /// Jobs whose leader is gone, with the token to replace.
    fn abandoned(&mut self, now: Now) -> Vec<(JobId, Token)> {
        let leader_duties = &mut self.leader_duties;
        let open = group_of(&self.replica).machine().register().jobs().filter(|(_, job)| job.end.is_none());
        let gone = open.filter(|(id, job)| match job.leader {
            Some((gate, _)) => leader_duties.is_gone(now, gate) && leader_duties.may_regrant(now, **id, true),
            None => leader_duties.may_regrant(now, **id, false),
        });
        gone.map(|(id, job)| (*id, job.token())).collect()
    }

    /// Any gate that spoke lately.
    fn successor(&mut self, now: Now) -> NodeId {
        let spoke = |(gate, heard): (&NodeId, &Now)| (now.since(*heard) < SPOKE_WITHIN).then_some(*gate);
        let fit: Vec<NodeId> = self.leader_duties.heard.iter().filter_map(spoke).collect();
        fit.get(self.rng.usize(..fit.len().max(1))).copied().unwrap_or(self.me)
    }
}
