//! A manager at work: its replica, and what it answers to clients, workers and other managers. Gates have the same office;
//! no worker ever writes to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::register::{
    Accept, Body, Clocks, Elapsed, End, EndStatus, JobEnd, JobId, JobOptions, Origin, Outcome, Refusal,
    RequestId, Segment,
};
use hyperscale_consensus::{Action, Applied, Event, LogGroup, Message, RaftGroup, RaftId, ReadId, Role};
use hyperscale_types::{NodeId, Now, Token};

use super::chair::Chair;
use super::desk::{Desk, Purpose};
use super::driver::Driver;
use super::leases::{LEASE, Leases};
use super::plan;
use crate::log::letter::{ClientLetter, Wish};
use crate::log::{Journal, Letter, Written};
use crate::moment::Moment;

/// How often a manager tells the cluster leader that it is there.
const HERE_EVERY: Duration = Duration::from_secs(1);

/// What a manager wants of the world.
#[derive(Debug)]
pub enum Order {
    /// Send a letter.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        letter: Letter,
    },
    /// Answer a client.
    Answer {
        /// About which of its errands.
        errand: usize,
        /// What.
        answer: Answer,
    },
    /// For the judges: a read was asked for.
    ReadAsked(ReadId),
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its job is accepted, under this id.
    Accepted(JobId),
    /// Its cancel is committed, or came too late.
    Cancelled,
    /// Its job has ended.
    Ended(JobEnd),
}

/// Who a manager is in this life.
#[derive(Debug)]
pub struct Staff {
    /// The node.
    pub me: NodeId,
    /// Numbers of its requests begin here.
    pub first_number: u64,
    /// Decides what it draws.
    pub seed: u64,
    /// Deliberate bugs.
    pub bugs: Bugs,
}

/// A manager at work.
pub struct Office {
    /// Its replica, as in production.
    pub group: RaftGroup<Journal>,
    pub(super) me: NodeId,
    pub(super) bugs: Bugs,
    pub(super) rng: Rng,
    pub(super) desk: Desk,
    pub(super) leases: Leases,
    pub(super) chair: Chair,
    pub(super) driver: Driver,
    /// What the clocks of the jobs show, so that deadlines survive a change of leader.
    pub(super) clocks: Clocks,
    was_here: Now,
    /// Where members write from that this replica's log does not name yet: who joins knows nobody, and has to answer.
    senders: BTreeMap<RaftId, NodeId>,
}

impl Office {
    /// A manager that starts with this replica.
    pub fn new(now: Now, staff: Staff, group: RaftGroup<Journal>) -> Self {
        let mut office = Self {
            group,
            me: staff.me,
            rng: Rng::with_seed(staff.seed),
            desk: Desk::new(staff.first_number),
            leases: Leases::new(now, staff.bugs.clone()),
            chair: Chair::default(),
            driver: Driver::default(),
            clocks: Clocks::default(),
            was_here: now,
            senders: BTreeMap::new(),
            bugs: staff.bugs,
        };
        office.reload_leases(now);
        office
    }

    /// The node that leads the group, as far as this replica knows.
    pub fn leader_node(&self) -> Option<NodeId> {
        self.node_of(self.group.leader()?)
    }

    /// The node of a member, by the log or by where it wrote from.
    pub fn node_of(&self, id: RaftId) -> Option<NodeId> {
        let member = self.group.roster().member(id).map(|member| member.node);
        member.or_else(|| self.senders.get(&id).copied())
    }

    /// A message of the group arrives.
    pub fn message(&mut self, now: Now, from: NodeId, message: Message) {
        if self.group.roster().member(message.from).is_none() {
            self.senders.insert(message.from, from);
        }
        // What is refused is told as an event.
        let _ = self.group.step(now, from, message);
    }

    /// SWIM says that a node is dead, or that it is there.
    pub fn gossip(&mut self, now: Now, node: NodeId, is_dead: bool) {
        if !is_dead {
            self.driver.dead.remove(&node);
            return;
        }
        self.driver.dead.insert(node);
        self.chair.mourn(node);
        self.doubt(now, node);
    }

    /// A node is taken for dead, or it closed its connections: if it led the group, somebody else may.
    pub fn doubt(&mut self, now: Now, node: NodeId) {
        if let Some(leader) = self.group.leader()
            && self.leader_node() == Some(node)
        {
            self.group.hint_leader_dead(now, leader);
        }
    }

    /// What is to be done from time to time.
    pub fn duty(&mut self, now: Now, at: Moment, out: &mut Vec<Order>) {
        self.give_up_overdue(now, out);
        if now.since(self.was_here) >= HERE_EVERY {
            self.was_here = now;
            let leader = self.leader_node().filter(|leader| *leader != self.me);
            out.extend(leader.map(|to| Order::Send { to, letter: Letter::Here }));
        }
        self.forward_renewals(now, at, out);
        self.claim_workers(now, out);
        self.preside(now, out);
        self.drive(now, out);
        self.make_asides(now, out);
    }

    /// A letter of the application; those of the group go to the group.
    pub fn letter(&mut self, now: Now, at: Moment, from: NodeId, letter: Letter, out: &mut Vec<Order>) {
        match letter {
            Letter::Propose { request, command } => self.propose_for(now, from, request, &command, out),
            Letter::Proposed { request, outcome } => self.answered(now, request, outcome, out),
            Letter::Here => self.chair.heard(now, from),
            Letter::RollCall => out.push(Order::Send { to: from, letter: Letter::Here }),
            Letter::Register { boot, cores, sent } => {
                let lease_ms = LEASE.as_millis() as u64;
                let capabilities = BTreeSet::new();
                let body = Body::WorkerGrant { worker: from, boot, cores, lease_ms, capabilities };
                self.ask(now, Purpose::Grant { worker: from, sent }, Token(0), body, out);
            }
            Letter::Renew { grant, sent } => self.renew(now, from, grant, sent),
            Letter::Renewals { batch, claims } => self.renewals(now, at, from, batch, claims, out),
            Letter::RenewalsAnswered { batch, answers, arrived } => {
                self.renewals_answered(batch, &answers, arrived, out);
            }
            Letter::Dispatched { segment, attempt, taken } => {
                if taken {
                    self.driver.taken(&segment, attempt);
                } else {
                    // Dispatched again until the log shows that it was refused.
                    self.end_attempt(now, from, segment, attempt, EndStatus::Refused, out);
                }
            }
            Letter::Ended { worker, segment, attempt, status } => {
                self.end_attempt(now, worker, segment, attempt, status, out);
            }
            Letter::Client(letter) => self.client(now, letter, out),
            Letter::Raft(_)
            | Letter::Ask
            | Letter::Report(_)
            | Letter::Registered { .. }
            | Letter::Renewed { .. }
            | Letter::Dispatch(_)
            | Letter::Stop { .. }
            | Letter::Confirmed { .. } => {}
        }
    }

    /// Something of the group concerns the application.
    pub fn action(
        &mut self,
        now: Now,
        action: &Action<Outcome>,
        written: Option<&Written>,
        out: &mut Vec<Order>,
    ) {
        match action {
            Action::Applied(applied) => self.applied(now, applied, written, out),
            Action::Failed { proposal, .. } => self.proposal_settled(now, *proposal, None, out),
            Action::ReadReady { read, .. } => self.read_ready(*read, out),
            Action::ReadFailed { read, .. } => self.read_failed(*read),
            Action::Event(Event::Established { .. }) => self.take_the_chair(now, out),
            Action::Event(Event::LeaderChanged { role, .. }) if *role != Role::Leader => {
                self.leave_the_chair();
            }
            Action::Event(Event::SnapshotRestored { .. }) => self.reload_leases(now),
            Action::Event(_)
            | Action::Persist(_)
            | Action::Send(_)
            | Action::Store { .. }
            | Action::Fetch(_) => {}
        }
    }

    fn applied(
        &mut self,
        now: Now,
        applied: &Applied<Outcome>,
        written: Option<&Written>,
        out: &mut Vec<Order>,
    ) {
        if let Some(written) = written {
            self.leases.applied(now, written);
            if let Some(id) = job_of(&written.command.body) {
                self.clocks.observe(now, id, self.group.machine().register().job(id));
            }
        }
        if let Some(proposal) = applied.proposal {
            let outcome = applied.outcome.clone().map(|outcome| (applied.index, outcome));
            self.proposal_settled(now, proposal, outcome, out);
        }
    }

    fn client(&mut self, now: Now, letter: ClientLetter, out: &mut Vec<Order>) {
        let ClientLetter { errand, wish } = letter;
        match wish {
            Wish::Submit { mut job, key } => {
                let plan = plan::result(&plan::segment(job, 0), 0);
                let origin = plan::is_part(job).then(|| self.any_origin());
                if origin.is_none() {
                    // Every manager draws an id of its own; the key makes it one job.
                    self.rng.fill(&mut job.0[8..]);
                }
                let (options, caller) = (JobOptions::default(), String::new());
                let accept = Accept { job, key, plan, options, origin, caller };
                let body = Body::JobAccept(Box::new(accept));
                self.ask(now, Purpose::Accept { errand }, Token(0), body, out);
            }
            Wish::Cancel(job) => {
                let request = RequestId(job.0);
                let (workflows, reason, caller) = (Vec::new(), "asked".to_owned(), String::new());
                let body = Body::Cancel { job, workflows, request, reason, caller };
                self.ask(now, Purpose::Cancel { errand }, Token(0), body, out);
            }
            // An end is final: whoever knows it may tell it.
            Wish::Status(job) => {
                let end = self.group.machine().end_of(job);
                out.extend(end.map(|end| Order::Answer { errand, answer: Answer::Ended(end) }));
            }
        }
    }

    /// Any of two gates sends the part, one after the other: the first one may be stale, and is refused then.
    fn any_origin(&mut self) -> Origin {
        let (part, gate_token) = (Token(1), Token(self.rng.u64(1..=2)));
        Origin { datacenter: "here".to_owned(), part, gate_token }
    }

    /// An attempt ended, says its worker: the job's leader commits it.
    fn end_attempt(
        &mut self,
        now: Now,
        worker: NodeId,
        segment: Segment,
        attempt: u32,
        status: EndStatus,
        out: &mut Vec<Order>,
    ) {
        let job = self.group.machine().register().job(segment.job);
        let Some((leader, token)) = job.and_then(|job| job.leader) else { return };
        if leader == self.me {
            let result = Some(plan::result(&segment, attempt));
            let end = End::new(status, result);
            let body = Body::AttemptEnd { segment: segment.clone(), attempt, end };
            self.ask(now, Purpose::End { worker, segment, attempt }, token, body, out);
        } else {
            out.push(Order::Send { to: leader, letter: Letter::Ended { worker, segment, attempt, status } });
        }
    }

    /// What became of a request.
    pub(super) fn decided(
        &mut self,
        now: Now,
        purpose: Purpose,
        outcome: Option<(u64, Outcome)>,
        out: &mut Vec<Order>,
    ) {
        match (purpose, outcome) {
            (Purpose::Accept { errand }, Some((_, Outcome::Accepted { job, is_repeat }))) => {
                out.push(Order::Answer { errand, answer: Answer::Accepted(job) });
                if !is_repeat {
                    let elapsed = Elapsed::default();
                    let lead =
                        Body::JobLeader { job, leader: self.me, elapsed, reason: "accepted".to_owned() };
                    self.ask(now, Purpose::Other, Token(0), lead, out);
                }
            }
            (Purpose::Cancel { errand }, Some((_, outcome))) if outcome != UNKNOWN_JOB => {
                out.push(Order::Answer { errand, answer: Answer::Cancelled });
            }
            (Purpose::Grant { worker, sent }, Some((index, Outcome::Granted(grant)))) => {
                let lease = (grant.0 == index).then_some(LEASE);
                self.leases.wants(now, worker, grant);
                out.push(Order::Send { to: worker, letter: Letter::Registered { grant, lease, sent } });
            }
            // A stale token decides nothing: the worker tells the new job leader.
            (Purpose::End { worker, segment, attempt }, Some((_, outcome)))
                if !matches!(outcome, Outcome::Refused(Refusal::StaleToken { .. })) =>
            {
                out.push(Order::Send { to: worker, letter: Letter::Confirmed { segment, attempt } });
            }
            // What was refused is tried again after a while only.
            (Purpose::Step { .. }, Some((_, Outcome::Refused(_)))) => {}
            (Purpose::Step { job, place }, _) => self.driver.settled(job, place),
            _ => {}
        }
    }
}

/// The job whose clocks a command may start or stop.
fn job_of(body: &Body) -> Option<JobId> {
    match body {
        Body::JobAccept(accept) => Some(accept.job),
        Body::Assign(assign) => Some(assign.job),
        Body::JobLeader { job, .. }
        | Body::Control { job, .. }
        | Body::WorkflowEnd { job, .. }
        | Body::JobEnd { job, .. } => Some(*job),
        _ => None,
    }
}

const UNKNOWN_JOB: Outcome = Outcome::Refused(Refusal::UnknownJob);

impl fmt::Debug for Office {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Office").field("me", &self.me).finish_non_exhaustive()
    }
}
