//! `hyperscale secret`: makes a secret for the nodes of a cluster.

use hyperscale_node::entropy::OsEntropy;
use hyperscale_types::ExitCode;
use hyperscale_wire::secret::make_secret;

use crate::errors::CommandError;
use crate::printer::Printer;

/// Prints a new secret, alone on stdout.
pub(crate) fn secret(printer: Printer) -> Result<ExitCode, CommandError> {
    let secret = make_secret(&mut OsEntropy);
    printer.data(&format!("{}\n", secret.as_str())).map_err(CommandError::Output)?;
    printer.note("set it as HYPERSCALE_AUTH_SECRET on all nodes, and keep it out of logs and repositories");
    Ok(ExitCode::Ok)
}
