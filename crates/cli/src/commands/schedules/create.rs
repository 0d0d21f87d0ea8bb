//! `hyperscale schedules create`: stores a schedule from a file.

use hyperscale_api::Client;
use hyperscale_tasks::domain::Schedule;
use hyperscale_types::ExitCode;

use super::list;
use crate::args::CreateScheduleArgs;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::file::TreeFile;

/// Stores a schedule; one of the same name is replaced.
pub(super) async fn create(
    client: &Client,
    args: &CreateScheduleArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let mut file = TreeFile::read(&args.file)?;
    let spec = file.schedule()?;
    let schedule: Schedule =
        client.tasks("schedules.create", &spec).await.map_err(|error| file.refused(error))?;
    list::show(&schedule, settings, printer)?;
    Ok(ExitCode::Ok)
}
