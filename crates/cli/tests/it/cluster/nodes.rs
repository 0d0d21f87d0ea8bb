//! Managers and workers as processes, on loopback or on hosts of their own, with the times of the profile `test` unless
//! `HYPERSCALE_TEST_TIMERS` names another one.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::authority::Authority;
use super::network::{self, Network};
use crate::support::{Outcome, Process, first_line, free_address, hyperscale, wait_until};

/// Settings of the environment of nodes and clients.
pub(super) const SECRET: &str = "HYPERSCALE_AUTH_SECRET";
pub(super) const SECRET_PREVIOUS: &str = "HYPERSCALE_AUTH_SECRET_PREVIOUS";
const TOKEN: &str = "HYPERSCALE_API_TOKEN";

/// A node that dies with its owner.
pub(super) struct Node {
    child: Child,
    pub(super) http: String,
}

impl Node {
    pub(super) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let ready: Value = serde_json::from_str(&first_line(child.stdout.take().unwrap())).unwrap();
        assert_eq!(ready["ready"], true);
        Self { child, http: ready["http"].as_str().unwrap().to_owned() }
    }

    pub(super) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success(), "kill -s {name}");
    }

    /// Ends it at once, like a crash.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended by itself, and says whether well.
    pub(super) fn ended(mut self) -> bool {
        wait_until("the end of a node", || self.child.try_wait().unwrap()).success()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Three managers and some workers.
pub(super) struct Cluster {
    /// Keeps the folders of `data`.
    folders: Vec<TempDir>,
    /// Data directories of the managers.
    pub(super) data: Vec<PathBuf>,
    pub(super) addresses: Vec<String>,
    /// Certificates of nodes and of their APIs, if they use TLS.
    pub(super) authority: Option<Authority>,
    // Before the network: a namespace outlives its name while a process is in it.
    pub(super) managers: Vec<Option<Node>>,
    pub(super) workers: Vec<Option<Node>>,
    /// Hosts of their own, if they are not all on loopback.
    pub(super) network: Option<Network>,
    /// Variables of nodes that are started and of clients.
    pub(super) environment: Vec<(&'static str, String)>,
}

impl Cluster {
    /// Starts all of it on loopback, and waits until the workers are registered.
    pub(super) fn start(workers: usize) -> Self {
        Self::on_loopback(None, Vec::new()).with_nodes(workers)
    }

    /// The same; nodes, and the APIs of managers, use TLS with certificates of this authority.
    pub(super) fn start_with(workers: usize, authority: Authority) -> Self {
        Self::on_loopback(Some(authority), Vec::new()).with_nodes(workers)
    }

    /// The same with a secret that is not the one for development.
    pub(super) fn start_with_secret(workers: usize, secret: &str) -> Self {
        Self::on_loopback(None, vec![(SECRET, secret.to_owned())]).with_nodes(workers)
    }

    /// Starts all of it, each node on a host of its own.
    pub(super) fn on_hosts(workers: usize) -> Self {
        let environment = vec![
            (SECRET, "b7f2a1d4c3e8956710fa2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f70".to_owned()),
            (TOKEN, "6f1e0d2c3b4a59687786f5e4d3c2b1a0".to_owned()),
        ];
        let addresses = (0..3).map(|index| network::listen(&format!("m{index}"))[0].clone()).collect();
        Self::empty(addresses, None, Some(Network::new()), environment).with_nodes(workers)
    }

    fn on_loopback(authority: Option<Authority>, environment: Vec<(&'static str, String)>) -> Self {
        Self::empty((0..3).map(|_| free_address().to_string()).collect(), authority, None, environment)
    }

    fn empty(
        addresses: Vec<String>,
        authority: Option<Authority>,
        network: Option<Network>,
        environment: Vec<(&'static str, String)>,
    ) -> Self {
        let folders: Vec<TempDir> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let data = folders.iter().map(|folder| folder.path().to_owned()).collect();
        let managers = vec![None, None, None];
        Self { folders, data, addresses, authority, managers, workers: Vec::new(), network, environment }
    }

    fn with_nodes(mut self, workers: usize) -> Self {
        (0..3).for_each(|index| self.start_manager(index));
        (0..workers).for_each(|_| self.add_worker());
        self.wait_for_workers(workers);
        self
    }

    pub(super) fn start_manager(&mut self, index: usize) {
        self.start_manager_with(index, &[]);
    }

    fn start_manager_with(&mut self, index: usize, args: &[&str]) {
        let name = format!("m{index}");
        let mut command = self.node("manager", &name);
        command.args(["--listen", &self.addresses[index], "--peers", &self.addresses.join(",")]);
        command.arg("--data").arg(&self.data[index]).args(args);
        if let Some(authority) = &self.authority {
            command.args(authority.node("manager", index as u64 + 1)).args(authority.api());
        }
        self.managers[index] = Some(Node::spawn(&mut command));
    }

    /// Starts one more manager, which is not a member of the group; its index.
    pub(super) fn add_manager(&mut self) -> usize {
        self.add_manager_with(&[])
    }

    pub(super) fn add_manager_with(&mut self, args: &[&str]) -> usize {
        let folder = tempfile::tempdir().unwrap();
        self.data.push(folder.path().to_owned());
        self.folders.push(folder);
        self.addresses.push(free_address().to_string());
        self.managers.push(None);
        let index = self.managers.len() - 1;
        self.start_manager_with(index, args);
        index
    }

    pub(super) fn add_worker(&mut self) {
        self.add_worker_with(&[]);
    }

    pub(super) fn add_worker_with(&mut self, args: &[&str]) {
        self.workers.push(None);
        self.start_worker_with(self.workers.len() - 1, args);
    }

    pub(super) fn start_worker(&mut self, index: usize) {
        self.start_worker_with(index, &[]);
    }

    fn start_worker_with(&mut self, index: usize, args: &[&str]) {
        let name = format!("w{index}");
        let mut command = self.node("worker", &name);
        command.args(["--cores", "1", "--managers", &self.addresses.join(",")]).args(args);
        if self.network.is_some() {
            command.args(["--listen", &network::listen(&name)[0]]);
        }
        if let Some(authority) = &self.authority {
            command.args(authority.node("worker", index as u64 + 11));
        }
        self.workers[index] = Some(Node::spawn(&mut command));
    }

    /// The command that starts a node, on its host.
    fn node(&mut self, role: &str, name: &str) -> Command {
        let mut command = match &mut self.network {
            None => hyperscale(),
            Some(network) => {
                network.add(name);
                network.hyperscale(name)
            }
        };
        command.args([role, "--id", name, "--timers", timers(), "--dc", "eu"]);
        if self.network.is_some() {
            command.args(["--http", &network::listen(name)[1]]);
        }
        command.envs(self.environment.iter().cloned());
        command
    }

    /// The binary under test where clients are.
    pub(super) fn client(&self) -> Command {
        let mut command = self.network.as_ref().map_or_else(hyperscale, Network::client);
        command.envs(self.environment.iter().cloned());
        command
    }

    /// Waits until `count` workers are registered and owned.
    pub(super) fn wait_for_workers(&self, count: usize) {
        wait_until("registered workers", || {
            let outcome = self.ask(&["cluster", "status", "--json"]);
            let status: Value = serde_json::from_str(&outcome.stdout).ok()?;
            let owned = status["workers"].as_array()?.iter().filter(|worker| worker["owner"].is_string());
            (owned.count() == count).then_some(())
        });
    }

    /// All managers that run, as `--server` takes them; this one first.
    pub(super) fn servers(&self, first: usize) -> String {
        let count = self.managers.len();
        let all = (0..count).map(|index| (first + index) % count);
        let all = all.filter(|index| self.managers[*index].is_some());
        all.map(|index| self.server(index)).collect::<Vec<_>>().join(",")
    }

    /// One manager, as `--server` takes it.
    pub(super) fn server(&self, index: usize) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.managers[index].as_ref().unwrap().http)
    }

    /// Runs a command against the cluster.
    pub(super) fn ask(&self, args: &[&str]) -> Outcome {
        let (servers, ca) = (self.servers(0), self.authority.as_ref().map(Authority::ca));
        let ca = ca.iter().flat_map(|ca| ["--ca", ca]);
        self.ask_alone(&args.iter().copied().chain(["--server", &servers]).chain(ca).collect::<Vec<_>>())
    }

    /// Runs a command where clients are; it names its servers.
    pub(super) fn ask_alone(&self, args: &[&str]) -> Outcome {
        Process::spawn(self.client().args(args)).wait()
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        let outcome = self.ask(&[args, &["--json"]].concat());
        assert_eq!(outcome.code, 0, "{outcome}");
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    /// The manager that leads a job.
    pub(super) fn leader_of(&self, job: &str) -> usize {
        wait_until("the leader of the job", || {
            let leaders = self.json(&["cluster", "leaders"]);
            let all = leaders["jobs"].as_array()?.clone();
            let leader = all.iter().find(|line| line["job"] == job)?["leader"].as_str()?.to_owned();
            leader.strip_prefix('m')?.parse().ok()
        })
    }

    /// The manager that leads the group.
    pub(super) fn leader(&self) -> usize {
        wait_until("a leader of the group", || {
            let outcome = self.ask(&["cluster", "status", "--json"]);
            let status: Value = serde_json::from_str(&outcome.stdout).ok()?;
            status["leader"].as_str()?.strip_prefix('m')?.parse().ok()
        })
    }

    /// The worker that runs something.
    pub(super) fn busy_worker(&self) -> usize {
        wait_until("a busy worker", || {
            let status = self.json(&["cluster", "status"]);
            let workers = status["workers"].as_array()?.clone();
            let busy = workers.iter().find(|worker| worker["free"] == 0)?;
            busy["id"].as_str()?.strip_prefix('w')?.parse().ok()
        })
    }
}

/// The profile of times of all nodes.
fn timers() -> &'static str {
    static PROFILE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    PROFILE.get_or_init(|| std::env::var("HYPERSCALE_TEST_TIMERS").unwrap_or_else(|_| "test".to_owned()))
}

/// A duration of the profile `test`, as a plan writes it; with the times of production it is five times as long.
pub(super) fn lasting(seconds: u32) -> String {
    format!("{}s", if timers() == "test" { seconds } else { 5 * seconds })
}
