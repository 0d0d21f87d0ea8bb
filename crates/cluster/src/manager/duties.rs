//! What the cluster leader does beside proposing for others: it ends leases that ran out on its clock, gives the jobs of managers
//! that are silent to others, forgets jobs whose time is over, and raises the version that all understand.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_consensus::RaftGroup;
use hyperscale_consensus::lease::{Expiry, RollCall};
use hyperscale_consensus::register::{Body, JobId, Retention};
use hyperscale_types::{NodeId, Now, Token};

use super::calls::Purpose;
use super::io::{Output, ToPeer};
use super::{JobMachine, Manager};

/// A manager that spoke within this time may get jobs.
const SPOKE_WITHIN: Duration = Duration::from_millis(1500);
/// A manager that does not say for so long that it leaves stays: it says so twice a second.
const LEAVES_WITHIN: Duration = Duration::from_secs(3);
/// What was proposed and is not applied is proposed again after this time.
const AGAIN: Duration = Duration::from_secs(1);

/// What a cluster leader knows about managers. Reset whenever this node begins or stops to lead.
#[derive(Debug, Default)]
pub(super) struct Duties {
    heard: BTreeMap<NodeId, Now>,
    roll_call: Option<RollCall>,
    /// When the grant of a job was last proposed, or a job without a leader was first seen.
    granted: BTreeMap<JobId, Now>,
    retention: Retention,
    version_asked: Option<Now>,
    /// Managers that said that they leave, and when.
    leaving: BTreeMap<NodeId, Now>,
    /// When a manager that leaves was last to be removed.
    removed: Option<Now>,
}

impl Duties {
    pub(super) fn heard(&mut self, now: Now, manager: NodeId) {
        self.heard.insert(manager, now);
        if let Some(call) = &mut self.roll_call {
            call.answered(manager);
        }
    }

    /// A manager says whether it leaves.
    pub(super) fn leaves(&mut self, now: Now, manager: NodeId, is_leaving: bool) {
        if is_leaving {
            self.leaving.insert(manager, now);
        } else {
            self.leaving.remove(&manager);
        }
    }

    /// Managers that said lately that they leave; one that was restarted does not any more.
    pub(super) fn leaving(&mut self, now: Now) -> BTreeSet<NodeId> {
        self.leaving.retain(|_, at| now.since(*at) < LEAVES_WITHIN);
        self.leaving.keys().copied().collect()
    }

    /// Whether another removal may be proposed.
    pub(super) fn may_remove(&mut self, now: Now) -> bool {
        let is_due = self.removed.is_none_or(|at| now.since(at) >= AGAIN);
        if is_due {
            self.removed = Some(now);
        }
        is_due
    }

    /// Membership says that it is dead: its jobs need not wait for its lease, as they are fenced.
    pub(super) fn declare_dead(&mut self, manager: NodeId) {
        self.heard.insert(manager, Now::ZERO);
    }

    fn is_gone(&mut self, now: Now, manager: NodeId, job_lease: Duration) -> bool {
        let is_silent = now.since(*self.heard.entry(manager).or_insert(now)) >= job_lease;
        let call = self.roll_call.as_ref();
        is_silent || call.and_then(|call| call.silent(now)).is_some_and(|silent| silent.contains(&manager))
    }

    pub(super) fn may_grant(&mut self, now: Now, job: JobId, is_led: bool) -> bool {
        // A job that nobody leads yet is left to the manager that accepted it for a moment.
        let since = self.granted.entry(job).or_insert(if is_led { Now::ZERO } else { now });
        let is_due = now.since(*since) >= AGAIN;
        if is_due {
            *since = now;
        }
        is_due
    }
}

impl<M: JobMachine> Manager<M> {
    /// This node leads and knows everything that was decided before.
    pub(super) fn begin_leading(&mut self, now: Now, out: &mut Vec<Output>) {
        self.leases.granter.lead(now);
        self.duties = Duties::default();
        let Some(group) = self.replica.group() else { return };
        let open = group.machine().register().jobs().filter(|(_, job)| job.end.is_none());
        let leaders: Vec<NodeId> = open.filter_map(|(_, job)| job.leader.map(|(leader, _)| leader)).collect();
        let peers = group.roster().members().map(|member| member.node);
        for to in peers.filter(|node| *node != self.options.node) {
            out.push(Output::SendPeer { to, message: ToPeer::RollCall });
        }
        self.duties.roll_call = Some(RollCall::begin(now, leaders));
        self.duties.heard(now, self.options.node);
    }

    pub(super) fn stop_leading(&mut self) {
        self.leases.granter.follow();
        self.duties = Duties::default();
    }

    pub(super) fn lead(&mut self, now: Now) {
        if !self.replica.group().is_some_and(RaftGroup::is_established) {
            return;
        }
        self.duties.heard(now, self.options.node);
        if self.is_leaving() {
            self.duties.leaves(now, self.options.node, true);
        }
        self.end_leases(now);
        self.hand_over_jobs(now);
        self.let_leave(now);
        for (job, token) in self.abandoned(now) {
            let (leader, elapsed) = (self.successor(now), self.clocks.elapsed(now, job));
            let lead = Body::JobLeader { job, leader, elapsed, reason: "its leader is gone".to_owned() };
            self.propose(now, Purpose::Other, token, lead);
        }
        self.forget_jobs(now);
        self.raise_version(now);
        let job_lease = self.options.job_lease;
        self.duties.roll_call.take_if(|call| now >= call.ends().plus(job_lease));
    }

    fn end_leases(&mut self, now: Now) {
        for Expiry { key, token } in self.leases.granter.tick(now) {
            if !self.register().is_some_and(|register| register.has_grant(key, token)) {
                self.leases.granter.ended(&key, token);
                continue;
            }
            let gone = Body::WorkerGone { worker: key, grant: token, reason: "lease ended".to_owned() };
            self.propose(now, Purpose::Other, Token(0), gone);
        }
    }

    fn forget_jobs(&mut self, now: Now) {
        let Some(group) = self.replica.group() else { return };
        for (first, last) in self.duties.retention.due(now, group.machine().register()) {
            self.propose(now, Purpose::Other, Token(0), Body::JobForget { first, last });
        }
    }

    /// Every voter understands a newer version: it is agreed on.
    fn raise_version(&mut self, now: Now) {
        let Some(group) = self.replica.group() else { return };
        let understood = |id| self.replica.understood(id);
        let due = group.machine().register().version_due(group.configuration(), understood);
        let is_asked = self.duties.version_asked.is_some_and(|asked| now.since(asked) < AGAIN);
        if let Some(version) = due.filter(|_| !is_asked) {
            self.duties.version_asked = Some(now);
            self.propose(now, Purpose::Other, Token(0), Body::ClusterVersion { version });
        }
    }

    /// Jobs whose leader is gone, with the token to replace.
    fn abandoned(&mut self, now: Now) -> Vec<(JobId, Token)> {
        let (duties, job_lease) = (&mut self.duties, self.options.job_lease);
        let stays = bug!(self.options, NoTakeover);
        let Some(group) = self.replica.group() else { return Vec::new() };
        let open = group.machine().register().jobs().filter(|(_, job)| job.end.is_none());
        duties
            .granted
            .retain(|id, _| group.machine().register().job(*id).is_some_and(|job| job.end.is_none()));
        let members: BTreeSet<NodeId> = group.roster().members().map(|member| member.node).collect();
        let gone = open.filter(|(id, job)| match job.leader {
            // One that was removed from the group may still speak; it decides nothing any more.
            Some((manager, _)) => {
                let is_gone = !members.contains(&manager) || duties.is_gone(now, manager, job_lease);
                !stays && is_gone && duties.may_grant(now, **id, true)
            }
            None => duties.may_grant(now, **id, false),
        });
        gone.map(|(id, job)| (*id, job.token())).collect()
    }

    /// Any manager that spoke lately.
    pub(super) fn successor(&mut self, now: Now) -> NodeId {
        let leaving = self.duties.leaving(now);
        let is_member = |node: NodeId| {
            self.replica.group().is_some_and(|group| group.roster().members().any(|it| it.node == node))
        };
        let heard = self.duties.heard.iter().filter(|(_, heard)| now.since(**heard) < SPOKE_WITHIN);
        let fit: Vec<NodeId> = heard
            .map(|(manager, _)| *manager)
            .filter(|it| is_member(*it) && !self.is_dead(*it) && !leaving.contains(it))
            .collect();
        fit.get(self.rng.usize(..fit.len().max(1))).copied().unwrap_or(self.options.node)
    }
}
