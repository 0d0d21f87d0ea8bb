//! `hyperscale tasks cancel`: stops a task, or what has not ended of its tree.

use hyperscale_api::Client;
use hyperscale_types::ExitCode;

use super::task_id;
use crate::args::CancelTaskArgs;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{Cancel, Cancelled};

/// Cancels; a task that runs is asked to stop.
pub(super) async fn cancel(
    client: &Client,
    args: CancelTaskArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let params = Cancel { task: task_id(&args.task)?, tree: args.tree };
    let cancelled: Cancelled = client.tasks("tasks.cancel", &params).await.map_err(RemoteError::from)?;
    let shown = if settings.output.json {
        printer.json(&cancelled)
    } else {
        let Cancelled { task, status, requested } = cancelled;
        printer.data(&format!("{task}  {}\n  cancelled or asked to stop: {requested}\n", status.as_str()))
    };
    shown.map_err(CommandError::Output)?;
    Ok(ExitCode::Ok)
}
