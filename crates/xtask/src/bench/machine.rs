//! Facts about the machine, without which numbers mean nothing.

use std::fs;
use std::process::Command;

use super::lab::{Begin, Lab};

/// A load above this disturbs what is measured.
const BUSY: f64 = 1.0;

impl Begin {
    pub(super) fn now() -> Self {
        let loadavg = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self { date: said("date", &["-u", "+%F %R UTC"]), load: load(&loadavg) }
    }
}

/// Name and value of each fact, once everything is measured: programs that no section needed were not built.
pub(super) fn facts(lab: &Lab) -> Vec<(&'static str, String)> {
    let mut facts = common_facts(lab);
    facts.extend([
        ("nginx", version("nginx", "-v")),
        ("wrk", version("wrk", "-v")),
        ("h2load", version("h2load", "--version")),
        ("runs", format!("{} × {} s", lab.runs, lab.seconds)),
    ]);
    facts.extend(lab.built().into_iter().map(|(name, program)| (name, version(program, "--version"))));
    facts
}

/// What matters to every measurement.
pub(super) fn common_facts(lab: &Lab) -> Vec<(&'static str, String)> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    vec![
        ("date", lab.begin.date.clone()),
        ("processor", cpu_model(&read("/proc/cpuinfo")).unwrap_or("unknown").to_owned()),
        ("cores", lab.cpus.to_string()),
        ("memory", memory_gib(&read("/proc/meminfo")).unwrap_or_else(|| "unknown".to_owned())),
        ("kernel", said("uname", &["-sr"])),
        ("load at the start", lab.begin.load.clone()),
        ("rustc", version("rustc", "--version")),
    ]
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// What a program says about its version, on whichever stream and with whichever exit code.
pub(super) fn version(program: &str, flag: &str) -> String {
    let Ok(output) = Command::new(program).arg(flag).output() else { return "not installed".to_owned() };
    let text = [output.stdout, output.stderr].concat();
    version_number(&String::from_utf8_lossy(&text)).unwrap_or("unknown").to_owned()
}

/// The first word that has a digit and a point, without what stands before a slash.
fn version_number(text: &str) -> Option<&str> {
    let mut words = text.lines().next()?.split_whitespace();
    let word =
        words.find(|word| word.contains('.') && word.contains(|letter: char| letter.is_ascii_digit()))?;
    Some(word.rsplit('/').next().unwrap_or(word))
}

/// The load of the last minute, and whether it leaves room for a benchmark.
fn load(loadavg: &str) -> String {
    let first = loadavg.split(' ').next().unwrap_or_default();
    match first.parse::<f64>() {
        Ok(load) if load > BUSY => format!("{first}: the machine was busy, differences may mean nothing"),
        _ => first.to_owned(),
    }
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim())
}

fn memory_gib(meminfo: &str) -> Option<String> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(format!("{:.0} GiB", kib / 1024.0 / 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        assert_eq!(version_number("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012"), Some("4.1.0-3+b2"));
        assert_eq!(version_number("nginx version: nginx/1.22.1\n"), Some("1.22.1"));
        assert_eq!(version_number("h2load nghttp2/1.52.0"), Some("1.52.0"));
        assert_eq!(version_number("rustc 1.95.0 (abc 2026-04-01)"), Some("1.95.0"));
        assert_eq!(version_number("usage: thing"), None);
    }

    #[test]
    fn a_busy_machine_is_named_so() {
        assert_eq!(load("0.31 1.0 2.0 1/99 7"), "0.31");
        assert!(load("3.70 5.83 9.00 4/301 777").starts_with("3.70: the machine was busy"));
    }

    #[test]
    fn processor_and_memory_are_read_from_proc() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC\nflags\t: fpu\n"), Some("AMD EPYC"));
        assert_eq!(memory_gib("MemTotal:       24652532 kB\nMemFree: 1 kB\n").as_deref(), Some("24 GiB"));
    }
}
