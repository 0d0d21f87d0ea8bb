//! `hyperscale cancel`: stops a job of a cluster, or one of its workflows.

use std::fmt::Write as _;

use hyperscale_api::method::{CancelJob, CancelWorkflow};
use hyperscale_api::response::{CancelResponse, CancelStatus};
use hyperscale_types::ExitCode;

use crate::args::CancelArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// Cancels, and waits for the end if that is wanted.
pub(crate) async fn cancel(
    args: CancelArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = remote::client(&args.server)?;
    let CancelArgs { job, workflow, no_dependents, reason, wait, .. } = args;
    if wait {
        printer.note("waiting until all workers have stopped");
    }
    let response = match workflow {
        None => client.cancel_job(CancelJob { reason, wait, ..CancelJob::of(&job) }).await,
        Some(workflow) => {
            let dependents = !no_dependents;
            let cancel = CancelWorkflow { job, workflow, dependents, reason, request_id: None, wait };
            client.cancel_workflow(cancel).await
        }
    };
    let response = response.map_err(RemoteError::from)?;
    show(&response, settings, printer)?;
    Ok(ExitCode::Ok)
}

fn show(response: &CancelResponse, settings: Settings, printer: Printer) -> Result<(), CommandError> {
    if settings.output.json {
        return printer.json(response).map_err(CommandError::Output);
    }
    let what = match response.status {
        CancelStatus::AlreadyEnded => "nothing changed: it has ended",
        CancelStatus::Cancelled => "cancelled",
        _ => "cancelling: nothing of it will start again",
    };
    let mut text = format!("{}\n  {what}\n", response.job);
    for cancel in &response.workflows {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {} {}", cancel.workflow, word(cancel.status));
    }
    for error in &response.errors {
        let _ = writeln!(text, "  error: {}", error.message);
    }
    printer.data(&text).map_err(CommandError::Output)
}

fn word(status: CancelStatus) -> &'static str {
    match status {
        CancelStatus::Requested => "requested",
        CancelStatus::InProgress => "in progress",
        CancelStatus::Cancelled => "cancelled",
        CancelStatus::PendingCancelled => "cancelled before it began",
        CancelStatus::Failed => "not confirmed by all workers",
        CancelStatus::NotFound => "not found",
        CancelStatus::AlreadyEnded => "already ended",
    }
}
