//! Nodes that have nothing to do, a clustered run beside a local one, and what statistics cost the leader of a job.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::nodes::{Cluster, sent_bytes};
use crate::bench::client::SERVER_CPU;
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::goal::Goal;
use crate::bench::lab::{Lab, target_folder};
use crate::bench::node::{Node, cpu_seconds, resident_mib};
use crate::bench::numbers::{Spread, number, percentile};
use crate::bench::process::{Invocation, measure};
use crate::steps::{cargo, output, run};

/// How long idle nodes are looked at.
const IDLE: Duration = Duration::from_secs(20);
/// The core that sends load; the server and the managers share the other one.
const LOAD_CPU: &str = "1";
const VUS: u32 = 64;

pub(super) fn idle(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    eprintln!("\n==> idle nodes");
    let cluster = Cluster::start(lab, 1, ["0-1", "0-1"])?;
    let nodes: Vec<u32> = cluster.managers.iter().chain(&cluster.workers).flatten().map(Node::pid).collect();
    let cpu = |nodes: &[u32]| nodes.iter().map(|pid| cpu_seconds(*pid)).collect::<Result<Vec<f64>>>();
    let before = cpu(&nodes)?;
    thread::sleep(IDLE);
    let mut shares: Vec<f64> = cpu(&nodes)?
        .iter()
        .zip(&before)
        .map(|(after, before)| (after - before) / IDLE.as_secs_f64() * 100.0)
        .collect();
    let mut memory = nodes.iter().map(|pid| resident_mib(*pid)).collect::<Result<Vec<f64>>>()?;
    let note = "the most of three managers and a worker".to_owned();
    goals.push(Goal::measured(
        "idle node: share of a core",
        "%",
        (AtMost(0.5), None),
        percentile(&mut shares, 100),
        note.clone(),
    ));
    goals.push(Goal::measured(
        "idle node: resident memory",
        "MiB",
        (AtMost(40.0), None),
        percentile(&mut memory, 100),
        note,
    ));
    Ok(())
}

/// The same load on the same core: by `hyperscale run`, and by a worker of a cluster.
pub(super) fn throughput(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    eprintln!("\n==> a clustered run beside a local one");
    let (server, url) = lab.minimal("hello")?;
    let cluster = Cluster::start(lab, 1, [SERVER_CPU, LOAD_CPU])?;
    let worker = cluster.workers[0].as_ref().context("the worker runs")?.pid();
    let seconds = lab.seconds.max(3);
    let plan = format!(
        "workflows:\n  Load: {{ vus: {VUS}, duration: {seconds}s, steps: {{ call: {{ http: '{url}' }} }} }}\n"
    );
    let path = lab.folder.join("cluster.yaml");
    std::fs::write(&path, &plan)?;
    let program = lab.hyperscale()?.to_str().context("the path of the binary is no text")?;
    let file = path.to_str().context("the path of the plan is no text")?;
    let local = Invocation::new(LOAD_CPU, [program, "run", file, "--cores", "1", "--json", "--no-ui"]);
    let (mut rates, mut costs, mut bytes, mut miscounted) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..lab.runs {
        let ((usage, end), seen) =
            server.count(|| measure(&local, &lab.folder, Duration::from_secs(seconds)))?;
        let alone = rate(&serde_json::from_str(&end.stdout)?)?;
        let alone_cost = (usage.user_s + usage.system_s) / seen as f64;
        let before = (cpu_seconds(worker)?, sent_bytes(worker, &cluster.ports())?);
        let (result, seen) = server.count(|| {
            let job = cluster.submit(0, &plan)?;
            // Nobody asks a local run for its result while it runs. Asking every 2 ms takes a new connection and a call on the
            // core of the server each time, and what it took was missing at the server.
            thread::sleep(Duration::from_secs(seconds));
            cluster.result(0, &job)
        })?;
        let after = (cpu_seconds(worker)?, sent_bytes(worker, &cluster.ports())?);
        miscounted += result["totals"]["requests"].as_u64().unwrap_or(0).abs_diff(seen);
        rates.push(rate(&result)? / alone);
        costs.push((after.0 - before.0) / seen as f64 / alone_cost);
        bytes.push((after.1.saturating_sub(before.1)) as f64 / seconds as f64 / 1e3);
    }
    let spread = |values: Vec<f64>| Spread::of(values).context("nothing was measured");
    let range = |it: &Spread| format!("[{}–{}]", number(it.min), number(it.max));
    let (rates, costs, bytes) = (spread(rates)?, spread(costs)?, spread(bytes)?);
    let name = "requests/s of a clustered run, same core";
    goals.push(Goal::measured(
        name,
        "× `hyperscale run`",
        (AtLeast(0.97), None),
        rates.median,
        range(&rates),
    ));
    let name = "CPU per request of its worker, everything included";
    goals.push(Goal::measured(name, "× `hyperscale run`", (AtMost(1.05), None), costs.median, range(&costs)));
    let name =
        "bytes that a worker sends to managers per second: windows of one segment, renewals, the result";
    goals.push(Goal::measured(
        name,
        "kB",
        (AtMost(100.0), None),
        bytes.median,
        format!("{}; must: our own", range(&bytes)),
    ));
    let name = "requests reported by clustered runs and seen by the server differ by";
    goals.push(Goal::measured(name, "", (AtMost(0.0), None), miscounted as f64, "all runs above".to_owned()));
    Ok(())
}

fn rate(result: &Value) -> Result<f64> {
    result["totals"]["rate"].as_f64().context("a result has a rate")
}

/// The core of a manager that leads a job on a thousand workers, each with a window every 100 ms.
pub(super) fn job_leader(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    eprintln!("\n==> the leader of a job on 1 000 workers");
    let example = ["-p", "hyperscale-cluster", "--features", "model", "--example", "leader_cost"];
    run(&lab.root, &cargo(), &[&["build", "--locked", "--release"], &example[..]].concat())?;
    let program = target_folder(&lab.root)?.join("release/examples/leader_cost");
    let printed = output(&lab.root, program.to_str().context("the path is no text")?, &["1000"])?;
    let micros: f64 = printed.trim().parse().with_context(|| format!("`{}` is no number", printed.trim()))?;
    let note = format!("{:.1} % of a core for 1 000 workers; decoded messages; must: our own", micros / 10.0);
    goals.push(Goal::measured(
        "CPU of a job leader per worker and second, 1 000 workers, windows of 100 ms",
        "µs",
        (AtMost(500.0), None),
        micros,
        note,
    ));
    Ok(())
}
