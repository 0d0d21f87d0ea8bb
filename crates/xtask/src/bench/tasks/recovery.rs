//! Nodes are killed: how long until their tasks run elsewhere.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::latency::wait_until_completed;
use super::nodes::TaskNode;
use super::postgres::Postgres;
use super::throughput::node;
use crate::bench::goal::Bound::AtMost;
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::node::{PATIENCE, wait_for};
use crate::bench::numbers::percentile;
use crate::bench::receiver::Arrivals;

/// How often a node is killed, and what all nodes run then; each could run all of it.
const KILLS: usize = 20;
const TASKS: usize = 6;
const NODES: usize = 3;

/// Three nodes of one database.
struct Cluster<'a> {
    lab: &'a Lab,
    /// Before the server, so that they end before it.
    nodes: Vec<Option<TaskNode>>,
    server: Postgres,
}

impl<'a> Cluster<'a> {
    fn start(lab: &'a Lab) -> Result<Self> {
        let server = Postgres::start()?;
        server.create("tasks")?;
        let mut cluster = Self { lab, nodes: (0..NODES).map(|_| None).collect(), server };
        for index in 0..NODES {
            cluster.start_node(index)?;
        }
        Ok(cluster)
    }

    fn start_node(&mut self, index: usize) -> Result<()> {
        self.nodes[index] = Some(node(self.lab, &self.server, &name(index), TASKS)?);
        Ok(())
    }

    fn running(&self) -> impl Iterator<Item = (usize, &TaskNode)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| Some((index, node.as_ref()?)))
    }

    fn any(&self) -> Result<&TaskNode> {
        self.running().next().map(|(_, node)| node).context("a node runs")
    }

    /// Who leads, as a node that runs sees it; the leader runs too.
    fn leader(&self) -> Result<usize> {
        let asked = self.any()?;
        wait_for("a leader", || {
            let nodes = asked.call("nodes.list", &json!({})).ok()?;
            let leader = nodes["nodes"].as_array()?.iter().find(|node| node["is_leader"] == true)?.clone();
            (0..NODES).find(|index| leader["name"] == *name(*index) && self.nodes[*index].is_some())
        })
    }
}

fn name(index: usize) -> String {
    format!("n{index}")
}

/// What is killed.
#[derive(Clone, Copy)]
enum Victim {
    Worker,
    Leader,
}

pub(super) fn measure(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    let mut cluster = Cluster::start(lab)?;
    let arrivals = Arrivals::listen()?;
    for (victim, title) in [(Victim::Worker, "worker"), (Victim::Leader, "leader")] {
        let (mut elsewhere, mut elected) = (Vec::new(), Vec::new());
        for _ in 0..if lab.is_quick { 3 } else { KILLS } {
            let times = kill_one(&mut cluster, &arrivals, victim)?;
            eprintln!("    {title} killed: tasks run elsewhere after {:.2} s", times.elsewhere);
            elsewhere.push(times.elsewhere);
            elected.extend(times.elected);
        }
        let note = |values: &mut [f64]| {
            format!(
                "{} times, p50 {:.2} s, slowest {:.2} s",
                values.len(),
                percentile(values, 50),
                percentile(values, 100)
            )
        };
        let text = note(&mut elsewhere);
        let goal = format!("{title} killed: all its tasks run elsewhere, p99");
        goals.push(Goal::measured(&goal, "s", (AtMost(3.0), None), percentile(&mut elsewhere, 99), text));
        if !elected.is_empty() {
            let text = note(&mut elected);
            let goal = "leader killed: another one leads, p99";
            goals.push(Goal::measured(goal, "s", (AtMost(3.0), None), percentile(&mut elected, 99), text));
        }
    }
    Ok(())
}

/// Seconds from the kill.
struct Times {
    elsewhere: f64,
    elected: Option<f64>,
}

/// Gives a node tasks, kills it and waits until all that it ran has begun again elsewhere.
fn kill_one(cluster: &mut Cluster<'_>, arrivals: &Arrivals, victim: Victim) -> Result<Times> {
    let leader = cluster.leader()?;
    let index = match victim {
        Victim::Leader => leader,
        Victim::Worker => (leader + 1) % NODES,
    };
    let (tasks, mut left) = occupy(cluster, arrivals, index)?;
    let begin = Instant::now();
    cluster.nodes[index].take().context("it runs")?.kill()?;
    let elected = match victim {
        Victim::Worker => None,
        Victim::Leader => {
            cluster.leader()?;
            Some(begin.elapsed().as_secs_f64())
        }
    };
    let mut last = begin;
    while !left.is_empty() {
        let arrival = arrivals.arrival(PATIENCE)?;
        left.remove(&arrival.path);
        last = arrival.at;
    }
    arrivals.hold(false);
    for task in &tasks {
        wait_until_completed(cluster.any()?, task)?;
    }
    cluster.start_node(index)?;
    Ok(Times { elsewhere: last.duration_since(begin).as_secs_f64(), elected })
}

/// Submits tasks through a node until it runs some of them, none of which end: all tasks, and the paths of those that it runs.
fn occupy(
    cluster: &Cluster<'_>,
    arrivals: &Arrivals,
    index: usize,
) -> Result<(Vec<Value>, BTreeSet<String>)> {
    let node = cluster.nodes[index].as_ref().context("it runs")?;
    loop {
        arrivals.hold(true);
        arrivals.forget();
        let mut tasks = Vec::new();
        for number in 0..TASKS {
            let url = format!("http://{}/{number}", arrivals.address);
            let task =
                json!({ "name": "held", "executor": "http", "inputs": { "url": url, "timeout": 300 } });
            tasks.push(node.call("tasks.create", &json!({ "task": task }))?["tree"].clone());
            arrivals.arrival(PATIENCE)?;
        }
        let mut its = BTreeSet::new();
        for (number, task) in tasks.iter().enumerate() {
            let task = node.call("tasks.get", &json!({ "task": task }))?;
            if task["last_assigned_node"] == *name(index) {
                its.insert(format!("/{number}"));
            }
        }
        if !its.is_empty() {
            return Ok((tasks, its));
        }
        arrivals.hold(false);
        for task in &tasks {
            wait_until_completed(node, task)?;
        }
    }
}
