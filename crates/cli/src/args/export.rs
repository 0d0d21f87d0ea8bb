//! Where the numbers of a run go beside the screen and the reports.

use clap::Args;

/// Shared by everything that shows a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExportArgs {
    /// Export while running (may be repeated): prometheus://HOST:PORT, prometheus+http(s)://…, otlp+http(s)://…,
    /// influx+http(s)://…, influx+udp://…, statsd://HOST:PORT or csv:FILE
    #[arg(long = "export", value_name = "URL")]
    pub(crate) urls: Vec<String>,
}
