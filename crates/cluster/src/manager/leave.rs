//! A manager that drains: it hands over leadership of the group and its jobs, is removed from the configuration, and leaves.
//!
//! ```text
//! asked ──► takes no new jobs ── leads the group? hands over ──► says so to the leader ── leads no job ──► removed ──► left
//! ```
//! The leader of the group does the rest: it gives the jobs of a manager that leaves to others, and removes it once it leads none and
//! those who stay can decide without it. A manager that ends before that stays a member, as one that is restarted does; a
//! manager that is started again does not leave any more.

use std::time::Duration;

use hyperscale_consensus::register::{Body, JobId};
use hyperscale_consensus::replica::Request;
use hyperscale_consensus::{Change, Configuration, Member, RaftGroup, RaftId};
use hyperscale_types::{NodeId, Now, Token};

use super::calls::Purpose;
use super::io::{Output, Rejection, Response, ToPeer};
use super::{JobMachine, Manager};

/// What was proposed and is not done is proposed again after this time.
const AGAIN: Duration = Duration::from_secs(1);

/// Whether a manager stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stay {
    #[default]
    Stays,
    /// It was asked to leave.
    Leaving {
        /// When it last tried to hand over the group.
        handed_over: Option<Now>,
    },
    /// It is no member any more, and has said so.
    Left,
}

impl<M: JobMachine> Manager<M> {
    /// Whether it was asked to leave.
    pub fn is_leaving(&self) -> bool {
        self.stay != Stay::Stays
    }

    pub(super) fn leave(&mut self) -> Response {
        let Some(group) = self.replica.group() else {
            let message = "this manager does not take part in a group yet; stop it".to_owned();
            return Response::Rejected(Rejection::Refused(message));
        };
        let voters = group.configuration().voters.len();
        if voters <= 1 {
            let message = "it is the only manager that votes; add another one first".to_owned();
            return Response::Rejected(Rejection::Refused(message));
        }
        let is_repeat = self.is_leaving();
        if !is_repeat {
            self.stay = Stay::Leaving { handed_over: None };
        }
        Response::Draining { is_repeat }
    }

    /// Says to the leader that this manager is there; one that leaves says it to all, as it hears of no leader once it is removed.
    pub(super) fn say_here(&mut self, out: &mut Vec<Output>) {
        let (me, is_leaving, leader) = (self.options.node, self.is_leaving(), self.replica.leader_node());
        let members = self.replica.group().into_iter().flat_map(|group| group.roster().members());
        let told = members.map(|member| member.node).filter(|node| is_leaving || leader == Some(*node));
        for to in told.filter(|node| *node != me) {
            out.push(Output::SendPeer { to, message: ToPeer::Here { is_leaving } });
        }
    }

    /// Whether the log says that a node is no member.
    pub(super) fn is_no_member(&self, node: NodeId) -> bool {
        let group = self.replica.group();
        group.is_some_and(|group| !group.roster().members().any(|member| member.node == node))
    }

    /// A member says that this manager is none any more.
    pub(super) fn removed(&mut self, out: &mut Vec<Output>) {
        if matches!(self.stay, Stay::Leaving { .. }) {
            self.stay = Stay::Left;
            out.push(Output::Left);
        }
    }

    /// Hands over the group, and says once that this manager is no member any more.
    pub(super) fn keep_leaving(&mut self, now: Now, out: &mut Vec<Output>) {
        let Stay::Leaving { handed_over } = self.stay else { return };
        if self.is_no_member(self.options.node) {
            return self.removed(out);
        }
        let Some(group) = self.replica.group() else { return };
        if group.is_established() && handed_over.is_none_or(|at| now.since(at) >= AGAIN) {
            self.stay = Stay::Leaving { handed_over: Some(now) };
            let call = self.calls.open(now, Purpose::Other);
            self.call(now, call, Request::Transfer(None));
        }
    }

    /// What a leader does for managers that leave: their jobs are given to others, then they are removed, one at a time.
    pub(super) fn let_leave(&mut self, now: Now) {
        let leaving = self.duties.leaving(now);
        let Some(leaver) = leaving.into_iter().find(|node| *node != self.options.node) else { return };
        let Some(group) = self.replica.group() else { return };
        let leads = |(_, job): (&JobId, &hyperscale_consensus::register::Job)| {
            job.end.is_none() && job.leader.is_some_and(|(leader, _)| leader == leaver)
        };
        if group.machine().register().jobs().any(leads) {
            return;
        }
        let Some(id) = group.roster().members().find(|it| it.node == leaver).map(|it| it.raft_id) else {
            return;
        };
        let is_safe = can_decide_without(group, id, |node| !self.dead.contains(&node));
        if is_safe && self.duties.may_remove(now) {
            let call = self.calls.open(now, Purpose::Other);
            self.call(now, call, Request::Change(Change::Remove(id)));
        }
    }

    /// Jobs of managers that leave are led by others.
    pub(super) fn hand_over_jobs(&mut self, now: Now) {
        let leaving = self.duties.leaving(now);
        if leaving.is_empty() {
            return;
        }
        let Some(group) = self.replica.group() else { return };
        let open = group.machine().register().jobs().filter(|(_, job)| job.end.is_none());
        let theirs: Vec<(JobId, Token)> = open
            .filter(|(_, job)| job.leader.is_some_and(|(leader, _)| leaving.contains(&leader)))
            .map(|(id, job)| (*id, job.token()))
            .collect();
        for (job, token) in theirs {
            let leader = self.successor(now);
            if leaving.contains(&leader) || !self.duties.may_grant(now, job, true) {
                continue;
            }
            let elapsed = self.clocks.elapsed(now, job);
            let body = Body::JobLeader { job, leader, elapsed, reason: "its leader drains".to_owned() };
            self.propose(now, Purpose::Other, token, body);
        }
    }
}

/// Whether those who stay are a majority of the voters that are left.
fn can_decide_without<M: JobMachine>(
    group: &RaftGroup<M>,
    leaver: RaftId,
    is_alive: impl Fn(NodeId) -> bool,
) -> bool {
    let Configuration { voters, .. } = group.configuration();
    let is_voter = |member: &&Member| voters.contains(&member.raft_id) && member.raft_id != leaver;
    let (mut all, mut alive) = (0, 0);
    for member in group.roster().members().filter(is_voter) {
        all += 1;
        alive += usize::from(is_alive(member.node));
    }
    all > 0 && alive > all / 2
}
