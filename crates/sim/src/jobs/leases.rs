//! Worker leases: a manager forwards renewals in batches, the cluster leader answers a batch after its read-index round.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::ReadId;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::lease::{Claim, Granter, LeaseError};
use hyperscale_consensus::register::{Body, Outcome, Worker};
use hyperscale_consensus::replica::{CallId, Input, Request};
use hyperscale_types::{NodeId, Now, Token};

use super::manager::{ManagerAction, ManagerDriver, group_of};
use super::requests::Purpose;
use crate::log::{Letter, Written};
use crate::moment::Moment;

/// How long a worker lease is.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// How often a manager forwards renewals.
const FORWARD_EVERY: Duration = Duration::from_secs(1);
/// A claim to own a worker is proposed again after this time.
const CLAIM_AGAIN: Duration = Duration::from_secs(1);
/// A manager that did not become the owner of a worker within this time leaves it to others.
const CLAIM_WITHIN: Duration = Duration::from_secs(5);
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
    /// Workers that registered here and that the log is to name this manager as owner of: grant, since when, last proposal.
    wanted: BTreeMap<NodeId, (Token, Now, Option<Now>)>,
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
            wanted: BTreeMap::new(),
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

    /// A worker registered with this manager.
    pub(super) fn wants(&mut self, now: Now, worker: NodeId, grant: Token) {
        self.wanted.insert(worker, (grant, now, None));
    }

    /// An entry was applied that grants or ends a lease.
    pub(super) fn applied(&mut self, now: Now, written: &Written) {
        match (&written.command.body, &written.outcome) {
            (Body::WorkerGrant { worker, lease_ms, .. }, Outcome::Granted(grant))
                if grant.0 == written.index =>
            {
                self.granter.granted(now, *worker, *grant, Duration::from_millis(*lease_ms));
            }
            (Body::WorkerGone { worker, grant, .. }, Outcome::Done) => self.granter.ended(worker, *grant),
            _ => {}
        }
    }
}

impl ManagerDriver {
    /// The state came from a snapshot, and with it the leases.
    pub(super) fn reload_leases(&mut self, now: Now) {
        self.leases.granter = Granter::with_bugs(self.bugs.clone());
        let Some(group) = self.replica.group() else { return };
        let register = group.machine().register();
        for (worker, grant, former) in register.former() {
            self.leases.granter.superseded(now, worker, grant, Duration::from_millis(former.lease_ms));
        }
        for (worker, grant) in register.workers() {
            self.leases.granter.granted(now, *worker, grant.grant, Duration::from_millis(grant.lease_ms));
        }
    }

    /// A worker renews its lease here. One that nobody owns, or whose owner is not seen or no member any more, is claimed along
    /// the way: the claim that was made when it registered may have come to nothing.
    pub fn renew(&mut self, now: Now, worker: NodeId, (grant, sent): (Token, Now), owner_is_seen: bool) {
        self.leases.renew(worker, grant, sent);
        let known =
            group_of(&self.replica).machine().register().worker(worker).filter(|known| known.grant == grant);
        let is_member =
            |owner: NodeId| group_of(&self.replica).roster().members().any(|member| member.node == owner);
        let has_owner = |(owner, _)| is_member(owner) && owner_is_seen;
        let is_unowned = known.is_some_and(|known| !known.owner.is_some_and(has_owner));
        if is_unowned && !self.leases.wanted.contains_key(&worker) {
            self.leases.wants(now, worker, grant);
        }
    }

    /// Proposes to own the workers that registered here, until the log says so or they went elsewhere.
    pub(super) fn claim_workers(&mut self, now: Now) {
        let register = group_of(&self.replica).machine().register();
        let (mut proposals, me) = (Vec::new(), self.me);
        self.leases.wanted.retain(|worker, (grant, since, proposed)| {
            let known = register.worker(*worker);
            let is_owned =
                known.is_some_and(|it| it.grant == *grant && it.owner.is_some_and(|it| it.0 == me));
            let is_over =
                known.is_some_and(|known| known.grant > *grant) || now.since(*since) >= CLAIM_WITHIN;
            if is_owned || is_over {
                return false;
            }
            if proposed.is_none_or(|at| now.since(at) >= CLAIM_AGAIN) {
                *proposed = Some(now);
                let replaces = known.filter(|it| it.grant == *grant).map_or(Token(0), Worker::owner_token);
                proposals.push((*worker, *grant, replaces));
            }
            true
        });
        for (worker, grant, replaces) in proposals {
            let body = Body::WorkerOwner { worker, grant, owner: me, replaces };
            self.ask(now, Purpose::Other, Token(0), body);
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
            let letter =
                Letter::Renewed { grant: renewal.grant, sent: renewal.sent, answer: *answer, arrived };
            out.push(ManagerAction::Send { to: *worker, letter });
        }
    }
}
