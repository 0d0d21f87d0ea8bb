//! `hyperscale control`: changes a run while it runs.

use std::fmt::Write;

use hyperscale_api::method::{CancelJob, Control};
use hyperscale_api::response::{CancelResponse, CancelStatus, Controlled};
use hyperscale_api::{Client, Method, Steer};
use hyperscale_types::ExitCode;
use serde::Serialize;

use crate::args::{ChangeArgs, ControlArgs};
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::local::runs::{self, LocalRun};
use crate::printer::Printer;
use crate::settings::Settings;

/// Finds the run, changes it and says what was changed.
pub(crate) async fn control(
    args: ControlArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    if let Some(client) = remote::client_if_named(&args.server)? {
        return of_cluster(&client, args, settings, printer).await;
    }
    let run = runs::find(args.job.as_deref()).await?;
    match steer(args) {
        Some(steer) => change(&run, steer, settings, printer).await,
        None => cancel(&run, settings, printer).await,
    }
}

/// The same for a job of a cluster, which has to be named.
async fn of_cluster(
    client: &Client,
    args: ControlArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let job = args.job.clone().ok_or(CommandError::Misplaced {
        flag: "--server",
        belongs: "needs the id of a job; see `hyperscale jobs --server …`",
    })?;
    let steer = steer(args).unwrap_or(Steer::Stop);
    let answer = client.control(Control::new(&job, steer)).await.map_err(RemoteError::from)?;
    show(&answer, &format!("{job}\n  done\n"), settings, printer)
}

/// What is to be changed; `None`: the run is to stop.
fn steer(args: ControlArgs) -> Option<Steer> {
    let workflow = args.workflow;
    match args.change {
        ChangeArgs { vus: Some(vus), .. } => Some(Steer::Vus { workflow, vus }),
        ChangeArgs { rate: Some(rate), .. } => Some(Steer::Rate { workflow, rate }),
        ChangeArgs { pause: true, .. } => Some(Steer::Pause),
        ChangeArgs { resume: true, .. } => Some(Steer::Resume),
        ChangeArgs { .. } => None,
    }
}

async fn change(
    run: &LocalRun,
    steer: Steer,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let answer: Controlled = run.call(&Method::JobsControl(Control::new(&run.job, steer))).await?;
    let mut text = format!("{}\n", answer.job);
    for change in &answer.changes {
        let _ = writeln!(text, "  {change}");
    }
    if answer.changes.is_empty() {
        text.push_str("  nothing changed: it was so already\n");
    }
    show(&answer, &text, settings, printer)
}

async fn cancel(run: &LocalRun, settings: Settings, printer: Printer) -> Result<ExitCode, CommandError> {
    let answer: CancelResponse = run.call(&Method::JobsCancel(CancelJob::of(&run.job))).await?;
    let what = match answer.status {
        CancelStatus::Requested => "stopping: no new iterations, running ones may finish",
        _ => "nothing changed: it is stopping already",
    };
    show(&answer, &format!("{}\n  {what}\n", answer.job), settings, printer)
}

fn show(
    answer: &impl Serialize,
    text: &str,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    if settings.output.json {
        printer.json(answer).map_err(CommandError::Output)?;
    } else {
        printer.data(text).map_err(CommandError::Output)?;
    }
    Ok(ExitCode::Ok)
}
