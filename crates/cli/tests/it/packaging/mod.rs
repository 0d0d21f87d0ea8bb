//! What stands in `packaging/` starts nodes that work: flags, variables, addresses, ports, paths and probes agree with each other
//! and with the binary.
//!
//! No container runtime is needed: files are read, and `config check` says whether what they start would work.

mod compose;
mod image;
mod kubernetes;
mod systemd;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hyperscale_plan::document::Format;
use serde_json::Value;

use crate::support::{Outcome, Process, hyperscale, run};

/// Passes as a secret, and is none.
const SECRET: &str = "6c1f0a2b9d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccdde";
const TOKEN: &str = "token-of-a-test";
const SECRET_VARIABLES: [&str; 2] = ["HYPERSCALE_AUTH_SECRET", "HYPERSCALE_AUTH_SECRET_PREVIOUS"];
const TOKEN_VARIABLE: &str = "HYPERSCALE_API_TOKEN";

/// A node as a file starts it: variables of the file are replaced by values.
struct Started {
    /// The file, and the node in it.
    place: String,
    /// `manager` or `worker`.
    role: String,
    flags: BTreeMap<String, String>,
    /// Names of the variables that it gets.
    variables: Vec<String>,
}

impl Started {
    /// From a command line without the name of the program.
    fn new(place: &str, command: &[String], variables: Vec<String>) -> Self {
        let (role, args) = command.split_first().unwrap_or_else(|| panic!("{place} starts nothing"));
        let mut flags = BTreeMap::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag, value.to_owned()),
                None => (arg.as_str(), args.next().unwrap_or_else(|| panic!("{place}: {arg}")).clone()),
            };
            assert!(flag.starts_with("--"), "{place}: {flag} is no flag");
            assert!(!value.is_empty() && !value.contains('$'), "{place}: {flag} has the value `{value}`");
            assert!(flags.insert(flag.to_owned(), value).is_none(), "{place}: {flag} twice");
        }
        Self { place: place.to_owned(), role: role.clone(), flags, variables }
    }

    #[track_caller]
    fn flag(&self, name: &str) -> &str {
        self.flags.get(name).unwrap_or_else(|| panic!("{}: no {name}", self.place))
    }

    /// Host and port of an address.
    #[track_caller]
    fn address(&self, flag: &str) -> (&str, u64) {
        host_and_port(self.flag(flag))
    }

    /// Asks the binary about it. Addresses are of this machine, for others cannot be bound or resolved here.
    fn check(&self, secret: &str, token: &str) -> Outcome {
        let data = tempfile::tempdir().unwrap();
        let mut command = hyperscale();
        command.args(["config", "check", "--json", &self.role]);
        for (flag, value) in &self.flags {
            let value = match flag.as_str() {
                "--listen" | "--http" => "127.0.0.1:0".to_owned(),
                "--managers" => here(value),
                // Has to name the port, which is another one here; `assert_group` looks at it.
                "--peers" => continue,
                "--data" => data.path().join("data").to_str().unwrap().to_owned(),
                _ => value.clone(),
            };
            command.args([flag, &value]);
        }
        for name in &self.variables {
            let value = match name.as_str() {
                name if SECRET_VARIABLES.contains(&name) => secret,
                TOKEN_VARIABLE => token,
                _ => "http://127.0.0.1:1",
            };
            command.env(name, value);
        }
        Process::spawn(&mut command).wait()
    }

    /// It would start, and needs nothing that the file does not give.
    #[track_caller]
    fn assert_works(&self) {
        let outcome = self.check(SECRET, TOKEN);
        assert_eq!(outcome.code, 0, "{}: {outcome}", self.place);
        let needed = ["HYPERSCALE_AUTH_SECRET", TOKEN_VARIABLE];
        for name in &needed[..if self.role == "manager" { 2 } else { 1 }] {
            assert!(self.variables.iter().any(|given| given == name), "{}: no {name}", self.place);
        }
        let is_token_needed = self.role == "manager";
        let has_token = self.variables.iter().any(|given| given == TOKEN_VARIABLE);
        assert!(is_token_needed || !has_token, "{}: a worker needs no token", self.place);
        let ports = (self.address("--listen").1, self.address("--http").1);
        assert_ne!(ports.0, ports.1, "{}: one port for two listeners", self.place);
    }

    /// Values that a file brings along in the place of secrets keep the node from starting.
    #[track_caller]
    fn assert_refuses(&self, secret: &str, token: &str) {
        for (secret, token) in [(secret, TOKEN), (SECRET, token)] {
            if secret == SECRET && self.role == "worker" {
                continue;
            }
            let outcome = self.check(secret, token);
            assert_eq!(outcome.code, 1, "{}: takes `{secret}` and `{token}`; {outcome}", self.place);
        }
    }
}

/// All managers found one group, and workers know all of them.
#[track_caller]
fn assert_group(managers: &[Started], workers: &[Started]) -> Vec<(String, String)> {
    let peers: Vec<(String, String)> = managers[0]
        .flag("--peers")
        .split(',')
        .map(|peer| peer.split_once('=').map(|(id, at)| (id.to_owned(), at.to_owned())).unwrap())
        .collect();
    for manager in managers {
        assert_eq!(manager.flag("--peers"), managers[0].flag("--peers"), "{}", manager.place);
    }
    let addresses: Vec<&str> = peers.iter().map(|(_, at)| at.as_str()).collect();
    for worker in workers {
        assert_eq!(worker.flag("--managers"), addresses.join(","), "{}", worker.place);
    }
    let port = managers[0].address("--listen").1;
    for (id, at) in &peers {
        assert_eq!(host_and_port(at).1, port, "{}: the port of {id}", managers[0].place);
    }
    peers
}

#[track_caller]
fn host_and_port(address: &str) -> (&str, u64) {
    let (host, port) = address.rsplit_once(':').unwrap_or_else(|| panic!("no port in {address}"));
    (host, port.parse().unwrap_or_else(|_| panic!("no port in {address}")))
}

/// A list of addresses with the same ports on this machine.
fn here(list: &str) -> String {
    let ports = list.split(',').map(|address| format!("127.0.0.1:{}", host_and_port(address).1));
    ports.collect::<Vec<_>>().join(",")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

#[track_caller]
fn text(path: &str) -> String {
    fs::read_to_string(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The documents of a YAML file.
#[track_caller]
fn documents(path: &str) -> Vec<Value> {
    let read = |part: &str| {
        hyperscale_convert::read::document(path, part.as_bytes(), Format::Yaml, 1 << 20)
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    text(path).split("\n---\n").map(read).collect()
}

/// A text in a document.
#[track_caller]
fn string<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {pointer} of {value:#}"))
}

/// A list in a document.
#[track_caller]
fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.unwrap_or_else(|| panic!("no list at {pointer} of {value:#}"))
}

#[test]
fn flag_that_the_binary_does_not_have_is_noticed() {
    let command = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let args = ["worker", "--id=w", "--managers=m:1", "--listen=w:1", "--http=w:2", "--data=/d"];
    let variables = || vec![SECRET_VARIABLES[0].to_owned()];
    let node = |args: &[&str]| Started::new("a test", &command(args), variables());
    node(&args).assert_works();
    assert_eq!(node(&[&args[..], &["--colour=red"]].concat()).check(SECRET, TOKEN).code, 2);
    let mut unknown = node(&args);
    unknown.variables.push("HYPERSCALE_SERVICE_HOST".to_owned());
    assert_eq!(unknown.check(SECRET, TOKEN).code, 2, "variables of Kubernetes are unknown settings");
    assert_eq!(run(&["config", "check", "gate"]).code, 2);
}
