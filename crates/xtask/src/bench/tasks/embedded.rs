//! A node with nothing configured: tasks in a SQLite file, every commit synced.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::latency::{starts, wait_until_completed};
use super::nodes::{self, Start, TaskNode};
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::node::wait_within;
use crate::bench::numbers::{Spread, number, percentile};
use crate::bench::receiver::Arrivals;

const TASKS: usize = 40_000;
const TASKS_QUICK: usize = 5_000;
const PARALLEL: usize = 1_000;
/// Tasks whose start is timed.
const TIMED: usize = 200;
const RUN_WITHIN: Duration = Duration::from_mins(5);
/// How often it is asked whether all have ended.
const ASK_EVERY: Duration = Duration::from_millis(20);

pub(super) fn measure(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    let count = if lab.is_quick { TASKS_QUICK } else { TASKS };
    let mut rates = Vec::new();
    for _ in 0..lab.runs {
        let rate = whole(lab, count)?;
        eprintln!("    SQLite: {}/s", number(rate));
        rates.push(rate);
    }
    let spread = Spread::of(rates).context("nothing was measured")?;
    let note = format!("[{}–{}]; by the clock of who submits", number(spread.min), number(spread.max));
    let name = "SQLite: empty tasks submitted, claimed and completed per second, in batches, synced";
    goals.push(Goal::measured(name, "", (AtLeast(5_000.0), None), spread.median, note));

    let begin = Instant::now();
    let local = start(lab, &folder(lab)?, "local", 4)?;
    let task = json!({ "task": { "name": "first", "executor": "aggregate" } });
    let created = local.call("tasks.create", &task)?;
    wait_until_completed(&local, &created["tree"])?;
    let first = begin.elapsed().as_secs_f64();
    let timed = if lab.is_quick { TIMED / 10 } else { TIMED };
    let mut took = starts(&local, &Arrivals::listen()?, "local", timed)?;
    let note = format!("{timed} tasks, p99 {} ms", number(percentile(&mut took, 99)));
    let name = "SQLite: submission to start, idle, p50";
    goals.push(Goal::measured(name, "ms", (AtMost(2.0), None), percentile(&mut took, 50), note));
    let name = "SQLite: start of the process to the end of its first task";
    goals.push(Goal::measured(name, "s", (AtMost(1.0), None), first, String::new()));
    Ok(())
}

/// Tasks per second from the first submission to the last completion, on a new file.
fn whole(lab: &Lab, count: usize) -> Result<f64> {
    let node = start(lab, &folder(lab)?, "local", PARALLEL)?;
    let begin = Instant::now();
    nodes::submit(node.http(), count, None)?;
    let mut caller = node.caller()?;
    wait_within(RUN_WITHIN, "the end of all tasks", || {
        let counts = caller.call("tasks.counts", &json!({})).ok()?;
        let is_over = counts["completed"] == count;
        if !is_over {
            thread::sleep(ASK_EVERY);
        }
        is_over.then_some(())
    })?;
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

/// An empty folder on the disk that holds the builds.
fn folder(lab: &Lab) -> Result<PathBuf> {
    let folder = lab.folder.join("embedded");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn start(lab: &Lab, data: &Path, name: &str, parallel: usize) -> Result<TaskNode> {
    TaskNode::start(lab, Start { name, database: None, data, parallel })
}
