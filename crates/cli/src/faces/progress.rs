//! What a run says while it runs, where there is no live screen: changes of state, and a line every few seconds.

use std::time::Duration;

use hyperscale_engine::Event;
use hyperscale_engine::event::{Snapshot, Started, WorkflowState};
use hyperscale_report::{Progress, progress_line};
use hyperscale_stats::result::Status;
use hyperscale_types::Name;

use super::Face;
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
    pub(crate) fn new(printer: Printer) -> Self {
        Self { printer, planned: None, workflows: Vec::new(), next_s: 0.0 }
    }

    fn started(&mut self, started: &Started) {
        self.printer.note(format_args!("job {}", started.job));
        self.planned = started.planned_s.and_then(|planned_s| Duration::try_from_secs_f64(planned_s).ok());
        let pending = |name: &Name| (name.to_string(), Status::Pending);
        self.workflows = started.workflows.iter().map(|workflow| pending(&workflow.name)).collect();
    }

    fn workflow(&mut self, name: &Name, state: &WorkflowState) {
        let (status, text) = match state {
            WorkflowState::Waiting { cores } => {
                let cores = count(*cores, "free core");
                (Status::Ready, format!("ready, waiting_for_cores: needs {cores}, which others have"))
            }
            WorkflowState::Preparing { cores } => {
                (Status::Assigned, format!("preparing on {}", count(*cores, "core")))
            }
            WorkflowState::Running => (Status::Running, "running".to_owned()),
            WorkflowState::Finishing => (Status::Completing, "finishing".to_owned()),
            WorkflowState::Ended { status, reason } => {
                let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                (*status, format!("{}{reason}", status.as_str()))
            }
        };
        let Some((_, known)) = self.workflows.iter_mut().find(|(known, _)| *name == **known) else { return };
        if *known != status {
            *known = status;
            self.printer.note(format_args!("{name}: {text}"));
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        let elapsed_s = snapshot.result.elapsed_s;
        if elapsed_s + SLACK_S < self.next_s {
            return;
        }
        self.next_s = ((elapsed_s + SLACK_S) / EVERY_S).floor() * EVERY_S + EVERY_S;
        let last = snapshot.result.series.last();
        let measured = last.filter(|point| point.p50_us > 0.0);
        self.printer.note(progress_line(&Progress {
            elapsed: Duration::from_secs(elapsed_s as u64),
            planned: self.planned,
            workflows: self.workflows.clone(),
            vus: snapshot.workflows.iter().map(|workflow| workflow.vus).sum(),
            rate: last.map_or(0.0, |point| point.rate),
            p50_us: measured.map(|point| point.p50_us),
            p99_us: measured.map(|point| point.p99_us),
            failed: snapshot.result.totals.failed,
        }));
    }
}

impl Face for ProgressLog {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Started(started) => self.started(started),
            Event::Workflow { name, state } => self.workflow(name, state),
            Event::Snapshot(snapshot) => self.snapshot(snapshot),
            Event::Abort { rule } => self.printer.note(format_args!("threshold failed, stopping: {rule}")),
            Event::Changed { what, .. } => self.printer.note(what),
            Event::Finished(_) => {}
        }
    }
}

fn count(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
