//! How soon a crash is noticed, and that nobody is noticed wrongly.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::{Config, Event, Lifeguard};
use hyperscale_types::Now;

use crate::net::{Net, Weather, index_of};

const SECOND: Duration = Duration::from_secs(1);

fn settled(seed: u64, count: usize, config: &Config, weather: Weather) -> Net {
    let mut net = Net::start(seed, 3, count, config, weather);
    assert!(net.run_until(60 * SECOND, Net::converged).is_some(), "{count} nodes, seed {seed}");
    net.run(20 * SECOND);
    net.seen.clear();
    net
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() - 1) * percent / 100]
}

/// Times from a crash to the first suspicion, and to the death in every view.
fn crashes(count: usize, rounds: u64) -> (Vec<Duration>, Vec<Duration>) {
    let (mut first, mut dead) = (Vec::new(), Vec::new());
    for seed in 0..rounds {
        let mut net = settled(seed, count, &Config::lan(), Weather::lossy(0.01));
        let victim = 3 + (seed as usize * 7) % (count - 3);
        let crashed: Now = net.now();
        net.crash(victim);
        net.run(40 * SECOND);
        let about = |node| index_of(node) == victim;
        let suspected = net.seen.iter().find_map(|seen| match seen.event {
            Event::Suspected { node, .. } if about(node) => Some(seen.at.since(crashed)),
            _ => None,
        });
        first.extend(suspected);
        let deaths = net.seen.iter().filter_map(|seen| match seen.event {
            Event::Died { node, .. } if about(node) => Some(seen.at.since(crashed)),
            _ => None,
        });
        let before = dead.len();
        dead.extend(deaths);
        assert_eq!(dead.len() - before, count - 1, "everyone learns it once, seed {seed}");
    }
    first.sort();
    dead.sort();
    (first, dead)
}

#[test]
fn silent_crash_is_suspected_and_declared_in_time() {
    for (count, rounds) in [(5, 12), (20, 12), (100, 12)] {
        let (first, dead) = crashes(count, rounds);
        let [suspected, late] = [percentile(&first, 50), percentile(&first, 99)];
        assert!(suspected <= 3 * SECOND && late <= 6 * SECOND, "{count}: {suspected:?} {late:?}");
        let declared = percentile(&dead, 99);
        assert!(declared <= 13 * SECOND, "{count}: {declared:?}");
    }
}

#[test]
fn nobody_dies_of_ten_percent_loss() {
    for seed in 0..2 {
        let mut net = settled(seed, 50, &Config::lan(), Weather::lossy(0.1));
        net.run(300 * SECOND);
        assert_eq!(net.deaths(), BTreeMap::new(), "seed {seed}");
    }
}

#[test]
fn nobody_dies_in_small_clusters_under_loss() {
    for count in [2, 3, 5] {
        let mut net = settled(1, count, &Config::lan(), Weather::lossy(0.1));
        net.run(600 * SECOND);
        assert_eq!(net.deaths(), BTreeMap::new(), "{count} nodes");
    }
}

/// Deaths declared of nodes that were never frozen, when a quarter of the cluster freezes again and again.
fn healthy_deaths(lifeguard: Lifeguard) -> usize {
    let config = Config { lifeguard, ..Config::lan() };
    let mut net = settled(3, 64, &config, Weather::fair());
    for round in 0..6 {
        for index in 0..16 {
            net.freeze(index * 4, Duration::from_millis(1500 * (1 + (round + index as u64) % 6)));
        }
        net.run(15 * SECOND);
    }
    net.deaths().into_iter().filter(|(node, _)| node % 4 != 0).map(|(_, count)| count).sum()
}

#[test]
fn frozen_nodes_do_not_kill_healthy_ones() {
    assert_eq!(healthy_deaths(Lifeguard::On), 0);
}

#[test]
fn mass_death_does_not_make_the_survivors_think_themselves_ill() {
    for seed in 0..4 {
        let mut net = settled(seed, 80, &Config::lan(), Weather::fair());
        for index in 40..80 {
            net.crash(index);
        }
        let mut highest = 0;
        for _ in 0..60 {
            net.run(SECOND / 2);
            highest = highest.max((0..3).map(|manager| net.swim(manager).lhm()).max().unwrap_or(0));
        }
        assert!(highest <= 2, "seed {seed}: {highest}");
        assert!(net.run_until(30 * SECOND, Net::converged).is_some());
    }
}

#[test]
fn suspects_contradict_in_time_when_a_third_of_everything_is_lost() {
    let mut net = settled(5, 30, &Config::lan(), Weather::lossy(0.3));
    net.run(300 * SECOND);
    let suspicions = net.seen.iter().filter(|seen| matches!(seen.event, Event::Suspected { .. })).count();
    let refuted = net.seen.iter().filter(|seen| matches!(seen.event, Event::Refuted { .. })).count();
    assert!(suspicions > 100 && refuted > suspicions * 9 / 10, "{suspicions} {refuted}");
    assert_eq!(net.deaths(), BTreeMap::new());
}
