//! `hyperscale submit`: hands a plan to a cluster.

use hyperscale_plan::render;
use hyperscale_types::ExitCode;
use serde_json::Value;

use super::watch;
use crate::args::SubmitArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::plan_file;
use crate::printer::Printer;
use crate::report_file::Reports;
use crate::settings::Settings;

/// Submits a plan with everything it names, and follows it if that is wanted.
pub(crate) async fn submit(
    args: SubmitArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = remote::client(&args.server)?;
    let reports = Reports::open(&args.reports)?;
    let (mut submit, warnings) = plan_file::submission(&args.plan, args.vars)?;
    if !warnings.is_empty() {
        printer.verbatim(&render(&warnings));
    }
    submit.options = args.options.into_iter().map(|(key, value)| (key, Value::String(value))).collect();
    if let Some(key) = args.idempotency_key {
        let key = key.parse().map_err(|error: hyperscale_api::method::RequestIdError| RemoteError::Key {
            key: key.clone(),
            why: error.to_string(),
        })?;
        submit.idempotency_key = Some(key);
    }
    let submitted = client.submit(submit).await.map_err(RemoteError::from)?;
    submitted.warnings.iter().for_each(|warning| printer.warning(warning));
    if args.follow {
        printer.note(format_args!("job {} is {}", submitted.job, submitted.status.as_str()));
        return watch::follow(&client, &submitted.job, reports, settings, printer).await;
    }
    if settings.output.json {
        printer.json(&submitted).map_err(CommandError::Output)?;
    } else {
        let place =
            submitted.queue_position.map(|at| format!(", place {at} in the queue")).unwrap_or_default();
        let text = format!("{}\n  {}{place}\n", submitted.job, submitted.status.as_str());
        printer.data(&text).map_err(CommandError::Output)?;
    }
    Ok(ExitCode::Ok)
}
