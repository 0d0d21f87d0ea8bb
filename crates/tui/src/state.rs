//! What the screen shows: the newest snapshot, the history of charts, and what the person has chosen.

use std::collections::BTreeMap;

use hyperscale_stats::event::{Event, Snapshot, Started, Target, WorkflowState};
use hyperscale_stats::result::{RunResult, Status, WorkflowResult};
use hyperscale_types::Name;

use crate::history::History;

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

/// Everything the screen knows.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) mode: Mode,
    pub(crate) started: Option<Box<Started>>,
    /// The last snapshot that came, and the one that is shown: an older one while the screen is frozen.
    pub(crate) newest: Option<Box<Snapshot>>,
    pub(crate) frozen: Option<Box<Snapshot>>,
    pub(crate) finished: Option<Box<RunResult>>,
    /// What workflows said of themselves, for the time before the first snapshot.
    pub(crate) words: BTreeMap<Name, WorkflowState>,
    /// The whole run, and each workflow.
    pub(crate) all: History,
    pub(crate) each: Vec<History>,
    /// 0: the whole run; then the workflows by position, from 1.
    pub(crate) selected: usize,
    pub(crate) scroll: usize,
    pub(crate) sort: Sort,
    pub(crate) dialog: Dialog,
    pub(crate) wished: Wished,
    message: Option<(String, f64)>,
    elapsed_s: f64,
}

impl State {
    /// Nothing has happened yet.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            started: None,
            newest: None,
            frozen: None,
            finished: None,
            words: BTreeMap::new(),
            all: History::default(),
            each: Vec::new(),
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
                self.each = vec![History::default(); started.workflows.len()];
                self.started = Some(started.clone());
            }
            Event::Workflow { name, state } => {
                self.words.insert(name.clone(), state.clone());
            }
            Event::Snapshot(snapshot) => self.snapshot(snapshot),
            Event::Abort { rule } => self.say(&format!("threshold failed, stopping: {rule}")),
            Event::Changed { what } => self.say(what),
            Event::Finished(result) => {
                self.frozen = None;
                self.finished = Some(result.clone());
            }
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        self.elapsed_s = snapshot.result.elapsed_s;
        self.all.add(&snapshot.result.series);
        self.each.resize_with(snapshot.workflows.len(), History::default);
        for (history, live) in self.each.iter_mut().zip(&snapshot.workflows) {
            history.add(&live.series);
        }
        self.wished = Wished::default();
        self.newest = Some(Box::new(snapshot.clone()));
    }

    /// Shows a message for a while.
    pub(crate) fn say(&mut self, message: &str) {
        self.message = Some((message.to_owned(), self.elapsed_s + MESSAGE_S));
    }

    /// The message that is still worth showing.
    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_ref().filter(|(_, until)| self.elapsed_s <= *until).map(|(text, _)| text.as_str())
    }

    /// The snapshot on the screen.
    pub(crate) fn shown(&self) -> Option<&Snapshot> {
        self.frozen.as_deref().or(self.newest.as_deref())
    }

    /// The result so far, or the final one.
    pub(crate) fn result(&self) -> Option<&RunResult> {
        self.finished.as_deref().or_else(|| self.shown().map(|snapshot| &snapshot.result))
    }

    pub(crate) fn freeze(&mut self) {
        self.frozen = if self.frozen.is_some() { None } else { self.newest.clone() };
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.wished.paused.unwrap_or_else(|| self.newest.as_ref().is_some_and(|newest| newest.paused))
    }

    /// How many workflows there are.
    pub(crate) fn workflows(&self) -> usize {
        self.started.as_ref().map_or(self.each.len(), |started| started.workflows.len())
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
        let live = &self.newest.as_ref()?.workflows;
        let runs = |at: usize| live.get(at).is_some_and(|live| live.target.is_some());
        if let Some(at) = self.selected_workflow() {
            return runs(at).then_some(at);
        }
        let mut running = (0..live.len()).filter(|at| runs(*at));
        running.next().filter(|_| running.next().is_none())
    }

    /// The points on the charts.
    pub(crate) fn history(&self) -> &History {
        self.selected_workflow().and_then(|at| self.each.get(at)).unwrap_or(&self.all)
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
