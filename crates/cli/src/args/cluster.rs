//! Arguments of nodes, and of commands that ask a cluster.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hyperscale_types::Name;

use super::key_value;

/// Which cluster is asked.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ServerArgs {
    /// Managers or gates to ask: http://host:port, several separated by commas (also: HYPERSCALE_SERVER)
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Bearer token of the API (also: HYPERSCALE_API_TOKEN)
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Trust the authorities in this PEM file instead of the system's, for https:// (also: HYPERSCALE_CA)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// What every node is told.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Node")]
pub(crate) struct NodeArgs {
    /// What people call the node
    #[arg(long, value_name = "ID")]
    pub(crate) id: String,
    /// Its datacenter
    #[arg(long, value_name = "DC", default_value = "default")]
    pub(crate) dc: String,
    /// Where other nodes reach it, TCP and UDP; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// Where other nodes reach it, if that is not --listen
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) advertise: Option<String>,
    /// Where its API and its probes listen; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub(crate) http: String,
    /// Name of the whole deployment; nodes of different clusters do not mix
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) cluster: String,
    /// Name of the environment; nodes of different environments do not mix
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: Option<String>,
    /// Mutual TLS between nodes: PEM certificate that names this node as hyperscale://CLUSTER/ROLE/NODE
    #[arg(long, value_name = "FILE", requires_all = ["node_key", "node_ca"])]
    pub(crate) node_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires_all = ["node_cert", "node_ca"])]
    pub(crate) node_key: Option<PathBuf>,
    /// The authorities that sign certificates of nodes, PEM
    #[arg(long, value_name = "FILE", requires_all = ["node_cert", "node_key"])]
    pub(crate) node_ca: Option<PathBuf>,
    /// How the log on stderr is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log: LogFormat,
    /// Timer profile: `lan`, or `test` for tests on one machine (default: lan)
    #[arg(long, value_name = "PROFILE", hide = true)]
    pub(crate) timers: Option<String>,
}

/// `hyperscale manager`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example, on three machines (with their own --id and --listen):
  hyperscale manager --id m1 --listen 10.0.0.1:7100 --http 10.0.0.1:7180 \\
    --peers m1=10.0.0.1:7100,m2=10.0.0.2:7100,m3=10.0.0.3:7100 --data /var/lib/hyperscale")]
pub(crate) struct ManagerArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// All managers that found the group, this one included; the same list on all of them
    #[arg(long, value_name = "ID=HOST:PORT", value_delimiter = ',')]
    pub(crate) peers: Vec<String>,
    /// Data directory; kept over restarts
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// SIGTERM and Ctrl-C remove it from the group for ever: it hands over what it leads, leaves and ends; a second one ends it at once
    #[arg(long)]
    pub(crate) leave_on_term: bool,
    /// Serve the API over TLS with this PEM certificate chain
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

/// `hyperscale worker`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  hyperscale worker --id w1 --listen 10.0.0.11:7100 --managers 10.0.0.1:7100,10.0.0.2:7100,10.0.0.3:7100

SIGTERM drains it: it takes nothing new, finishes what runs and leaves. A second one ends it at once.")]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Managers to register with; the others are learned from them
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', required = true)]
    pub(crate) managers: Vec<String>,
    /// Cores it offers (default: all this process may run on)
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<NonZeroU32>,
    /// What it can beyond what every worker can (may be repeated)
    #[arg(long = "capability", value_name = "K=V")]
    pub(crate) capabilities: Vec<String>,
    /// Data directory (default: a temporary one)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// `hyperscale config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) what: ConfigCommand,
}

/// What is done with a configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check what a node would be started with, without starting it
    Check(ConfigCheckArgs),
}

/// `hyperscale config check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Takes the flags of the node. Exit code 1 if the node would not start or not work.

Example:
  hyperscale config check manager --id m1 --listen 10.0.0.1:7100 --data /var/lib/hyperscale")]
pub(crate) struct ConfigCheckArgs {
    #[command(subcommand)]
    pub(crate) node: ConfigNode,
}

/// The node whose configuration is checked.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigNode {
    /// A manager
    Manager(Box<ManagerArgs>),
    /// A worker
    Worker(Box<WorkerArgs>),
}

/// `hyperscale submit`.
#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// A plan file (YAML, TOML or JSON), or `-` for stdin
    pub(crate) plan: String,
    /// Set a variable of the plan
    #[arg(long = "var", value_name = "K=V", value_parser = key_value)]
    pub(crate) vars: Vec<(String, String)>,
    /// Set an option of the job: timeout, on_worker_loss, on_isolation, max_retries, retain, …
    #[arg(long = "option", value_name = "K=V", value_parser = key_value)]
    pub(crate) options: Vec<(String, String)>,
    /// Repeating a submission under the same key never makes a second job
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Show the job until it ends; the exit code says how it ended
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Write a report of the result, by extension (may be repeated); with --follow
    #[arg(long = "report", value_name = "FILE", requires = "follow")]
    pub(crate) reports: Vec<PathBuf>,
    /// Plain progress lines, never a live screen
    #[arg(long)]
    pub(crate) no_ui: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `hyperscale watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The job
    pub(crate) job: String,
    /// Write a report of the result, by extension (may be repeated)
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
    /// Plain progress lines, never a live screen
    #[arg(long)]
    pub(crate) no_ui: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `hyperscale result`.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// The job
    pub(crate) job: String,
    /// Write a report of the result, by extension (may be repeated)
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `hyperscale cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The job
    pub(crate) job: String,
    /// Cancel this workflow and all that depend on it, not the whole job
    #[arg(long, value_name = "W")]
    pub(crate) workflow: Option<Name>,
    /// With --workflow: what depends on it is skipped, not cancelled
    #[arg(long, requires = "workflow")]
    pub(crate) no_dependents: bool,
    /// Kept with the job and shown
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Wait until the job has ended
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// `hyperscale cluster`.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) what: ClusterCommand,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// What is asked about a cluster.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Managers, quorum, workers and their cores
    Status,
    /// All nodes that the failure detector knows
    Members,
    /// Who leads the group, and who leads which job
    Leaders,
    /// What happened lately, as the manager that responds saw it
    Events {
        /// Show the newest N
        #[arg(long, value_name = "N", default_value_t = 50)]
        last: usize,
        /// Then show what all managers see from now on, until Ctrl-C; with --json one object per line
        #[arg(long, short)]
        follow: bool,
    },
    /// Let a worker finish what it runs, or a manager hand over what it leads, and leave
    Drain {
        /// Its id
        node: String,
    },
    /// Make a manager that waits a member of the group; it votes once it has caught up
    Add {
        /// Its id or its address
        node: String,
    },
    /// Remove a manager from the group
    Remove {
        /// Its id or its address
        node: String,
    },
}
