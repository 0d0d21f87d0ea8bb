//! What a run says while it runs, where there is no live screen: changes of state, and a line every few seconds.

use std::time::Duration;

use hyperscale_engine::Event;
use hyperscale_engine::event::{Snapshot, WorkflowState};
use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_report::{Progress, progress_line};
use hyperscale_stats::result::Status;
use hyperscale_types::Name;

use crate::printer::Printer;

/// Seconds between two lines; the first comes with the first snapshot, after one second.
const EVERY_S: f64 = 5.0;
/// Snapshots come a little after their second.
const SLACK_S: f64 = 0.5;

/// Writes the progress of one run.
pub(crate) struct ProgressLog {
    printer: Printer,
    planned: Option<Duration>,
    workflows: Vec<(String, Status)>,
    next_s: f64,
}

impl ProgressLog {
    /// Nothing has happened yet.
    pub(crate) fn new(plan: &Plan, printer: Printer) -> Self {
        let pending = |name: &Name| (name.to_string(), Status::Pending);
        Self {
            printer,
            planned: planned(plan),
            workflows: plan.workflows.iter().map(|workflow| pending(&workflow.name)).collect(),
            next_s: 0.0,
        }
    }

    /// Tells what is worth telling.
    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Workflow { name, state } => self.workflow(&name, state),
            Event::Snapshot(snapshot) => self.snapshot(&snapshot),
            Event::Abort { rule } => self.printer.note(format_args!("threshold failed, stopping: {rule}")),
            Event::Changed { what } => self.printer.note(what),
            Event::Finished(_) => {}
        }
    }

    fn workflow(&mut self, name: &Name, state: WorkflowState) {
        let (status, text) = match state {
            WorkflowState::Preparing { cores } => {
                (Status::Assigned, format!("preparing on {}", count(cores, "core")))
            }
            WorkflowState::Running => (Status::Running, "running".to_owned()),
            WorkflowState::Finishing => (Status::Completing, "finishing".to_owned()),
            WorkflowState::Ended { status, reason } => {
                let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                (status, format!("{}{reason}", status.as_str()))
            }
        };
        let Some((_, known)) = self.workflows.iter_mut().find(|(known, _)| *name == **known) else { return };
        // Every core says when it finishes; people want to know once.
        if *known != status {
            *known = status;
            self.printer.note(format_args!("{name}: {text}"));
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        if snapshot.elapsed_s + SLACK_S < self.next_s {
            return;
        }
        self.next_s = ((snapshot.elapsed_s + SLACK_S) / EVERY_S).floor() * EVERY_S + EVERY_S;
        let measured = snapshot.last.filter(|point| point.p50_us > 0.0);
        self.printer.note(progress_line(&Progress {
            elapsed: Duration::from_secs_f64(snapshot.elapsed_s),
            planned: self.planned,
            workflows: self.workflows.clone(),
            vus: snapshot.workflows.iter().map(|workflow| workflow.vus).sum(),
            rate: snapshot.last.map_or(0.0, |point| point.rate),
            p50_us: measured.map(|point| point.p50_us),
            p99_us: measured.map(|point| point.p99_us),
            failed: snapshot.workflows.iter().map(|workflow| workflow.failed).sum(),
        }));
    }
}

fn count(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// How long the plan is meant to last: the longest chain of workflows that wait for each other.
fn planned(plan: &Plan) -> Option<Duration> {
    let length =
        |workflow: &Workflow| Some(workflow.start_after.saturating_add(workflow.planned()?).to_duration());
    let lengths: Vec<Duration> = plan.workflows.iter().map(length).collect::<Option<_>>()?;
    let mut ends = lengths.clone();
    // Dependencies have no cycles, so no chain is longer than there are workflows.
    for _ in &plan.workflows {
        for (at, workflow) in plan.workflows.iter().enumerate() {
            let begin = workflow.depends.iter().map(|dependency| ends[*dependency]).max().unwrap_or_default();
            ends[at] = begin + lengths[at];
        }
    }
    ends.into_iter().max()
}
