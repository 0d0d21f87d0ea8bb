//! The leader dies silently: how long until somebody else commits. And half of the workers die: does anybody else lead?

use std::time::Duration;

use super::ledger::{Ledger, Line};
use super::{Bound, Row, percentile, seconds, with_log};
use crate::process::Crash;

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    let seeds = if thorough { 400 } else { 20 };
    let mut rows: Vec<Row> = [3, 5].into_iter().flat_map(|voters| after_crash(voters, seeds)).collect();
    let sizes: &[usize] = if thorough { &[100, 1000] } else { &[100] };
    rows.extend(sizes.iter().map(|count| after_deaths(*count)));
    rows
}

fn after_crash(voters: usize, seeds: u64) -> Vec<Row> {
    let mut took: Vec<f64> = (0..seeds).filter_map(|seed| crash(seed, voters)).collect();
    took.sort_by(f64::total_cmp);
    let note =
        format!("{} silent crashes in calm weather, slowest {:.2} s", took.len(), percentile(&took, 100));
    let row = |percent, limit| Row {
        goal: format!("leader crash to first commit, {voters} voters, p{percent}"),
        unit: "s",
        must: Bound::AtMost(limit),
        stretch: None,
        value: percentile(&took, percent),
        note: note.clone(),
    };
    vec![row(50, 1.8), row(99, 3.0)]
}

fn crash(seed: u64, voters: usize) -> Option<f64> {
    let (mut world, ledger) = with_log(seed, voters, 2);
    let leader = world.leader_of(0)?;
    let at = world.kernel.now();
    ledger.clear();
    world.crash(leader, Crash::Machine);
    world.run_while(Duration::from_secs(20), |_| has_commit(&ledger));
    ledger.first(is_commit).map(|commit| seconds(commit, at))
}

fn after_deaths(count: usize) -> Row {
    let seeds = if count < 1000 { 10 } else { 1 };
    let changes: usize = (0..seeds).map(|seed| deaths(seed, count)).sum();
    Row {
        goal: format!("half of the workers killed at once, n = {count}: changes of the leader"),
        unit: "",
        must: Bound::AtMost(0.0),
        stretch: None,
        value: changes as f64,
        note: format!("{seeds} clusters of 3 managers, one minute each, leases included"),
    }
}

fn deaths(seed: u64, count: usize) -> usize {
    let (mut world, ledger) = with_log(seed, 3, count - 3);
    ledger.clear();
    for victim in (count / 2)..count {
        world.end(victim, Crash::Machine);
    }
    world.run(Duration::from_mins(1));
    ledger.count(|line| line == Line::Leads)
}

fn has_commit(ledger: &Ledger) -> bool {
    ledger.first(is_commit).is_some()
}

fn is_commit(line: Line) -> bool {
    matches!(line, Line::Committed(_))
}
