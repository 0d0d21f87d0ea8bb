//! `hyperscale schedules pause|resume|delete|trigger`: commands that name a schedule and nothing else.

use hyperscale_api::Client;
use hyperscale_tasks::domain::Schedule;
use hyperscale_types::ExitCode;

use super::list;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{Deleted, OfSchedule, Triggered};

/// Pauses or resumes, by the name of the method.
pub(super) async fn pause(
    client: &Client,
    schedule: String,
    method: &str,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let schedule: Schedule =
        client.tasks(method, &OfSchedule { schedule }).await.map_err(RemoteError::from)?;
    list::show(&schedule, settings, printer)?;
    Ok(ExitCode::Ok)
}

/// Removes a schedule.
pub(super) async fn delete(
    client: &Client,
    schedule: String,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let params = OfSchedule { schedule };
    let deleted: Deleted = client.tasks("schedules.delete", &params).await.map_err(RemoteError::from)?;
    let shown = if settings.output.json {
        printer.json(&deleted)
    } else {
        printer.data(&format!("{} deleted\n", params.schedule))
    };
    shown.map_err(CommandError::Output)?;
    Ok(ExitCode::Ok)
}

/// Submits the tasks of a schedule now.
pub(super) async fn trigger(
    client: &Client,
    schedule: String,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let params = OfSchedule { schedule };
    let triggered: Triggered = client.tasks("schedules.trigger", &params).await.map_err(RemoteError::from)?;
    let shown = if settings.output.json {
        printer.json(&triggered)
    } else {
        printer.data(&format!("{}\n", triggered.tree))
    };
    shown.map_err(CommandError::Output)?;
    Ok(ExitCode::Ok)
}
