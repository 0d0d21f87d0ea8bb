//! Arguments of the commands that look at a target or at this machine.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hyperscale_types::Span;

use super::RequestArgs;

/// `hyperscale ping`.
#[derive(Debug, Args)]
pub(crate) struct PingArgs {
    #[command(subcommand)]
    pub(crate) protocol: PingProtocol,
}

/// What is spoken.
#[derive(Debug, Subcommand)]
pub(crate) enum PingProtocol {
    /// Send an HTTP request and show where its time went
    Http(Box<PingHttpArgs>),
}

/// `hyperscale ping http`.
#[derive(Debug, Args)]
#[command(after_help = "\
The connection is kept between requests, so that with -n only the first one connects; --no-keepalive connects anew.
Exit code 0 if anything answered, whatever its status; 4 if nothing did.")]
pub(crate) struct PingHttpArgs {
    /// http://… or https://…; without a scheme http is meant
    pub(crate) url: String,
    /// How many requests, one after the other
    #[arg(long, short = 'n', value_name = "N", default_value = "1")]
    pub(crate) count: NonZeroU32,
    /// Time between the starts of two requests
    #[arg(long, short = 'i', value_name = "D", default_value = "1s")]
    pub(crate) interval: Span,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

/// `hyperscale doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if something fails; warnings alone are exit code 0.")]
pub(crate) struct DoctorArgs {
    /// Look whether this URL can be reached
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Virtual users the machine should carry
    #[arg(long, short = 'c', value_name = "N", default_value = "1000")]
    pub(crate) vus: NonZeroU32,
    /// Accept any certificate of the target
    #[arg(long, short = 'k', requires = "target")]
    pub(crate) insecure: bool,
    /// Read /proc and /sys below this folder
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub(crate) root: PathBuf,
}
