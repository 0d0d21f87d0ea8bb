//! `config check`: what a node would be started with, and everything that is wrong with it.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::{free_address, hyperscale, run};

fn check(args: &[&str]) -> (i32, Value) {
    let outcome = run(&[&["config", "check", "--json"], args].concat());
    (outcome.code, serde_json::from_str(&outcome.stdout).unwrap())
}

/// One of the checks.
fn of<'a>(found: &'a Value, name: &str) -> &'a Value {
    let checks = found["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}: {found:#}"))
}

#[test]
fn configuration_that_works_passes_and_changes_nothing() {
    let (data, listen) = (tempfile::tempdir().unwrap(), free_address().to_string());
    let folder = data.path().join("data");
    let args = ["manager", "--id", "m1", "--listen", &listen, "--peers", &listen, "--data"];
    let args = [&args[..], &[folder.to_str().unwrap()]].concat();
    let (code, found) = check(&args);
    assert_eq!((code, &found["ok"]), (0, &true.into()), "{found:#}");
    assert_eq!(found["timers"][0]["ms"], 100);
    let (listening, http) = (of(&found, "listen"), of(&found, "http"));
    assert_eq!(listening["value"], format!("{listen}, TCP and UDP"));
    assert_eq!((&listening["origin"], &http["origin"]), (&"--listen".into(), &"default".into()));
    assert_eq!(of(&found, "secret")["value"], "the development secret, on loopback only");
    assert!(!folder.exists(), "the directory is not made");
    let text = run(&[&["config", "check"], &args[..]].concat());
    assert_eq!(text.code, 0, "{text}");
    assert!(text.stdout.contains("raft heartbeat 100ms < ") && text.stdout.contains("0 failed"), "{text}");
    let (code, found) = check(&["worker", "--id", "w1", "--managers", "127.0.0.1:7101", "--cores", "2"]);
    assert_eq!((code, &of(&found, "cores")["value"]), (0, &"2".into()), "{found:#}");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let (taken, data) = (taken.local_addr().unwrap().to_string(), (tempfile::tempdir().unwrap(), taken));
    let file = data.0.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let args = ["manager", "--id", "m 1", "--listen", &taken, "--http", "nowhere", "--data", file];
    let (code, found) = check(&args);
    assert_eq!((code, &found["ok"]), (1, &false.into()));
    for name in ["names", "listen", "http"] {
        let problem = &of(&found, name)["problem"];
        for part in ["what", "why", "fix"] {
            assert!(problem[part].as_str().is_some_and(|text| !text.is_empty()), "{name}: {problem}");
        }
    }
    let one = |name: &str, args: &[&str]| {
        let (code, found) = check(&[&["manager", "--id", "m1"], args].concat());
        assert_eq!(code, 1, "{found:#}");
        let failed = found["checks"].as_array().unwrap().iter().filter(|check| check["problem"].is_object());
        assert_eq!(failed.count(), 1, "{found:#}");
        of(&found, name)["problem"].to_string()
    };
    let folder = data.0.path().to_str().unwrap();
    assert!(one("data directory", &["--data", file]).contains(file));
    let peers = one("peers", &["--data", folder, "--peers", "127.0.0.1:1,127.0.0.1:2"]);
    assert!(peers.contains("--peers does not name 127.0.0.1:"), "{peers}");
    let http = one("http", &["--data", folder, "--http", "0.0.0.0:0"]);
    assert!(http.contains("HYPERSCALE_API_TOKEN"), "{http}");
    let timers = one("timers", &["--data", folder, "--timers", "wan"]);
    assert!(timers.contains("there is no timer profile `wan`"), "{timers}");
    let open =
        ["config", "check", "--json", "manager", "--id", "m1", "--data", folder, "--listen", "0.0.0.0:0"];
    let output = hyperscale().args(open).env("HYPERSCALE_AUTH_SECRET", "hunter2").output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (secret, advertise) = (of(&found, "secret"), of(&found, "advertise"));
    assert_eq!(secret["origin"], "HYPERSCALE_AUTH_SECRET");
    assert!(secret["problem"]["fix"].as_str().unwrap().contains("hyperscale secret"), "{secret}");
    assert!(advertise["problem"]["fix"].as_str().unwrap().contains("--advertise"), "{advertise}");
}
