//! `hyperscale schedules list`: what fires when.

use hyperscale_api::Client;
use hyperscale_tasks::domain::{Schedule, Trigger};
use hyperscale_types::ExitCode;

use super::super::tasks::table;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{Nothing, ScheduleList, shown_time};

/// Lists all schedules, by name.
pub(super) async fn list(
    client: &Client,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let list: ScheduleList = client.tasks("schedules.list", &Nothing {}).await.map_err(RemoteError::from)?;
    if settings.output.json {
        printer.json(&list).map_err(CommandError::Output)?;
    } else if list.schedules.is_empty() {
        printer.note("there are no schedules");
    } else {
        printer.data(&text(&list.schedules)).map_err(CommandError::Output)?;
    }
    Ok(ExitCode::Ok)
}

/// Shows one schedule.
pub(super) fn show(schedule: &Schedule, settings: Settings, printer: Printer) -> Result<(), CommandError> {
    let shown = if settings.output.json {
        printer.json(schedule)
    } else {
        printer.data(&text(std::slice::from_ref(schedule)))
    };
    shown.map_err(CommandError::Output)
}

fn text(schedules: &[Schedule]) -> String {
    let titles = ["name", "fires", "next", "tasks"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(titles).chain(schedules.iter().map(row)).collect();
    table(&rows)
}

fn row(schedule: &Schedule) -> [String; 4] {
    let fires = match &schedule.spec.trigger {
        Trigger::Cron { expression, time_zone } => format!("{expression} {time_zone}"),
        Trigger::Interval { seconds } => format!("every {seconds} s"),
        Trigger::Once { at } => format!("once at {}", shown_time(*at)),
    };
    let next = match schedule.next_run_at {
        _ if schedule.paused => "paused".to_owned(),
        Some(time) => shown_time(time),
        None => "never".to_owned(),
    };
    [schedule.spec.name.clone(), fires, next, schedule.spec.tree.tasks.len().to_string()]
}
