//! `doctor`: every verdict on machines made of files, and the machine the tests run on.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::commands::{masked, shown, snapshot};
use crate::support::{Outcome, Target, run};

/// A machine with which everything is fine.
const GOOD: [(&str, &str); 14] = [
    (
        "proc/self/limits",
        "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 524288               files\n",
    ),
    ("proc/sys/net/ipv4/ip_local_port_range", "1024\t65535\n"),
    ("proc/sys/net/ipv4/tcp_tw_reuse", "1\n"),
    ("proc/net/sockstat", "sockets: used 9\nTCP: inuse 4 orphan 0 tw 12 alloc 5 mem 0\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n"),
    ("proc/self/timerslack_ns", "50000\n"),
    ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\n"),
    ("sys/devices/system/cpu/online", "0-7\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("proc/meminfo", "MemTotal: 16384000 kB\nMemAvailable:    8192000 kB\n"),
    ("proc/self/cgroup", "0::/test\n"),
    ("proc/loadavg", "0.31 0.52 0.40 1/301 4711\n"),
];

struct Machine(TempDir);

impl Machine {
    /// A good machine with some files replaced.
    fn with(files: &[(&str, &str)]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        GOOD.iter().chain(files).for_each(|(path, text)| machine.write(path, text));
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn doctor(&self, args: &[&str]) -> Outcome {
        let mut all = vec!["doctor", "--root", self.root().to_str().unwrap()];
        all.extend(args);
        run(&all)
    }

    /// The verdict on one thing, and what to do about it.
    fn verdict(&self, name: &str, args: &[&str]) -> (String, String, String) {
        let outcome = self.doctor(&[args, &["--json"]].concat());
        let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let checks = document["checks"].as_array().unwrap();
        let check =
            checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {outcome}"));
        let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
        (text("verdict"), text("found"), text("fix"))
    }
}

/// Masks what is measured here and now.
fn looked(name: &str, outcome: &Outcome) {
    let mut settings = masked();
    for (pattern, mask) in [
        (r"clock resolution    .*", "clock resolution    TIME"),
        (r"folder    +.* can be written", "folder PATH can be written"),
        (r"\d+\.\d+ ms", "TIME"),
    ] {
        settings.add_filter(pattern, mask);
    }
    settings.bind(|| insta::assert_snapshot!(name, shown(outcome)));
}

#[test]
fn help_of_doctor_is_complete() {
    snapshot!("help_doctor", run(&["doctor", "--help"]));
}

#[test]
fn a_good_machine_has_nothing_to_do() {
    looked("doctor_good", &Machine::with(&[]).doctor(&[]));
}

#[test]
fn a_bad_machine_is_told_what_to_do() {
    let machine = Machine::with(&[
        ("proc/self/limits", "Max open files            1024                 4096               files\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ("proc/sys/net/ipv4/tcp_tw_reuse", "0\n"),
        ("proc/sys/net/core/somaxconn", "128\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ("proc/self/timerslack_ns", "10000000\n"),
        ("proc/self/status", "Cpus_allowed_list:\t3\n"),
        ("sys/fs/cgroup/test/cpu.max", "50000 100000\n"),
        ("proc/loadavg", "6.80 5.01 4.00 9/301 4711\n"),
        ("sys/fs/cgroup/test/memory.max", "268435456\n"),
        ("sys/fs/cgroup/test/memory.current", "67108864\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ]);
    looked("doctor_bad", &machine.doctor(&["--vus", "20000"]));
}

#[test]
fn a_machine_that_tells_nothing_is_not_blamed() {
    let empty = Machine(tempfile::tempdir().unwrap());
    looked("doctor_blind", &empty.doctor(&[]));
}

#[test]
fn verdicts_depend_on_the_virtual_users_wanted() {
    let machine = Machine::with(&[
        ("proc/self/limits", "Max open files            1024                 4096               files\n"),
        ("proc/meminfo", "MemAvailable:  1048576 kB\n"),
    ]);
    let verdict = |name, vus| machine.verdict(name, &["--vus", vus]).0;
    assert_eq!((verdict("open files", "4000"), verdict("open files", "4100")), ("ok".into(), "fail".into()));
    assert_eq!(
        (verdict("local ports", "10000"), verdict("local ports", "40000"), verdict("local ports", "70000")),
        ("ok".into(), "warn".into(), "fail".into())
    );
    assert_eq!(
        (verdict("memory", "1000"), verdict("memory", "15000"), verdict("memory", "100000")),
        ("ok".into(), "warn".into(), "fail".into())
    );
}

#[test]
fn each_verdict_follows_from_what_is_found() {
    for (path, text, name, wanted) in [
        ("proc/self/limits", "Max open files   unlimited   unlimited  files\n", "open files", "ok"),
        ("proc/sys/net/ipv4/tcp_tw_reuse", "2\n", "TIME_WAIT reuse", "ok"),
        ("proc/sys/net/ipv4/ip_local_port_range", "50000 60999\n", "local ports", "warn"),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "kvm-clock",
            "clock source",
            "ok",
        ),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "jiffies",
            "clock source",
            "warn",
        ),
        ("sys/fs/cgroup/cpu.max", "max 100000", "processor quota", "ok"),
        ("sys/fs/cgroup/cpu.max", "400000 100000", "processor quota", "warn"),
        ("sys/fs/cgroup/cpu.max", "800000 100000", "processor quota", "ok"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil", "frequency governor", "ok"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand", "frequency governor", "warn"),
    ] {
        let (verdict, found, fix) = Machine::with(&[(path, text)]).verdict(name, &[]);
        assert_eq!(verdict, wanted, "{name}: {found}");
        assert_eq!(fix.is_empty(), wanted == "ok", "{name}: {fix}");
    }
    let remote = Machine::with(&[("proc/sys/net/ipv4/tcp_tw_reuse", "2\n")]);
    assert_eq!(remote.verdict("TIME_WAIT reuse", &["--target", "http://name.invalid/"]).0, "warn");
}

#[test]
fn the_target_is_reached_or_not() {
    let target = Target::start(&[]);
    let machine = Machine::with(&[]);
    let (verdict, found, _) = machine.verdict("target", &["--target", &target.base]);
    assert_eq!(verdict, "ok");
    assert!(found.starts_with(&format!("status 200 from {}, connect ", target.listen)), "{found}");
    assert_eq!(target.seen().requests, 1);
    assert_eq!(machine.verdict("target", &["--target", &format!("{}/status/500", target.base)]).0, "warn");
    looked("doctor_unreachable", &machine.doctor(&["--target", "http://127.0.0.1:1/"]));
    snapshot!("doctor_no_url", run(&["doctor", "--target", "ftp://h"]));
}

#[test]
fn this_machine_can_be_looked_at() {
    let outcome = run(&["doctor", "--vus", "1", "--json"]);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["checks"].as_array().unwrap().len(), 14);
    assert_eq!(outcome.code, i32::from(document["ok"] == false), "{outcome}");
}

#[test]
fn folders_that_cannot_be_written_fail() {
    let mut command = crate::support::hyperscale();
    let root = Machine::with(&[]);
    command.args(["doctor", "--json", "--root"]).arg(root.root()).env("TMPDIR", "/proc/no/such");
    let outcome = crate::support::Process::spawn(&mut command).wait();
    assert_eq!(outcome.code, 1);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let failed = document["checks"].as_array().unwrap().iter().filter(|check| check["verdict"] == "fail");
    assert_eq!(failed.map(|check| check["name"].as_str().unwrap()).collect::<Vec<_>>(), ["temporary folder"]);
}
