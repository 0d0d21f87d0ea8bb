//! A gate as far as the log of the gates needs one: it accepts jobs without workflows and leads them until they end by themselves.
//! The core of gates takes its place later.
//!
//! Each step follows from the log, is repeated until the log shows it, and may be proposed by a gate that was replaced long
//! ago: the register has to cope with that, and the judges look whether it does.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use hyperscale_cluster::manager::ToPeer;
use hyperscale_consensus::register::{
    Accept, Body, Clocks, Command, CommandRefusal, Elapsed, End, EndStatus, JobId, JobOptions, Outcome,
    RequestId,
};
use hyperscale_consensus::replica::{CallId, Input, Output, Replica, Reply, Request};
use hyperscale_consensus::{BlobId, Event, RaftGroup, RaftRole, ReadId};
use hyperscale_types::{NodeId, Now, Token};

use super::gate_duties::LeaderDuties;
use super::voter::{Answer, Deed, VoterOptions};
use super::{aside, plan};
use crate::log::journal::{NEWER, newer};
use crate::log::letter::{ClientLetter, Wish};
use crate::log::{Journal, Letter};

/// How often a gate tells the leader of the gates that it is there.
const HERE_EVERY: Duration = Duration::from_secs(1);
/// A step without an answer is tried again after this time.
const AGAIN: Duration = Duration::from_millis(1500);
/// One of so many commands is written as a newer build does, though not everybody understands that yet.
const TOO_EARLY: u8 = 32;

/// What a request was for.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// The plan of a client's job, before the job is accepted.
    StorePlan { client_job: usize, accept: Box<Accept> },
    /// A client's job.
    Accept { client_job: usize },
    /// A client's cancel.
    Cancel { client_job: usize },
    /// A client wants to know how its job ended.
    Status { client_job: usize, job: JobId },
    /// The result of a job, before its end is committed.
    StoreResult { job: JobId, token: Token, status: EndStatus },
    /// The end of a job, or of a part of it.
    End { job: JobId },
    /// Looked at in the log, not in the answer.
    Other,
}

/// A gate in one life.
pub(super) struct Gate {
    /// Its replica, as in production.
    pub(super) replica: Replica<Journal>,
    outputs: Vec<Output<Outcome>>,
    pub(super) deeds: Vec<Deed>,
    pub(super) me: NodeId,
    pub(super) rng: Rng,
    last: u64,
    waiting: BTreeMap<CallId, Purpose>,
    pub(super) leader_duties: LeaderDuties,
    /// What the clocks of the jobs show, so that deadlines survive a change of leader.
    pub(super) clocks: Clocks,
    /// Ends under way.
    ending: BTreeMap<JobId, Now>,
    /// Since when each job is led here, under which token.
    led: BTreeMap<JobId, (Token, Now)>,
    was_here: Now,
}

/// The group of a replica that takes part.
pub(super) fn group_of(replica: &Replica<Journal>) -> &RaftGroup<Journal> {
    replica.group().expect("only gates whose replica takes part do anything")
}

impl Gate {
    pub(super) fn new(
        now: Now,
        VoterOptions { me, first_number, seed, .. }: VoterOptions,
        replica: Replica<Journal>,
        outputs: Vec<Output<Outcome>>,
    ) -> Self {
        Self {
            replica,
            outputs,
            deeds: Vec::new(),
            me,
            rng: Rng::with_seed(seed),
            last: first_number,
            waiting: BTreeMap::new(),
            leader_duties: LeaderDuties::default(),
            clocks: Clocks::default(),
            ending: BTreeMap::new(),
            led: BTreeMap::new(),
            was_here: now,
        }
    }

    pub(super) fn input(&mut self, now: Now, input: Input) {
        self.replica.handle(now, input, &mut self.outputs);
    }

    pub(super) fn gossip(&mut self, now: Now, node: NodeId, is_dead: bool) {
        if is_dead {
            self.leader_duties.declare_dead(node);
            self.input(now, Input::PeerGone(node));
        }
    }

    pub(super) fn peer(&mut self, now: Now, from: NodeId, message: &ToPeer) {
        match message {
            ToPeer::Here { .. } => self.leader_duties.heard(now, from),
            ToPeer::RollCall => {
                self.deeds
                    .push(Deed::Send { to: from, letter: Letter::Peer(ToPeer::Here { is_leaving: false }) });
            }
            _ => {}
        }
    }

    pub(super) fn duty(&mut self, now: Now) {
        if self.replica.group().is_none() {
            return;
        }
        if now.since(self.was_here) >= HERE_EVERY {
            self.was_here = now;
            let leader = self.replica.leader_node().filter(|leader| *leader != self.me);
            let here = |to| Deed::Send { to, letter: Letter::Peer(ToPeer::Here { is_leaving: false }) };
            self.deeds.extend(leader.map(here));
        }
        self.lead(now);
        self.drive(now);
        self.make_asides(now);
    }

    /// Ends every job that is led here and has had its time.
    fn drive(&mut self, now: Now) {
        let mut due = Vec::new();
        let open = group_of(&self.replica).machine().register().jobs().filter(|(_, job)| job.end.is_none());
        for (id, job) in open {
            let Some((_, token)) = job.leader.filter(|(leader, _)| *leader == self.me) else { continue };
            let led = self.led.entry(*id).or_insert((token, now));
            if led.0 != token {
                *led = (token, now);
            }
            let is_cancelled = job.is_wholly_cancelled();
            let is_asked = self.ending.get(id).is_some_and(|since| now.since(*since) < AGAIN);
            if (is_cancelled || now.since(led.1) >= plan::length(*id)) && !is_asked {
                let status = if is_cancelled { EndStatus::Cancelled } else { EndStatus::Completed };
                due.push((*id, token, status, aside::end_of_part(*id, job)));
            }
        }
        for (job, token, status, part) in due {
            self.ending.insert(job, now);
            match part {
                Some(end) => self.ask(now, Purpose::End { job }, token, end),
                None => self.store(now, Purpose::StoreResult { job, token, status }, plan::stand_in(job)),
            }
        }
    }

    pub(super) fn client(&mut self, now: Now, ClientLetter { client_job, wish }: ClientLetter) {
        match wish {
            Wish::Submit { mut job, key } => {
                let bytes = plan::stand_in(job);
                // Every gate draws an id of its own; the key makes it one job.
                self.rng.fill(&mut job.0[8..]);
                let (options, caller, plan) = (JobOptions::default(), String::new(), BlobId::of(&bytes));
                let (origin, name, submitted_at_ms) = (None, String::new(), 0);
                let accept =
                    Box::new(Accept { job, key, plan, options, origin, caller, name, submitted_at_ms });
                self.store(now, Purpose::StorePlan { client_job, accept }, bytes);
            }
            Wish::Cancel(job) => {
                let (request, workflows, named) = (RequestId(job.0), Vec::new(), Vec::new());
                let (reason, caller) = ("asked".to_owned(), String::new());
                let body = Body::Cancel { job, workflows, named, request, reason, caller };
                self.ask(now, Purpose::Cancel { client_job }, Token(0), body);
            }
            // Gates run no load.
            Wish::CancelWorkflow(..) | Wish::Scale(..) | Wish::Pause(_) | Wish::Resume(_) => {}
            Wish::Status(job) => {
                let call = self.open(Purpose::Status { client_job, job });
                self.deeds.push(Deed::ReadAsked(ReadId(call.0)));
                self.input(now, Input::Call { call, request: Request::Read });
            }
        }
    }

    /// Asks the group to commit something.
    pub(super) fn ask(&mut self, now: Now, purpose: Purpose, token: Token, body: Body) {
        let command = self.encode(&Command { token, body });
        let call = self.open(purpose);
        self.input(now, Input::Call { call, request: Request::Propose(command) });
    }

    /// Asks for a blob on a quorum.
    fn store(&mut self, now: Now, purpose: Purpose, bytes: Bytes) {
        let call = self.open(purpose);
        self.input(now, Input::Call { call, request: Request::StoreBlob(bytes) });
    }

    fn open(&mut self, purpose: Purpose) -> CallId {
        self.last += 1;
        self.waiting.insert(CallId(self.last), purpose);
        CallId(self.last)
    }

    /// Newer builds write commands in the newer way once everybody understands it, and sometimes too early.
    fn encode(&mut self, command: &Command) -> Bytes {
        let journal = group_of(&self.replica).machine();
        let (understood, in_force) = (journal.understood(), journal.register().version());
        let is_newer = match (understood >= NEWER, in_force >= NEWER) {
            (true, true) => self.rng.bool(),
            (true, false) => self.rng.u8(..TOO_EARLY) == 0,
            (false, _) => false,
        };
        if is_newer { newer(command) } else { command.encode() }
    }

    pub(super) fn take(&mut self, now: Now) -> Vec<Deed> {
        let mut deeds = std::mem::take(&mut self.deeds);
        for output in std::mem::take(&mut self.outputs) {
            match &output {
                Output::Reply { call, reply } => self.replied(now, *call, reply.clone()),
                Output::Applied(applied) => {
                    let machine = group_of(&self.replica).machine();
                    let command = applied.command.as_ref().and_then(|it| machine.read(it));
                    if let Some(id) = command.and_then(|command| job_of(&command.body)) {
                        self.clocks.observe(now, id, machine.register().job(id));
                    }
                }
                Output::Event(Event::Established { .. }) => self.begin_leading(now),
                Output::Event(Event::LeaderChanged { role, .. }) if *role != RaftRole::Leader => {
                    self.stop_leading();
                }
                _ => {}
            }
            deeds.push(match output {
                Output::Timer(at) => Deed::Timer(at),
                output => Deed::Replica(output),
            });
            deeds.append(&mut self.deeds);
        }
        deeds
    }

    /// What became of something that was asked of the group.
    fn replied(&mut self, now: Now, call: CallId, reply: Reply<Outcome>) {
        let Some(purpose) = self.waiting.remove(&call) else { return };
        match (purpose, reply) {
            (Purpose::Status { client_job, job }, Reply::Readable { .. }) => {
                let end = group_of(&self.replica).machine().end_of(job);
                self.deeds.extend(end.map(|end| Deed::Answer { client_job, answer: Answer::Ended(end) }));
            }
            (Purpose::StorePlan { client_job, accept }, Reply::Stored(_)) => {
                self.ask(now, Purpose::Accept { client_job }, Token(0), Body::JobAccept(accept));
            }
            (Purpose::StoreResult { job, token, status }, Reply::Stored(blob)) => {
                let body = Body::JobEnd { job, end: End::new(status, Some(blob)), elapsed_ms: 0 };
                self.ask(now, Purpose::End { job }, token, body);
            }
            (
                Purpose::Accept { client_job },
                Reply::Applied { outcome: Some(Outcome::Accepted { job, is_repeat }), .. },
            ) => {
                self.deeds.push(Deed::Answer { client_job, answer: Answer::Accepted(job) });
                if !is_repeat {
                    let (leader, elapsed) = (self.me, Elapsed::default());
                    let lead = Body::JobLeader { job, leader, elapsed, reason: "accepted".to_owned() };
                    self.ask(now, Purpose::Other, Token(0), lead);
                }
            }
            (Purpose::Cancel { client_job }, Reply::Applied { outcome: Some(outcome), .. })
                if settles_cancel(&outcome) =>
            {
                self.deeds.push(Deed::Answer { client_job, answer: Answer::Cancelled });
            }
            // What was refused is tried again after a while only.
            (Purpose::End { .. }, Reply::Applied { outcome: Some(Outcome::Refused(_)), .. }) => {}
            (Purpose::End { job } | Purpose::StoreResult { job, .. }, _) => {
                self.ending.remove(&job);
            }
            _ => {}
        }
    }
}

/// Whether a cancel is committed, or came too late.
fn settles_cancel(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Refused(refusal) => *refusal == CommandRefusal::AlreadyEnded,
        _ => true,
    }
}

/// The job whose clocks a command may start or stop.
fn job_of(body: &Body) -> Option<JobId> {
    match body {
        Body::JobAccept(accept) => Some(accept.job),
        Body::JobLeader { job, .. } | Body::JobEnd { job, .. } => Some(*job),
        _ => None,
    }
}
