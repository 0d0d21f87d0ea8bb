//! `hyperscale tasks create`: submits a tree of tasks from a file.

use std::fmt::Write as _;

use hyperscale_api::Client;
use hyperscale_types::ExitCode;

use super::watch;
use crate::args::CreateArgs;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::file::TreeFile;
use crate::tasks::view::{Create, Created};

/// Submits, and waits for the end if that is wanted.
pub(super) async fn create(
    client: &Client,
    args: CreateArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let mut file = TreeFile::read(&args.file)?;
    let tree = file.tree()?;
    let idempotency_key = args.idempotency_key.or(tree.idempotency_key);
    let params = Create { tasks: Some(tree.tasks), task: None, idempotency_key };
    let created: Created =
        client.tasks("tasks.create", &params).await.map_err(|error| file.refused(error))?;
    if args.wait {
        printer.note(format_args!("tree {} has {} tasks", created.tree, created.tasks.len()));
        return watch::watch(client, created.tree, settings, printer).await;
    }
    if settings.output.json {
        printer.json(&created).map_err(CommandError::Output)?;
        return Ok(ExitCode::Ok);
    }
    let mut text = format!("{}\n", created.tree);
    for task in &created.tasks {
        let _ = writeln!(text, "  {}  {}", task.id, task.name);
    }
    printer.data(&text).map_err(CommandError::Output)?;
    if !created.is_new {
        printer.note("the tree was submitted before under this key");
    }
    Ok(ExitCode::Ok)
}
