//! A manager at work: its replica, and what it answers to clients, workers and other managers. Gates have the same manager;
//! no worker ever writes to them.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::register::{Body, Clocks, EndStatus, JobEnd, JobId, Outcome, Segment};
use hyperscale_consensus::replica::{Input, Output, Replica};
use hyperscale_consensus::{Event, RaftGroup, RaftRole, ReadId};
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::driver::Driver;
use super::leader_duties::LeaderDuties;
use super::leases::{LEASE, Leases};
use super::plan;
use super::requests::{Purpose, Requests};
use crate::log::{Journal, Letter, Written};
use crate::moment::Moment;

/// How often a manager tells the cluster leader that it is there.
const HERE_EVERY: Duration = Duration::from_secs(1);

/// What a manager wants of the world.
#[derive(Debug)]
pub enum ManagerAction {
    /// Send a letter.
    Send {
        /// The receiver: a worker or another manager.
        to: NodeId,
        /// The message.
        letter: Letter,
    },
    /// Answer a client.
    Answer {
        /// About which of its jobs.
        client_job: usize,
        /// The response.
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
pub struct ManagerOptions {
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
pub struct ManagerDriver {
    /// Its replica, as in production.
    pub replica: Replica<Journal>,
    /// What the replica wants done.
    pub outputs: Vec<Output<Outcome>>,
    /// Nodes whose version the replica was told, in worlds where they do not say hello.
    pub greeted: BTreeSet<(NodeId, BootEpoch)>,
    pub(super) me: NodeId,
    pub(super) bugs: Bugs,
    pub(super) rng: Rng,
    pub(super) requests: Requests,
    pub(super) leases: Leases,
    pub(super) leader_duties: LeaderDuties,
    pub(super) driver: Driver,
    /// What the clocks of the jobs show, so that deadlines survive a change of leader.
    pub(super) clocks: Clocks,
    was_here: Now,
}

/// The group of a replica that takes part. Nothing else is asked of a manager before that.
pub(super) fn group_of(replica: &Replica<Journal>) -> &RaftGroup<Journal> {
    replica.group().expect("only managers whose replica takes part do anything")
}

impl ManagerDriver {
    /// A manager that starts with this replica and what that wants done.
    pub fn new(
        now: Now,
        options: ManagerOptions,
        replica: Replica<Journal>,
        outputs: Vec<Output<Outcome>>,
    ) -> Self {
        let mut manager = Self {
            replica,
            outputs,
            greeted: BTreeSet::new(),
            me: options.me,
            rng: Rng::with_seed(options.seed),
            requests: Requests::new(options.first_number),
            leases: Leases::new(now, options.bugs.clone()),
            leader_duties: LeaderDuties::default(),
            driver: Driver::default(),
            clocks: Clocks::default(),
            was_here: now,
            bugs: options.bugs,
        };
        manager.reload_leases(now);
        manager
    }

    /// The group it takes part in.
    pub fn group(&self) -> &RaftGroup<Journal> {
        group_of(&self.replica)
    }

    /// The node that leads the group, as far as this replica knows.
    pub fn leader_node(&self) -> Option<NodeId> {
        self.replica.leader_node()
    }

    /// Something happens to the replica.
    pub fn input(&mut self, now: Now, input: Input) {
        self.replica.handle(now, input, &mut self.outputs);
    }

    /// SWIM says that a node is dead, or that it is there.
    pub fn gossip(&mut self, now: Now, node: NodeId, is_dead: bool) {
        if !is_dead {
            self.driver.dead.remove(&node);
            return;
        }
        self.driver.dead.insert(node);
        self.leader_duties.declare_dead(node);
        self.input(now, Input::PeerGone(node));
    }

    /// What is to be done from time to time.
    pub fn duty(&mut self, now: Now, at: Moment, out: &mut Vec<ManagerAction>) {
        if now.since(self.was_here) >= HERE_EVERY {
            self.was_here = now;
            let leader = self.leader_node().filter(|leader| *leader != self.me);
            out.extend(leader.map(|to| ManagerAction::Send { to, letter: Letter::Here }));
        }
        self.forward_renewals(now, at, out);
        self.claim_workers(now);
        self.lead(now);
        self.drive(now, out);
        self.make_asides(now);
    }

    /// A letter of the application; those of the group go to the group.
    pub fn letter(
        &mut self,
        now: Now,
        at: Moment,
        from: NodeId,
        letter: Letter,
        out: &mut Vec<ManagerAction>,
    ) {
        match letter {
            Letter::Here => self.leader_duties.heard(now, from),
            Letter::RollCall => out.push(ManagerAction::Send { to: from, letter: Letter::Here }),
            Letter::Register { boot, cores, sent } => {
                let lease_ms = LEASE.as_millis() as u64;
                let capabilities = BTreeSet::new();
                let body = Body::WorkerGrant { worker: from, boot, cores, lease_ms, capabilities };
                self.ask(now, Purpose::Grant { worker: from, boot, sent }, Token(0), body);
            }
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
            // Renewals are handed over with what membership says of the owner.
            Letter::Renew { .. }
            | Letter::Replica(_)
            | Letter::Registered { .. }
            | Letter::Renewed { .. }
            | Letter::Dispatch(_)
            | Letter::Stop { .. }
            | Letter::Confirmed { .. } => {}
        }
    }

    /// Something that the replica wants done concerns the application too.
    pub fn output(
        &mut self,
        now: Now,
        output: &Output<Outcome>,
        written: Option<&Written>,
        out: &mut Vec<ManagerAction>,
    ) {
        match output {
            Output::Applied(_) => {
                if let Some(written) = written {
                    self.leases.applied(now, written);
                    if let Some(id) = job_of(&written.command.body) {
                        self.clocks.observe(now, id, group_of(&self.replica).machine().register().job(id));
                    }
                }
            }
            Output::Reply { call, reply } => self.replied(now, *call, reply.clone(), out),
            Output::Opened(_) | Output::Event(Event::SnapshotRestored { .. }) => self.reload_leases(now),
            Output::Event(Event::Established { .. }) => self.begin_leading(now, out),
            Output::Event(Event::LeaderChanged { role, .. }) if *role != RaftRole::Leader => {
                self.stop_leading();
            }
            Output::Event(_)
            | Output::Persist(_)
            | Output::MakeSnapshot(_)
            | Output::Waiting { .. }
            | Output::Send { .. }
            | Output::PutBlob { .. }
            | Output::ReadBlob { .. }
            | Output::RemoveBlob(_)
            | Output::Timer(_)
            | Output::Failed(_) => {}
        }
    }

    /// An attempt ended, says its worker: the job's leader commits it.
    fn end_attempt(
        &mut self,
        now: Now,
        worker: NodeId,
        segment: Segment,
        attempt: u32,
        status: EndStatus,
        out: &mut Vec<ManagerAction>,
    ) {
        let job = group_of(&self.replica).machine().register().job(segment.job);
        let Some((leader, _)) = job.and_then(|job| job.leader) else { return };
        if leader == self.me {
            let result = plan::result(&segment, attempt);
            self.store(now, Purpose::StoreResult { worker, segment, attempt, status }, result);
        } else {
            out.push(ManagerAction::Send {
                to: leader,
                letter: Letter::Ended { worker, segment, attempt, status },
            });
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

impl fmt::Debug for ManagerDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerDriver").field("me", &self.me).finish_non_exhaustive()
    }
}
