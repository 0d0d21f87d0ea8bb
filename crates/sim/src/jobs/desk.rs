//! Requests to the cluster leader, and the leader's proposals for others.
//!
//! Only the leader proposes. Everybody else writes to it and hears what applying said; a request without an answer is
//! forgotten after a while, and whoever still wants it asks again.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::register::{Body, Command, JobId, Outcome, Segment};
use hyperscale_consensus::{LogGroup, ProposalId};
use hyperscale_types::{NodeId, Now, Token};

use super::office::{Office, Order};
use crate::log::Letter;

/// A request without an answer is given up after this time, a little more than the group itself takes.
const PATIENCE: Duration = Duration::from_secs(6);

/// What a request was for.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// A client's job.
    Accept { errand: usize },
    /// A client's cancel.
    Cancel { errand: usize },
    /// A worker's grant.
    Grant { worker: NodeId, sent: Now },
    /// The end of a worker's attempt.
    End { worker: NodeId, segment: Segment, attempt: u32 },
    /// A step of a job this manager leads.
    Step { job: JobId, place: u32 },
    /// Looked at in the log, not in the answer.
    Other,
}

/// Open requests.
#[derive(Debug, Default)]
pub(super) struct Desk {
    next: u64,
    waiting: BTreeMap<u64, (Purpose, Now)>,
    /// What this leader proposed, and for whom.
    proposed: BTreeMap<ProposalId, (NodeId, u64)>,
}

impl Desk {
    /// Numbers of another life are never used again.
    pub(super) fn new(first: u64) -> Self {
        Self { next: first, ..Self::default() }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn settle(&mut self, request: u64) -> Option<Purpose> {
        self.waiting.remove(&request).map(|(purpose, _)| purpose)
    }

    fn overdue(&mut self, now: Now) -> Vec<Purpose> {
        let is_due = |since: &Now| now.since(*since) >= PATIENCE;
        let due: Vec<u64> = self.waiting.iter().filter(|it| is_due(&it.1.1)).map(|it| *it.0).collect();
        due.into_iter().filter_map(|request| self.settle(request)).collect()
    }
}

impl Office {
    /// Asks the cluster leader to propose something.
    pub(super) fn ask(&mut self, now: Now, purpose: Purpose, token: Token, body: Body, out: &mut Vec<Order>) {
        let Some(leader) = self.leader_node() else { return };
        let request = self.desk.number();
        let command = Command { token, body };
        self.desk.waiting.insert(request, (purpose, now));
        if leader == self.me {
            self.propose_for(now, self.me, request, &command, out);
        } else {
            out.push(Order::Send { to: leader, letter: Letter::Propose { request, command } });
        }
    }

    pub(super) fn propose_for(
        &mut self,
        now: Now,
        from: NodeId,
        request: u64,
        command: &Command,
        out: &mut Vec<Order>,
    ) {
        let proposal = ProposalId(self.desk.number());
        if self.group.propose(now, proposal, command.encode()).is_ok() {
            self.desk.proposed.insert(proposal, (from, request));
        } else {
            self.answer(now, from, request, None, out);
        }
    }

    /// A proposal made here has an outcome, or will never have one.
    pub(super) fn proposal_settled(
        &mut self,
        now: Now,
        proposal: ProposalId,
        outcome: Option<(u64, Outcome)>,
        out: &mut Vec<Order>,
    ) {
        if let Some((from, request)) = self.desk.proposed.remove(&proposal) {
            self.answer(now, from, request, outcome, out);
        }
    }

    fn answer(
        &mut self,
        now: Now,
        to: NodeId,
        request: u64,
        outcome: Option<(u64, Outcome)>,
        out: &mut Vec<Order>,
    ) {
        if to == self.me {
            self.answered(now, request, outcome, out);
        } else {
            out.push(Order::Send { to, letter: Letter::Proposed { request, outcome } });
        }
    }

    pub(super) fn answered(
        &mut self,
        now: Now,
        request: u64,
        outcome: Option<(u64, Outcome)>,
        out: &mut Vec<Order>,
    ) {
        if let Some(purpose) = self.desk.settle(request) {
            self.decided(now, purpose, outcome, out);
        }
    }

    pub(super) fn give_up_overdue(&mut self, now: Now, out: &mut Vec<Order>) {
        for purpose in self.desk.overdue(now) {
            self.decided(now, purpose, None, out);
        }
    }
}
