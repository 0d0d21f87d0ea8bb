//! `hyperscale cancel`: stops a job of a cluster, or one of its workflows.

use std::time::Duration;

use hyperscale_api::method::{CancelJob, CancelWorkflow};
use hyperscale_api::response::{CancelResponse, CancelStatus};
use hyperscale_api::{Client, ErrorCode};
use hyperscale_types::ExitCode;

use crate::args::CancelArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// How often it is looked whether the job has ended.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Cancels, and waits for the end if that is wanted.
pub(crate) async fn cancel(
    args: CancelArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = remote::client(&args.server)?;
    let (job, reason) = (args.job, args.reason);
    let mut response = match args.workflow {
        None => client.cancel_job(CancelJob { reason, ..CancelJob::of(&job) }).await,
        Some(workflow) => {
            let cancel = CancelWorkflow {
                job: job.clone(),
                workflow,
                dependents: true,
                reason,
                request_id: None,
                wait: false,
            };
            client.cancel_workflow(cancel).await
        }
    }
    .map_err(RemoteError::from)?;
    if args.wait && response.status != CancelStatus::AlreadyEnded {
        printer.note("waiting until the job has ended");
        ended(&client, &job).await?;
        response.status = CancelStatus::Cancelled;
    }
    show(&response, settings, printer)?;
    Ok(ExitCode::Ok)
}

async fn ended(client: &Client, job: &str) -> Result<(), CommandError> {
    loop {
        match client.result(job).await {
            Ok(_) => return Ok(()),
            Err(hyperscale_api::CallError::Refused(error)) if error.is(ErrorCode::NotEnded) => {}
            Err(error) => return Err(RemoteError::from(error).into()),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
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
    printer.data(&format!("{}\n  {what}\n", response.job)).map_err(CommandError::Output)
}
