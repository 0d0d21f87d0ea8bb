//! Arguments of the task plane: the node, and the commands that ask one.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{LogFormat, ServerArgs, key_value};
use crate::tasks::DEFAULT_LISTEN;

/// `hyperscale serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without flags: tasks are stored in a file of this user, and the API and the dashboard are at http://127.0.0.1:7200.
Several nodes share a PostgreSQL database:
  hyperscale serve --database postgres://tasks@db.example/tasks --listen 10.0.0.1:7200

Times and limits: HYPERSCALE_LEASE_DURATION_SECONDS, _POLL_INTERVAL_SECONDS, _MAX_PARALLEL_TASKS_PER_NODE, …; see docs/guide/tasks.md")]
pub(crate) struct ServeArgs {
    /// Where the API and the dashboard listen; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = DEFAULT_LISTEN)]
    pub(crate) listen: String,
    /// Database: postgres://user@host/name, or sqlite:FILE (default: a file in --data; also: HYPERSCALE_DATABASE_URL)
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// What people call the node (default: the name of the host; also: HYPERSCALE_NODE_ID)
    #[arg(long, value_name = "ID")]
    pub(crate) node_id: Option<String>,
    /// auto, leader, worker or observer (default: auto; also: HYPERSCALE_NODE_ROLE)
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// Data directory of the embedded database (default: hyperscale in XDG_DATA_HOME, or ~/.local/share)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Gates or managers that load tests are submitted to (default: they run in this process)
    #[arg(long, value_name = "URL")]
    pub(crate) load_server: Option<String>,
    /// Program that tasks with the executor `command` may run (may be repeated; without it they may run none)
    #[arg(long = "allow-command", value_name = "NAME")]
    pub(crate) allow_commands: Vec<String>,
    /// What it says about itself for placement (may be repeated)
    #[arg(long = "capability", value_name = "K=V", value_parser = key_value)]
    pub(crate) capabilities: Vec<(String, String)>,
    /// Bearer token that clients must show; required beyond loopback (also: HYPERSCALE_API_TOKEN)
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Serve the API over TLS with this PEM certificate chain
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Begin with an example: a request, a load test against a target in this process, a report. Without --data and --database
    /// nothing of it is kept
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) demo: bool,
    /// How the log on stderr is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log: LogFormat,
}

/// `hyperscale tasks`.
#[derive(Debug, Args)]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    pub(crate) what: TasksCommand,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// What is done with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// Submit a tree of tasks
    Create(CreateArgs),
    /// Show a task with its inputs and its result
    Get(TaskArgs),
    /// Show all tasks of the tree of a task
    Tree(TaskArgs),
    /// List tasks, newest first
    List(ListArgs),
    /// Show what happened to a task, or to all tasks
    Events(EventsArgs),
    /// Show the tree of a task until it has ended; Ctrl-C detaches
    Watch(TaskArgs),
    /// Cancel a task
    Cancel(CancelTaskArgs),
    /// Try a failed task again, and what failed only because of it
    Retry(TaskArgs),
}

/// `hyperscale tasks create`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example of a file:
  tasks:
    seed:   { executor: wait, inputs: { duration: 1 } }
    report: { executor: aggregate, depends: [seed] }")]
pub(crate) struct CreateArgs {
    /// A file with tasks by name (YAML, TOML or JSON), or `-` for stdin
    pub(crate) file: String,
    /// Repeating a submission under the same key never makes a second tree
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Show the tree until it has ended; the exit code says how it ended
    #[arg(long, short)]
    pub(crate) wait: bool,
}

/// Commands that name a task.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// The id of the task
    pub(crate) task: String,
}

/// States of a task, as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum TaskStatus {
    /// Waiting.
    Pending,
    /// Running.
    InProgress,
    /// Ended with a result.
    Completed,
    /// Ended without one.
    Failed,
    /// Ended on request.
    Cancelled,
}

/// `hyperscale tasks list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only tasks in this state
    #[arg(long, value_enum)]
    pub(crate) status: Option<TaskStatus>,
    /// Only tasks of this executor
    #[arg(long, value_name = "NAME")]
    pub(crate) executor: Option<String>,
    /// Only tasks whose names begin like this
    #[arg(long, value_name = "PREFIX")]
    pub(crate) name: Option<String>,
    /// Only tasks of this tree
    #[arg(long, value_name = "TASK")]
    pub(crate) tree: Option<String>,
    /// Only first tasks of trees
    #[arg(long)]
    pub(crate) roots: bool,
    /// Tasks at most, 1 to 200
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,
    /// Only tasks after this one: `next` of the page before
    #[arg(long, value_name = "TASK")]
    pub(crate) after: Option<String>,
}

/// `hyperscale tasks events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// The id of the task (default: all tasks)
    pub(crate) task: Option<String>,
    /// Events at most, 1 to 200
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) limit: u32,
    /// Only events after this one, as TRANSACTION.EVENT
    #[arg(long, value_name = "EVENT")]
    pub(crate) after: Option<String>,
}

/// `hyperscale tasks cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelTaskArgs {
    /// The id of the task
    pub(crate) task: String,
    /// Cancel everything that has not ended of its tree
    #[arg(long)]
    pub(crate) tree: bool,
}

/// `hyperscale schedules`.
#[derive(Debug, Args)]
pub(crate) struct SchedulesArgs {
    #[command(subcommand)]
    pub(crate) what: SchedulesCommand,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// What is done with schedules.
#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    /// Store a schedule; one of the same name is replaced
    Create(CreateScheduleArgs),
    /// List all schedules
    List,
    /// Fire it no more until it is resumed
    Pause(ScheduleArgs),
    /// Fire it again; what was due in the pause is left out
    Resume(ScheduleArgs),
    /// Remove it; its runs stay
    Delete(ScheduleArgs),
    /// Submit its tasks now
    Trigger(ScheduleArgs),
}

/// `hyperscale schedules create`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example of a file:
  name: nightly
  trigger: { cron: { expression: '0 3 * * *', time_zone: Europe/Berlin } }
  tasks:
    check: { executor: wait, inputs: { duration: 1 } }

Triggers: cron, interval: { seconds: 60 }, once: { at: '2027-01-01T00:00:00Z' }. missed: coalesce, catch_up or skip.")]
pub(crate) struct CreateScheduleArgs {
    /// A file with name, trigger and tasks (YAML, TOML or JSON), or `-` for stdin
    pub(crate) file: String,
}

/// Commands that name a schedule.
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// Its name or id
    pub(crate) schedule: String,
}

/// `hyperscale nodes`.
#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
