//! `hyperscale tasks watch`: shows the tree of a task until it has ended. Ctrl-C detaches; the tasks run on.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_api::{Client, TaskEvent};
use hyperscale_tasks::domain::{Status, TaskId, TreeCounts};
use hyperscale_types::ExitCode;
use tokio::time::{MissedTickBehavior, interval};

use super::super::interrupts::Interrupts;
use super::tree;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::Tree;

/// How often the progress of what runs is looked at.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// Follows a tree; the exit code says how it ended.
pub(super) async fn watch(
    client: &Client,
    task: TaskId,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let mut interrupts = Interrupts::listen()?;
    let first = tree::read(client, task).await?;
    let names = first.tasks.iter().map(|task| (task.task.id, task.task.name.clone())).collect();
    let mut screen = Screen { names, progress: BTreeMap::new(), printer };
    let mut events = client.task_events(first.tree.to_string(), None);
    let mut ticks = interval(PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = events.next() => match event.map_err(RemoteError::from)? {
                Some(event) => screen.show(&event),
                None => break,
            },
            _ = ticks.tick() => screen.show_progress(&tree::read(client, task).await?),
            _ = interrupts.next() => {
                printer.note(format_args!("detached; the tasks run on: hyperscale tasks watch {task}"));
                return Ok(ExitCode::Cancelled);
            }
        }
    }
    let ended = tree::read(client, task).await?;
    tree::show(&ended, settings, printer)?;
    Ok(exit_code(&ended))
}

/// What is told while a tree runs: a line on stderr for each event, and for progress that was made.
struct Screen {
    names: BTreeMap<TaskId, String>,
    progress: BTreeMap<TaskId, String>,
    printer: Printer,
}

impl Screen {
    fn show(&self, event: &TaskEvent) {
        let task: Option<TaskId> = event.data["task"].as_str().and_then(|id| id.parse().ok());
        let name = task.and_then(|task| self.names.get(&task)).map_or("?", String::as_str);
        let node = event.data["node"].as_str().map(|node| format!(" on {node}")).unwrap_or_default();
        let details = event.data["details"].as_str().map(|text| format!(": {text}")).unwrap_or_default();
        // That a task was claimed is told when it starts.
        if event.kind != "assigned" {
            self.printer.note(format_args!("{name} {}{node}{details}", event.kind.replace('_', " ")));
        }
    }

    fn show_progress(&mut self, tree: &Tree) {
        for task in tree.tasks.iter().map(|task| &task.task).filter(|task| task.status == Status::InProgress)
        {
            let Some(part) = task.progress else { continue };
            let shown = format!("{:.0} %", part * 100.0);
            if self.progress.get(&task.id) != Some(&shown) {
                self.printer.note(format_args!("{} {shown}", task.name));
                self.progress.insert(task.id, shown);
            }
        }
    }
}

/// How a tree ended.
fn exit_code(tree: &Tree) -> ExitCode {
    match TreeCounts::of(&tree.tasks).status() {
        Status::Failed => ExitCode::Failed,
        Status::Cancelled => ExitCode::Cancelled,
        _ => ExitCode::Ok,
    }
}
