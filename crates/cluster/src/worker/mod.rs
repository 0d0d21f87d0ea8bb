//! A worker: it holds a lease, runs attempts on its cores, and tells what they leave until that is committed.
//!
//! ```text
//! registration  searching ── Register ──► asked ── Registered ──► registered ── manager lost ──► searching, under the same grant
//! fitness       healthy ⇄ degraded ⇄ draining under pressure; asked to drain ──► draining ──► offline (see `fitness`)
//! attempt       Dispatch ──► accepted ── prepared ──► running ── Ended ──► in the outbox ── Confirmed ──► remembered
//!                  └─► refused                  └── lease over, orphaned too long, newer grant ──► cut off ──► in the outbox
//! ```
//!
//! [`Worker::handle`] takes the time of a clock that counts while the machine sleeps, and an [`Input`]; it appends [`Output`]s, to
//! be done in their order. It is the truth about what runs here, and decides nothing about a job: it obeys the manager with the
//! highest token. Load never outlives the lease: its deadline is handed out with [`Output::Lease`], and every core compares it
//! before each request. What was cut off is reported as such, so that nobody takes it for complete.
//!
//! It must never start an attempt of another grant than its own, start one twice, or forget what an attempt left before somebody
//! confirmed it.

mod attempts;
mod cores;
mod counters;
mod fitness;
mod io;
mod leaders;
mod lease;
mod pace;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_swim::{WorkerLoad, WorkerState};
use hyperscale_types::{BootEpoch, NodeId, Now};

use crate::message::{DispatchRefusal, JobAttempt, ToManager, ToWorker};
use attempts::Running;
use cores::CoreTable;
pub use counters::Counters;
use fitness::Fitness;
pub use fitness::Readings;
pub use io::{Input, Output, Start};
use leaders::Leaders;
use lease::Registration;
use pace::Pace;

/// What could not be done, as there is nobody to tell, is tried again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Who a worker is in this life.
#[derive(Clone, Debug)]
pub struct Options {
    /// This life of the worker.
    pub boot: BootEpoch,
    /// Cores it offers.
    pub cores: u32,
    /// What it can beyond what every worker can.
    pub capabilities: BTreeSet<String>,
    /// Decides everything that is drawn.
    pub seed: u64,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: crate::bugs::Bugs,
}

impl Options {
    /// A worker that can what every worker can.
    pub fn new(boot: BootEpoch, cores: u32, seed: u64) -> Self {
        Self {
            boot,
            cores,
            capabilities: BTreeSet::new(),
            seed,
            #[cfg(feature = "bugs")]
            bugs: crate::bugs::Bugs::default(),
        }
    }
}

/// A worker in one life.
#[derive(Debug)]
pub struct Worker {
    options: Options,
    registration: Registration,
    leaders: Leaders,
    cores: CoreTable,
    attempts: BTreeMap<JobAttempt, Running>,
    /// Attempts that were refused, why and when.
    refused: BTreeMap<JobAttempt, (DispatchRefusal, Now)>,
    pace: Pace,
    readings: Readings,
    fitness: Fitness,
    counters: Counters,
    /// What the host was told last.
    load: Option<WorkerLoad>,
    /// The time that was asked for last.
    timer: Option<Now>,
    /// Everything is over, its lease too.
    has_left: bool,
}

impl Worker {
    /// A worker that starts. It does nothing before it hears of a manager.
    pub fn new(options: Options) -> Self {
        Self {
            registration: Registration::new(&options),
            leaders: Leaders::new(&options),
            cores: CoreTable::new(options.cores),
            attempts: BTreeMap::new(),
            refused: BTreeMap::new(),
            pace: Pace::default(),
            readings: Readings::default(),
            fitness: Fitness::default(),
            counters: Counters::default(),
            load: None,
            timer: None,
            has_left: false,
            options,
        }
    }

    /// Takes an input; what is to be done is appended to `out`.
    pub fn handle(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Timer => self.timer = None,
            Input::ManagerSeen(manager) => {
                self.registration.seen(manager);
                self.leaders.seen(manager);
            }
            Input::ManagerGone(manager) => {
                self.registration.gone(manager);
                self.leaders.gone(now, manager);
            }
            Input::Message { from, message } => self.message(now, from, message, out),
            Input::Report { attempt, report } => self.report(attempt, report),
            Input::Window { attempt, window } => self.window(attempt, window),
            Input::Ended { attempt, left } => self.ended(attempt, left),
            Input::Readings(readings) => self.readings = readings,
            Input::Drain => self.leave(),
        }
        self.pass_time(now, out);
    }

    fn leave(&mut self) {
        if self.fitness != Fitness::Offline {
            self.fitness = Fitness::Leaving;
        }
    }

    /// Cores that are promised to nobody.
    pub fn cores_free(&self) -> u32 {
        self.cores.free()
    }

    /// Whether it has a lease that it may use.
    pub fn is_usable(&self, now: Now) -> bool {
        self.registration.is_usable(now)
    }

    /// What it is fit for.
    pub fn state(&self) -> WorkerState {
        if self.registration.is_granted() || self.fitness.is_draining() {
            self.fitness.state()
        } else {
            WorkerState::Registering
        }
    }

    /// What it says of itself.
    pub fn load(&self) -> WorkerLoad {
        let Readings { cpu_percent, memory_percent, lhm } = self.readings;
        let running = self.attempts.iter().filter(|(_, running)| running.runs());
        let digest = running.clone().fold(0_u64, |sum, (attempt, _)| sum.wrapping_add(attempt.digest()));
        WorkerLoad {
            state: self.state(),
            cores_total: u16::try_from(self.options.cores).unwrap_or(u16::MAX),
            cores_available: u16::try_from(self.cores.free()).unwrap_or(u16::MAX),
            queue_depth: self.queue_depth(),
            cpu_percent,
            memory_percent,
            segments: running.count() as u32,
            segments_digest: digest,
            lhm,
        }
    }

    /// What was taken and is still prepared, and ends that nobody has confirmed.
    fn queue_depth(&self) -> u32 {
        self.attempts.values().filter(|running| running.is_queued()).count() as u32
    }

    /// Judges what it is fit for, and tells the host if that, or what it has, is another than before.
    fn judge(&mut self, now: Now, out: &mut Vec<Output>) {
        let is_idle = !self.attempts.values().any(Running::runs);
        self.fitness = self.fitness.judge(now, self.readings, self.queue_depth(), is_idle);
        let load = self.load();
        if self.load.as_ref() != Some(&load) {
            self.load = Some(load.clone());
            out.push(Output::Load(Box::new(load)));
        }
    }

    fn message(&mut self, now: Now, from: NodeId, message: ToWorker, out: &mut Vec<Output>) {
        match message {
            ToWorker::Registered { call, grant, lease, managers } => {
                for manager in managers {
                    self.registration.named(manager);
                }
                if self.registration.registered(from, call, grant, lease) {
                    self.cut_off_other_grants(grant, out);
                }
            }
            ToWorker::Renewed { call, grant, answer } => {
                if self.registration.renewed(now, from, call, grant, answer) {
                    self.cut_off_all(out);
                }
            }
            ToWorker::Dispatch(dispatch) => self.dispatch(now, from, &dispatch, out),
            ToWorker::Direct { attempt, token, grant, decisions, directive } => {
                if self.obeys(now, (from, token), attempt.job, out) {
                    self.direct(now, (from, token), (attempt, grant), (decisions, directive), out);
                }
            }
            ToWorker::LeaderChanged { job, token } => self.leader_changed(now, (from, token), job, out),
            ToWorker::Confirmed { attempt } => self.confirmed(now, attempt),
            ToWorker::Backpressure(level) => self.pace.heard(now, from, level),
            ToWorker::Drain { grant } => {
                if self.registration.has_grant(grant) {
                    self.leave();
                }
            }
        }
    }

    /// What follows from the time alone, and when to look again.
    fn pass_time(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.has_left {
            return;
        }
        if self.registration.has_lapsed(now) {
            self.cut_off_all(out);
        }
        self.cut_off_orphans(now, out);
        if self.fitness == Fitness::Leaving && self.attempts.values().all(Running::is_settled) {
            self.fitness = Fitness::Offline;
            self.registration.give_back(now);
        }
        self.judge(now, out);
        // It stays until its lease is over: what was assigned to it before the log knew that it drains is still to be refused.
        if self.fitness == Fitness::Offline && !self.is_usable(now) {
            self.has_left = true;
            return out.push(Output::Offline);
        }
        let load = self.load();
        let attempts = self.statuses(None);
        let Options { boot, cores, capabilities, .. } = &self.options;
        let registers = |call, grant| ToManager::Register {
            call,
            boot: *boot,
            cores: *cores,
            capabilities: capabilities.clone(),
            grant,
            attempts: attempts.clone(),
        };
        self.registration.keep(now, registers, &load, out);
        self.forget_settled(now);
        self.pace.forget(now);
        self.send_progress(now, out);
        self.tell_ends(now, out);
        self.set_timer(now, out);
    }

    fn set_timer(&mut self, now: Now, out: &mut Vec<Output>) {
        let level = self.pace.level();
        let attempts = self.attempts.values().filter_map(|running| running.next_timer(level));
        let others = self.leaders.next_timer().into_iter().chain(self.fitness.next_timer());
        let next = self.registration.next_timer(now).into_iter().chain(attempts).chain(others).min();
        let Some(next) = next.filter(|next| *next < Now::NEVER) else { return };
        // What is due and was not done has nobody to be told to.
        let next = if next > now { next } else { now.plus(LOOK_AGAIN) };
        if self.timer.is_none_or(|timer| next < timer) {
            self.timer = Some(next);
            out.push(Output::Timer(next));
        }
    }
}
