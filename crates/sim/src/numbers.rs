//! `--measure`: the goals as JSON on stdout, one array of rows. `cargo xtask sim --measure` makes the document from it.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyperscale_sim::measure::{Bound, Row, Topic, full, membership_only};
use hyperscale_sim::world::World;
use serde_json::{Value, json};

use crate::search;

/// Nodes and time whose simulation is timed.
const SPEED_NODES: usize = 1000;
const SPEED_SPAN: Duration = Duration::from_mins(1);
/// Jobs that clients order in that time.
const SPEED_JOBS: usize = 20;
/// The topic that is the machine's, not the cores'.
const SPEED: &str = "speed";

/// Measures the topics, or all if none is named.
pub(crate) fn run(names: &[String], thorough: bool, jobs: usize) -> Result<()> {
    let topics = chosen(names)?;
    let measured = search::each(jobs, &topics, |topic| {
        let begin = Instant::now();
        let rows: Vec<Value> = topic.measure(thorough).iter().map(|row| to_json(row, topic.name())).collect();
        eprintln!("  {}: {:.0} s", topic.name(), begin.elapsed().as_secs_f64());
        rows
    });
    let mut rows: Vec<Value> = measured.into_iter().flatten().collect();
    if names.is_empty() || names.iter().any(|name| name == SPEED) {
        rows.extend(speed().iter().map(|row| to_json(row, SPEED)));
    }
    writeln!(std::io::stdout(), "{:#}", Value::from(rows))?;
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Topic>> {
    if names.is_empty() {
        return Ok(Topic::ALL.to_vec());
    }
    let topics = names.iter().filter(|name| *name != SPEED).map(|name| {
        let topic = Topic::ALL.into_iter().find(|topic| topic.name() == name);
        topic.with_context(|| {
            let known: Vec<&str> = Topic::ALL.iter().map(|topic| topic.name()).chain([SPEED]).collect();
            format!("nothing called '{name}' can be measured; there are {}", known.join(", "))
        })
    });
    topics.collect()
}

/// Full nodes under all judges, and what of that is membership.
fn speed() -> [Row; 2] {
    let full = full(SPEED_NODES, SPEED_JOBS, SPEED_SPAN);
    let nodes = format!("full nodes: log, leases, registrations, {SPEED_JOBS} jobs, all judges");
    [timed(full, &nodes), timed(membership_only(SPEED_NODES), "membership only")]
}

fn timed(mut world: World, nodes: &str) -> Row {
    let (begin, before) = (Instant::now(), world.kernel.happened());
    world.run(SPEED_SPAN);
    let (took, events) = (begin.elapsed().as_secs_f64(), world.kernel.happened() - before);
    Row {
        goal: format!("simulated time over real time on one core, n = {SPEED_NODES}, calm, {nodes}"),
        unit: "×",
        must: Bound::AtLeast(20.0),
        stretch: None,
        value: SPEED_SPAN.as_secs_f64() / took,
        note: format!("{:.1} million events per second", events as f64 / took / 1e6),
    }
}

fn to_json(row: &Row, topic: &str) -> Value {
    let bound = |bound: Bound| match bound {
        Bound::AtMost(limit) => json!({ "at_most": limit }),
        Bound::AtLeast(limit) => json!({ "at_least": limit }),
    };
    json!({
        "goal": row.goal, "unit": row.unit, "must": bound(row.must), "stretch": row.stretch.map(bound),
        "value": row.value, "note": row.note, "topic": topic,
    })
}
