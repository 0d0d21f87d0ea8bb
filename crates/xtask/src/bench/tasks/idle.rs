//! What nodes cost that have nothing to do.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::postgres::Postgres;
use super::throughput::node;
use crate::bench::goal::Bound::AtMost;
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::node::{cpu_seconds, resident_mib};
use crate::bench::numbers::percentile;

/// Until pauses between looks for work have grown to their longest.
const SETTLED_AFTER: Duration = Duration::from_secs(15);
/// How long nodes are looked at.
const LOOK: Duration = Duration::from_mins(1);
const LOOK_QUICK: Duration = Duration::from_secs(10);
/// Statements so far, without those of this measurement. What begins and ends a transaction counts too.
const STATEMENTS: &str =
    "SELECT coalesce(sum(s.calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
    WHERE d.datname = 'tasks' AND s.query NOT LIKE '%pg_stat_statements%'";

pub(super) fn measure(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    let server = Postgres::start()?;
    server.create("tasks")?;
    let mut session = server.session("tasks")?;
    let first = node(lab, &server, "first", 4)?;
    let look = if lab.is_quick { LOOK_QUICK } else { LOOK };
    thread::sleep(SETTLED_AFTER);
    let before = session.number(STATEMENTS)?;
    thread::sleep(look);
    let leader = (session.number(STATEMENTS)? - before) / look.as_secs_f64();
    let second = node(lab, &server, "second", 4)?;
    thread::sleep(SETTLED_AFTER);
    let pids = [first.pid(), second.pid()];
    let cpu = || pids.iter().map(|pid| cpu_seconds(*pid)).collect::<Result<Vec<f64>>>();
    let (before, used) = (session.number(STATEMENTS)?, cpu()?);
    thread::sleep(look);
    let both = (session.number(STATEMENTS)? - before) / look.as_secs_f64();
    let mut shares: Vec<f64> = cpu()?
        .iter()
        .zip(&used)
        .map(|(after, before)| (after - before) / look.as_secs_f64() * 100.0)
        .collect();
    let mut memory = pids.iter().map(|pid| resident_mib(*pid)).collect::<Result<Vec<f64>>>()?;
    eprintln!("    statements per second: {leader:.2} by the leader alone, {both:.2} by two nodes");
    for line in session.lines(
        "SELECT s.calls || ' ' || left(regexp_replace(s.query, '\\s+', ' ', 'g'), 100) FROM pg_stat_statements s
         JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = 'tasks' ORDER BY s.calls DESC LIMIT 14",
    )? {
        eprintln!("      {line}");
    }
    let note = "BEGIN and COMMIT counted";
    let name = "idle node that leads: statements per second";
    goals.push(Goal::measured(name, "", (AtMost(1.0), None), leader, note.to_owned()));
    let name = "idle node that follows: statements per second";
    goals.push(Goal::measured(name, "", (AtMost(1.0), None), both - leader, note.to_owned()));
    let most = "the most of two nodes".to_owned();
    let name = "idle task node: share of a core";
    goals.push(Goal::measured(name, "%", (AtMost(0.5), None), percentile(&mut shares, 100), most.clone()));
    let name = "idle task node: resident memory";
    goals.push(Goal::measured(name, "MiB", (AtMost(40.0), None), percentile(&mut memory, 100), most));
    Ok(())
}
