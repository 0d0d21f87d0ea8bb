//! A million completed tasks that are kept: what they take, and what they cost whoever looks or works.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::nodes::TaskNode;
use super::throughput::Bench;
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::numbers::{Spread, number, percentile};

/// Tasks that are kept.
const KEPT: usize = 1_000_000;
const KEPT_QUICK: usize = 20_000;
/// Tasks that are rare among them, of each kind.
const RARE: usize = 30;
/// Calls whose time is taken.
const CALLS: usize = 50;
/// Milliseconds within which a page of the dashboard has its numbers.
const PAGE_WITHIN: f64 = 50.0;

pub(super) fn measure(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    let mut bench = Bench::start(lab)?;
    let kept = if lab.is_quick { KEPT_QUICK } else { KEPT };
    let before = rates(lab, &mut bench)?;
    rare_tasks(&bench.feeder)?;
    let begin = Instant::now();
    let missing = kept.saturating_sub(bench.tasks * lab.runs);
    let filled = bench.whole(missing)?;
    eprintln!("    {missing} tasks at {}/s in {:.0?}", number(filled.per_second), begin.elapsed());
    let after = rates(lab, &mut bench)?;
    let title = format!("{} completed tasks kept", number(kept as f64));
    let note = format!("{}/s with, {}/s without", number(after.median), number(before.median));
    let name = format!("{title}: tasks claimed and completed per second");
    goals.push(Goal::measured(&name, "× without", (AtLeast(0.9), None), after.median / before.median, note));
    size(&mut bench, kept, &title, goals)?;
    looks(&bench.feeder, &title, goals)
}

/// Empty tasks that are claimed and completed per second, over the repetitions.
fn rates(lab: &Lab, bench: &mut Bench<'_>) -> Result<Spread> {
    let mut rates = Vec::new();
    for _ in 0..lab.runs {
        let (_, burn) = bench.apart(bench.tasks)?;
        eprintln!("    {}/s", number(burn.per_second));
        rates.push(burn.per_second);
    }
    Spread::of(rates).context("nothing was measured")
}

/// Some tasks in each state and of another kind than the rest.
fn rare_tasks(node: &TaskNode) -> Result<()> {
    let many = |task: Value| {
        let named = |number: usize| {
            let mut task = task.clone();
            task["name"] = json!(format!("rare-{number}"));
            task
        };
        json!({ "tasks": (0..RARE).map(named).collect::<Vec<_>>() })
    };
    let nowhere = json!({ "allowed_nodes": ["nowhere"] });
    // Nothing listens on this port, and one attempt is all they have.
    let failing =
        json!({ "executor": "http", "inputs": { "url": "http://127.0.0.1:9/" }, "max_attempts": 1 });
    node.call("tasks.create", &many(failing))?;
    let pending = json!({ "executor": "aggregate", "placement": nowhere });
    node.call("tasks.create", &many(pending.clone()))?;
    let cancelled = node.call("tasks.create", &many(pending))?;
    node.call("tasks.cancel", &json!({ "task": cancelled["tree"], "tree": true }))?;
    Ok(())
}

fn size(bench: &mut Bench<'_>, kept: usize, title: &str, goals: &mut Vec<Goal>) -> Result<()> {
    let tables = bench.session.lines(
        "SELECT c.relname || ' ' || pg_table_size(c.oid) || ' ' || pg_indexes_size(c.oid) FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')
         ORDER BY pg_total_relation_size(c.oid) DESC LIMIT 6",
    )?;
    for line in tables {
        eprintln!("      {line}");
    }
    let bytes = bench.session.number("SELECT pg_database_size(current_database())")?;
    let rows = bench.session.number("SELECT count(*) FROM tasks")?;
    let note = format!(
        "{} GB for {} tasks of 1 KB with all their events and indexes; must: our own",
        number(bytes / 1e9),
        number(rows.max(kept as f64))
    );
    let name = format!("{title}: bytes per task");
    goals.push(Goal::measured(&name, "", (AtMost(6_000.0), None), (bytes / rows).round(), note));
    Ok(())
}

/// What the dashboard asks for.
fn looks(node: &TaskNode, title: &str, goals: &mut Vec<Goal>) -> Result<()> {
    let lists = [
        ("tasks.counts", "counts", json!({})),
        ("tasks.list", "first page", json!({})),
        ("tasks.list", "pending", json!({ "status": "pending" })),
        ("tasks.list", "in progress", json!({ "status": "in_progress" })),
        ("tasks.list", "completed", json!({ "status": "completed" })),
        ("tasks.list", "failed", json!({ "status": "failed" })),
        ("tasks.list", "cancelled", json!({ "status": "cancelled" })),
        ("tasks.list", "a rare executor", json!({ "executor": "aggregate" })),
        ("tasks.list", "an executor that no task has", json!({ "executor": "sql" })),
        ("tasks.list", "a rare name", json!({ "name": "rare-" })),
        ("tasks.list", "a name that no task has", json!({ "name": "never" })),
        ("tasks.list", "first tasks of trees", json!({ "roots": true })),
    ];
    let mut worst: (f64, &str) = (0.0, "");
    for (method, what, params) in lists {
        let mut took = Vec::new();
        for _ in 0..CALLS {
            let mut caller = node.caller()?;
            let begin = Instant::now();
            caller.call(method, &params).with_context(|| format!("{method}: {what}"))?;
            took.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        let (median, slow) = (percentile(&mut took, 50), percentile(&mut took, 99));
        eprintln!("    {what}: p50 {median:.1} ms, p99 {slow:.1} ms");
        if method == "tasks.counts" {
            let name = format!("{title}: counts per state, p99");
            let p50 = format!("p50 {} ms", number(median));
            goals.push(Goal::measured(&name, "ms", (AtMost(PAGE_WITHIN), None), slow, p50));
        } else if slow > worst.0 {
            worst = (slow, what);
        }
    }
    let name = format!("{title}: lists by state, executor, name and first tasks, p99 of the slowest");
    goals.push(Goal::measured(&name, "ms", (AtMost(PAGE_WITHIN), None), worst.0, worst.1.to_owned()));
    Ok(())
}
