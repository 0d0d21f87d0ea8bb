//! How soon a silent crash is suspected by somebody, and how soon everybody takes the node for dead.

use std::time::Duration;

use hyperscale_swim::Lifeguard;

use super::watch::TransitionKind;
use super::{Bound, Row, percentile, seconds, settled, with_missing};
use crate::process::Crash;
use crate::world::id_of;

/// Datagrams lost while measuring.
const LOSS: f64 = 0.01;
/// Between two crashes of a cluster.
const GAP: Duration = Duration::from_secs(5);
/// After the last one.
const AFTER: Duration = Duration::from_secs(45);

/// Clusters of that size, how many of them, crashes in each, and the goal for deaths: must and stretch.
struct Series {
    count: usize,
    clusters: u64,
    crashes: usize,
    dead_must: f64,
}

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    // Of a hundred crashes the 99th percentile is the slowest one: chance, not a property. So there are a thousand.
    let mut series = vec![Series { count: 100, clusters: 100, crashes: 10, dead_must: 13.0 }];
    if thorough {
        series.push(Series { count: 1000, clusters: 40, crashes: 25, dead_must: 16.0 });
        series.push(Series { count: 5000, clusters: 1, crashes: 100, dead_must: 18.0 });
    }
    series.iter().flat_map(rows).collect()
}

fn rows(series: &Series) -> Vec<Row> {
    let (mut first, mut dead) = (Vec::new(), Vec::new());
    for seed in 0..series.clusters {
        crashes(seed, series, &mut first, &mut dead);
    }
    first.sort_by(f64::total_cmp);
    dead.sort_by(f64::total_cmp);
    let n = series.count;
    let note = format!("{} crashes, 1 % loss", first.len());
    let row = |goal: String, must, stretch, value| Row {
        goal,
        unit: "s",
        must,
        stretch,
        value,
        note: note.clone(),
    };
    let most = |limit| Bound::AtMost(limit);
    let stretch = Some(most(series.dead_must * 0.7));
    vec![
        row(
            format!("first suspicion of a silent crash, n = {n}: p50"),
            most(2.0),
            None,
            percentile(&first, 50),
        ),
        row(
            format!("first suspicion of a silent crash, n = {n}: p99"),
            most(6.0),
            None,
            percentile(&first, 99),
        ),
        row(
            format!("declared dead, n = {n}: p99 over all views"),
            most(series.dead_must),
            stretch,
            percentile(&dead, 99),
        ),
    ]
}

fn crashes(seed: u64, series: &Series, first: &mut Vec<f64>, dead: &mut Vec<f64>) {
    let (mut world, watch) = settled(seed, series.count, LOSS, Lifeguard::On);
    let step = (series.count - 3) / series.crashes;
    let mut crashed = Vec::new();
    for number in 0..series.crashes {
        let victim = 3 + number * step;
        crashed.push((victim, world.kernel.now()));
        world.end(victim, Crash::Machine);
        world.run(GAP);
    }
    world.run(AFTER);
    let survives = |observer: usize| world.truth.nodes[observer].process.is_up();
    let survivors = series.count - crashed.len();
    for (victim, at) in crashed {
        let (about, all) = (id_of(victim), seconds(world.kernel.now(), at));
        let noted = watch.all(|it| it.about == about && it.at >= at);
        let suspected = noted.iter().find(|it| it.kind == TransitionKind::Suspected);
        first.push(suspected.map_or(all, |it| seconds(it.at, at)));
        let died = noted.iter().filter(|it| it.kind == TransitionKind::Died && survives(it.observer));
        let died: Vec<f64> = died.map(|it| seconds(it.at, at)).collect();
        dead.extend(with_missing(died, survivors, all));
    }
}
