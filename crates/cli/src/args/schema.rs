//! `hyperscale schema`.

use clap::Args;

/// Which schema.
#[derive(Debug, Args)]
#[command(after_help = "\
For editors that speak the YAML language server, put this into the first line of a plan:
  # yaml-language-server: $schema=plan.schema.json")]
#[group(multiple = false)]
pub(crate) struct SchemaArgs {
    /// Plan files (default)
    #[arg(long)]
    pub(crate) plan: bool,
    /// Results: `run --json` and `--report FILE.json`
    #[arg(long)]
    pub(crate) result: bool,
    /// Events of a run: `run --record FILE`, one per line under `event`
    #[arg(long)]
    pub(crate) event: bool,
}
