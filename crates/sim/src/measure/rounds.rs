//! How many rounds of gossip news take to reach 99 % and all of a cluster.

use std::time::Duration;

use hyperscale_swim::{Config, Lifeguard};
use hyperscale_types::Role;

use super::watch::TransitionKind;
use super::{Bound, Row, percentile, seconds, settled, with_missing};
use crate::world::id_of;

const LOSS: f64 = 0.1;
/// Time for one piece of news.
const SPAN: Duration = Duration::from_secs(8);

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    let sizes: &[(usize, usize)] = if thorough { &[(100, 40), (1000, 20), (5000, 8)] } else { &[(100, 10)] };
    sizes.iter().flat_map(|(count, news)| rows(*count, *news)).collect()
}

fn rows(count: usize, news: usize) -> Vec<Row> {
    let (mut world, watch) = settled(2, count, LOSS, Lifeguard::On);
    let (mut most, mut all) = (Vec::new(), Vec::new());
    for _ in 0..news {
        watch.clear();
        let newcomer = id_of(world.add(Role::Worker, 0, Duration::ZERO));
        world.run(SPAN);
        let heard = watch.all(|it| it.kind == TransitionKind::Joined && it.about == newcomer);
        let first = heard.first().map_or(world.kernel.now(), |it| it.at);
        let rounds = heard.iter().map(|it| seconds(it.at, first) / round()).collect();
        let rounds = with_missing(rounds, world.nodes.len() - 1, SPAN.as_secs_f64() / round());
        most.push(percentile(&rounds, 99).ceil());
        all.push(percentile(&rounds, 100).ceil());
    }
    most.sort_by(f64::total_cmp);
    all.sort_by(f64::total_cmp);
    let note = format!("the slowest of {} newcomers, 10 % loss", most.len());
    let row = |what: &str, limit, sorted: &[f64]| Row {
        goal: format!("news reach {what} of n = {count}"),
        unit: "rounds of 200 ms",
        must: Bound::AtMost(limit),
        stretch: None,
        value: percentile(sorted, 100),
        note: note.clone(),
    };
    vec![row("99 %", 8.0, &most), row("all", 12.0, &all)]
}

fn round() -> f64 {
    Config::lan().gossip.interval.as_secs_f64()
}
