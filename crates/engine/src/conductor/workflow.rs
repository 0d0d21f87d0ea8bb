//! The state of one workflow of a running job.
//!
//! ```text
//! pending ─deps ended─► delayed ─start_after, cores─► setup ─► preparing ─all cores─► running ─all cores─► teardown ─► ended
//!    └────────────── skipped, cancelled, failed: straight to ended ──────────────────────────────────────────────┘
//! ```

use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_stats::result::{Status, WorkflowFacts, WorkflowResult, workflow_result};
use hyperscale_stats::{Layout, Pulse, Totals, Window};
use minijinja::Value;
use tokio::sync::watch;

use super::held::Held;
use super::notes;
use crate::control::{Directive, StopPhase};
use crate::core::provide::Provided;
use crate::core::{Failure, VuCounts};
use crate::layout::{Base, Part, layout};

/// Where a workflow is. Each state carries what only it needs.
#[derive(Debug)]
pub(super) enum State {
    /// Waits for its dependencies.
    Pending,
    /// Its dependencies are done; waits for `start_after` and for cores.
    Delayed { until: Instant },
    /// Its set-up runs.
    Setup,
    /// So many of its cores are not prepared yet.
    Preparing { missing: u32 },
    /// Its load runs.
    Running,
    /// Its tear-down runs.
    Teardown,
    /// It is over.
    Ended { status: Status, reason: Option<String> },
}

/// One workflow of a running job.
pub(super) struct WorkflowRun {
    pub(super) state: State,
    pub(super) layout: Arc<Layout>,
    pub(super) bases: [Base; Part::ALL.len()],
    pub(super) totals: Totals,
    /// What only live views need.
    pub(super) pulse: Pulse,
    pub(super) directive: watch::Sender<Directive>,
    /// Where cleared windows go back to, by core.
    pub(super) spare: Vec<std_mpsc::Sender<Box<Window>>>,
    /// CPUs it holds.
    pub(super) held: Held,
    /// Cores it was given, and how many of their threads have not ended.
    pub(super) cores: u32,
    pub(super) alive: u32,
    pub(super) setup: Arc<[Value]>,
    pub(super) context_in: Arc<[Value]>,
    pub(super) provided: Vec<Provided>,
    /// Values for others, by position in `provides`, once it has ended.
    pub(super) context_out: Vec<Option<Value>>,
    pub(super) failure: Option<Failure>,
    /// It was told to stop before its planned end.
    pub(super) stopped: bool,
    /// People were told that no iteration starts any more.
    pub(super) finishing: bool,
    /// People were told that it waits for cores.
    pub(super) told_waiting: bool,
    /// What became of its virtual users, of all cores that have ended.
    pub(super) vus: VuCounts,
    pub(super) load_began: Option<Instant>,
    pub(super) load_ended: Option<Instant>,
    /// How long its load stood still, pauses that are over.
    pub(super) paused_for: Duration,
    /// Since when it stands still.
    pub(super) paused_at: Option<Instant>,
}

impl WorkflowRun {
    pub(super) fn new(workflow: &Workflow) -> Self {
        let (layout, bases) = layout(workflow);
        let layout = Arc::new(layout);
        WorkflowRun {
            state: State::Pending,
            totals: Totals::new(&layout),
            pulse: Pulse::default(),
            layout,
            bases,
            directive: watch::Sender::new(Directive::default()),
            spare: Vec::new(),
            held: Held::default(),
            cores: 0,
            alive: 0,
            setup: Arc::default(),
            context_in: Arc::default(),
            provided: Vec::new(),
            context_out: Vec::new(),
            failure: None,
            stopped: false,
            finishing: false,
            told_waiting: false,
            vus: VuCounts::default(),
            load_began: None,
            load_ended: None,
            paused_for: Duration::ZERO,
            paused_at: None,
        }
    }

    /// The status it ended with.
    pub(super) fn ended(&self) -> Option<Status> {
        match &self.state {
            State::Ended { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether it has something running on cores.
    pub(super) fn is_active(&self) -> bool {
        matches!(self.state, State::Setup | State::Preparing { .. } | State::Running | State::Teardown)
    }

    /// Tells its cores to move on towards the end, never back.
    pub(super) fn advance(&mut self, phase: StopPhase) {
        // Set-up and preparation have nothing to finish: they are cancelled.
        let phase = match self.state {
            State::Setup | State::Preparing { .. } => phase.max(StopPhase::Cancelling),
            _ => phase,
        };
        self.stopped = true;
        self.directive.send_modify(|directive| directive.phase = directive.phase.max(phase));
    }

    /// How long its load has been running, or ran.
    pub(super) fn elapsed(&self) -> Duration {
        match (self.load_began, self.load_ended) {
            (Some(began), Some(ended)) => ended.saturating_duration_since(began),
            (Some(began), None) => began.elapsed(),
            (None, _) => Duration::ZERO,
        }
    }

    /// How far the load curve has come: a paused one stands still.
    pub(super) fn load_clock(&self) -> Duration {
        let standing = self.paused_at.map(|at| at.elapsed()).unwrap_or_default();
        self.elapsed().saturating_sub(self.paused_for + standing)
    }

    /// Lets its load stand still, or go on.
    pub(super) fn pause(&mut self, paused: bool) {
        match (paused, self.paused_at) {
            (true, None) => self.paused_at = Some(Instant::now()),
            (false, Some(at)) => {
                self.paused_for += at.elapsed();
                self.paused_at = None;
            }
            _ => {}
        }
        self.directive.send_modify(|directive| directive.paused = paused);
    }

    /// Takes a window in and sends it back empty.
    pub(super) fn window(&mut self, core: u32, mut window: Box<Window>) {
        self.totals.add(&window);
        self.pulse.add(&window);
        window.clear();
        if let Some(spare) = self.spare.get(core as usize) {
            // The core may have ended; then the window is simply freed.
            drop(spare.send(window));
        }
    }

    /// Adds what became of a core's virtual users.
    pub(super) fn count_vus(&mut self, of_core: &VuCounts) {
        self.vus.started += of_core.started;
        self.vus.failed += of_core.failed;
        let length = self.vus.out_of_rows.len().max(of_core.out_of_rows.len());
        self.vus.out_of_rows.resize(length, 0);
        self.vus.out_of_rows.iter_mut().zip(&of_core.out_of_rows).for_each(|(all, here)| *all += here);
    }

    /// Where it is, in the words of the result.
    pub(super) fn status(&self) -> Status {
        match &self.state {
            State::Ended { status, .. } => *status,
            State::Pending => Status::Pending,
            State::Delayed { .. } => Status::Ready,
            State::Setup | State::Preparing { .. } => Status::Assigned,
            State::Running => self.running_status(),
            State::Teardown => Status::Completing,
        }
    }

    pub(super) fn result(&self, plan: &Plan, workflow: &Workflow) -> WorkflowResult {
        let reason = if let State::Ended { reason, .. } = &self.state { reason.clone() } else { None };
        let facts = WorkflowFacts {
            name: workflow.name.clone(),
            status: self.status(),
            reason,
            elapsed: self.elapsed(),
            vus: u64::from(workflow.vus_max()),
            cores: self.cores,
        };
        WorkflowResult { notes: notes::notes(plan, workflow, self), ..workflow_result(facts, &self.totals) }
    }

    fn running_status(&self) -> Status {
        match self.directive.borrow().phase {
            StopPhase::Running if !self.finishing => Status::Running,
            StopPhase::Running | StopPhase::Finishing => Status::Completing,
            StopPhase::Cancelling | StopPhase::Aborted => Status::Cancelling,
        }
    }
}
