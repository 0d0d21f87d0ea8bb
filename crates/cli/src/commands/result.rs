//! `hyperscale result`: the result of a job of a cluster that has ended.

use hyperscale_types::ExitCode;

use super::session::{self, Played};
use crate::args::ResultArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::report_file::Reports;
use crate::settings::Settings;

/// Shows a result; the exit code says how the job ended.
pub(crate) async fn result(
    args: ResultArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = remote::client(&args.server)?;
    let reports = Reports::open(&args.reports)?;
    let result = client.result(&args.job).await.map_err(RemoteError::from)?;
    let shown = session::show(&result, settings, printer);
    let written = reports.write(&result, printer);
    shown?;
    let played = Played { result, trouble: Vec::new() };
    if written { session::conclude(played) } else { Ok(ExitCode::Error) }
}
