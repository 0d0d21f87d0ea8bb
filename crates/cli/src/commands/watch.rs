//! `hyperscale watch`: shows a job of a cluster until it ends. Ctrl-C detaches; the job runs on.

use hyperscale_api::Client;
use hyperscale_stats::event::Event;
use hyperscale_stats::result::RunResult;
use hyperscale_tui::{Mode, Wish};
use hyperscale_types::ExitCode;

use super::interrupts::Interrupts;
use super::session::{self, Played};
use crate::args::WatchArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::faces::Faces;
use crate::printer::Printer;
use crate::report_file::Reports;
use crate::settings::Settings;

/// Follows a job by its id.
pub(crate) async fn watch(
    args: WatchArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = remote::client(&args.server)?;
    let reports = Reports::open(&args.reports)?;
    follow(&client, &args.job, reports, settings, printer).await
}

/// Shows a job to its end, then its result; the exit code says how it ended.
pub(super) async fn follow(
    client: &Client,
    job: &str,
    reports: Reports,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let Some(played) = play(client, job, Faces::default(), settings, printer).await? else {
        printer.note(format_args!("detached; the job runs on: hyperscale watch {job}"));
        return Ok(ExitCode::Cancelled);
    };
    let shown = session::show(&played.result, settings, printer);
    let written = reports.write(&played.result, printer);
    shown?;
    if written { session::conclude(played) } else { Ok(ExitCode::Error) }
}

/// Shows events until the last one; nothing, if the person left before.
pub(super) async fn play(
    client: &Client,
    job: &str,
    mut faces: Faces,
    settings: Settings,
    printer: Printer,
) -> Result<Option<Played>, CommandError> {
    let mut interrupts = Interrupts::listen()?;
    let mut wishes = session::watch(&mut faces, Mode::Live, settings, printer)?;
    let mut events = client.events(job, None);
    let outcome: Result<Option<RunResult>, CommandError> = loop {
        tokio::select! {
            event = events.next() => match event {
                Ok(Some(event)) => match event.detail.map(|detail| *detail) {
                    Some(Event::Finished(result)) => break Ok(Some(*result)),
                    Some(detail) => faces.show(detail),
                    None => {}
                },
                Ok(None) => break client.result(job).await.map(Some).map_err(|error| RemoteError::from(error).into()),
                Err(error) => break Err(RemoteError::from(error).into()),
            },
            _ = interrupts.next() => break Ok(None),
            Some(wish) = session::wanted(&mut wishes) => match wish {
                Wish::Interrupt | Wish::Leave => break Ok(None),
                Wish::Command(_) => {
                    let what = "use `hyperscale control` and `hyperscale cancel` for jobs of a cluster".to_owned();
                    faces.show(Event::Changed { what, change: None });
                }
            },
        }
    };
    if let Ok(Some(result)) = &outcome {
        faces.show(Event::Finished(Box::new(result.clone())));
    }
    let trouble = session::farewell(faces, printer);
    Ok(outcome?.map(|result| Played { result, trouble }))
}
