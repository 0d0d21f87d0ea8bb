//! What the screen shows: the newest snapshot, the history of charts, and what the person has chosen.

use std::collections::BTreeMap;

use hyperscale_stats::event::{Event, Snapshot, Started, Target, WorkflowState};
use hyperscale_stats::result::{IterationsResult, RunResult, Status, WorkflowResult};
use hyperscale_types::Name;

use crate::history::History;
use crate::render::steps_hidden;

/// Seconds of the run for which a message is shown.
const MESSAGE_S: f64 = 8.0;

/// Whether the run can still be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is going on.
    Live,
    /// It was recorded.
    Replay,
}

/// What lies over the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialog {
    #[default]
    None,
    Help,
    /// Whether to cancel.
    Cancel,
}

/// The order of the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    #[default]
    Plan,
    Count,
    Failed,
    P99,
}

impl Sort {
    pub(crate) fn next(self) -> Sort {
        match self {
            Sort::Plan => Sort::Count,
            Sort::Count => Sort::Failed,
            Sort::Failed => Sort::P99,
            Sort::P99 => Sort::Plan,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Sort::Plan => "plan",
            Sort::Count => "count",
            Sort::Failed => "failed",
            Sort::P99 => "p99",
        }
    }
}

/// What was asked for and is not yet seen in a snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wished {
    pub(crate) paused: Option<bool>,
    /// By position of the workflow.
    pub(crate) targets: BTreeMap<usize, Target>,
}

/// What charts and tables are drawn from.
#[derive(Clone, Debug, Default)]
struct View {
    snapshot: Option<Box<Snapshot>>,
    /// The whole run over time, and each workflow.
    all: History,
    each: Vec<History>,
}

/// Everything the screen knows.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) mode: Mode,
    pub(crate) started: Option<Box<Started>>,
    /// What has come in so far, and what is shown instead of it while the screen is frozen.
    live: View,
    frozen: Option<Box<View>>,
    finished: Option<Box<RunResult>>,
    /// What workflows said of themselves, for the time before the first snapshot.
    words: BTreeMap<Name, WorkflowState>,
    /// Cells of the terminal, which decide how far the steps can be scrolled.
    size: (u16, u16),
    /// 0: the whole run; then the workflows by position, from 1.
    pub(crate) selected: usize,
    pub(crate) scroll: usize,
    pub(crate) sort: Sort,
    pub(crate) dialog: Dialog,
    pub(crate) wished: Wished,
    message: Option<(String, f64)>,
    elapsed_s: f64,
}

impl View {
    fn add(&mut self, snapshot: &Snapshot) {
        self.all.add(&snapshot.result.series);
        self.each.resize_with(snapshot.workflows.len(), History::default);
        for (history, live) in self.each.iter_mut().zip(&snapshot.workflows) {
            history.add(&live.series);
        }
        self.snapshot = Some(Box::new(snapshot.clone()));
    }
}

impl State {
    /// Nothing has happened yet.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            started: None,
            live: View::default(),
            frozen: None,
            finished: None,
            words: BTreeMap::new(),
            size: (0, 0),
            selected: 0,
            scroll: 0,
            sort: Sort::default(),
            dialog: Dialog::default(),
            wished: Wished::default(),
            message: None,
            elapsed_s: 0.0,
        }
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Started(started) => {
                self.live.each = vec![History::default(); started.workflows.len()];
                self.started = Some(started.clone());
            }
            Event::Workflow { name, state } => {
                self.words.insert(name.clone(), state.clone());
            }
            Event::Snapshot(snapshot) => self.snapshot(snapshot),
            Event::Abort { rule } => self.say(&format!("threshold failed, stopping: {rule}")),
            Event::Changed { what, .. } => self.say(what),
            Event::Finished(result) => self.finished = Some(result.clone()),
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        self.elapsed_s = snapshot.result.elapsed_s;
        self.live.add(snapshot);
        self.wished = Wished::default();
    }

    /// The terminal has this size now.
    pub fn resized(&mut self, width: u16, height: u16) {
        self.size = (width, height);
        self.scroll_by(0);
    }

    /// Moves the steps, never beyond the last one.
    pub(crate) fn scroll_by(&mut self, by: isize) {
        let last = steps_hidden(self, self.size);
        self.scroll = self.scroll.min(last).saturating_add_signed(by).min(last);
    }

    /// Shows a message for a while.
    pub(crate) fn say(&mut self, message: &str) {
        self.message = Some((message.to_owned(), self.elapsed_s + MESSAGE_S));
    }

    /// The message that is still worth showing.
    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_ref().filter(|(_, until)| self.elapsed_s <= *until).map(|(text, _)| text.as_str())
    }

    fn view(&self) -> &View {
        self.frozen.as_deref().unwrap_or(&self.live)
    }

    /// The snapshot on the screen.
    pub(crate) fn shown(&self) -> Option<&Snapshot> {
        self.view().snapshot.as_deref()
    }

    /// The last snapshot that came, whatever is on the screen.
    pub(crate) fn newest(&self) -> Option<&Snapshot> {
        self.live.snapshot.as_deref()
    }

    /// The result so far, or the final one unless the screen was frozen before it came.
    pub(crate) fn result(&self) -> Option<&RunResult> {
        let last = self.finished.as_deref().filter(|_| self.frozen.is_none());
        last.or_else(|| self.shown().map(|snapshot| &snapshot.result))
    }

    pub(crate) fn freeze(&mut self) {
        self.frozen = match (&self.frozen, &self.live.snapshot) {
            (None, Some(_)) => Some(Box::new(self.live.clone())),
            _ => None,
        };
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Whether the run is over and somebody may still be looking: at a frozen screen, or at the end of a recording.
    pub(crate) fn is_held(&self) -> bool {
        self.finished.is_some() && (self.is_frozen() || self.mode == Mode::Replay)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.wished.paused.unwrap_or_else(|| self.newest().is_some_and(|newest| newest.paused))
    }

    /// Whether the run on the screen is paused.
    pub(crate) fn shows_paused(&self) -> bool {
        if self.is_frozen() { self.shown().is_some_and(|shown| shown.paused) } else { self.is_paused() }
    }

    /// How many workflows there are.
    pub(crate) fn workflows(&self) -> usize {
        self.started.as_ref().map_or(self.live.each.len(), |started| started.workflows.len())
    }

    /// Goes round: the whole run, then each workflow. One workflow is the whole run.
    pub(crate) fn select(&mut self, by: isize) {
        let choices = if self.workflows() > 1 { self.workflows() + 1 } else { 1 };
        self.selected = (self.selected + choices).saturating_add_signed(by) % choices;
        self.scroll = 0;
    }

    /// The workflow that charts and tables show; `None`: the whole run.
    pub(crate) fn selected_workflow(&self) -> Option<usize> {
        self.selected.checked_sub(1)
    }

    /// The workflow that `+` and `-` change: the selected one, or the only one whose load runs.
    pub(crate) fn changeable(&self) -> Option<usize> {
        let live = &self.newest()?.workflows;
        let runs = |at: usize| live.get(at).is_some_and(|live| live.target.is_some());
        if let Some(at) = self.selected_workflow() {
            return runs(at).then_some(at);
        }
        let mut running = (0..live.len()).filter(|at| runs(*at));
        running.next().filter(|_| running.next().is_none())
    }

    /// The points on the charts.
    pub(crate) fn history(&self) -> &History {
        let view = self.view();
        self.selected_workflow().and_then(|at| view.each.get(at)).unwrap_or(&view.all)
    }

    /// The points of one workflow.
    pub(crate) fn history_of(&self, at: usize) -> Option<&History> {
        self.view().each.get(at)
    }

    /// Iterations that have begun and not ended: what a target that does not answer holds up.
    pub(crate) fn under_way(&self) -> u64 {
        let ended = |i: &IterationsResult| i.completed + i.failed + i.interrupted;
        let all = self.shown_workflows().into_iter().map(|workflow| &workflow.iterations);
        all.map(|iterations| iterations.started.saturating_sub(ended(iterations))).sum()
    }

    /// Results of the workflows on the screen.
    pub(crate) fn shown_workflows(&self) -> Vec<&WorkflowResult> {
        let all = self.result().map_or(&[][..], |result| &result.workflows);
        match self.selected_workflow() {
            Some(at) => all.get(at).into_iter().collect(),
            None => all.iter().collect(),
        }
    }

    /// Where a workflow is.
    pub(crate) fn status_of(&self, at: usize) -> Status {
        if let Some(workflow) = self.result().and_then(|result| result.workflows.get(at)) {
            return workflow.status;
        }
        let name = self.started.as_ref().and_then(|started| started.workflows.get(at)).map(|plan| &plan.name);
        match name.and_then(|name| self.words.get(name)) {
            None => Status::Pending,
            Some(WorkflowState::Waiting { .. }) => Status::Ready,
            Some(WorkflowState::Preparing { .. }) => Status::Assigned,
            Some(WorkflowState::Running) => Status::Running,
            Some(WorkflowState::Finishing) => Status::Completing,
            Some(WorkflowState::Ended { status, .. }) => *status,
        }
    }
}
