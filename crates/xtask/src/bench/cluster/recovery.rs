//! Nodes are killed: how long until others do their work.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::nodes::{Cluster, number};
use crate::bench::goal::Bound::AtMost;
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::node::{PATIENCE, wait_for};
use crate::bench::numbers::percentile;
use crate::bench::receiver::Arrivals;

/// Leaders that are killed, and workers.
const LEADERS: usize = 20;
const WORKERS: usize = 4;
/// A stop of the requests that is longer than this is the death of the worker.
const SILENCE: Duration = Duration::from_millis(200);

fn plan(arrivals: &Arrivals) -> String {
    format!(
        "workflows:\n  Load: {{ vus: 1, duration: 10m, steps: {{ call: {{ http: 'http://{}/' }} }} }}\n",
        arrivals.address
    )
}

/// The leader of the group, which leads a job too, is killed while the job runs.
pub(super) fn leaders(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    eprintln!("\n==> leaders that are killed");
    let arrivals = Arrivals::listen()?;
    let mut cluster = Cluster::start(lab, 1, ["0-1", "0-1"])?;
    let (mut elected, mut taken) = (Vec::new(), Vec::new());
    let mut attempts = Vec::new();
    for _ in 0..if lab.is_quick { 3 } else { LEADERS } {
        let leader = cluster.leader()?;
        let job = cluster.submit(leader, &plan(&arrivals))?;
        arrivals.forget();
        arrivals.next(PATIENCE)?;
        let begin = Instant::now();
        cluster.managers[leader].take().context("it runs")?.kill()?;
        let other = (leader + 1) % 3;
        wait_for("another leader", || {
            let status = cluster.status(other).ok()?;
            number(&status["leader"]).filter(|now| *now != leader)
        })?;
        elected.push(begin.elapsed().as_secs_f64());
        let next = wait_for("another job leader", || {
            let leaders = cluster.call(other, "cluster.leaders", &json!({})).ok()?;
            let line = leaders["jobs"].as_array()?.iter().find(|line| line["job"] == *job)?.clone();
            number(&line["leader"]).filter(|now| *now != leader)
        })?;
        taken.push(begin.elapsed().as_secs_f64());
        let shown = cluster.call(next, "jobs.get", &json!({ "job": job }))?;
        attempts.push(shown["loss"]["workers_lost"].as_u64().unwrap_or(0));
        cluster.start_manager(leader)?;
        cluster.wait_until_whole()?;
        cluster.cancel(next, &job)?;
    }
    let note =
        |values: &mut [f64]| format!("{} times, slowest {:.2} s", values.len(), percentile(values, 100));
    let election = note(&mut elected);
    goals.push(Goal::measured(
        "leader of the group killed: another one leads, p99",
        "s",
        (AtMost(3.0), Some(AtMost(0.5))),
        percentile(&mut elected, 99),
        election,
    ));
    let lost: u64 = attempts.iter().sum();
    let take_over = format!("{}; {lost} healthy segments lost", note(&mut taken));
    goals.push(Goal::measured(
        "the same manager led a job: another one leads it, p99",
        "s",
        (AtMost(5.0), Some(AtMost(3.0))),
        percentile(&mut taken, 99),
        take_over,
    ));
    Ok(())
}

/// The worker that runs a segment is killed; another one is free.
pub(super) fn worker(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    eprintln!("\n==> workers that are killed");
    let arrivals = Arrivals::listen()?;
    let mut cluster = Cluster::start(lab, 2, ["0-1", "0-1"])?;
    let mut took = Vec::new();
    for _ in 0..if lab.is_quick { 1 } else { WORKERS } {
        let job = cluster.submit(0, &plan(&arrivals))?;
        arrivals.forget();
        arrivals.next(PATIENCE)?;
        let busy = wait_for("a busy worker", || {
            let status = cluster.status(0).ok()?;
            number(&status["workers"].as_array()?.iter().find(|worker| worker["free"] == 0)?["id"])
        })?;
        let begin = Instant::now();
        cluster.workers[busy].take().context("it runs")?.kill()?;
        while arrivals.next(SILENCE).is_ok() {}
        took.push(arrivals.next(PATIENCE)?.duration_since(begin).as_secs_f64());
        cluster.cancel(0, &job)?;
        cluster.start_worker(busy)?;
        cluster.wait_until_whole()?;
    }
    let note = format!("slowest of {} times, from the kill; the lease of 15 s has to end first", took.len());
    goals.push(Goal::measured(
        "worker killed: its segment sends requests again",
        "s",
        (AtMost(16.5), Some(AtMost(8.0))),
        percentile(&mut took, 100),
        note,
    ));
    Ok(())
}
