//! What can be written on the command line. Types only; what they mean is decided in `settings` and `commands`.

mod author;
mod cluster;
mod compare;
mod export;
mod jobs;
mod look;
mod schema;
mod tasks;

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

pub(crate) use author::{CompletionsArgs, ConvertArgs, Cookies, ImportOrigin, ManArgs, NewArgs};
use clap::{Args, Parser, Subcommand};
pub(crate) use cluster::{
    CancelArgs, ClusterArgs, ClusterCommand, ConfigArgs, ConfigCommand, ConfigNode, LogFormat, ManagerArgs,
    NodeArgs, ResultArgs, ServerArgs, SubmitArgs, WatchArgs, WorkerArgs,
};
pub(crate) use compare::CompareArgs;
pub(crate) use export::ExportArgs;
use hyperscale_target::{ErrorRate, Latency, Stall};
use hyperscale_types::rate::RateError;
use hyperscale_types::{ByteSize, ExitCode, Rate, Span};
pub(crate) use jobs::{ChangeArgs, ControlArgs, JobsArgs, StatusArgs};
pub(crate) use look::{DoctorArgs, PingArgs, PingHttpArgs, PingProtocol};
pub(crate) use schema::SchemaArgs;
pub(crate) use tasks::{
    CancelTaskArgs, CreateArgs, CreateScheduleArgs, EventsArgs, ListArgs, NodesArgs, SchedulesArgs,
    SchedulesCommand, ServeArgs, TaskStatus, TasksArgs, TasksCommand,
};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "hyperscale",
    version,
    about = "Load tests whose numbers can be trusted",
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "\
Exit codes: 0 ok, 1 error, 2 usage, 3 plan invalid, 4 unreachable, 5 refused, 97 cancelled, 98 failed or partial, \
99 thresholds failed")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads the command line. Help, version and usage errors are already printed when this fails.
    pub(crate) fn from_command_line() -> Result<Self, ExitCode> {
        Self::try_parse().map_err(|error| {
            // A closed stdout or stderr cannot be told anything.
            drop(error.print());
            if error.use_stderr() { ExitCode::Usage } else { ExitCode::Ok }
        })
    }
}

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output and settings")]
pub(crate) struct GlobalArgs {
    /// Print results as JSON on stdout, and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print no progress and no notes, only results, warnings and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Print without colours (also: NO_COLOR)
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Read settings from this file instead of ./hyperscale.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a target and a cluster in one process, run a sample plan on it and show the result
    Demo(DemoArgs),
    /// Run a plan, or put load on a URL, from this machine
    Run(Box<RunArgs>),
    /// Run a manager of a cluster
    Manager(Box<ManagerArgs>),
    /// Run a worker of a cluster
    Worker(Box<WorkerArgs>),
    /// Submit a plan to a cluster
    Submit(Box<SubmitArgs>),
    /// List the runs of this user on this machine, or the jobs of a cluster
    Jobs(JobsArgs),
    /// Show the result so far of a run or a job
    Status(StatusArgs),
    /// Show a job of a cluster until it ends
    Watch(WatchArgs),
    /// Show the result of a job of a cluster
    Result(ResultArgs),
    /// Cancel a job of a cluster, or one of its workflows
    Cancel(CancelArgs),
    /// Show managers, workers and leaders of a cluster
    Cluster(ClusterArgs),
    /// Run a node that stores and executes tasks, with its API and dashboard
    Serve(Box<ServeArgs>),
    /// Submit tasks to a node and see what becomes of them
    Tasks(TasksArgs),
    /// Submit tasks by the clock
    Schedules(SchedulesArgs),
    /// Show the nodes that execute tasks, and which of them leads
    Nodes(NodesArgs),
    /// Make a secret for the nodes of a cluster
    Secret,
    /// Check the configuration of a node
    Config(ConfigArgs),
    /// Change a run while it runs: virtual users, rate, pause, resume, cancel
    Control(ControlArgs),
    /// Show a recorded run again, as it was or faster
    Replay(ReplayArgs),
    /// Check a plan and say everything that is wrong with it
    Validate(ValidateArgs),
    /// Write a starter plan
    New(NewArgs),
    /// Make a plan of curl commands, a HAR recording, an OpenAPI description or a Postman collection
    Convert(ConvertArgs),
    /// Print the JSON Schema of plans, results or events
    Schema(SchemaArgs),
    /// Compare two results: what differs, and how sure that is
    Compare(CompareArgs),
    /// Send one request and show where its time went
    Ping(PingArgs),
    /// Check this machine: limits, ports, clock, processors, memory, reachability
    Doctor(DoctorArgs),
    /// Run the built-in test server, which counts every request and misbehaves when told to
    Target(TargetArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the manual, or write its pages
    Man(ManArgs),
}

impl Command {
    /// Where it exports to, if it shows a run.
    pub(crate) fn export(&mut self) -> Option<&mut ExportArgs> {
        match self {
            Self::Run(args) => Some(&mut args.export),
            Self::Demo(args) => Some(&mut args.export),
            Self::Replay(args) => Some(&mut args.export),
            _ => None,
        }
    }
}

/// `hyperscale demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Run a plan in this process, without a cluster
    #[arg(long)]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Write a report, by extension: .html, .json, .xml (JUnit), .csv, .md or .txt (may be repeated)
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
    /// Record every event of the run into this file, for `hyperscale replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) export: ExportArgs,
}

/// How much of this machine a run takes, and what it draws from.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct EngineArgs {
    /// Cores to use (default: all this process may run on)
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<NonZeroU32>,
    /// Seed of everything random in the run (default: drawn anew)
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Plain progress lines, never a live screen
    #[arg(long)]
    pub(crate) no_ui: bool,
    /// Do not listen for `hyperscale control`, `jobs` and `status`
    #[arg(long)]
    pub(crate) no_control: bool,
}

/// `hyperscale run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A plan file (YAML, TOML or JSON), `-` for stdin, or a URL; localhost and host:port are URLs too
    #[arg(value_name = "PLAN|URL")]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Set a variable of the plan
    #[arg(long = "var", value_name = "K=V", value_parser = key_value)]
    pub(crate) vars: Vec<(String, String)>,
    /// Write a report, by extension: .html, .json, .xml (JUnit), .csv, .md or .txt (may be repeated)
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
    /// Record every event of the run into this file, for `hyperscale replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) export: ExportArgs,
    /// Fail the run unless this holds, besides the thresholds of the plan: 'latency.p99 < 300ms', 'failed.rate < 1%' (may be repeated)
    #[arg(long = "threshold", value_name = "RULE")]
    pub(crate) thresholds: Vec<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

/// How much load, for how long.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Virtual users, each with a connection of its own
    #[arg(long, short = 'c', value_name = "N")]
    pub(crate) vus: Option<NonZeroU32>,
    /// How long, for example 30s
    #[arg(long, short = 'd', value_name = "D")]
    pub(crate) duration: Option<Span>,
    /// Starts per second (open model), for example 2000/s
    #[arg(long, short = 'r', value_name = "R/s", value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// Iterations of all virtual users together
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) iterations: Option<NonZeroU64>,
}

/// The request, where a URL stands in place of a plan.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Request (with a URL)")]
pub(crate) struct RequestArgs {
    /// Method (default: GET, or POST with a body)
    #[arg(long, short = 'X', value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Header field, `Name: value` (may be repeated)
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Body; @FILE sends the bytes of a file as they are
    #[arg(long, short = 'b', value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// Speak HTTP/2 only (with prior knowledge on http://)
    #[arg(long)]
    pub(crate) http2: bool,
    /// Connections shared by the virtual users of a core (HTTP/2; default: one each)
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<NonZeroU32>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Time-out of one request, redirects included
    #[arg(long, short = 't', value_name = "D")]
    pub(crate) timeout: Option<Span>,
    /// Do not follow redirects
    #[arg(long, conflicts_with = "max_redirects")]
    pub(crate) no_redirects: bool,
    /// Maximum number of redirects to follow per request (default: 10)
    #[arg(long, value_name = "N")]
    pub(crate) max_redirects: Option<u32>,
    /// Fail requests whose answer has a larger body, for example 1MiB (default: any size)
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_body: Option<ByteSize>,
    /// Open a new connection for every request
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// Go through this proxy, http://[user:password@]host:port
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Connect to this unix socket instead of the URL's host
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<String>,
}

/// How TLS is spoken.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TlsArgs {
    /// Accept any certificate
    #[arg(long, short = 'k')]
    pub(crate) insecure: bool,
    /// Which connections resume TLS sessions: none, those of the same virtual user, or all (default: vu)
    #[arg(long, value_name = "off|vu|shared", value_parser = ["off", "vu", "shared"], hide_possible_values = true)]
    pub(crate) tls_resume: Option<String>,
    /// Trust the authorities in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<String>,
    /// Client certificate (PEM), with --key
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<String>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<String>,
}

impl RequestArgs {
    /// The first of these flags that was given, for telling that it does not belong there.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--method", self.method.is_some()),
            ("--header", !self.headers.is_empty()),
            ("--body", self.body.is_some()),
            ("--http2", self.http2),
            ("--connections", self.connections.is_some()),
            ("--insecure", self.tls.insecure),
            ("--tls-resume", self.tls.tls_resume.is_some()),
            ("--ca", self.tls.ca.is_some()),
            ("--cert", self.tls.cert.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--no-redirects", self.no_redirects),
            ("--max-redirects", self.max_redirects.is_some()),
            ("--max-body", self.max_body.is_some()),
            ("--no-keepalive", self.no_keepalive),
            ("--proxy", self.proxy.is_some()),
            ("--unix", self.unix.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

/// `hyperscale replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
A recording that was cut off (the run was killed, the disk was full) is shown up to its last second.
Exit codes: 0 shown, 2 not a recording, 97 interrupted, 98 shown, but the recording was cut off")]
pub(crate) struct ReplayArgs {
    /// A file written by `run --record FILE` or `demo --record FILE`
    pub(crate) file: PathBuf,
    /// How many times faster than it was, or `max`
    #[arg(long, value_name = "X", default_value = "1", value_parser = speed)]
    pub(crate) speed: Speed,
    /// Write a report of the recorded result (may be repeated)
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) export: ExportArgs,
    /// Plain progress lines, never a live screen
    #[arg(long)]
    pub(crate) no_ui: bool,
}

/// How fast a recording is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Speed {
    /// As fast as it can be read.
    Unlimited,
    /// So many times as fast as it was; above zero.
    Times(f64),
}

/// `hyperscale validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// A plan file (YAML, TOML or JSON), or `-` for stdin
    pub(crate) plan: String,
    /// Show for each argument whether it is prepared once or filled per request
    #[arg(long)]
    pub(crate) explain: bool,
    /// Show who starts when on this many cores (default: all this process may run on)
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<NonZeroU32>,
    /// Set a variable of the plan
    #[arg(long = "var", value_name = "K=V", value_parser = key_value)]
    pub(crate) vars: Vec<(String, String)>,
}

/// `hyperscale target`.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// Listen on this unix socket too
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    /// Wait before every answer: 5ms, uniform:1ms..9ms or lognormal:5ms,0.5
    #[arg(long, value_name = "LATENCY")]
    pub(crate) latency: Option<Latency>,
    /// Answer this share of requests with status 500, for example 1%
    #[arg(long, value_name = "SHARE")]
    pub(crate) error_rate: Option<ErrorRate>,
    /// Answer nothing for a while, again and again, for example 10s,1s
    #[arg(long, value_name = "EVERY,FOR")]
    pub(crate) stall: Option<Stall>,
    /// Bytes in the body of `/` and of unknown paths, for example 512 or 4KiB
    #[arg(long, value_name = "N")]
    pub(crate) body_size: Option<ByteSize>,
    /// Speak TLS, with a certificate made at start unless one is given
    #[arg(long)]
    pub(crate) tls: bool,
    /// Certificate chain (PEM); implies --tls
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Write the certificate of the authority that clients have to trust (PEM) here
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_out: Option<PathBuf>,
    /// Threads that serve
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: NonZeroUsize,
    /// Reset connections beyond this many
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<usize>,
    /// Seed of injected latency and errors
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// A rate; a bare number is per second, as with other tools.
fn rate(text: &str) -> Result<Rate, RateError> {
    if text.parse::<f64>().is_ok() { format!("{text}/s").parse() } else { text.parse() }
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Unlimited);
    }
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(Speed::Times(factor)),
        _ => Err("write a number above 0, for example 0.5 or 10, or max".to_owned()),
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("write it as name=value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn speeds_are_above_zero_or_max() {
        assert_eq!(speed("2.5"), Ok(Speed::Times(2.5)));
        assert_eq!(speed("max"), Ok(Speed::Unlimited));
        for wrong in ["0", "-1", "inf", "NaN", "fast", ""] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn variables_keep_equal_signs_in_their_value() {
        assert_eq!(key_value("base=http://h/?a=b"), Ok(("base".into(), "http://h/?a=b".into())));
        assert!(key_value("base").is_err());
        assert!(key_value("=x").is_err());
    }
}
