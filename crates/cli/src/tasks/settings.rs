//! Settings of a task node: flags over `HYPERSCALE_…` variables over defaults.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use hyperscale_tasks::domain::{Role, Settings, SettingsError};
use serde_json::{Map, Value};

use super::database::Database;
use crate::args::ServeArgs;

/// Bytes of the name of a node.
const NAME_MAX: usize = 64;

/// Everything a node is made from. Without `Debug`: it has secrets.
#[derive(Clone)]
pub(crate) struct NodeSettings {
    /// What people call it.
    pub(crate) name: String,
    /// Where tasks are stored.
    pub(crate) database: Database,
    /// Whether other nodes may use the same database at the same time.
    pub(crate) is_clustered: bool,
    /// What it says about itself for placement.
    pub(crate) capabilities: Map<String, Value>,
    /// Times and limits, checked.
    pub(crate) settings: Settings,
    /// What its executors need.
    pub(crate) executors: ExecutorSettings,
}

/// What the executors of a node need.
#[derive(Clone)]
pub(crate) struct ExecutorSettings {
    /// Programs that `command` tasks may run; without one there is no such executor.
    pub(crate) commands: Vec<String>,
    /// Servers that load tests are submitted to; they run in this process if there is none.
    pub(crate) load_servers: Option<String>,
    /// The token of these servers, if it is not the one of this node.
    pub(crate) load_token: Option<String>,
    /// Where files of plans are unpacked while they run in this process.
    pub(crate) folder: PathBuf,
}

/// Why a node cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// A variable or flag with a value that does not fit.
    #[error("`{value}` is not {wanted} for {origin}")]
    Value {
        /// The variable or flag.
        origin: String,
        /// As it was written.
        value: String,
        /// What would fit.
        wanted: &'static str,
    },
    /// Settings that cannot work together.
    #[error("the settings of the node cannot work together")]
    Relation(#[from] SettingsError),
    /// Not the URL of a database.
    #[error("the database cannot be used")]
    Database(String),
    /// There is no place for the embedded database.
    #[error("there is no data directory")]
    NoData,
    /// The data directory cannot be made.
    #[error("the data directory {} cannot be made", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Load tests cannot be submitted to the servers that were named.
    #[error("load tests cannot be submitted to {servers}")]
    LoadServers {
        /// As they were written.
        servers: String,
        /// The reason.
        why: String,
    },
    /// Another process uses the database, and that was not announced.
    #[error("node {0} uses the same database")]
    Taken(String),
    /// The node has ended with an error.
    #[error("the node has stopped")]
    Ended(String),
}

impl ServeError {
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, Self::Taken(_) | Self::Ended(_))
    }

    pub(crate) fn why(&self) -> String {
        match self {
            Self::Value { .. } => "settings are refused rather than ignored or guessed".to_owned(),
            Self::Relation(error) => error.to_string(),
            Self::Database(why) | Self::Ended(why) | Self::LoadServers { why, .. } => why.clone(),
            Self::NoData => "neither --data nor HOME nor XDG_DATA_HOME is set".to_owned(),
            Self::Data { source, .. } => source.to_string(),
            Self::Taken(_) => "this node was not told that it shares its database".to_owned(),
        }
    }

    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Value { .. } | Self::Relation(_) => {
                "correct it, or remove it to get the default".to_owned()
            }
            Self::Database(_) => {
                "write postgres://user@host/database, or sqlite:FILE; without one a file in --data is used"
                    .to_owned()
            }
            Self::LoadServers { .. } => {
                "write --load-server http://host:port, several separated by commas; their token is HYPERSCALE_LOAD_TOKEN".to_owned()
            }
            Self::NoData | Self::Data { .. } => "name a directory that may be written with --data".to_owned(),
            Self::Taken(_) => {
                "stop the other node, use another --data, or set HYPERSCALE_CLUSTER_ENABLED=true on both"
                    .to_owned()
            }
            Self::Ended(_) => "see the log above".to_owned(),
        }
    }
}

/// Resolves flags and environment.
pub(crate) fn resolve(args: &ServeArgs) -> Result<NodeSettings, ServeError> {
    let folder = data_folder(args)?;
    let database = match text(args.database.as_ref(), "DATABASE_URL") {
        Some(url) => Database::parse(&url).map_err(ServeError::Database)?,
        None => Database::embedded(&folder),
    };
    let is_clustered = match variable("CLUSTER_ENABLED") {
        None => database.is_shared(),
        Some(value) => truth("CLUSTER_ENABLED", &value)?,
    };
    let executors = ExecutorSettings {
        commands: args.allow_commands.clone(),
        load_servers: args.load_server.clone(),
        load_token: variable("LOAD_TOKEN"),
        folder: folder.join("plans"),
    };
    let (name, settings) = (node_name(args)?, timing(args)?);
    let capabilities =
        args.capabilities.iter().cloned().map(|(key, text)| (key, json_or_text(text))).collect();
    Ok(NodeSettings { name, database, is_clustered, capabilities, settings, executors })
}

/// The data directory, made if it does not exist.
fn data_folder(args: &ServeArgs) -> Result<PathBuf, ServeError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = match &args.data {
        Some(path) => path.clone(),
        None => set("XDG_DATA_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".local/share")))
            .ok_or(ServeError::NoData)?
            .join("hyperscale"),
    };
    std::fs::create_dir_all(&path).map_err(|source| ServeError::Data { path: path.clone(), source })?;
    Ok(path)
}

/// The name that was given, or that of the host.
fn node_name(args: &ServeArgs) -> Result<String, ServeError> {
    let Some(name) = text(args.node_id.as_ref(), "NODE_ID") else {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim();
        return Ok(if is_name(host) { host.to_owned() } else { "node".to_owned() });
    };
    if is_name(&name) {
        return Ok(name);
    }
    let wanted = "1 to 64 letters, digits, `-`, `_` or `.`";
    Err(ServeError::Value { origin: "--node-id".to_owned(), value: name, wanted })
}

fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Role, times and limits.
fn timing(args: &ServeArgs) -> Result<Settings, ServeError> {
    let default = Settings::default();
    let role = match text(args.role.as_ref(), "NODE_ROLE") {
        Some(text) => role(&text)?,
        None => default.role,
    };
    let leader_lease = seconds("LEADER_LEASE_SECONDS")?;
    let lease = seconds("LEASE_DURATION_SECONDS")?;
    let node_stale = seconds("NODE_STALE_SECONDS")?;
    // Where only the lease is set, what depends on it follows it.
    let third = |lease: Option<Duration>, default: Duration| lease.map_or(default, |lease| lease / 3);
    let settings = Settings {
        role,
        leader_lease: leader_lease.unwrap_or(default.leader_lease),
        leader_renew: seconds("LEADER_RENEW_SECONDS")?.unwrap_or(third(leader_lease, default.leader_renew)),
        lease: lease.unwrap_or(default.lease),
        cleanup: seconds("LEASE_CLEANUP_INTERVAL_SECONDS")?.unwrap_or(third(lease, default.cleanup)),
        poll: seconds("POLL_INTERVAL_SECONDS")?
            .unwrap_or_else(|| lease.map_or(default.poll, |lease| default.poll.min(lease))),
        max_parallel: number("MAX_PARALLEL_TASKS_PER_NODE", 1)?.map_or(default.max_parallel, |n| n as usize),
        heartbeat: seconds("HEARTBEAT_INTERVAL_SECONDS")?.unwrap_or(third(node_stale, default.heartbeat)),
        node_stale: node_stale.unwrap_or(default.node_stale),
        node_dead: seconds("NODE_DEAD_SECONDS")?
            .unwrap_or_else(|| node_stale.map_or(default.node_dead, |stale| stale * 4)),
        task_retention: days("TASK_RETENTION_DAYS")?.unwrap_or(default.task_retention),
        event_retention: days("EVENT_RETENTION_DAYS")?.unwrap_or(default.event_retention),
        max_crashes: number("MAX_CRASHES", 1)?.unwrap_or(default.max_crashes),
        cancel_grace: default.cancel_grace,
    };
    settings.check()?;
    Ok(settings)
}

fn role(text: &str) -> Result<Role, ServeError> {
    serde_json::from_value(Value::String(text.to_owned())).map_err(|_| ServeError::Value {
        origin: "--role".to_owned(),
        value: text.to_owned(),
        wanted: "auto, leader, worker or observer",
    })
}

/// A flag, or the variable that stands for it.
fn text(flag: Option<&String>, name: &str) -> Option<String> {
    flag.cloned().or_else(|| variable(name))
}

fn variable(name: &str) -> Option<String> {
    env::var(format!("HYPERSCALE_{name}")).ok().filter(|value| !value.is_empty())
}

fn wrong(name: &str, value: &str, wanted: &'static str) -> ServeError {
    ServeError::Value { origin: format!("HYPERSCALE_{name}"), value: value.to_owned(), wanted }
}

fn truth(name: &str, value: &str) -> Result<bool, ServeError> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(wrong(name, value, "true or false")),
    }
}

fn seconds(name: &str) -> Result<Option<Duration>, ServeError> {
    let Some(value) = variable(name) else { return Ok(None) };
    let parsed = value.parse().ok().and_then(|number| Duration::try_from_secs_f64(number).ok());
    match parsed.filter(|time| !time.is_zero()) {
        Some(time) => Ok(Some(time)),
        None => Err(wrong(name, &value, "a number of seconds above 0")),
    }
}

fn days(name: &str) -> Result<Option<Duration>, ServeError> {
    let days = number(name, 1)?;
    Ok(days.map(|days| Duration::from_hours(24) * days))
}

fn number(name: &str, min: u32) -> Result<Option<u32>, ServeError> {
    let Some(value) = variable(name) else { return Ok(None) };
    match value.parse() {
        Ok(number) if number >= min => Ok(Some(number)),
        _ => Err(wrong(name, &value, "a whole number from 1")),
    }
}

/// The value of a capability: JSON if it is some, else a text.
fn json_or_text(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
