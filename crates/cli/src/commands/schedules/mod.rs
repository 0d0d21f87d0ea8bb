//! `hyperscale schedules`: one file per command, except those that only name a schedule.

mod change;
mod create;
mod list;

use hyperscale_types::ExitCode;

use super::tasks::client;
use crate::args::{SchedulesArgs, SchedulesCommand};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// Asks a task node about schedules.
pub(crate) async fn schedules(
    args: SchedulesArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = client(&args.server)?;
    match args.what {
        SchedulesCommand::Create(args) => create::create(&client, &args, settings, printer).await,
        SchedulesCommand::List => list::list(&client, settings, printer).await,
        SchedulesCommand::Pause(args) => {
            change::pause(&client, args.schedule, "schedules.pause", settings, printer).await
        }
        SchedulesCommand::Resume(args) => {
            change::pause(&client, args.schedule, "schedules.resume", settings, printer).await
        }
        SchedulesCommand::Delete(args) => change::delete(&client, args.schedule, settings, printer).await,
        SchedulesCommand::Trigger(args) => change::trigger(&client, args.schedule, settings, printer).await,
    }
}
