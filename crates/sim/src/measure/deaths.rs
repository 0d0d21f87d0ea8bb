//! Nodes that are declared dead though they run, because datagrams are lost.

use std::time::Duration;

use hyperscale_swim::Lifeguard;

use super::watch::TransitionKind;
use super::{Bound, Row, settled};

/// Deaths per node-hour that heavy loss may cost. Our own limit: beyond 10 % of loss nothing has to be promised; the
/// stretch is no death in 20 000 node-hours.
const HEAVY_RATE: f64 = 0.001;
/// Time between two looks, so that the list of events stays short.
const PIECE: Duration = Duration::from_mins(10);

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    // What must be is looked at for long, what would be better for a while.
    let rows = if thorough { [(1000, 20, 0.1), (1000, 5, 0.2)] } else { [(100, 5, 0.1), (100, 5, 0.2)] };
    rows.map(|(count, hours, loss)| row(count, hours, loss)).to_vec()
}

fn row(count: usize, hours: u64, loss: f64) -> Row {
    let (mut world, watch) = settled(1, count, loss, Lifeguard::On);
    let (mut deaths, mut suspicions) = (0, 0);
    for _ in 0..hours * 3600 / PIECE.as_secs() {
        world.run(PIECE);
        deaths += watch.all(|it| it.kind == TransitionKind::Died).len();
        suspicions += watch.all(|it| it.kind == TransitionKind::Suspected).len();
        watch.clear();
    }
    let node_hours = count as u64 * hours;
    let is_heavy = loss > 0.1;
    let limit = if is_heavy { "; must: our own; the stretch asks for 20 000 node-hours" } else { "" };
    Row {
        goal: format!("false deaths, loss {:.0} %, n = {count}", loss * 100.0),
        unit: "",
        must: Bound::AtMost(if is_heavy { node_hours as f64 * HEAVY_RATE } else { 0.0 }),
        stretch: None,
        value: deaths as f64,
        note: format!(
            "in {node_hours} node-hours; {suspicions} suspicions over all views contradicted in time{limit}"
        ),
    }
}
