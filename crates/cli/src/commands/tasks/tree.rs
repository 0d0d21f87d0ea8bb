//! `hyperscale tasks tree`: all tasks of a tree and what they wait for.

use hyperscale_api::Client;
use hyperscale_tasks::domain::{Status, TaskId, TreeTask};
use hyperscale_types::ExitCode;

use super::{table, task_id};
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{OfTask, Tree};

/// Shows the tree of a task.
pub(super) async fn tree(
    client: &Client,
    task: &str,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    show(&read(client, task_id(task)?).await?, settings, printer)?;
    Ok(ExitCode::Ok)
}

pub(super) async fn read(client: &Client, task: TaskId) -> Result<Tree, CommandError> {
    Ok(client.tasks("tasks.tree", &OfTask { task }).await.map_err(RemoteError::from)?)
}

pub(super) fn show(tree: &Tree, settings: Settings, printer: Printer) -> Result<(), CommandError> {
    let shown = if settings.output.json { printer.json(tree) } else { printer.data(&text(tree)) };
    shown.map_err(CommandError::Output)
}

fn text(tree: &Tree) -> String {
    let titles = ["task", "name", "executor", "status", "waits for", "error"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(titles)
        .chain(in_order(&tree.tasks).into_iter().map(|task| row(task, tree)))
        .collect();
    table(&rows)
}

/// Dependencies before what waits for them; the checks of the node allow no cycle.
fn in_order(tasks: &[TreeTask]) -> Vec<&TreeTask> {
    let mut done: Vec<TaskId> = Vec::new();
    let mut left: Vec<&TreeTask> = tasks.iter().collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let (ready, rest): (Vec<&TreeTask>, Vec<&TreeTask>) =
            left.iter().partition(|task| task.depends_on.iter().all(|edge| done.contains(&edge.task)));
        let (ready, rest) = if ready.is_empty() { (rest, Vec::new()) } else { (ready, rest) };
        done.extend(ready.iter().map(|task| task.task.id));
        order.extend(ready);
        left = rest;
    }
    order
}

fn row(tree_task: &TreeTask, tree: &Tree) -> [String; 6] {
    let task = &tree_task.task;
    let name = |id: TaskId| {
        let found = tree.tasks.iter().find(|other| other.task.id == id);
        found.map_or_else(|| id.to_string(), |other| other.task.name.clone())
    };
    let waits: Vec<String> = tree_task.depends_on.iter().map(|edge| name(edge.task)).collect();
    let status = match task.progress {
        Some(part) if task.status == Status::InProgress => format!("in_progress {:.0} %", part * 100.0),
        _ => task.status.as_str().to_owned(),
    };
    let error = task.error.clone().or_else(|| task.unplaceable.clone()).unwrap_or_default();
    [task.id.to_string(), task.name.clone(), task.executor.clone(), status, waits.join(", "), error]
}
