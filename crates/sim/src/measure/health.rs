//! Half of the workers die at once: does it make the managers think themselves ill?

use std::time::Duration;

use hyperscale_swim::Lifeguard;

use super::{Bound, Row, settled};
use crate::process::Crash;

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    let sizes: &[usize] = if thorough { &[100, 1000] } else { &[100] };
    sizes.iter().map(|count| row(*count)).collect()
}

fn row(count: usize) -> Row {
    let seeds = if count < 1000 { 10 } else { 2 };
    let highest = (0..seeds).map(|seed| highest(seed, count)).max().unwrap_or(0);
    Row {
        goal: format!(
            "half of the workers killed at once, n = {count}: highest health multiplier of a manager"
        ),
        unit: "",
        must: Bound::AtMost(2.0),
        stretch: None,
        value: f64::from(highest),
        note: format!("{seeds} clusters, one minute each"),
    }
}

fn highest(seed: u64, count: usize) -> u8 {
    let (mut world, _watch) = settled(seed, count, 0.0, Lifeguard::On);
    for victim in (count / 2)..count {
        world.end(victim, Crash::Machine);
    }
    let mut highest = 0;
    for _ in 0..240 {
        world.run(Duration::from_millis(250));
        highest = (0..3).map(|manager| world.nodes[manager].swim.lhm()).fold(highest, u8::max);
    }
    highest
}
