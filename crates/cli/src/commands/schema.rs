//! `hyperscale schema`: JSON Schemas of what is read and written.

use hyperscale_plan::schema::PLAN;
use hyperscale_report::{event_schema, result_schema};
use hyperscale_types::ExitCode;

use crate::args::SchemaArgs;
use crate::errors::CommandError;
use crate::printer::Printer;

/// Prints the schema that was asked for.
pub(crate) fn schema(args: &SchemaArgs, printer: Printer) -> Result<ExitCode, CommandError> {
    let text = match (args.result, args.event) {
        (true, _) => result_schema() + "\n",
        (_, true) => event_schema() + "\n",
        _ => PLAN.to_owned(),
    };
    printer.data(&text).map_err(CommandError::Output)?;
    Ok(ExitCode::Ok)
}
