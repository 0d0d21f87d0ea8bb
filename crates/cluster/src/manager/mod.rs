//! A manager: a member of its datacenter's log, the owner of workers, and the leader of some jobs.
//!
//! ```text
//! clients ── Request ──► │ manager │ ── Decide, JobEnd, … ──► replica ──► log
//!         ◄─ Respond ─── │         │ ◄──────── applied ─────────┘
//!                        │  led:   │ ── Dispatch, Direct ──► workers
//!                        │ JobCore │ ◄── Progress, Ended ────┘
//! ```
//!
//! [`Manager::handle`] takes the time of a clock that counts while the machine sleeps, and an [`Input`]; it appends [`Output`]s, to
//! be done in their order. What a job does is decided by its `JobCore`; here its decisions are brought into the log, and what the
//! log then says is told to the core: a job leader learns its own decisions the same way as a successor.
//!
//! | part     | what it does                                                                                       |
//! | -------- | -------------------------------------------------------------------------------------------------- |
//! | `applied`| what the log decided                                                                                |
//! | `clients`| submissions, cancels, questions                                                                     |
//! | `workers`| what workers say                                                                                    |
//! | `leases` | renewals on their way to the cluster leader, ownership of workers                                   |
//! | `duties` | what the cluster leader does: leases that end, jobs of managers that are gone, retention             |
//! | `standing` | what workers say of themselves                                                                    |
//! | `circuit`| workers that do not answer                                                                          |
//! | `pool`   | which workers may be given something, in which order                                                |
//! | `drain`  | workers that were asked to finish and leave                                                         |
//! | `leave`  | managers that were asked to hand over and leave                                                     |
//! | `pressure` | what it does when it has too much to do                                                           |
//! | `led`    | jobs that are led here                                                                              |
//! | `restart`| jobs that the log gave to an earlier life of this manager                                          |
//! | `listing`| the list of jobs, page by page                                                                      |
//! | `calls`  | what was asked of the replica, and what for                                                         |
//!
//! It must never act on a decision that was not applied, nor tell a worker anything about a job that it does not lead.

mod applied;
mod calls;
mod circuit;
mod clients;
mod counters;
mod drain;
mod duties;
mod io;
mod leases;
mod leave;
mod led;
mod listing;
mod machine;
mod options;
mod pool;
mod pressure;
mod queue;
mod restart;
mod standing;
mod wakeups;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use hyperscale_consensus::register::{Body, Clocks, Command, JobId, Outcome, Register};
use hyperscale_consensus::replica::{self, CallId, Replica, Reply, Request as ReplicaRequest};
use hyperscale_consensus::{Event, RaftGroup, RaftRole};
use hyperscale_types::{NodeId, Now, Token};

use crate::message::ToWorker;
use calls::{Calls, Purpose};
use circuit::Circuits;
pub use counters::{Counters, LATENCIES, Latencies};
use drain::Drains;
use duties::Duties;
pub use io::{
    Input, JobLine, ListPlace, Output, ReadNumber, Rejection, Request, RequestNumber, Response, ToPeer,
};
use leases::Leases;
use leave::Stay;
use led::Led;
pub use led::number_of;
use listing::Lookup;
pub use machine::JobMachine;
pub use options::Options;
use pool::CachedPool;
pub use pressure::Busy;
use pressure::Pressure;
use queue::found;
use restart::EarlierGrants;
use standing::Standings;
use wakeups::Wakeups;
use workers::Told;

/// How often a manager looks after what nothing but time brings about.
const TICK: Duration = Duration::from_millis(100);
/// Who lives has been seen by then in this life of a manager.
const ROLL_CALL_AFTER: Duration = Duration::from_secs(10);
/// How often a manager tells the cluster leader that it is there. Several of them may be lost before its jobs are given to others.
const HERE_EVERY: Duration = Duration::from_millis(500);
/// Tells the draws of placement from others with the same seed.
const DRAWS: u64 = 0x706c_6163_6573;

/// A manager in one life.
pub struct Manager<M: JobMachine> {
    options: Options,
    replica: Replica<M>,
    /// What the replica wants done.
    outputs: Vec<replica::Output<Outcome>>,
    rng: Rng,
    /// Draws which workers are preferred.
    draws: Rng,
    calls: Calls,
    leases: Leases,
    standings: Standings,
    circuits: Circuits,
    drains: Drains,
    duties: Duties,
    stay: Stay,
    pressure: Pressure,
    counters: Counters,
    /// Jobs of others that this manager was given to lead and is opening, and since when.
    transfers: BTreeMap<JobId, Now>,
    /// What the clocks of the jobs show, so that deadlines survive a change of leader.
    clocks: Clocks,
    earlier: EarlierGrants,
    led: BTreeMap<JobId, Led>,
    /// Jobs led here about which something was applied or reported.
    news: BTreeSet<JobId>,
    /// Jobs led here whose core was told something: when they are due next is to be found out.
    touched: BTreeSet<JobId>,
    wakeups: Wakeups,
    /// Jobs led here that wait for cores.
    waiting: BTreeSet<JobId>,
    pool: CachedPool,
    /// How often a job was looked after, for tests.
    drives: u64,
    /// Blobs that are read for jobs led here.
    reads: BTreeMap<ReadNumber, (JobId, hyperscale_consensus::BlobId)>,
    /// Chunks of ended jobs that are read for clients.
    lookups: BTreeMap<ReadNumber, Lookup>,
    /// Whom membership takes for dead.
    dead: BTreeSet<NodeId>,
    /// Whom membership has shown in this life.
    seen: BTreeSet<NodeId>,
    /// When those that it has not are taken for dead.
    roll_call_at: Option<Now>,
    here_at: Now,
    tick_at: Now,
    replica_timer: Option<Now>,
    timer: Option<Now>,
}

impl<M: JobMachine> Manager<M> {
    /// A manager with a replica that was just started, and what that wants done.
    pub fn start(
        now: Now,
        options: Options,
        replica: Replica<M>,
        outputs: Vec<replica::Output<Outcome>>,
        out: &mut Vec<Output>,
    ) -> Self {
        let mut manager = Self {
            rng: Rng::with_seed(options.seed),
            draws: Rng::with_seed(options.seed ^ DRAWS),
            calls: Calls::new(options.first_number),
            leases: Leases::new(now, &options),
            standings: Standings::default(),
            circuits: Circuits::default(),
            drains: Drains::default(),
            duties: Duties::default(),
            stay: Stay::default(),
            pressure: Pressure::default(),
            counters: Counters::default(),
            transfers: BTreeMap::new(),
            clocks: options.clocks.clone(),
            earlier: EarlierGrants::before(replica.group().map_or(0, RaftGroup::last_index)),
            led: BTreeMap::new(),
            news: BTreeSet::new(),
            touched: BTreeSet::new(),
            wakeups: Wakeups::default(),
            waiting: BTreeSet::new(),
            pool: CachedPool::default(),
            drives: 0,
            reads: BTreeMap::new(),
            lookups: BTreeMap::new(),
            dead: BTreeSet::new(),
            seen: BTreeSet::new(),
            roll_call_at: Some(now.plus(ROLL_CALL_AFTER)),
            here_at: now,
            tick_at: now.plus(TICK),
            replica_timer: None,
            timer: None,
            replica,
            outputs,
            options,
        };
        manager.settle(now, out);
        manager
    }

    /// Takes an input; what is to be done is appended to `out`.
    pub fn handle(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Timer => self.timer = None,
            Input::Replica(input) => self.replica.handle(now, input, &mut self.outputs),
            Input::Peer { from, message } => self.peer(now, from, message, out),
            Input::Worker { from, message } => self.worker(now, from, message, out),
            Input::Died(node) => self.died(now, node),
            Input::Alive(node) => {
                self.seen.insert(node);
                self.dead.remove(&node);
                // It may have been started again, and does not leave then.
                self.duties.leaves(now, node, false);
                self.pool.change();
            }
            Input::Busy(busy) => self.pressure.busy = busy,
            Input::BlobRead { read, bytes } => match self.lookups.remove(&read) {
                Some(Lookup::Job(request, job)) => found(request, job, bytes.as_ref(), out),
                Some(Lookup::List(listing)) => self.chunk_read(now, *listing, bytes.as_ref(), out),
                None => self.blob_read(read, bytes),
            },
            Input::Request { request, what } => self.request(now, request, what, out),
        }
        self.settle(now, out);
    }

    /// The replica, for display and tests.
    pub fn replica(&self) -> &Replica<M> {
        &self.replica
    }

    /// What the group has decided, once this replica takes part in it.
    pub fn register(&self) -> Option<&Register> {
        self.replica.group().map(|group| group.machine().register())
    }

    /// The token of a job that is led here.
    pub fn leads(&self, job: JobId) -> Option<Token> {
        self.led.get(&job).map(Led::token)
    }

    /// What the clocks of all open jobs show, to be handed to the next life of this manager.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// How often it looked after a job in this life.
    pub fn drives(&self) -> u64 {
        self.drives
    }

    /// Whether membership takes a node for dead.
    pub fn is_gone(&self, node: NodeId) -> bool {
        self.is_dead(node)
    }

    fn is_dead(&self, node: NodeId) -> bool {
        self.dead.contains(&node)
    }

    fn died(&mut self, now: Now, node: NodeId) {
        self.dead.insert(node);
        self.duties.declare_dead(node);
        self.duties.leaves(now, node, false);
        self.replica.handle(now, replica::Input::PeerGone(node), &mut self.outputs);
        self.pool.change();
    }

    /// Members that membership has not shown since this manager started are gone: nobody says of one who died before that it did.
    fn call_roll(&mut self, now: Now) {
        let members = self.replica.group().into_iter().flat_map(|group| group.roster().members());
        let is_missing = |node: &NodeId| *node != self.options.node && !self.seen.contains(node);
        let missing: Vec<NodeId> = members.map(|member| member.node).filter(is_missing).collect();
        for node in missing {
            self.died(now, node);
        }
    }

    /// Does what follows from an input until nothing more does.
    fn settle(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.replica_timer.is_some_and(|at| now >= at) {
            self.replica_timer = None;
            self.replica.handle(now, replica::Input::Timer, &mut self.outputs);
        }
        if now >= self.tick_at {
            self.tick_at = now.plus(TICK);
            self.tick(now, out);
        }
        let mut driven = BTreeSet::new();
        self.news.extend(self.wakeups.take_due(now));
        while !self.outputs.is_empty() || !self.news.is_empty() {
            for output in std::mem::take(&mut self.outputs) {
                self.output(now, output, out);
            }
            let news = std::mem::take(&mut self.news);
            for job in self.by_urgency(news) {
                self.drives += 1;
                driven.insert(job);
                self.touched.insert(job);
                self.drive(now, job, out);
            }
            self.plan_wakeups(now, &driven);
            self.news.extend(self.wakeups.take_due(now));
        }
        self.plan_wakeups(now, &driven);
        self.set_timer(now, out);
    }

    /// Finds out when the jobs that were told something are due. What is due and was not done waits for the next tick.
    fn plan_wakeups(&mut self, now: Now, driven: &BTreeSet<JobId>) {
        for job in std::mem::take(&mut self.touched) {
            let led = self.led.get(&job);
            let due = led.map(Led::next_due).and_then(|due| {
                let is_done = driven.contains(&job) && due.is_some_and(|due| due <= now);
                if is_done { Some(now.plus(TICK)) } else { due }
            });
            self.wakeups.set(job, due);
            if led.is_some_and(Led::waits_for_cores) {
                self.waiting.insert(job);
            } else {
                self.waiting.remove(&job);
            }
        }
    }

    fn tick(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.replica.group().is_none() {
            return;
        }
        if self.roll_call_at.take_if(|at| now >= *at).is_some() {
            self.call_roll(now);
        }
        if now.since(self.here_at) >= HERE_EVERY {
            self.here_at = now;
            self.say_here(out);
            self.forget_told();
        }
        self.forward_renewals(now, out);
        self.claim_workers(now);
        self.tell_standings(now, out);
        self.tell_drains(now, out);
        self.take_back(now, out);
        self.keep_leaving(now, out);
        self.lead(now);
        self.regrant(now);
        if self.circuits.pass_time(now) {
            self.pool.change();
        }
        // Cores were taken or are free.
        if self.pool.take_news() {
            self.news.extend(self.waiting.iter().copied());
        }
    }

    fn set_timer(&mut self, now: Now, out: &mut Vec<Output>) {
        let jobs = self.wakeups.next().map(|at| at.max(now));
        let next = jobs.into_iter().chain(self.replica_timer).fold(self.tick_at, Now::min);
        if self.timer != Some(next) {
            self.timer = Some(next);
            out.push(Output::Timer(next));
        }
    }

    fn peer(&mut self, now: Now, from: NodeId, message: ToPeer, out: &mut Vec<Output>) {
        match message {
            ToPeer::Here { is_leaving } => {
                self.duties.heard(now, from);
                self.duties.leaves(now, from, is_leaving);
                if is_leaving && self.is_no_member(from) {
                    out.push(Output::SendPeer { to: from, message: ToPeer::Removed });
                }
            }
            ToPeer::Removed => self.removed(out),
            ToPeer::RollCall => {
                let is_leaving = self.is_leaving();
                out.push(Output::SendPeer { to: from, message: ToPeer::Here { is_leaving } });
            }
            ToPeer::Workers(said) => {
                for said in said {
                    self.hear_worker(said, false);
                }
            }
            ToPeer::Renewals { batch, claims } => self.renewals(now, from, batch, claims),
            ToPeer::RenewalsAnswered { batch, answers } => self.renewals_answered(batch, &answers, out),
            ToPeer::AttemptEnded { worker, attempt, how, left } => {
                self.attempt_ended(now, (worker, Told::ByManager), attempt, (how, *left), out);
            }
        }
    }

    /// Something that the replica wants done. What concerns the manager alone does not leave it.
    fn output(&mut self, now: Now, output: replica::Output<Outcome>, out: &mut Vec<Output>) {
        match output {
            replica::Output::Timer(at) => self.replica_timer = Some(at),
            replica::Output::Reply { call, reply } => self.replied(now, call, reply, out),
            replica::Output::Applied(applied) => {
                let machine = self.replica.group().map(RaftGroup::machine);
                let command =
                    machine.zip(applied.command.as_ref()).and_then(|(machine, it)| machine.decode(it));
                if let (Some(command), Some(outcome)) = (command, &applied.outcome) {
                    self.applied(now, applied.index, &command, outcome, out);
                }
                out.push(Output::Replica(replica::Output::Applied(applied)));
            }
            other => {
                match &other {
                    replica::Output::Opened(_) | replica::Output::Event(Event::SnapshotRestored { .. }) => {
                        self.reload(now, out);
                    }
                    replica::Output::Event(Event::Established { .. }) => self.begin_leading(now, out),
                    replica::Output::Event(Event::LeaderChanged { role, .. })
                        if *role != RaftRole::Leader =>
                    {
                        self.stop_leading();
                    }
                    _ => {}
                }
                out.push(Output::Replica(other));
            }
        }
    }

    fn propose(&mut self, now: Now, purpose: Purpose, token: Token, body: Body) {
        let (call, command) = (self.calls.open(now, purpose), Command { token, body });
        let machine = self.replica.group().map(RaftGroup::machine);
        let bytes = machine.map_or_else(|| command.encode(), |machine| machine.encode(&command));
        self.call(now, call, ReplicaRequest::Propose(bytes));
    }

    fn store(&mut self, now: Now, purpose: Purpose, bytes: Bytes) {
        let call = self.calls.open(now, purpose);
        self.call(now, call, ReplicaRequest::StoreBlob(bytes));
    }

    fn call(&mut self, now: Now, call: CallId, request: ReplicaRequest) {
        self.replica.handle(now, replica::Input::Call { call, request }, &mut self.outputs);
    }

    fn replied(&mut self, now: Now, call: CallId, reply: Reply<Outcome>, out: &mut Vec<Output>) {
        let Some((purpose, since)) = self.calls.close(call) else {
            // A call of the host, which numbers its own from 2⁶³.
            return out.push(Output::Replica(replica::Output::Reply { call, reply }));
        };
        if matches!(purpose, Purpose::Renewals) {
            return self.round_over(call, matches!(reply, Reply::Readable { .. }), out);
        }
        match &reply {
            Reply::Applied { outcome, .. } => self.counters.proposed(outcome.as_ref(), now.since(since)),
            Reply::Failed(_) => self.counters.proposed(None, now.since(since)),
            _ => {}
        }
        match purpose {
            Purpose::StorePlan { .. }
            | Purpose::Accept { .. }
            | Purpose::Lead { .. }
            | Purpose::Cancel { .. } => self.client_replied(now, purpose, reply, out),
            Purpose::Drain { request } => self.drain_replied(now, request, &reply, out),
            Purpose::GiveBack { worker } => self.drains.proposed(worker),
            Purpose::Grant { worker, boot, call } => self.granted(now, worker, boot, call, &reply, out),
            Purpose::StoreDecision { .. }
            | Purpose::StoreLeft { .. }
            | Purpose::Decide { .. }
            | Purpose::StoreResult { .. }
            | Purpose::End { .. } => self.decision_replied(now, purpose, reply, out),
            Purpose::Confirm { worker, attempt } => {
                let is_forgotten =
                    self.register().is_some_and(|register| register.job(attempt.job).is_none());
                if is_forgotten && matches!(reply, Reply::Readable { .. }) {
                    let message = ToWorker::Confirmed { attempt };
                    out.push(Output::SendWorker { to: worker, message });
                }
            }
            Purpose::Renewals | Purpose::Other => {}
        }
    }
}

impl<M: JobMachine> fmt::Debug for Manager<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").field("node", &self.options.node).finish_non_exhaustive()
    }
}
