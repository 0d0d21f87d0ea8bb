//! `hyperscale tasks retry`: tries a failed task again.

use hyperscale_api::Client;
use hyperscale_tasks::domain::Task;
use hyperscale_types::ExitCode;

use super::{get, task_id};
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::OfTask;

/// Gives a failed task new attempts.
pub(super) async fn retry(
    client: &Client,
    task: &str,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let params = OfTask { task: task_id(task)? };
    let task: Task = client.tasks("tasks.retry", &params).await.map_err(RemoteError::from)?;
    get::show(&task, settings, printer)?;
    Ok(ExitCode::Ok)
}
