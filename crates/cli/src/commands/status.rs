//! `hyperscale status`: the result so far of a run.

use hyperscale_api::Method;
use hyperscale_stats::result::RunResult;
use hyperscale_types::ExitCode;

use super::session;
use crate::args::StatusArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::local::runs;
use crate::printer::Printer;
use crate::settings::Settings;

/// Shows how a run is doing, in the words of its summary at the end.
pub(crate) async fn status(
    args: StatusArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    if let Some(client) = remote::client_if_named(&args.server)? {
        let job = args.job.ok_or(CommandError::Misplaced {
            flag: "--server",
            belongs: "needs the id of a job; see `hyperscale jobs --server …`",
        })?;
        let view = client.job(&job).await.map_err(RemoteError::from)?;
        session::show(&view.result, settings, printer)?;
        return Ok(ExitCode::Ok);
    }
    let run = runs::find(args.job.as_deref()).await?;
    let result: RunResult = run.call(&Method::JobsGet { job: run.job.clone() }).await?;
    session::show(&result, settings, printer)?;
    Ok(ExitCode::Ok)
}
