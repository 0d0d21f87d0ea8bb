//! What the cluster leader does beside proposing for others: it ends leases that ran out on its clock, and gives the jobs of
//! managers that are silent to others.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::lease::{Expiry, RollCall};
use hyperscale_consensus::register::{Body, JobId};
use hyperscale_types::{NodeId, Now, Token};

use super::desk::Purpose;
use super::office::{Office, Order};
use crate::log::Letter;

/// A manager that is silent for so long leads no job any more.
const JOB_LEASE: Duration = Duration::from_secs(3);
/// A manager that spoke within this time may get jobs.
const SPOKE_WITHIN: Duration = Duration::from_millis(1500);
/// A grant of a job is proposed again after this time.
const AGAIN: Duration = Duration::from_secs(1);

/// What a cluster leader knows about managers. Empty while this node does not lead.
#[derive(Debug, Default)]
pub(super) struct Chair {
    heard: BTreeMap<NodeId, Now>,
    roll_call: Option<RollCall>,
    /// When the grant of a job was last proposed, or a job without a leader was first seen.
    regranted: BTreeMap<JobId, Now>,
}

impl Chair {
    pub(super) fn heard(&mut self, now: Now, manager: NodeId) {
        self.heard.insert(manager, now);
        if let Some(call) = &mut self.roll_call {
            call.answered(manager);
        }
    }

    /// SWIM says that it is dead.
    pub(super) fn mourn(&mut self, manager: NodeId) {
        self.heard.insert(manager, Now::ZERO);
    }

    fn is_gone(&mut self, now: Now, manager: NodeId) -> bool {
        let is_silent = now.since(*self.heard.entry(manager).or_insert(now)) >= JOB_LEASE;
        let call = self.roll_call.as_ref();
        is_silent || call.and_then(|call| call.silent(now)).is_some_and(|silent| silent.contains(&manager))
    }

    fn may_regrant(&mut self, now: Now, job: JobId, is_led: bool) -> bool {
        // A job that nobody leads yet is left to the manager that accepted it for a moment.
        let since = self.regranted.entry(job).or_insert(if is_led { Now::ZERO } else { now });
        let is_due = now.since(*since) >= AGAIN;
        if is_due {
            *since = now;
        }
        is_due
    }
}

impl Office {
    /// This node leads and knows everything that was decided before.
    pub(super) fn take_the_chair(&mut self, now: Now, out: &mut Vec<Order>) {
        self.leases.granter.lead(now);
        let open = self.group.machine().register().jobs().filter(|(_, job)| job.end.is_none());
        let managers: Vec<NodeId> = open.filter_map(|(_, job)| job.leader.map(|it| it.0)).collect();
        self.chair = Chair::default();
        self.chair.roll_call = Some(RollCall::begin(now, managers.iter().copied()));
        self.chair.heard(now, self.me);
        let peers = self.group.roster().members().map(|member| member.node);
        for to in peers.filter(|node| *node != self.me) {
            out.push(Order::Send { to, letter: Letter::RollCall });
        }
    }

    pub(super) fn leave_the_chair(&mut self) {
        self.leases.granter.follow();
        self.chair = Chair::default();
    }

    pub(super) fn preside(&mut self, now: Now, out: &mut Vec<Order>) {
        if !self.group.is_established() {
            return;
        }
        self.chair.heard(now, self.me);
        for Expiry { key, token } in self.leases.granter.tick(now) {
            if !self.group.machine().register().has_grant(key, token) {
                self.leases.granter.ended(&key, token);
                continue;
            }
            let gone = Body::WorkerGone { worker: key, grant: token, reason: "lease ended".to_owned() };
            self.ask(now, Purpose::Other, Token(0), gone, out);
        }
        for (job, token) in self.abandoned(now) {
            let (leader, elapsed) = (self.successor(now), self.clocks.elapsed(now, job));
            let lead = Body::JobLeader { job, leader, elapsed, reason: "its leader is gone".to_owned() };
            self.ask(now, Purpose::Other, token, lead, out);
        }
        let is_over = |call: &mut RollCall| now >= call.ends().plus(JOB_LEASE);
        self.chair.roll_call.take_if(is_over);
    }

    /// Jobs whose leader is gone, with the token to replace.
    fn abandoned(&mut self, now: Now) -> Vec<(JobId, Token)> {
        let chair = &mut self.chair;
        let open = self.group.machine().register().jobs().filter(|(_, job)| job.end.is_none());
        let gone = open.filter(|(id, job)| match job.leader {
            Some((manager, _)) => chair.is_gone(now, manager) && chair.may_regrant(now, **id, true),
            None => chair.may_regrant(now, **id, false),
        });
        gone.map(|(id, job)| (*id, job.token())).collect()
    }

    /// Any manager that spoke lately.
    fn successor(&mut self, now: Now) -> NodeId {
        let spoke =
            |(manager, heard): (&NodeId, &Now)| (now.since(*heard) < SPOKE_WITHIN).then_some(*manager);
        let fit: Vec<NodeId> = self.chair.heard.iter().filter_map(spoke).collect();
        fit.get(self.rng.usize(..fit.len().max(1))).copied().unwrap_or(self.me)
    }
}
