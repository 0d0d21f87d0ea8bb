//! `hyperscale tasks events`: what happened to a task, or to all tasks.

use hyperscale_api::{Client, EventId};
use hyperscale_tasks::domain::{Event, Position};
use hyperscale_types::ExitCode;
use serde_json::Value;

use super::{table, task_id};
use crate::args::EventsArgs;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{EventList, Events, shown_time};

/// Lists events, oldest first.
pub(super) async fn events(
    client: &Client,
    args: EventsArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let params = Events {
        task: args.task.as_deref().map(task_id).transpose()?,
        after: args.after.as_deref().map(position).transpose()?,
        limit: args.limit,
    };
    let list: EventList = client.tasks("tasks.events", &params).await.map_err(RemoteError::from)?;
    if settings.output.json {
        printer.json(&list).map_err(CommandError::Output)?;
    } else if list.events.is_empty() {
        printer.note("nothing has happened");
    } else {
        let titles = ["when", "task", "event", "node", "attempt", "details"].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(titles).chain(list.events.iter().map(row)).collect();
        printer.data(&table(&rows)).map_err(CommandError::Output)?;
        if let Some(next) = list.next {
            printer.note(format_args!("there are more: --after {}.{}", next.transaction, next.event));
        }
    }
    Ok(ExitCode::Ok)
}

/// A place in the stream as people write it.
fn position(text: &str) -> Result<Position, CommandError> {
    let wrong = || CommandError::from(RemoteError::EventId(text.to_owned()));
    let id: EventId = text.parse().map_err(|_| wrong())?;
    let number = |number: u64| i64::try_from(number).map_err(|_| wrong());
    Ok(Position { transaction: number(id.token.0)?, event: number(id.sequence)? })
}

fn row(event: &Event) -> [String; 6] {
    let details = match &event.details {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    [
        shown_time(event.at),
        event.task.to_string(),
        event.kind.as_str().to_owned(),
        event.node.clone().unwrap_or_default(),
        event.attempt.map(|attempt| attempt.to_string()).unwrap_or_default(),
        details,
    ]
}
