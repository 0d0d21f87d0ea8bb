//! `hyperscale completions`: what a shell needs to complete commands and flags.

use clap::CommandFactory;
use hyperscale_types::ExitCode;

use crate::args::{Cli, CompletionsArgs};
use crate::errors::CommandError;
use crate::printer::Printer;

/// Prints the script of a shell.
#[expect(clippy::unused_async, reason = "all commands look alike to the dispatcher")]
pub(crate) async fn completions(args: CompletionsArgs, printer: Printer) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hyperscale", &mut script);
    printer.data(&String::from_utf8_lossy(&script)).map_err(CommandError::Output)?;
    Ok(ExitCode::Ok)
}
