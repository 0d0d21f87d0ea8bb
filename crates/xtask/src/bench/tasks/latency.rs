//! From a submission to the request that its task sends, and from task to task of a chain.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::nodes::TaskNode;
use super::postgres::{Postgres, Session};
use super::throughput::node;
use crate::bench::goal::Bound::AtMost;
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::node::{PATIENCE, wait_for};
use crate::bench::numbers::percentile;
use crate::bench::receiver::Arrivals;

/// Tasks whose start is timed.
const TIMED: usize = 300;
/// Tasks of the chain.
const CHAIN: usize = 500;

pub(super) fn measure(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    let server = Postgres::start()?;
    server.create("tasks")?;
    let (near, far) = (node(lab, &server, "near", 4)?, node(lab, &server, "far", 4)?);
    let arrivals = Arrivals::listen()?;
    let count = if lab.is_quick { TIMED / 10 } else { TIMED };
    for (name, allowed) in [
        ("submission to start on the node that took it, idle", "near"),
        ("submission to start on another node, woken by `NOTIFY`, idle", "far"),
    ] {
        let mut took = starts(&near, &arrivals, allowed, count)?;
        eprintln!("    {name}: p50 {:.2} ms", percentile(&mut took, 50));
        let note = format!("{count} tasks, slowest {:.1} ms", percentile(&mut took, 100));
        for (percent, most) in [(50, 5.0), (99, 25.0)] {
            let value = percentile(&mut took, percent);
            let name = format!("{name}: p{percent}");
            goals.push(Goal::measured(&name, "ms", (AtMost(most), None), value, note.clone()));
        }
    }
    drop(far);
    let hop = chain(&near, &mut server.session("tasks")?)?;
    eprintln!("    chain: {hop:.2} ms per task");
    let note = format!("a chain of {CHAIN} tasks, on one node");
    goals.push(Goal::measured("completion to start of the next task", "ms", (AtMost(10.0), None), hop, note));
    Ok(())
}

/// Milliseconds from each request to submit a task to the request that the task sends.
pub(super) fn starts(node: &TaskNode, arrivals: &Arrivals, allowed: &str, count: usize) -> Result<Vec<f64>> {
    let url = format!("http://{}/", arrivals.address);
    let task = json!({
        "name": "timed", "executor": "http", "inputs": { "url": url },
        "placement": { "allowed_nodes": [allowed] },
    });
    let params = json!({ "task": task });
    let mut took = Vec::new();
    for _ in 0..count {
        let mut caller = node.caller()?;
        arrivals.forget();
        let begin = Instant::now();
        let created = caller.call("tasks.create", &params)?;
        took.push(arrivals.next(PATIENCE)?.duration_since(begin).as_secs_f64() * 1e3);
        wait_until_completed(node, &created["tree"])?;
    }
    Ok(took)
}

/// Waits until a task has completed; asks on one connection.
pub(super) fn wait_until_completed(node: &TaskNode, task: &Value) -> Result<()> {
    let mut caller = node.caller()?;
    let params = json!({ "task": task });
    wait_for("a completed task", || {
        (caller.call("tasks.get", &params).ok()?["status"] == "completed").then_some(())
    })
}

/// Milliseconds per task of a chain, from the first start to the last completion.
fn chain(node: &TaskNode, session: &mut Session) -> Result<f64> {
    let task = |at: usize| {
        let before: Vec<Value> =
            at.checked_sub(1).map(|before| json!({ "task": format!("c{before}") })).into_iter().collect();
        json!({ "name": format!("c{at}"), "executor": "wait", "inputs": { "duration": 0 }, "depends_on": before })
    };
    let tasks: Vec<Value> = (0..CHAIN).map(task).collect();
    let created = node.call("tasks.create", &json!({ "tasks": tasks }))?;
    let tree = created["tree"].as_str().context("a submission has a tree")?;
    let left = format!("SELECT count(*) FROM tasks WHERE tree_id = '{tree}' AND status <> 2");
    wait_for("the end of the chain", || (session.number(&left).ok()? < 0.5).then_some(()))?;
    let sql = format!(
        "SELECT extract(epoch FROM max(completed_at) - min(started_at)) * 1000 / {CHAIN} FROM tasks WHERE tree_id = '{tree}'"
    );
    session.number(&sql)
}
