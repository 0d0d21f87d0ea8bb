//! The leader dies: how long until somebody else commits. And half of the workers die: does anybody else lead?

use std::time::Duration;

use super::ledger::{Ledger, Line};
use super::{Bound, Row, percentile, seconds, with_log, with_missing};
use crate::process::Crash;

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    // Of four hundred crashes the 99th percentile is the fourth slowest, and jumps from tree to tree.
    let seeds = if thorough { 2000 } else { 20 };
    let mut rows = Vec::new();
    for voters in [3, 5] {
        rows.extend(after_crash(voters, seeds, &SILENT));
        rows.extend(after_crash(voters, seeds, &RESET));
    }
    let sizes: &[usize] = if thorough { &[100, 1000] } else { &[100] };
    rows.extend(sizes.iter().map(|count| after_deaths(*count)));
    rows
}

/// How long a commit is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the leader dies, and what would be better than the goal for every death.
struct Death {
    how: Crash,
    name: &'static str,
    stretch: Option<Bound>,
}

/// Nobody is told.
const SILENT: Death = Death { how: Crash::Machine, name: "leader crash", stretch: None };
/// Its machine closes the connections of the process, which the others see.
const RESET: Death =
    Death { how: Crash::Process, name: "leader killed, reset seen,", stretch: Some(Bound::AtMost(0.5)) };

fn after_crash(voters: usize, seeds: u64, death: &Death) -> Vec<Row> {
    let took = (0..seeds).filter_map(|seed| crash(seed, voters, death.how)).collect();
    let took = with_missing(took, seeds as usize, PATIENCE.as_secs_f64());
    let note = format!("{} times in calm weather, slowest {:.2} s", took.len(), percentile(&took, 100));
    let row = |percent, limit| Row {
        goal: format!("{} to first commit, {voters} voters, p{percent}", death.name),
        unit: "s",
        must: Bound::AtMost(limit),
        stretch: death.stretch,
        value: percentile(&took, percent),
        note: note.clone(),
    };
    vec![row(50, 1.8), row(99, 3.0)]
}

fn crash(seed: u64, voters: usize, how: Crash) -> Option<f64> {
    let (mut world, ledger) = with_log(seed, voters, 2);
    let leader = world.leader_of(0)?;
    let at = world.kernel.now();
    ledger.clear();
    world.crash(leader, how);
    world.run_while(PATIENCE, |_| has_commit(&ledger));
    ledger.first(is_commit).map(|commit| seconds(commit, at))
}

fn after_deaths(count: usize) -> Row {
    let seeds = if count < 1000 { 10 } else { 2 };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn killed_leader_is_followed_within_half_a_second() {
        for (seed, voters) in [(0, 3), (1, 3), (2, 5), (3, 5)] {
            let took = crash(seed, voters, Crash::Process).unwrap();
            assert!(took <= 0.5, "{took} s after seed {seed}");
        }
    }
}
