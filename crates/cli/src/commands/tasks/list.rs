//! `hyperscale tasks list`: tasks by state, executor, name or tree.

use hyperscale_api::Client;
use hyperscale_tasks::domain::{Status, Timestamp};
use hyperscale_types::ExitCode;
use serde_json::Value;

use super::{table, task_id};
use crate::args::{ListArgs, TaskStatus};
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{List, TaskList, shown_time};

/// Lists tasks, newest first.
pub(super) async fn list(
    client: &Client,
    args: ListArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let params = List {
        status: args.status.map(status),
        executor: args.executor,
        name: args.name,
        tree: args.tree.as_deref().map(task_id).transpose()?,
        roots: args.roots,
        limit: args.limit,
        after: args.after.as_deref().map(task_id).transpose()?,
    };
    let list: TaskList = client.tasks("tasks.list", &params).await.map_err(RemoteError::from)?;
    if settings.output.json {
        printer.json(&list).map_err(CommandError::Output)?;
    } else if list.tasks.is_empty() {
        printer.note("there are no such tasks");
    } else {
        let titles = ["task", "name", "executor", "status", "created"].map(str::to_owned);
        let rows: Vec<[String; 5]> = std::iter::once(titles).chain(list.tasks.iter().map(row)).collect();
        printer.data(&table(&rows)).map_err(CommandError::Output)?;
        if let Some(next) = list.next {
            printer.note(format_args!("there are more: --after {next}"));
        }
    }
    Ok(ExitCode::Ok)
}

fn status(status: TaskStatus) -> Status {
    match status {
        TaskStatus::Pending => Status::Pending,
        TaskStatus::InProgress => Status::InProgress,
        TaskStatus::Completed => Status::Completed,
        TaskStatus::Failed => Status::Failed,
        TaskStatus::Cancelled => Status::Cancelled,
    }
}

fn row(task: &Value) -> [String; 5] {
    let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
    let created = task["created_at"].as_i64().map(|ms| shown_time(Timestamp(ms))).unwrap_or_default();
    [text("id"), text("name"), text("executor"), text("status"), created]
}
