//! The state of a job and everything that changes it.

use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hyperscale_plan::cores::{self, Claim, Claimed, CoreGroup, Pool};
use hyperscale_plan::load::Share;
use hyperscale_plan::model::Plan;
use hyperscale_stats::Series;
use hyperscale_stats::result::{Change, Status};
use hyperscale_types::limits;
use tokio::sync::mpsc;

use super::context;
use super::held::{Cpu, Held};
use super::started::started;
use super::workflow::{State, WorkflowRun};
use crate::control::StopPhase;
use crate::core::thread::{self as core_thread, Work};
use crate::core::{Failure, JobFacts, Message, Segment};
use crate::data::DataFile;
use crate::event::{Event, WorkflowState};
use crate::layout::Part;
use crate::machine;
use crate::run::RunOptions;

/// Between "all cores are prepared" and the first start, so that every core begins at the same moment.
const GO_AFTER: Duration = Duration::from_millis(5);

/// Why a job ends before its plan does. Ordered by what wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stopped {
    pub(super) phase: StopPhase,
    /// A word for the result: `interrupted`, `threshold`, `check`, or the caller's reason.
    pub(super) reason: String,
}

/// A job while it runs.
pub(crate) struct Job {
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    pub(super) facts: Arc<JobFacts>,
    data: Arc<[Option<Arc<DataFile>>]>,
    messages: mpsc::Sender<Message>,
    pub(super) events: mpsc::Sender<Event>,
    /// Snapshots that the face was too slow for since the last one it got.
    pub(super) missed: u64,
    pub(super) runs: Vec<WorkflowRun>,
    pub(super) series: Series,
    pub(super) stopped: Option<Stopped>,
    /// CPUs that nobody holds.
    free: Vec<Cpu>,
    threads: Vec<thread::JoinHandle<()>>,
    pub(super) paused: bool,
    /// What was changed from outside, in order, and how much of it is not listed.
    pub(super) changes: Vec<Change>,
    pub(super) changes_left_out: u64,
}

impl Job {
    pub(crate) fn new(
        plan: Arc<Plan>,
        options: RunOptions,
        facts: Arc<JobFacts>,
        data: Arc<[Option<Arc<DataFile>>]>,
        messages: mpsc::Sender<Message>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let cpus = machine::cpus();
        let pinned = options.cores as usize <= cpus.len();
        let free = (0..options.cores as usize).rev().map(|at| pinned.then(|| cpus[at])).collect();
        Job {
            runs: plan.workflows.iter().map(WorkflowRun::new).collect(),
            plan,
            options,
            facts,
            data,
            messages,
            events,
            missed: 0,
            series: Series::new(),
            stopped: None,
            free,
            threads: Vec::new(),
            paused: false,
            changes: Vec::new(),
            changes_left_out: 0,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.runs.iter().all(|run| run.ended().is_some())
    }

    /// Tells the faces what will be run, and begins.
    pub(crate) fn start(&mut self) {
        let started = started(&self.plan, &self.options);
        self.emit(Event::Started(Box::new(started)));
        self.schedule();
    }

    /// When [`Job::schedule`] has to be called again at the latest.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        let now = Instant::now();
        let delayed = self.runs.iter().filter_map(|run| match run.state {
            State::Delayed { until } if until > now => Some(until),
            _ => None,
        });
        delayed.min()
    }

    /// Moves every workflow on that can move.
    pub(crate) fn schedule(&mut self) {
        for at in 0..self.runs.len() {
            if matches!(self.runs[at].state, State::Pending) {
                self.check_dependencies(at);
            }
        }
        let now = Instant::now();
        let ready: Vec<usize> = (0..self.runs.len())
            .filter(|at| matches!(self.runs[*at].state, State::Delayed { until } if until <= now))
            .collect();
        let claims: Vec<Claim> = ready.iter().map(|at| Claim::of(&self.plan.workflows[*at])).collect();
        let pool = Pool { total: self.options.cores, free: self.free.len() as u32 };
        for group in cores::plan_batch(pool, &self.claimed(), &claims).groups {
            self.begin_group(&ready, &group);
        }
        for (at, claim) in ready.into_iter().zip(&claims) {
            self.tell_waiting(at, claim);
        }
    }

    /// The cores that workflows hold.
    fn claimed(&self) -> Vec<Claimed> {
        let runs = self.plan.workflows.iter().zip(&self.runs);
        runs.map(|(workflow, run)| Claimed { priority: workflow.priority, cores: run.held.count() }).collect()
    }

    /// Says once that a workflow which could begin has to wait for cores.
    fn tell_waiting(&mut self, at: usize, claim: &Claim) {
        let run = &mut self.runs[at];
        if matches!(run.state, State::Delayed { .. }) && !std::mem::replace(&mut run.told_waiting, true) {
            let cores = claim.bounds(self.options.cores).least;
            self.emit(Event::Workflow { name: claim.name.clone(), state: WorkflowState::Waiting { cores } });
        }
    }

    /// A pending workflow: skipped, failed, or on its way.
    fn check_dependencies(&mut self, at: usize) {
        let workflow = &self.plan.workflows[at];
        if self.stopped.is_some() {
            return self.end(
                at,
                Status::Cancelled,
                self.stopped.as_ref().map(|stopped| stopped.reason.clone()),
            );
        }
        for &dependency in &workflow.depends {
            match self.runs[dependency].ended() {
                Some(Status::Completed) => {}
                Some(status) => {
                    let name = &self.plan.workflows[dependency].name;
                    return self.end(at, Status::Skipped, Some(format!("{name} {}", status.as_str())));
                }
                None => return,
            }
        }
        match context::gather(&self.plan, &self.runs, workflow) {
            Ok(values) => {
                self.runs[at].context_in = values.into();
                self.runs[at].state =
                    State::Delayed { until: Instant::now() + workflow.start_after.to_duration() };
            }
            Err(failure) => self.fail(at, 0, failure),
        }
    }

    /// Gives the members of a group their cores and starts them.
    fn begin_group(&mut self, ready: &[usize], group: &CoreGroup) {
        let held = Held::take(&mut self.free, group);
        for (member, held) in group.members.iter().zip(held) {
            self.begin(ready[member.index], member.cores, held);
        }
    }

    /// Starts a workflow's set-up or its load.
    fn begin(&mut self, at: usize, cores: u32, held: Held) {
        let run = &mut self.runs[at];
        run.held = held;
        run.cores = cores;
        self.emit(Event::Workflow {
            name: self.plan.workflows[at].name.clone(),
            state: WorkflowState::Preparing { cores },
        });
        if self.plan.workflows[at].setup.is_empty() {
            self.begin_load(at);
        } else {
            self.runs[at].state = State::Setup;
            self.spawn(at, 0, 1, Work::Once(Part::Setup));
        }
    }

    fn begin_load(&mut self, at: usize) {
        let cores = self.runs[at].cores;
        self.runs[at].state = State::Preparing { missing: cores };
        self.runs[at].alive = cores;
        for core in 0..cores {
            self.spawn(at, core, cores, Work::Load);
        }
    }

    fn spawn(&mut self, at: usize, core: u32, cores: u32, work: Work) {
        let workflow = &self.plan.workflows[at];
        let before = self.plan.workflows[..at].iter().map(hyperscale_plan::model::Workflow::vus_max).sum();
        let run = &mut self.runs[at];
        let (spare_sender, spare) = std_mpsc::channel();
        if work == Work::Load {
            run.spare.push(spare_sender);
        }
        let segment = Segment {
            plan: Arc::clone(&self.plan),
            workflow: at,
            layout: Arc::clone(&run.layout),
            bases: run.bases,
            share: Share { core, cores, vus: workflow.vus_max() },
            cpu: run.held.cpu((work == Work::Load).then_some(core)),
            vus_before: before,
            job: Arc::clone(&self.facts),
            context: Arc::clone(&run.context_in),
            setup: Arc::clone(&run.setup),
            data: Arc::clone(&self.data),
            directive: run.directive.subscribe(),
            messages: self.messages.clone(),
            tick: limits::WINDOW.to_duration(),
            spare,
        };
        match core_thread::spawn(segment, work) {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                let message = format!("no thread for a core: {error}");
                self.fail(at, core, Failure { reason: "engine", message, step: None });
            }
        }
    }

    /// A core said something.
    pub(crate) fn message(&mut self, message: Message) {
        match message {
            Message::Window { workflow, core, window } => {
                self.series.add(&window);
                self.runs[workflow].window(core, window);
            }
            Message::Prepared { workflow } => self.prepared(workflow),
            Message::Finishing { workflow } => {
                // Every core says so; people are told once.
                if std::mem::replace(&mut self.runs[workflow].finishing, true) {
                    return;
                }
                let name = self.plan.workflows[workflow].name.clone();
                self.emit(Event::Workflow { name, state: WorkflowState::Finishing });
            }
            Message::Done { workflow, core, ending } => {
                let run = &mut self.runs[workflow];
                run.provided.extend(ending.provided);
                run.count_vus(&ending.vus);
                if let Some(failure) = ending.stopped {
                    self.stop_test(workflow, failure);
                }
                self.core_done(workflow, core);
            }
            Message::StopTest { workflow, failure } => self.stop_test(workflow, failure),
            Message::Failed { workflow, core, failure } => self.fail(workflow, core, failure),
            Message::OnceDone { workflow, part, outcome } => self.once_done(workflow, part, outcome),
        }
    }

    /// A check of a workflow ends the whole job.
    fn stop_test(&mut self, at: usize, failure: Failure) {
        self.runs[at].failure.get_or_insert(failure);
        self.stop(StopPhase::Cancelling, "check");
    }

    fn prepared(&mut self, at: usize) {
        let run = &mut self.runs[at];
        let State::Preparing { missing } = &mut run.state else { return };
        *missing -= 1;
        if *missing > 0 {
            return;
        }
        let go = Instant::now() + GO_AFTER;
        run.load_began = Some(go);
        run.state = State::Running;
        run.pause(self.paused);
        run.directive.send_modify(|directive| directive.go = Some(go));
        let name = self.plan.workflows[at].name.clone();
        self.emit(Event::Workflow { name, state: WorkflowState::Running });
    }

    /// One core of a workflow has ended; its CPU is free at once.
    fn core_done(&mut self, at: usize, core: u32) {
        let run = &mut self.runs[at];
        run.alive = run.alive.saturating_sub(1);
        self.free.extend(run.held.core_ended(core));
        if run.alive == 0 {
            self.load_ended(at);
        }
    }

    fn load_ended(&mut self, at: usize) {
        self.runs[at].load_ended = Some(Instant::now());
        let aborted = self.stopped.as_ref().is_some_and(|stopped| stopped.phase == StopPhase::Aborted);
        if self.plan.workflows[at].teardown.is_empty() || aborted {
            return self.conclude(at);
        }
        let run = &mut self.runs[at];
        run.state = State::Teardown;
        // The tear-down also runs after a cancel.
        run.directive = tokio::sync::watch::Sender::new(crate::control::Directive::default());
        self.spawn(at, 0, 1, Work::Once(Part::Teardown));
    }

    fn once_done(&mut self, at: usize, part: Part, outcome: Result<Vec<minijinja::Value>, Failure>) {
        if let Err(failure) = &outcome
            && failure.reason == "check"
        {
            self.stop_test(at, failure.clone());
        }
        match (part, outcome) {
            (Part::Setup, Ok(values)) if self.stopped.is_none() => {
                self.runs[at].setup = values.into();
                self.begin_load(at);
            }
            (Part::Setup, Ok(_)) => self.load_ended(at),
            (Part::Setup, Err(failure)) => {
                // One that was told to stop did not fail.
                if !self.runs[at].stopped {
                    self.runs[at].failure.get_or_insert(failure);
                }
                self.load_ended(at);
            }
            (_, Ok(_)) => self.conclude(at),
            (_, Err(failure)) => {
                // A failed tear-down is shown, but the load's result stands.
                self.runs[at].failure.get_or_insert(failure);
                self.conclude(at);
            }
        }
    }

    /// Everything of a workflow has run: what became of it?
    fn conclude(&mut self, at: usize) {
        let workflow = &self.plan.workflows[at];
        let run = &mut self.runs[at];
        if run.vus.started > 0 && run.vus.failed == run.vus.started {
            let message = "vu_setup failed for every virtual user".to_owned();
            run.failure.get_or_insert(Failure { reason: "vu_setup", message, step: None });
        }
        let failure = run.failure.clone().filter(|failure| failure.reason != "teardown");
        if let Some(failure) = failure {
            return self.end(at, Status::Failed, Some(failure.reason.to_owned()));
        }
        if let Some(stopped) = &self.stopped
            && run.stopped
        {
            return self.end(at, Status::Cancelled, Some(stopped.reason.clone()));
        }
        match context::collect(workflow, run) {
            Ok(values) => {
                self.runs[at].context_out = values;
                self.end(at, Status::Completed, None);
            }
            Err(failure) => self.fail(at, 0, failure),
        }
    }

    /// A core of a workflow cannot go on. If others of it are still running they are stopped; it ends when they have.
    fn fail(&mut self, at: usize, core: u32, failure: Failure) {
        let run = &mut self.runs[at];
        let reason = failure.reason;
        run.failure.get_or_insert(failure);
        match &run.state {
            State::Preparing { .. } | State::Running => {
                run.advance(StopPhase::Cancelling);
                self.core_done(at, core);
            }
            State::Ended { .. } => {}
            State::Setup => self.load_ended(at),
            State::Pending | State::Delayed { .. } | State::Teardown => {
                self.end(at, Status::Failed, Some(reason.to_owned()));
            }
        }
    }

    pub(super) fn end(&mut self, at: usize, status: Status, reason: Option<String>) {
        let run = &mut self.runs[at];
        self.free.extend(run.held.give_up());
        run.state = State::Ended { status, reason: reason.clone() };
        let name = self.plan.workflows[at].name.clone();
        self.emit(Event::Workflow { name, state: WorkflowState::Ended { status, reason } });
    }

    pub(super) fn emit(&mut self, event: Event) {
        // A face that is too slow or gone misses it; the result says everything.
        drop(self.events.try_send(event));
    }

    /// Waits for the threads, which have all sent their last message, and makes the result.
    pub(crate) fn finish(mut self) -> hyperscale_stats::result::RunResult {
        for thread in self.threads.drain(..) {
            // A panic of a core was already reported as a failure of its workflow.
            drop(thread.join());
        }
        let result = super::result::build(&self);
        drop(self.events.try_send(Event::Finished(Box::new(result.clone()))));
        result
    }
}
