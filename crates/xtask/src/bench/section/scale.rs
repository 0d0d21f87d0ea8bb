//! Large runs: many virtual users, many starts per second, several cores.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Findings, number_at, ratio_outcome};
use crate::bench::client::{self, Client, OURS, PATH_IS_NO_TEXT};
use crate::bench::contest::{Contest, Sample};
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::goal::Outcome;
use crate::bench::lab::Lab;
use crate::bench::process;
use crate::bench::server;

const MANY_VUS: u64 = 50_000;
/// Long enough for every virtual user to come and to think twice.
const MANY_SECONDS: u64 = 40;
/// Where a process may not open that many files, several share the virtual users; but not more than these.
const MANY_PROCESSES_MAX: u64 = 4;
/// Files that a process opens besides its connections.
const FILES_BESIDES: u64 = 500;
const OPEN_RATE: u64 = 20_000;
/// Cores needed to give two to the client and two to the server.
const CPUS_FOR_SCALING: usize = 4;

/// Virtual users that come over ten seconds and think for ten seconds, from four addresses, for one has no more than
/// 28 000 ports.
fn many_plan(url: &str, vus: u64) -> String {
    format!(
        "name: many\nworkflows:\n  W:\n    vus: {vus}\n    duration: {MANY_SECONDS}s\n    ramp: 10s\n    steps:\n      get:\n        \
         http: {{ url: \"{url}\", source: [127.0.0.1, 127.0.0.2, 127.0.0.3, 127.0.0.4] }}\n        think: 10s\n"
    )
}

/// How many processes are needed to hold all connections.
fn processes(open_files: u64) -> Option<u64> {
    let each = open_files.checked_sub(FILES_BESIDES).filter(|files| *files > 0)?;
    Some(MANY_VUS.div_ceil(each)).filter(|processes| *processes <= MANY_PROCESSES_MAX)
}

pub(super) fn many(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let runs = "50 000 VUs on 2 cores, think time 10 s: failed requests";
    let lag = "50 000 VUs on 2 cores, think time 10 s: p99 of latency, which bounds the loop's lag";
    let Some(processes) = processes(lab.open_files) else {
        let why = format!("only {} files may be open; raise `ulimit -n`", lab.open_files);
        findings.add(runs, "", AtMost(0.0), None, Outcome::NotMeasured(why.clone()));
        findings.add(lag, "ms", AtMost(10.0), None, Outcome::NotMeasured(why));
        return Ok(());
    };
    let nginx = server::nginx(&lab.folder.join("nginx"), "0,1", processes as u32, None)?;
    let vus = MANY_VUS.div_ceil(processes);
    let file = lab.folder.join("many.yaml");
    fs::write(&file, many_plan(&nginx.plain, vus))?;
    let plan = file.to_str().context(PATH_IS_NO_TEXT)?;
    let client = on_cpus(lab.ours(OURS, plan, "")?, "0,1", 2);
    let invocations = vec![client.invocation; processes as usize];
    let usage = process::measure_together(&invocations, &lab.folder, Duration::from_secs(MANY_SECONDS))?;

    let (mut requests, mut failed, mut p99_us, mut peak_kib) = (0.0, 0.0, 0.0_f64, 0);
    for end in usage.ends {
        let result: Value = serde_json::from_str(&end.stdout).context("our result is no JSON")?;
        let at =
            |pointer| number_at(&result, pointer).with_context(|| format!("our result has no {pointer}"));
        requests += at("/totals/requests")?;
        failed += at("/totals/failed")?;
        p99_us = p99_us.max(at("/totals/latency_us/p99")?);
        peak_kib += end.peak_kib;
    }
    let size = peak_kib as f64 / (vus * processes) as f64;
    let note = format!("of {requests:.0} requests, by {processes} process(es); {size:.1} KiB per VU in all");
    findings.add(runs, "", AtMost(0.0), None, Outcome::Measured { value: failed, note });
    let latency = Outcome::Measured { value: p99_us / 1000.0, note: "connecting included".into() };
    findings.add(lag, "ms", AtMost(10.0), None, latency);
    Ok(())
}

pub(super) fn open(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let (_server, url) = lab.minimal("Hello, World!")?;
    let flags = format!("-r {OPEN_RATE}/s -d {}s", lab.seconds);
    let client = lab.ours(OURS, &url, &flags)?;
    let (_, end) = process::measure(&client.invocation, &lab.folder, Duration::from_secs(lab.seconds))?;
    let result: Value = serde_json::from_str(&end.stdout).context("our result is no JSON")?;

    let at = |name: &str| number_at(&result, &format!("/workflows/0/iterations/{name}")).unwrap_or(0.0);
    let intended = (OPEN_RATE * lab.seconds) as f64;
    let note = format!("{:.0} of {intended:.0} scheduled, {:.0} late", at("scheduled"), at("late"));
    let missing = (intended - at("scheduled")).abs() + at("dropped");
    findings.add(
        "open model 20 000/s on one core: starts missing or dropped",
        "",
        AtMost(1.0),
        None,
        Outcome::Measured { value: missing, note },
    );
    findings.add(
        "open model 20 000/s on one core: p99 of the lag that starts add",
        "ms",
        AtMost(1.0),
        None,
        milliseconds(&result, "/workflows/0/lag_us/p99"),
    );
    Ok(())
}

pub(super) fn cores(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let name = "scaling over cores: CPU per request on 1 core relative to 2 cores";
    if lab.cpus < CPUS_FOR_SCALING {
        let why = format!("needs {CPUS_FOR_SCALING} cores: two for the client, two for the server");
        findings.add(name, "", AtLeast(0.95), None, Outcome::NotMeasured(why));
        return Ok(());
    }
    let nginx = server::nginx(&lab.folder.join("nginx"), "0,1", 2, None)?;
    let flags = client::closed(2 * super::CONNECTIONS, lab.seconds);
    let client = |name: &str| lab.ours(name, &nginx.plain, &flags);
    let clients =
        [on_cpus(client("hyperscale, 2 cores")?, "2,3", 2), on_cpus(client("hyperscale, 1 core")?, "2", 1)];
    let contest = Contest::hold(lab, "one core and two, nginx with two workers", &nginx.server, &clients)?;
    let outcome = ratio_outcome(contest.ratio("hyperscale, 1 core", Sample::cpu_us));
    findings.add(name, "", AtLeast(0.95), None, outcome);
    findings.contests.push(contest);
    Ok(())
}

/// The same client on other cores.
fn on_cpus(mut client: Client, cpus: &str, cores: u32) -> Client {
    cpus.clone_into(&mut client.invocation.cpus);
    let words = &mut client.invocation.words;
    if let Some(at) = words.iter().position(|word| word == "--cores") {
        words[at + 1] = cores.to_string();
    }
    client
}

/// A time that the result tells in microseconds.
fn milliseconds(result: &Value, pointer: &str) -> Outcome {
    match number_at(result, pointer) {
        Some(us) => Outcome::Measured { value: us / 1000.0, note: String::new() },
        None => Outcome::NotMeasured(format!("the result has no {pointer}")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_client_moves_to_other_cores_with_its_flag() {
        let one = client::hyperscale(Path::new("hyperscale"), OURS, "plan.yaml", "").unwrap();
        let two = on_cpus(one, "2,3", 2);
        assert_eq!(two.invocation.cpus, "2,3");
        assert!(two.invocation.words.join(" ").contains("--cores 2 "));
    }

    #[test]
    fn virtual_users_are_split_over_as_few_processes_as_files_allow() {
        assert_eq!(
            [70_000, 50_500, 50_499, 20_000, 1024, 0].map(processes),
            [Some(1), Some(1), Some(2), Some(3), None, None]
        );
    }

    #[test]
    fn times_of_a_result_become_milliseconds() {
        let result = serde_json::json!({ "totals": { "latency_us": { "p99": 2500.0 } } });
        let found = milliseconds(&result, "/totals/latency_us/p99");
        assert_eq!(found, Outcome::Measured { value: 2.5, note: String::new() });
        assert!(matches!(milliseconds(&result, "/lag"), Outcome::NotMeasured(_)));
    }
}
