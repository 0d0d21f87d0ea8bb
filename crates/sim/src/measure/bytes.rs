//! What a cluster sends when nothing happens, and how fast it is simulated.

use std::time::Duration;

use hyperscale_swim::Lifeguard;

use super::{Bound, Row, settled};
use crate::world::World;

const SPAN: Duration = Duration::from_mins(2);

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    let sizes: &[usize] = if thorough { &[100, 1000, 5000] } else { &[100] };
    sizes.iter().map(|count| row(*count)).collect()
}

fn row(count: usize) -> Row {
    let (mut world, _watch) = settled(3, count, 0.0, Lifeguard::On);
    let before = sent(&world);
    world.run(SPAN);
    let bytes = sent(&world) - before;
    Row {
        goal: format!("gossip bytes sent per node and second, n = {count}, steady"),
        unit: "B",
        must: Bound::AtMost(1000.0),
        stretch: Some(Bound::AtMost(600.0)),
        value: bytes as f64 / count as f64 / SPAN.as_secs_f64(),
        note: "every node changes its embedded state every 4 s".into(),
    }
}

fn sent(world: &World) -> u64 {
    world.nodes.iter().map(|node| node.swim.counters().datagram_bytes_sent).sum()
}
