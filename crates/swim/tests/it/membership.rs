//! Joining, leaving, restarting, partitions.

use std::time::Duration;

use hyperscale_swim::{Command, Config, Event, Status};
use hyperscale_types::Role;

use crate::net::{BRIDGE, Net, Weather, index_of, node_id};

const SECOND: Duration = Duration::from_secs(1);

fn settled(seed: u64, count: usize, weather: Weather) -> Net {
    let mut net = Net::start(seed, 3, count, &Config::lan(), weather);
    assert!(net.run_until(60 * SECOND, Net::converged).is_some(), "{count} nodes, seed {seed}");
    net.run(30 * SECOND);
    net
}

#[test]
fn nodes_started_together_find_each_other() {
    for (count, seconds) in [(2, 3), (5, 3), (20, 5), (100, 10)] {
        for seed in 0..3 {
            let mut net = Net::start(seed, 3, count, &Config::lan(), Weather::fair());
            let took = net.run_until(seconds * SECOND, Net::converged);
            assert!(took.is_some(), "{count} nodes, seed {seed}");
        }
    }
}

#[test]
fn nodes_find_each_other_in_spite_of_loss() {
    for seed in 0..3 {
        let mut net = Net::start(seed, 3, 50, &Config::lan(), Weather::lossy(0.25));
        assert!(net.run_until(40 * SECOND, Net::converged).is_some(), "seed {seed}");
    }
}

#[test]
fn newcomer_is_known_to_all_within_rounds() {
    for seed in 0..5 {
        let mut net = settled(seed, 100, Weather::lossy(0.1));
        net.add(Role::Worker);
        let took = net.run_until(10 * SECOND, Net::converged);
        // Twelve rounds of 200 ms, and the join itself.
        assert!(took.is_some_and(|took| took <= Duration::from_millis(2900)), "{took:?}, seed {seed}");
    }
}

#[test]
fn every_member_is_confirmed_soon_after_the_start() {
    let mut net = settled(1, 50, Weather::fair());
    net.run(10 * SECOND);
    let unconfirmed =
        net.up().map(|observer| net.swim(observer).members().filter(|member| !member.confirmed).count());
    assert_eq!(unconfirmed.sum::<usize>(), 0);
}

#[test]
fn leave_reaches_everybody_without_a_death() {
    let mut net = settled(2, 40, Weather::lossy(0.05));
    net.command(17, Command::Leave);
    net.run(4 * SECOND);
    assert!(net.seen.iter().any(|seen| seen.observer == 17 && seen.event == Event::Departed));
    net.crash(17);
    assert!(net.run_until(10 * SECOND, Net::converged).is_some());
    net.run(60 * SECOND);
    assert!(net.deaths().is_empty());
    let left = net.seen.iter().filter(|seen| seen.event == Event::Left { node: node_id(17) });
    assert_eq!(left.count(), 39);
}

#[test]
fn restarted_node_replaces_its_old_self_everywhere() {
    let mut net = settled(3, 40, Weather::lossy(0.05));
    net.crash(9);
    net.run(2 * SECOND);
    net.restart(9);
    net.run(10 * SECOND);
    assert!(net.converged());
    let boots =
        net.up().filter_map(|observer| net.swim(observer).member(node_id(9))).map(|it| it.claim.boot.0);
    assert!(boots.into_iter().all(|boot| boot == 2));
}

#[test]
fn mass_restart_at_low_incarnations_is_accepted() {
    let mut net = settled(4, 40, Weather::fair());
    for index in 5..40 {
        net.crash(index);
    }
    net.run(60 * SECOND);
    for index in 5..40 {
        net.restart(index);
    }
    assert!(net.run_until(20 * SECOND, Net::converged).is_some());
}

#[test]
fn healed_partition_converges_within_ten_seconds() {
    for seed in 0..3 {
        let mut net = settled(seed, 60, Weather::lossy(0.02));
        net.partition(|index| u8::from(index >= 25));
        net.run(90 * SECOND);
        let across = net.swim(0).status(node_id(59));
        assert_eq!(across, Some(Status::Dead), "the partition lasted long enough to matter");
        net.partition(|_| 0);
        let took = net.run_until(30 * SECOND, Net::converged);
        assert!(took.is_some_and(|took| took <= 10 * SECOND), "{took:?}, seed {seed}");
    }
}

#[test]
fn nobody_of_the_own_side_dies_while_a_partition_heals() {
    let mut net = settled(7, 60, Weather::fair());
    net.partition(|index| u8::from(index >= 25));
    net.run(120 * SECOND);
    net.seen.clear();
    net.partition(|_| 0);
    net.run(60 * SECOND);
    let false_deaths = net.seen.iter().filter(|seen| matches!(seen.event, Event::Died { .. })).count();
    assert_eq!(false_deaths, 0);
}

#[test]
fn lost_gossip_is_repaired_by_anti_entropy() {
    let mut net = settled(8, 30, Weather::fair());
    // No datagram arrives any more: only streams can carry the news.
    net.weather = Weather { loss: 1.0, ..Weather::fair() };
    net.add(Role::Worker);
    let known = |net: &Net| {
        net.up().all(|observer| observer == 30 || net.swim(observer).status(node_id(30)).is_some())
    };
    let took = net.run_until(200 * SECOND, known);
    assert!(took.is_some(), "every pair meets sooner or later");
}

#[test]
fn same_seed_gives_the_same_trace_and_another_seed_another() {
    let trace = |seed| {
        let mut net = Net::start(seed, 3, 30, &Config::lan(), Weather::lossy(0.1));
        net.run(20 * SECOND);
        net.crash(11);
        net.run(20 * SECOND);
        net.trace()
    };
    assert_eq!(trace(5), trace(5));
    assert_ne!(trace(5), trace(6));
}

#[test]
fn no_view_goes_from_dead_to_alive_without_a_newer_identity() {
    let mut net = settled(9, 30, Weather::lossy(0.2));
    net.partition(|index| (index % 3) as u8);
    net.run(60 * SECOND);
    net.partition(|_| 0);
    net.run(60 * SECOND);
    for observer in net.up() {
        for entry in net.swim(observer).audit() {
            if let (Some(before), Some(after)) = (entry.before, entry.after) {
                assert!(after > before, "{observer} about {}: {entry:?}", index_of(entry.node));
            }
        }
    }
}

#[test]
fn newcomers_on_two_sides_of_a_bridge_find_each_other_however_long_the_cut() {
    for span in [60, 130, 400] {
        let mut net = settled(3, 12, Weather::fair());
        let side = |index: usize| match index {
            0 => BRIDGE,
            3..6 | 12 => 1,
            _ => 0,
        };
        net.partition(side);
        net.run(60 * SECOND);
        for _ in 0..2 {
            net.add(Role::Worker);
        }
        net.partition(side);
        net.run(span * SECOND);
        net.partition(|_| 0);
        net.run(90 * SECOND);
        assert!(net.converged(), "after a cut of {span} s");
    }
}
