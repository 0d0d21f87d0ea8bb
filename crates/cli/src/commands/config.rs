//! `hyperscale config check`: what a node would be started with, where each value comes from, and what is wrong with it.
//!
//! Sockets are bound and closed again, files are read, nothing is written: a node that passes can be started with the same flags.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use clap::CommandFactory as _;
use clap::parser::ValueSource;
use hyperscale_api::{Access, Listener};
use hyperscale_node::directory::{Directory, Ownership};
use hyperscale_node::launch::{Sockets, Timers};
use hyperscale_node::transport::Certificates;
use hyperscale_types::{ExitCode, NodeId, Role};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::secret::Secret;
use serde::Serialize;

use crate::args::{Cli, ConfigArgs, ConfigCommand, ConfigNode, ManagerArgs, NodeArgs, WorkerArgs};
use crate::cluster::node::{self, NodeError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// Checks a configuration and shows everything that was found.
pub(crate) async fn config(
    args: ConfigArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let ConfigCommand::Check(check) = args.what;
    let mut found = Found::default();
    match check.node {
        ConfigNode::Manager(args) => found.manager(&args).await,
        ConfigNode::Worker(args) => found.worker(&args).await,
    }
    found.ok = found.checks.iter().all(|check| check.problem.is_none());
    if settings.output.json {
        printer.json(&found).map_err(CommandError::Output)?;
    } else {
        printer.data(&found.text()).map_err(CommandError::Output)?;
    }
    Ok(if found.ok { ExitCode::Ok } else { ExitCode::Error })
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
struct Found {
    ok: bool,
    role: String,
    checks: Vec<Check>,
    /// Times that have to be well apart, lowest first.
    timers: Vec<Step>,
}

/// One setting.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    value: String,
    /// Flag, variable or default.
    origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    what: String,
    why: String,
    fix: String,
}

/// A step of the timer ladder.
#[derive(Debug, Serialize)]
struct Step {
    name: &'static str,
    ms: u64,
}

impl Found {
    async fn manager(&mut self, args: &ManagerArgs) {
        let held = self.node(&args.node, Role::Manager, Some(&args.data));
        let access =
            self.take("api token", "HYPERSCALE_API_TOKEN", variable_or_default, node::api_token(), |token| {
                if token.is_some() {
                    "set".to_owned()
                } else {
                    "none; the API is for this machine only".to_owned()
                }
            });
        let access = access.flatten().map_or(Access::Open, Access::Token);
        let tls = self.take(
            "api tls",
            "tls_cert",
            flag,
            node::api_tls(args.tls_cert.as_ref(), args.tls_key.as_ref()),
            |tls| match tls {
                Some(_) => shown(args.tls_cert.as_deref()),
                None => "off".to_owned(),
            },
        );
        self.http(&args.node, access, tls.flatten()).await;
        let peers = node::peers(&args.peers).and_then(|peers| {
            let reached = held.as_ref().map(|held| held.reached);
            let is_missing = !peers.is_empty() && reached.is_some_and(|reached| !peers.contains(&reached));
            match reached.filter(|_| is_missing) {
                Some(reached) => Err(NodeError::NotAPeer(reached).into()),
                None => Ok(peers),
            }
        });
        self.take("peers", "peers", flag, peers, |peers| match peers.len() {
            0 => "none; a group of its own".to_owned(),
            _ => args.peers.join(","),
        });
    }

    async fn worker(&mut self, args: &WorkerArgs) {
        let _held = self.node(&args.node, Role::Worker, args.data.as_deref());
        self.http(&args.node, Access::Probes, None).await;
        self.take("managers", "managers", flag, node::peers(&args.managers), |_| args.managers.join(","));
        let cores = args.cores.map_or_else(hyperscale_engine::available_cores, Into::into);
        self.take("cores", "cores", flag, Ok::<_, CommandError>(cores), ToString::to_string);
    }

    /// What all nodes have. The sockets stay bound, so that another setting cannot use their port.
    fn node(&mut self, args: &NodeArgs, role: Role, data: Option<&Path>) -> Option<Held> {
        self.role = role.to_string();
        let domain = self.take("names", "id", flag, node::names(args), |domain| {
            let environment = match domain.environment() {
                "" => String::new(),
                environment => format!(", environment {environment}"),
            };
            format!("{} in datacenter {}, cluster {}{environment}", args.id, args.dc, domain.cluster())
        });
        let sockets =
            self.take("listen", "listen", flag, node::sockets(&args.listen), |sockets: &Sockets| {
                format!("{}, TCP and UDP", sockets.address())
            });
        let held = sockets.and_then(|sockets| {
            let bound = sockets.address();
            let reached =
                self.take("advertise", "advertise", flag, node::advertised(args, bound), |advertised| {
                    advertised.unwrap_or(bound).to_string()
                });
            Some(Held { reached: reached?.unwrap_or(bound), _sockets: sockets })
        });
        let listen = node::address(&args.listen).ok();
        if let Some(listen) = listen {
            let secrets = node::secrets(listen, &args.cluster);
            self.take("secret", node::SECRET, variable_or_default, secrets, |secrets| {
                let is_known = secrets.current == Secret::development();
                let current = if is_known { "the development secret, on loopback only" } else { "set" };
                let previous =
                    if secrets.previous.is_some() { "; a previous one is accepted too" } else { "" };
                format!("{current}{previous}")
            });
        }
        let named = self.certificates(args, role, domain.as_ref().map(Domain::cluster));
        let timers = node::timers(args.timers.as_deref()).and_then(|timers| {
            timers.check().map_err(|error| NodeError::Launch(error.into()))?;
            Ok(timers)
        });
        let timers = self.take("timers", "timers", flag, timers, |timers: &Timers| ladder(timers));
        self.timers = timers.iter().flat_map(Timers::ladder).map(|(name, time)| step(name, time)).collect();
        if let Some(domain) = domain {
            let checked = match data {
                Some(path) => Directory::check(path, &Ownership { domain, role }, named)
                    .map_err(|error| NodeError::Launch(error.into())),
                None => Ok(()),
            };
            self.take("data directory", "data", flag, checked, |()| match data {
                Some(path) => path.display().to_string(),
                None => "a temporary one".to_owned(),
            });
        }
        held
    }

    /// Mutual TLS between nodes; the node that the certificate names.
    fn certificates(&mut self, args: &NodeArgs, role: Role, cluster: Option<&str>) -> Option<NodeId> {
        let made = node::certificates(args).and_then(|made| {
            let named = match (&made, cluster) {
                (Some(made), Some(cluster)) => {
                    made.names(role, cluster).map_err(|error| NodeError::Launch(error.into()))?
                }
                _ => None,
            };
            Ok((made, named))
        });
        let shown = |(made, _): &(Option<Certificates>, _)| match made {
            Some(_) => shown(args.node_cert.as_deref()),
            None => "off; connections are sealed with the secret".to_owned(),
        };
        self.take("mutual tls", "node_cert", flag, made, shown)?.1
    }

    async fn http(&mut self, args: &NodeArgs, access: Access, tls: Option<hyperscale_api::ServerTls>) {
        let bound: Result<SocketAddr, CommandError> = match node::address(&args.http) {
            Ok(address) => Listener::tcp(address, access, tls)
                .await
                .map(|listener| listener.address().unwrap_or(address))
                .map_err(|error| NodeError::from(error).into()),
            Err(error) => Err(error),
        };
        self.take("http", "http", flag, bound, ToString::to_string);
    }

    /// Takes note of a setting, or of why it cannot be used.
    fn take<T, E: Into<CommandError>>(
        &mut self,
        name: &'static str,
        key: &'static str,
        origin: fn(&str) -> String,
        value: Result<T, E>,
        shown: impl FnOnce(&T) -> String,
    ) -> Option<T> {
        let origin = origin(key);
        match value {
            Ok(value) => {
                let text = shown(&value);
                self.checks.push(Check { name, value: text, origin, problem: None });
                Some(value)
            }
            Err(error) => {
                let error: CommandError = error.into();
                let problem = Problem { what: error.to_string(), why: error.why(), fix: error.fix() };
                self.checks.push(Check { name, value: String::new(), origin, problem: Some(problem) });
                None
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for check in &self.checks {
            // Writing to a string does not fail.
            let _ = match &check.problem {
                None => writeln!(text, "ok    {:<15} {}  ({})", check.name, check.value, check.origin),
                Some(Problem { what, why, fix }) => writeln!(
                    text,
                    "fail  {:<15} {what}  ({})\n      why: {why}\n      fix: {fix}",
                    check.name, check.origin
                ),
            };
        }
        let failed = self.checks.iter().filter(|check| check.problem.is_some()).count();
        let _ = writeln!(text, "\n{} ok, {failed} failed", self.checks.len() - failed);
        text
    }
}

/// Sockets of the node, and where it is reached.
struct Held {
    reached: SocketAddr,
    _sockets: Sockets,
}

/// Where the value of a flag comes from.
fn flag(key: &str) -> String {
    let name = format!("--{}", key.replace('_', "-"));
    let Ok(matches) = Cli::command().try_get_matches_from(std::env::args_os()) else { return name };
    let mut innermost = &matches;
    while let Some((_, inner)) = innermost.subcommand() {
        innermost = inner;
    }
    let is_given = innermost.try_contains_id(key).unwrap_or(false)
        && innermost.value_source(key) == Some(ValueSource::CommandLine);
    if is_given { name } else { "default".to_owned() }
}

/// Where the value of a variable comes from.
fn variable_or_default(name: &str) -> String {
    if std::env::var_os(name).is_some() { name.to_owned() } else { "default".to_owned() }
}

fn shown(path: Option<&Path>) -> String {
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

fn ladder(timers: &Timers) -> String {
    let steps = timers.ladder().map(|(name, time)| format!("{name} {time:?}"));
    steps.join(" < ")
}

fn step(name: &'static str, time: std::time::Duration) -> Step {
    Step { name, ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) }
}
