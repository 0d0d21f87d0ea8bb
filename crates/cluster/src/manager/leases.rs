//! Worker leases: a manager forwards renewals in batches, the cluster leader answers a batch after its read-index round.
//! And ownership: a manager proposes to own the workers that registered with it.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::ReadId;
use hyperscale_consensus::lease::{CLAIMS_MAX, Claim, Granter, LeaseError};
use hyperscale_consensus::register::{Body, Command, Outcome, Worker};
use hyperscale_consensus::replica::{CallId, Request};
use hyperscale_types::{NodeId, Now, Token};

use super::calls::Purpose;
use super::io::{Output, ToPeer};
use super::{JobMachine, Manager, Options};
use crate::message::{CallNumber, ToWorker};

/// How often a manager forwards renewals: a batch costs the cluster leader one round, and a worker waits twice as long for its
/// answer.
const FORWARD_EVERY: Duration = Duration::from_millis(500);
/// So often it does within a worker's lease, if that is shorter.
const FORWARDS: u32 = 30;
/// A claim to own a worker is proposed again after this time.
const CLAIM_AGAIN: Duration = Duration::from_secs(1);
/// A manager that did not become the owner of a worker within this time leaves it to others.
const CLAIM_WITHIN: Duration = Duration::from_secs(5);
/// Batches that a manager waits for; the oldest goes first, and its workers ask again.
const BATCHES_MAX: usize = 64;

/// A renewal on its way.
#[derive(Clone, Copy, Debug)]
struct Renewal {
    worker: NodeId,
    grant: Token,
    call: CallNumber,
}

/// A worker that registered here and whose owner this manager wants to be.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    grant: Token,
    since: Now,
    proposed: Option<Now>,
}

/// Both ends of the way of a renewal, as one node may be both.
#[derive(Debug)]
pub(super) struct Leases {
    pub(super) granter: Granter<NodeId>,
    /// The newest renewal of each grant: two processes may speak under one id, and the one that is obeyed must be heard.
    gathered: BTreeMap<(NodeId, Token), Renewal>,
    forwarded: BTreeMap<u64, Vec<Renewal>>,
    forwarded_at: Now,
    wanted: BTreeMap<NodeId, Wanted>,
    /// Rounds that this leader waits for: whose batch it is.
    rounds: BTreeMap<ReadId, (NodeId, u64)>,
}

impl Leases {
    pub(super) fn new(now: Now, options: &Options) -> Self {
        Self {
            granter: granter(options),
            gathered: BTreeMap::new(),
            forwarded: BTreeMap::new(),
            forwarded_at: now,
            wanted: BTreeMap::new(),
            rounds: BTreeMap::new(),
        }
    }

    /// A worker registered with this manager.
    pub(super) fn want(&mut self, now: Now, worker: NodeId, grant: Token) {
        self.wanted.insert(worker, Wanted { grant, since: now, proposed: None });
    }

    /// An entry was applied that grants or ends a lease.
    pub(super) fn applied(&mut self, now: Now, index: u64, command: &Command, outcome: &Outcome) {
        match (&command.body, outcome) {
            (Body::WorkerGrant { worker, lease_ms, .. }, Outcome::Granted(grant)) if grant.0 == index => {
                self.granter.granted(now, *worker, *grant, Duration::from_millis(*lease_ms));
            }
            (Body::WorkerGone { worker, grant, .. }, Outcome::Done) => self.granter.ended(worker, *grant),
            _ => {}
        }
    }
}

#[cfg_attr(not(feature = "bugs"), expect(unused_variables, reason = "holds the deliberate bugs"))]
fn granter(options: &Options) -> Granter<NodeId> {
    #[cfg(feature = "bugs")]
    return Granter::with_bugs(options.bugs.consensus.clone());
    #[cfg(not(feature = "bugs"))]
    Granter::default()
}

impl<M: JobMachine> Manager<M> {
    /// The state came from a snapshot or from disk, and with it the leases.
    pub(super) fn reload_leases(&mut self, now: Now) {
        self.leases.granter = granter(&self.options);
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        for (worker, grant, former) in register.former() {
            self.leases.granter.superseded(now, worker, grant, Duration::from_millis(former.lease_ms));
        }
        for (worker, grant) in register.workers() {
            self.leases.granter.granted(now, *worker, grant.grant, Duration::from_millis(grant.lease_ms));
        }
    }

    /// A worker renews its lease here. One that nobody owns, or whose owner is gone, is claimed along the way: the claim that was
    /// made when it registered may have come to nothing.
    pub(super) fn renew(&mut self, now: Now, worker: NodeId, grant: Token, call: CallNumber) {
        let Some(group) = self.replica.group() else { return };
        self.leases.gathered.insert((worker, grant), Renewal { worker, grant, call });
        let known = group.machine().register().worker(worker).filter(|known| known.grant == grant);
        let is_there =
            |owner: NodeId| !self.is_dead(owner) && group.roster().members().any(|it| it.node == owner);
        let is_unowned = known.is_some_and(|known| !known.owner.is_some_and(|(owner, _)| is_there(owner)));
        if is_unowned && !self.leases.wanted.contains_key(&worker) {
            self.leases.want(now, worker, grant);
        }
    }

    /// Proposes to own the workers that registered here, until the log says so or they went elsewhere.
    pub(super) fn claim_workers(&mut self, now: Now) {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        let (mut proposals, me) = (Vec::new(), self.options.node);
        self.leases.wanted.retain(|worker, wanted| {
            let known = register.worker(*worker);
            let is_owned = known
                .is_some_and(|it| it.grant == wanted.grant && it.owner.is_some_and(|(owner, _)| owner == me));
            let is_over = known.is_some_and(|known| known.grant > wanted.grant)
                || now.since(wanted.since) >= CLAIM_WITHIN;
            if is_owned || is_over {
                return false;
            }
            if wanted.proposed.is_none_or(|at| now.since(at) >= CLAIM_AGAIN) {
                wanted.proposed = Some(now);
                let replaces =
                    known.filter(|it| it.grant == wanted.grant).map_or(Token(0), Worker::owner_token);
                proposals.push((*worker, wanted.grant, replaces));
            }
            true
        });
        for (worker, grant, replaces) in proposals {
            let body = Body::WorkerOwner { worker, grant, owner: me, replaces };
            self.propose(now, Purpose::Other, Token(0), body);
        }
    }

    pub(super) fn forward_renewals(&mut self, now: Now, out: &mut Vec<Output>) {
        let every = FORWARD_EVERY.min(self.options.worker_lease / FORWARDS);
        if now.since(self.leases.forwarded_at) < every || self.leases.gathered.is_empty() {
            return;
        }
        self.leases.forwarded_at = now;
        // Without a leader nobody can answer: workers ask again, elsewhere.
        let Some(leader) = self.replica.leader_node() else { return self.leases.gathered.clear() };
        let mut renewals: Vec<Renewal> = std::mem::take(&mut self.leases.gathered).into_values().collect();
        renewals.truncate(CLAIMS_MAX);
        let claims = renewals.iter().map(|it| Claim { key: it.worker, token: it.grant }).collect();
        let batch = self.calls.number();
        self.leases.forwarded.insert(batch, renewals);
        while self.leases.forwarded.len() > BATCHES_MAX {
            self.leases.forwarded.pop_first();
        }
        if leader == self.options.node {
            self.renewals(now, leader, batch, claims);
        } else {
            out.push(Output::SendPeer { to: leader, message: ToPeer::Renewals { batch, claims } });
        }
    }

    /// A batch arrives at the cluster leader: it counts from now, and is answered after a round that begins now.
    pub(super) fn renewals(&mut self, now: Now, from: NodeId, batch: u64, claims: Vec<Claim<NodeId>>) {
        let call = self.calls.open(now, Purpose::Renewals);
        let read = ReadId(call.0);
        if self.leases.granter.renew(now, read, claims).is_err() {
            self.calls.close(call);
            return;
        }
        self.leases.rounds.insert(read, (from, batch));
        self.call(now, call, Request::ReadAsLeader);
    }

    pub(super) fn round_over(&mut self, call: CallId, is_proven: bool, out: &mut Vec<Output>) {
        let read = ReadId(call.0);
        let Some((from, batch)) = self.leases.rounds.remove(&read) else { return };
        if !is_proven {
            return self.leases.granter.drop_batch(read);
        }
        let answers = self.leases.granter.answer(read);
        if from == self.options.node {
            self.renewals_answered(batch, &answers, out);
        } else {
            out.push(Output::SendPeer { to: from, message: ToPeer::RenewalsAnswered { batch, answers } });
        }
    }

    /// Only the cluster leader's answer reaches a worker.
    pub(super) fn renewals_answered(
        &mut self,
        batch: u64,
        answers: &[(NodeId, Result<Duration, LeaseError>)],
        out: &mut Vec<Output>,
    ) {
        let renewals = self.leases.forwarded.remove(&batch).unwrap_or_default();
        for (renewal, (worker, answer)) in renewals.iter().zip(answers) {
            let message = ToWorker::Renewed { call: renewal.call, grant: renewal.grant, answer: *answer };
            out.push(Output::SendWorker { to: *worker, message });
        }
    }
}
