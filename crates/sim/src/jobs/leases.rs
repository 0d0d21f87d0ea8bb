//! Worker leases: a manager forwards renewals in batches, the cluster leader answers a batch after its read-index round.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::ReadId;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::lease::{Claim, Granter, LeaseError};
use hyperscale_consensus::register::{Body, Outcome};
use hyperscale_consensus::replica::{CallId, Input, Request};
use hyperscale_types::{NodeId, Now, Token};

use super::manager::{ManagerAction, ManagerDriver};
use crate::log::{Letter, Written};
use crate::moment::Moment;

/// How long a worker lease is.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// How often a manager forwards renewals.
const FORWARD_EVERY: Duration = Duration::from_secs(1);
/// Batches that a manager waits for; the oldest goes first.
const BATCHES_MAX: usize = 64;

/// A renewal on its way.
#[derive(Clone, Copy, Debug)]
struct Renewal {
    worker: NodeId,
    grant: Token,
    sent: Now,
}

/// Both ends of the way of a renewal, as one node may be both.
#[derive(Debug)]
pub(super) struct Leases {
    pub(super) granter: Granter<NodeId>,
    gathered: Vec<Renewal>,
    forwarded: BTreeMap<u64, Vec<Renewal>>,
    forwarded_at: Now,
    /// Rounds this leader waits for: whose batch, and when it came.
    rounds: BTreeMap<ReadId, (NodeId, u64, Moment)>,
}

impl Leases {
    pub(super) fn new(now: Now, bugs: Bugs) -> Self {
        Self {
            granter: Granter::with_bugs(bugs),
            gathered: Vec::new(),
            forwarded: BTreeMap::new(),
            forwarded_at: now,
            rounds: BTreeMap::new(),
        }
    }

    pub(super) fn renew(&mut self, worker: NodeId, grant: Token, sent: Now) {
        self.gathered.push(Renewal { worker, grant, sent });
    }

    /// Whether a batch waits for this read.
    pub(super) fn awaits(&self, read: ReadId) -> bool {
        self.rounds.contains_key(&read)
    }

    /// An entry was applied that grants or ends a lease.
    pub(super) fn applied(&mut self, now: Now, written: &Written) {
        match (&written.command.body, &written.outcome) {
            (Body::WorkerGrant { worker, lease_ms, .. }, Outcome::Granted(grant))
                if grant.0 == written.index =>
            {
                self.granter.granted(now, *worker, *grant, Duration::from_millis(*lease_ms));
            }
            (Body::WorkerGone { worker, .. }, Outcome::Done) => self.granter.ended(worker),
            _ => {}
        }
    }
}

impl ManagerDriver {
    /// The state came from a snapshot, and with it the leases.
    pub(super) fn reload_leases(&mut self, now: Now) {
        self.leases.granter = Granter::with_bugs(self.bugs.clone());
        let Some(group) = self.replica.group() else { return };
        for (worker, grant) in group.machine().register().workers() {
            self.leases.granter.granted(now, *worker, grant.grant, Duration::from_millis(grant.lease_ms));
        }
    }

    pub(super) fn forward_renewals(&mut self, now: Now, at: Moment, out: &mut Vec<ManagerAction>) {
        if now.since(self.leases.forwarded_at) < FORWARD_EVERY || self.leases.gathered.is_empty() {
            return;
        }
        self.leases.forwarded_at = now;
        let Some(leader) = self.leader_node() else { return self.leases.gathered.clear() };
        let renewals = std::mem::take(&mut self.leases.gathered);
        let claims = renewals.iter().map(|it| Claim { key: it.worker, token: it.grant }).collect();
        let batch = self.requests.number();
        self.leases.forwarded.insert(batch, renewals);
        while self.leases.forwarded.len() > BATCHES_MAX {
            self.leases.forwarded.pop_first();
        }
        if leader == self.me {
            self.renewals(now, at, self.me, batch, claims, out);
        } else {
            out.push(ManagerAction::Send { to: leader, letter: Letter::Renewals { batch, claims } });
        }
    }

    /// A batch arrives at the cluster leader: it counts from now, and is answered after a round that begins now.
    pub(super) fn renewals(
        &mut self,
        now: Now,
        at: Moment,
        from: NodeId,
        batch: u64,
        claims: Vec<Claim<NodeId>>,
        out: &mut Vec<ManagerAction>,
    ) {
        let read = ReadId(self.requests.number());
        if self.leases.granter.renew(now, read, claims).is_err() {
            return;
        }
        self.leases.rounds.insert(read, (from, batch, at));
        out.push(ManagerAction::ReadAsked(read));
        self.input(now, Input::Call { call: CallId(read.0), request: Request::ReadAsLeader });
    }

    pub(super) fn read_ready(&mut self, read: ReadId, out: &mut Vec<ManagerAction>) {
        let Some((from, batch, arrived)) = self.leases.rounds.remove(&read) else { return };
        let answers = self.leases.granter.answer(read);
        if from == self.me {
            self.renewals_answered(batch, &answers, arrived, out);
        } else {
            let letter = Letter::RenewalsAnswered { batch, answers, arrived };
            out.push(ManagerAction::Send { to: from, letter });
        }
    }

    pub(super) fn read_failed(&mut self, read: ReadId) {
        self.leases.rounds.remove(&read);
        self.leases.granter.drop_batch(read);
    }

    /// Only the leader's answer reaches a worker.
    pub(super) fn renewals_answered(
        &mut self,
        batch: u64,
        answers: &[(NodeId, Result<Duration, LeaseError>)],
        arrived: Moment,
        out: &mut Vec<ManagerAction>,
    ) {
        let renewals = self.leases.forwarded.remove(&batch).unwrap_or_default();
        for (renewal, (worker, answer)) in renewals.iter().zip(answers) {
            let letter = Letter::Renewed { sent: renewal.sent, answer: *answer, arrived };
            out.push(ManagerAction::Send { to: *worker, letter });
        }
    }
}
