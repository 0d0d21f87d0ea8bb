//! Arguments of the commands that look at runs and change them while they run.

use clap::{Args, value_parser};
use hyperscale_types::{Name, Rate, limits};

use super::ServerArgs;

/// `hyperscale jobs`.
#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `hyperscale status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The run: its job id, or the beginning of it (default: the only one); with --server: the id of the job
    pub(crate) job: Option<String>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `hyperscale control`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hyperscale control --pause
  hyperscale control run-20260102T03 --workflow Browse --vus 200
  hyperscale control --rate 5000/s

Exit codes: 0 done, 2 usage or several runs, 4 no such run, 5 refused by the run")]
pub(crate) struct ControlArgs {
    /// The run: its job id, or the beginning of it (default: the only one)
    pub(crate) job: Option<String>,
    /// Change this workflow only (default: all that run and whose load model fits)
    #[arg(long, value_name = "W", conflicts_with_all = ["pause", "resume", "cancel"])]
    pub(crate) workflow: Option<Name>,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// What is to become of the run: exactly one of them.
#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ChangeArgs {
    /// Run this many virtual users from now on (closed models)
    #[arg(long, short = 'c', value_name = "N", value_parser = value_parser!(u32).range(..=i64::from(limits::VUS_MAX)))]
    pub(crate) vus: Option<u32>,
    /// Start at this rate from now on (open models), for example 2000/s
    #[arg(long, short = 'r', value_name = "R/s", value_parser = super::rate)]
    pub(crate) rate: Option<Rate>,
    /// Start nothing until --resume; the load curve stands still
    #[arg(long)]
    pub(crate) pause: bool,
    /// Go on after --pause
    #[arg(long)]
    pub(crate) resume: bool,
    /// Stop gracefully, like Ctrl-C: no new iterations, running ones finish, the run reports
    #[arg(long)]
    pub(crate) cancel: bool,
}
