//! How long a commit takes in calm weather: from the proposal at the leader until it has applied the entry.

use std::time::Duration;

use super::ledger::Line;
use super::{Bound, Row, percentile, seconds, with_log, with_missing};
use crate::log::disk::SYNC;
use crate::network::Weather;

/// Time between two proposals.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    let count = if thorough { 2000 } else { 100 };
    [3, 5].into_iter().flat_map(|voters| rows(voters, count)).collect()
}

fn rows(voters: usize, count: usize) -> Vec<Row> {
    let took = with_missing(commits(voters, count), count, PAUSE.as_secs_f64() * 1e3);
    let (sync, delay) = (SYNC.as_secs_f64() * 1e3, Weather::fair().delay.as_secs_f64() * 1e3);
    let note = format!("{} commits; medians of the model: sync {sync} ms, one way {delay} ms", took.len());
    let row = |percent, limit| Row {
        goal: format!("commit in calm weather, {voters} voters, p{percent}"),
        unit: "ms",
        must: Bound::AtMost(limit),
        stretch: None,
        value: percentile(&took, percent),
        note: note.clone(),
    };
    // The log takes one round trip and two syncs, one after the other; nothing else may be in the way.
    vec![row(50, 2.0 * (delay + sync)), row(99, 6.0 * (delay + sync))]
}

fn commits(voters: usize, count: usize) -> Vec<f64> {
    let (mut world, ledger) = with_log(7, voters, 2);
    let Some(leader) = world.leader_of(0) else { return Vec::new() };
    let mut took = Vec::new();
    for _ in 0..count {
        ledger.clear();
        let at = world.kernel.now();
        let Some(index) = world.propose_nothing(leader) else { continue };
        world.run(PAUSE);
        let commit = ledger.first(|line| line == Line::Committed(index));
        took.extend(commit.map(|commit| seconds(commit, at) * 1e3));
    }
    took
}
