//! Units, and the files they take their variables from.

use std::collections::BTreeMap;
use std::process::Command;

use super::{Started, assert_group, folder, text};

const BINARY: &str = "/usr/local/bin/hyperscale";

/// Settings of a unit in their order, all sections together.
fn unit(role: &str) -> Vec<(String, String)> {
    let text = text(&format!("systemd/hyperscale-{role}.service"));
    let setting = |line: &str| {
        let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{role}: {line}"));
        (key.to_owned(), value.to_owned())
    };
    text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '['])).map(setting).collect()
}

fn all<'a>(unit: &'a [(String, String)], key: &str) -> Vec<&'a str> {
    unit.iter().filter(|(known, _)| known == key).map(|(_, value)| value.as_str()).collect()
}

#[track_caller]
fn one<'a>(unit: &'a [(String, String)], key: &str) -> &'a str {
    let [value] = all(unit, key)[..] else { panic!("not exactly one {key}") };
    value
}

/// Variables that a unit reads from its files.
fn variables(unit: &[(String, String)]) -> BTreeMap<String, String> {
    let files = all(unit, "EnvironmentFile");
    assert_eq!(files.len(), 2);
    let of = |path: &str| {
        let name = path.strip_prefix("/etc/hyperscale/").expect("files of nodes are in one folder");
        text(&format!("systemd/{name}"))
    };
    let texts: Vec<String> = files.into_iter().map(of).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let settings = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    settings.map(|line| line.split_once('=').unwrap()).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

/// The node that a unit starts, with the values of the example files.
fn started(role: &str) -> Started {
    let unit = unit(role);
    let mut variables = variables(&unit);
    variables.insert("STATE_DIRECTORY".to_owned(), format!("/var/lib/{}", one(&unit, "StateDirectory")));
    let line = one(&unit, "ExecStart").strip_prefix(BINARY).expect("the binary is where it is installed");
    let mut used = Vec::new();
    let mut word = |word: &str| {
        let Some(name) = word.strip_prefix('$') else { return word.to_owned() };
        let name = name.trim_start_matches('{').trim_end_matches('}');
        used.push(name.to_owned());
        variables.get(name).unwrap_or_else(|| panic!("{role}: {name} is in no file")).clone()
    };
    let words: Vec<String> = line.split_whitespace().map(&mut word).filter(|it| !it.is_empty()).collect();
    for name in variables.keys().filter(|name| !name.starts_with("HYPERSCALE_")) {
        assert!(used.contains(name), "{role}: {name} is set and not used");
    }
    let settings = variables.into_keys().filter(|name| name.starts_with("HYPERSCALE_"));
    // Workers leave the token out, as the file says.
    let settings = settings.filter(|name| role == "manager" || name != super::TOKEN_VARIABLE).collect();
    Started::new(&format!("hyperscale-{role}.service"), &words, settings)
}

#[test]
fn units_start_nodes_that_work() {
    let (manager, worker) = (started("manager"), started("worker"));
    for node in [&manager, &worker] {
        node.assert_works();
        node.assert_refuses("", "");
    }
    let own = (manager.flag("--id").to_owned(), manager.flag("--listen").to_owned());
    let ports = |node: &Started| [node.address("--listen").1, node.address("--http").1];
    assert!(ports(&manager).iter().all(|port| !ports(&worker).contains(port)), "both fit on one machine");
    assert!(assert_group(&[manager], &[worker]).contains(&own), "the manager is one of its peers");
}

#[test]
fn worker_has_time_to_drain_and_stays_away_once_it_has() {
    let (manager, worker) = (unit("manager"), unit("worker"));
    assert_eq!((one(&worker, "TimeoutStopSec"), one(&manager, "TimeoutStopSec")), ("1h", "30s"));
    assert_eq!((one(&worker, "Restart"), one(&manager, "Restart")), ("on-failure", "always"));
    for unit in [&manager, &worker] {
        assert!(one(unit, "LimitNOFILE").parse::<u64>().unwrap() >= 65_536);
        assert_eq!((one(unit, "DynamicUser"), one(unit, "StateDirectoryMode")), ("yes", "0700"));
    }
}

#[test]
fn systemd_takes_the_units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return; // not a machine with systemd; the other tests read the same files
    }
    for role in ["manager", "worker"] {
        let name = format!("hyperscale-{role}.service");
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join(&name);
        // The binary is not installed here, and systemd looks for it.
        std::fs::write(&path, text(&format!("systemd/{name}")).replace(BINARY, "/bin/true")).unwrap();
        let verified = Command::new("systemd-analyze").arg("verify").arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        // Settings that it does not know are only warnings; other units of the machine are not ours.
        let about_it: Vec<&str> = said.lines().filter(|line| line.contains(&name)).collect();
        assert!(verified.status.success() && about_it.is_empty(), "{}: {said}", folder().display());
    }
}
