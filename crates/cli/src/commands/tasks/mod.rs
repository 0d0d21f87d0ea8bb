//! `hyperscale tasks`: one file per command.

mod cancel;
mod create;
mod events;
mod get;
mod list;
mod retry;
mod tree;
mod watch;

use hyperscale_api::Client;
use hyperscale_tasks::domain::TaskId;
use hyperscale_types::ExitCode;

use crate::args::{ServerArgs, TasksArgs, TasksCommand};
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::DEFAULT_LISTEN;

/// Asks a task node.
pub(crate) async fn tasks(
    args: TasksArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = client(&args.server)?;
    match args.what {
        TasksCommand::Create(args) => create::create(&client, args, settings, printer).await,
        TasksCommand::Get(args) => get::get(&client, &args.task, settings, printer).await,
        TasksCommand::Tree(args) => tree::tree(&client, &args.task, settings, printer).await,
        TasksCommand::List(args) => list::list(&client, args, settings, printer).await,
        TasksCommand::Events(args) => events::events(&client, args, settings, printer).await,
        TasksCommand::Watch(args) => {
            let task = task_id(&args.task)?;
            watch::watch(&client, task, settings, printer).await
        }
        TasksCommand::Cancel(args) => cancel::cancel(&client, args, settings, printer).await,
        TasksCommand::Retry(args) => retry::retry(&client, &args.task, settings, printer).await,
    }
}

/// The client of the node that was named, or of the one on this machine.
pub(super) fn client(args: &ServerArgs) -> Result<Client, CommandError> {
    remote::client_or(args, &format!("http://{DEFAULT_LISTEN}"))
}

/// The id of a task as it was written.
fn task_id(text: &str) -> Result<TaskId, CommandError> {
    text.parse().map_err(|_| RemoteError::TaskId(text.to_owned()).into())
}

/// Lines in columns; the first one has the titles.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
