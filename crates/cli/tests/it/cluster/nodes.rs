//! Managers and workers as processes on loopback, with the times of the profile `test`.

use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::authority::Authority;
use crate::support::{Outcome, first_line, hyperscale, run, wait_until};

/// A node that dies with its owner.
pub(super) struct Node {
    child: Child,
    pub(super) http: String,
}

impl Node {
    pub(super) fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
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
    folders: Vec<TempDir>,
    pub(super) addresses: Vec<String>,
    /// Certificates of nodes and of their APIs, if they use TLS.
    pub(super) authority: Option<Authority>,
    pub(super) managers: Vec<Option<Node>>,
    pub(super) workers: Vec<Option<Node>>,
}

impl Cluster {
    /// Starts all of it, and waits until the workers are registered.
    pub(super) fn start(workers: usize) -> Self {
        Self::start_with(workers, None)
    }

    /// The same; nodes, and the APIs of managers, use TLS with certificates of this authority.
    pub(super) fn start_with(workers: usize, authority: Option<Authority>) -> Self {
        let folders: Vec<TempDir> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let addresses: Vec<String> = (0..3).map(|_| free_address()).collect();
        let managers = vec![None, None, None];
        let mut cluster = Self { folders, addresses, authority, managers, workers: Vec::new() };
        (0..3).for_each(|index| cluster.start_manager(index));
        (0..workers).for_each(|_| cluster.add_worker());
        cluster.wait_for_workers(workers);
        cluster
    }

    pub(super) fn start_manager(&mut self, index: usize) {
        self.start_manager_with(index, &[]);
    }

    fn start_manager_with(&mut self, index: usize, args: &[&str]) {
        let mut command = hyperscale();
        command.args(["manager", "--id", &format!("m{index}"), "--timers", "test", "--dc", "eu"]);
        command.args(["--listen", &self.addresses[index], "--peers", &self.addresses.join(",")]);
        command.arg("--data").arg(self.folders[index].path()).args(args);
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
        self.folders.push(tempfile::tempdir().unwrap());
        self.addresses.push(free_address());
        self.managers.push(None);
        let index = self.managers.len() - 1;
        self.start_manager_with(index, args);
        index
    }

    pub(super) fn add_worker(&mut self) {
        self.add_worker_with(&[]);
    }

    pub(super) fn add_worker_with(&mut self, args: &[&str]) {
        let mut command = hyperscale();
        let name = format!("w{}", self.workers.len());
        command.args(["worker", "--id", &name, "--timers", "test", "--dc", "eu", "--cores", "1"]);
        command.args(["--managers", &self.addresses.join(",")]).args(args);
        if let Some(authority) = &self.authority {
            command.args(authority.node("worker", self.workers.len() as u64 + 11));
        }
        self.workers.push(Some(Node::spawn(&mut command)));
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
        run(&args.iter().copied().chain(["--server", &servers]).chain(ca).collect::<Vec<_>>())
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

/// An address whose port is free for datagrams and streams.
pub(super) fn free_address() -> String {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        if UdpSocket::bind(address).is_ok() {
            return address.to_string();
        }
    }
}
