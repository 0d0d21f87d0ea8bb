//! Real processes for the tests: the `hyperscale` binary, and a target of it that counts what it sees.
//!
//! Every wait ends: with what it waits for, or with a panic after [`PATIENCE`]. Processes die with their owner.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hyperscale_stats::result::{RunResult, StepResult, WorkflowResult};
use serde::Deserialize;
use tempfile::TempDir;

/// Longest time anything may take: far beyond what it should, so that a loaded machine fails no test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Asks again and again until the answer is as wanted.
#[track_caller]
pub(crate) fn wait_until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "never saw {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Where an installed program is.
#[track_caller]
pub(crate) fn program(name: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut files = path.split(':').chain(["/usr/sbin"]).map(|folder| Path::new(folder).join(name));
    files.find(|file| file.is_file()).unwrap_or_else(|| panic!("cargo xtask test installs {name}"))
}

/// An IP on loopback for this process alone: no connection that others open leaves from it.
pub(crate) fn own_ip() -> Ipv4Addr {
    let [high, middle, low] = [16, 8, 0].map(|bits| (std::process::id() >> bits) as u8);
    // Ids of processes have 22 bits, so this is never 127.0.0.1 of all others.
    Ipv4Addr::new(127, high + 1, middle, low)
}

/// An address that is free for datagrams and streams, and stays so for this test.
pub(crate) fn free_address() -> SocketAddr {
    loop {
        let streams = TcpListener::bind((own_ip(), 0)).unwrap();
        let address = streams.local_addr().unwrap();
        if UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}

/// The binary under test, cut off from the settings of whoever runs the tests.
pub(crate) fn hyperscale() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperscale"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).env("NO_COLOR", "1");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HYPERSCALE_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs to the end with these arguments.
pub(crate) fn run(args: &[&str]) -> Outcome {
    start(args).wait()
}

/// Starts with these arguments.
pub(crate) fn start(args: &[&str]) -> Process {
    Process::spawn(hyperscale().args(args))
}

/// A process whose streams are read while it runs.
pub(crate) struct Process {
    child: Child,
    stdout: thread::JoinHandle<String>,
    stderr: thread::JoinHandle<String>,
    lines: mpsc::Receiver<String>,
    data: mpsc::Receiver<String>,
}

/// What a process left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        let ((sender, lines), (printer, data)) = (mpsc::channel(), mpsc::channel());
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            loop {
                let begun = text.len();
                if out.read_line(&mut text).unwrap() == 0 {
                    return text;
                }
                drop(printer.send(text[begun..].to_owned()));
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            for line in err.lines().map_while(Result::ok) {
                text.push_str(&line);
                text.push('\n');
                drop(sender.send(line));
            }
            text
        });
        Self { child, stdout, stderr, lines, data }
    }

    /// Waits for a line on stderr that contains `part`, and returns it.
    pub(crate) fn wait_for_note(&self, part: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(part) => return line,
                Ok(_) => {}
                Err(error) => panic!("no line with {part:?} on stderr: {error}"),
            }
        }
    }

    /// Lines on stdout since this was last asked.
    pub(crate) fn printed(&self) -> Vec<String> {
        self.data.try_iter().collect()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success(), "kill -s {name}");
    }

    /// The CPUs that each of its threads with such a name may run on.
    pub(crate) fn pinned(&self, name: &str) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).ok();
        let threads = tasks.map_while(Result::ok).filter_map(status);
        let field = |status: &str, key: &str| {
            status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim().to_owned()
        };
        threads
            .filter(|status| field(status, "Name:").starts_with(name))
            .map(|status| field(&status, "Cpus_allowed_list:"))
            .collect()
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> Outcome {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > end {
                drop(self.child.kill());
                panic!("still running after {PATIENCE:?}: {}", self.stderr.join().unwrap());
            }
            thread::sleep(Duration::from_millis(5));
        };
        Outcome {
            code: status.code().unwrap_or(-1),
            stdout: self.stdout.join().unwrap(),
            stderr: self.stderr.join().unwrap(),
        }
    }
}

impl Outcome {
    /// The JSON result on stdout, after looking at the exit code.
    #[track_caller]
    pub(crate) fn result(&self, code: i32) -> RunResult {
        assert_eq!(self.code, code, "exit code; {self}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Whether it ended with this code and said this on stderr.
    #[track_caller]
    pub(crate) fn assert_told(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "exit code; {self}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} on stderr; {self}");
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "code {}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// A running `hyperscale target`.
pub(crate) struct Target {
    child: Child,
    /// `host:port`.
    pub(crate) listen: String,
    /// With scheme, without a slash at the end.
    pub(crate) base: String,
    /// Holds the control socket and the authority's certificate.
    folder: TempDir,
}

/// What a target says at `/__stats`.
#[derive(Debug, Deserialize)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) by_path: BTreeMap<String, u64>,
    pub(crate) connections: Connections,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Connections {
    pub(crate) opened: u64,
    pub(crate) refused: u64,
}

impl Seen {
    /// Requests to one path.
    pub(crate) fn at(&self, path: &str) -> u64 {
        self.by_path.get(path).copied().unwrap_or(0)
    }
}

impl Target {
    /// Starts on a free port and waits until it is ready.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_by(hyperscale(), "127.0.0.1", args)
    }

    /// The same by another command, which may put it on another host; it listens on that address.
    pub(crate) fn start_by(mut command: Command, address: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listen = format!("{address}:0");
        command.args(["target", "--listen", &listen, "--unix"]).arg(folder.path().join("control"));
        if args.contains(&"--tls") {
            command.arg("--ca-out").arg(folder.path().join("ca.pem"));
        }
        let mut child = command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let ready = first_line(child.stdout.take().unwrap());
        let ready: serde_json::Value = serde_json::from_str(&ready).expect("the ready line is JSON");
        assert_eq!(ready["ready"], true);
        assert_eq!(ready["role"], "target");
        let text = |key: &str| ready[key].as_str().unwrap().to_owned();
        Self { child, listen: text("listen"), base: text("url"), folder }
    }

    /// The certificate to trust, if it speaks TLS.
    pub(crate) fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The unix socket it serves beside TCP.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("control")
    }

    /// What it counted, everything that had arrived included. Asked for over the unix socket: that works with TLS too,
    /// and when TCP connections are limited.
    pub(crate) fn seen(&self) -> Seen {
        serde_json::from_str(&self.ask("GET /__stats")).expect("the statistics are JSON")
    }

    /// Sets its counts to zero and starts the clock of the stalls anew.
    pub(crate) fn reset(&self) {
        self.ask("POST /__reset");
    }

    /// Waits until it has counted so many requests.
    pub(crate) fn wait_for_requests(&self, count: u64) {
        let end = Instant::now() + PATIENCE;
        while self.seen().requests < count {
            assert!(Instant::now() < end, "never saw {count} requests");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it at once, like a crash.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ask(&self, request: &str) -> String {
        let mut socket = UnixStream::connect(self.socket()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(socket, "{request} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
        assert!(head.starts_with("HTTP/1.1 2"), "{request}: {head}");
        body.to_owned()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A small disk, which is removed with its owner.
pub(crate) struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Of so many MiB. Only root can mount, as for hosts of their own.
    pub(crate) fn mount(folder: &'a Path, mib: u32) -> Self {
        let size = format!("size={mib}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).status();
        assert!(mounted.unwrap().success(), "root can mount");
        Self(folder)
    }

    /// Takes all room there is.
    pub(crate) fn fill(&self) {
        let mut room = std::fs::File::create(self.0.join("filler")).unwrap();
        let chunk = vec![0; 64 * 1024];
        while room.write_all(&chunk).is_ok() {}
    }

    pub(crate) fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).status());
    }
}

/// What a node serves at a path of its probes.
pub(crate) fn get(listen: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(listen).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn first_line(from: impl Read + Send + 'static) -> String {
    let (sender, line) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        BufReader::new(from).read_line(&mut text).unwrap();
        drop(sender.send(text));
    });
    line.recv_timeout(PATIENCE).expect("a ready line in time")
}

/// A plan in a file of its own; `{base}` in its text is replaced.
pub(crate) struct PlanFile {
    folder: TempDir,
    name: &'static str,
}

impl PlanFile {
    pub(crate) fn new(text: &str) -> Self {
        Self::named("plan.yaml", text)
    }

    pub(crate) fn named(name: &'static str, text: &str) -> Self {
        let file = Self { folder: tempfile::tempdir().unwrap(), name };
        file.with(name, text)
    }

    /// Puts another file beside it.
    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    pub(crate) fn path(&self) -> String {
        self.folder.path().join(self.name).to_str().unwrap().to_owned()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Runs a plan against a target and returns what the process left behind.
pub(crate) fn run_plan(target: &Target, plan: &str, args: &[&str]) -> Outcome {
    let file = PlanFile::new(plan);
    start_file(&file, &target.base, args).wait()
}

/// Starts a plan file with `base` set.
pub(crate) fn start_file(file: &PlanFile, base: &str, args: &[&str]) -> Process {
    let (path, base) = (file.path(), format!("base={base}"));
    let mut all = vec!["run", path.as_str(), "--json", "--var", base.as_str()];
    all.extend(args);
    start(&all)
}

/// A workflow of a result.
#[track_caller]
pub(crate) fn workflow<'r>(result: &'r RunResult, name: &str) -> &'r WorkflowResult {
    result.workflows.iter().find(|workflow| workflow.name == *name).expect("the workflow is in the result")
}

/// A step of a workflow.
#[track_caller]
pub(crate) fn step<'r>(workflow: &'r WorkflowResult, name: &str) -> &'r StepResult {
    let mut steps = workflow.steps.iter().chain(&workflow.setup_steps);
    steps.find(|step| step.name == *name).expect("the step is in the result")
}

/// How often a kind of error happened in a step.
pub(crate) fn errors(step: &StepResult, kind: &str) -> u64 {
    step.errors.iter().filter(|(known, _)| known.word() == kind).map(|(_, count)| count).sum()
}

/// The books of a result agree with each other, as `What counts` says.
#[track_caller]
pub(crate) fn assert_books(result: &RunResult) {
    for workflow in &result.workflows {
        let iterations = &workflow.iterations;
        let ended = iterations.completed + iterations.failed + iterations.interrupted;
        assert_eq!(iterations.started, ended, "iterations of {}: {iterations:?}", workflow.name);
        if let Some(scheduled) = iterations.scheduled {
            assert_eq!(scheduled, iterations.started + iterations.dropped, "{iterations:?}");
        }
        for step in workflow.steps.iter().chain(&workflow.setup_steps) {
            assert_eq!(step.count, step.ok + step.failed, "{}", step.name);
            assert_eq!(step.failed, step.errors.values().sum::<u64>(), "{}: {:?}", step.name, step.errors);
            assert_eq!(step.ok, step.times.latency_us.count, "{}", step.name);
        }
    }
}

/// Books agree, and each named step sent exactly what the target saw at its path; nothing else was seen.
#[track_caller]
pub(crate) fn assert_witnessed(result: &RunResult, seen: &Seen, steps: &[(&str, &str)]) {
    assert_books(result);
    let all = || result.workflows.iter().flat_map(|w| w.steps.iter().chain(&w.setup_steps));
    for (name, path) in steps {
        let requests: u64 = all().filter(|step| step.name == **name).map(|step| step.requests).sum();
        assert_eq!(requests, seen.at(path), "requests of step {name} and of {path}: {seen:?}");
    }
    let sent: u64 = all().map(|step| step.requests).sum();
    assert_eq!(sent, seen.requests, "all requests: {seen:?}");
}
