//! A task node as a process, and requests to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Outcome, PATIENCE, Process, first_line, hyperscale, wait_until};

/// A port that is free.
const ANYWHERE: &str = "127.0.0.1:0";

/// A task node that dies with its owner.
pub(crate) struct TaskNode {
    child: Child,
    pub(crate) http: String,
    /// Kept for the next start.
    pub(crate) folder: TempDir,
    args: Vec<String>,
}

impl TaskNode {
    /// A node with a data directory of its own that can do its work.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::with_variables(args, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn with_variables(args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), args, variables).ready()
    }

    /// A node that may have no database yet.
    pub(crate) fn bound(args: &[&str]) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), args, &[])
    }

    /// Waits until it can do its work.
    fn ready(self) -> Self {
        self.wait_until_ready();
        self
    }

    fn wait_until_ready(&self) {
        wait_until("a node that is ready", || {
            self.request("GET /readyz", "", "").starts_with("HTTP/1.1 200").then_some(())
        });
    }

    /// A node whose data directory is the default one, below this folder.
    pub(crate) fn in_folder(folder: TempDir, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let (child, http) = spawn(ANYWHERE, folder.path(), &args, variables);
        Self { child, http, folder, args }
    }

    /// Ends it like a crash, and starts it again on the same data.
    pub(crate) fn restart(&mut self) {
        self.kill();
        (self.child, self.http) = spawn(ANYWHERE, self.folder.path(), &self.args, &[]);
        self.wait_until_ready();
    }

    /// Ends it like a crash.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again where it was, after it was killed.
    pub(crate) fn return_to_its_address(&mut self) {
        (self.child, self.http) = spawn(&self.http, self.folder.path(), &self.args, &[]);
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(&mut self) -> bool {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        wait_until("the end of the node", || self.child.try_wait().unwrap()).success()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("hyperscale/tasks.db")
    }

    pub(crate) fn server(&self) -> String {
        format!("http://{}", self.http)
    }

    /// Runs a command against it.
    pub(crate) fn run(&self, args: &[&str]) -> Outcome {
        self.begin(args).wait()
    }

    /// Starts a command against it.
    pub(crate) fn begin(&self, args: &[&str]) -> Process {
        Process::spawn(hyperscale().args(args).args(["--server", &self.server()]))
    }

    /// What a command prints as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let outcome = self.run(&[args, &["--json"]].concat());
        assert_eq!(outcome.code, 0, "{outcome}");
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    /// The whole response to a request.
    pub(crate) fn request(&self, head: &str, headers: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(&self.http).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            socket,
            "{head} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            self.http,
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).unwrap();
        response
    }

    /// The response to one call.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        self.call_with("content-type: application/json\r\n", method, params)
    }

    /// The response to one call with these headers.
    pub(crate) fn call_with(&self, headers: &str, method: &str, params: &Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let response = self.request("POST /", headers, &body);
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    /// The result of a call that must have one.
    #[track_caller]
    pub(crate) fn result(&self, method: &str, params: &Value) -> Value {
        let response = self.call(method, params);
        assert!(response["error"].is_null(), "{method} {params}: {response}");
        response["result"].clone()
    }

    /// The error of a call that must be refused: its number and its reason.
    #[track_caller]
    pub(crate) fn refusal(&self, method: &str, params: &Value) -> (i64, String) {
        let response = self.call(method, params);
        let code = response["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {response}"));
        (code, response["error"]["data"]["reason"].as_str().unwrap_or_default().to_owned())
    }

    /// Submits one task that waits this long.
    pub(crate) fn waiting(&self, seconds: f64) -> String {
        let task = json!({ "name": "one", "executor": "wait", "inputs": { "duration": seconds } });
        let created = self.result("tasks.create", &json!({ "task": task }));
        created["tree"].as_str().unwrap().to_owned()
    }

    /// Waits until a task is in this state.
    #[track_caller]
    pub(crate) fn wait_for(&self, task: &str, status: &str) -> Value {
        wait_until(status, || {
            Some(self.result("tasks.get", &json!({ "task": task }))).filter(|task| task["status"] == status)
        })
    }
}

impl Drop for TaskNode {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(listen: &str, folder: &Path, args: &[String], variables: &[(&str, &str)]) -> (Child, String) {
    let mut command = hyperscale();
    command.args(["serve", "--listen", listen]).args(args).env("XDG_DATA_HOME", folder);
    command.envs(variables.iter().copied());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let ready: Value = serde_json::from_str(&first_line(child.stdout.take().unwrap())).unwrap();
    assert_eq!(ready["ready"], true);
    let http = ready["http"].as_str().unwrap().to_owned();
    (child, http)
}
