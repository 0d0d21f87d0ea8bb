//! `hyperscale tasks get`: one task with its inputs and its result.

use std::fmt::Write as _;

use hyperscale_api::Client;
use hyperscale_tasks::domain::Task;
use hyperscale_types::ExitCode;
use serde_json::Value;

use super::task_id;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{OfTask, shown_time};

/// Shows a task.
pub(super) async fn get(
    client: &Client,
    task: &str,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let params = OfTask { task: task_id(task)? };
    let task: Task = client.tasks("tasks.get", &params).await.map_err(RemoteError::from)?;
    show(&task, settings, printer)?;
    Ok(ExitCode::Ok)
}

/// Shows everything about a task.
pub(super) fn show(task: &Task, settings: Settings, printer: Printer) -> Result<(), CommandError> {
    let shown = if settings.output.json { printer.json(task) } else { printer.data(&text(task)) };
    shown.map_err(CommandError::Output)
}

fn text(task: &Task) -> String {
    let mut text = format!("{}  {}\n", task.id, task.name);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "  {name:<10}  {value}");
        }
    };
    let json = |value: &Value| value.to_string();
    line("status", Some(task.status.as_str().to_owned()));
    line("executor", Some(task.executor.clone()));
    line("tree", Some(task.tree.to_string()));
    line("attempts", Some(format!("{} of {}", task.failures + task.crashes, task.max_attempts)));
    line("node", task.last_assigned_node.clone());
    line("created", Some(shown_time(task.created_at)));
    line("started", task.started_at.map(shown_time));
    line("ended", task.completed_at.map(shown_time));
    line("progress", task.progress.map(|part| format!("{:.0} %", part * 100.0)));
    line("waits for", (task.unmet_deps > 0).then(|| format!("{} tasks", task.unmet_deps)));
    line("unplaceable", task.unplaceable.clone());
    line("inputs", Some(json(&task.inputs)));
    line("result", task.result.as_ref().map(json));
    line("error", task.error.clone());
    text
}
