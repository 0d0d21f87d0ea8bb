use std::time::Duration;

use super::*;
use crate::invariants::Judges;
use crate::network::Weather;
use crate::process::Crash;
use crate::recorder::Recorder;
use crate::world::{Setup, Shape};
use hyperscale_swim::{Bugs, Config, Status};

/// Five nodes that seal.
fn sealed_world(weather: Weather) -> World {
    let config = Config { bugs: Bugs::NONE, ..Config::lan() };
    let setup = Setup {
        seed: 5,
        shape: Shape::cluster_of(5),
        config,
        weather,
        skewed_clocks: false,
        log: None,
        registers: false,
        version: Version::New,
        start_within: Duration::from_secs(1),
    };
    let mut world = World::new(setup, Judges::all(), Recorder::off());
    world.seal(5, None);
    world
}

fn everybody_is_alive(world: &World) -> bool {
    let alive = |observer: usize, subject: usize| {
        world.nodes[observer].swim.status(id_of(subject)) == Some(Status::Alive)
    };
    (0..5).all(|observer| (0..5).all(|subject| observer == subject || alive(observer, subject)))
}

#[test]
fn nodes_find_each_other_through_the_wire_and_nothing_honest_is_refused() {
    let mut world = sealed_world(Weather::fair());
    world.run(Duration::from_secs(30));
    assert!(everybody_is_alive(&world));
    assert!(world.judges.violation().is_none(), "{:?}", world.judges.violation());
    assert_eq!(world.refused(Refusal::DatagramForged) + world.refused(Refusal::DatagramMalformed), 0);
    assert!(world.refused(Refusal::DatagramUnconfirmed) > 0, "new boots are challenged");
}

#[test]
fn duplicates_on_the_network_are_replays_to_the_wire() {
    let mut world = sealed_world(Weather { duplicate: 0.5, ..Weather::fair() });
    world.run(Duration::from_secs(30));
    assert!(everybody_is_alive(&world));
    assert!(world.refused(Refusal::DatagramReplayed) > 0);
}

#[test]
fn secret_is_rotated_by_rolling_restarts_without_losing_anybody() {
    let mut world = sealed_world(Weather::fair());
    world.run(Duration::from_secs(10));
    for stage in 1..=2 {
        world.rotate();
        for node in 0..5 {
            world.crash(node, Crash::Process);
            world.kernel.after(Duration::from_millis(200), Happening::Start { node });
            world.run(Duration::from_secs(20));
            assert!(everybody_is_alive(&world), "stage {stage}, after the restart of {node}");
        }
    }
    assert_eq!(previous_secret(&world), 0, "it is retired");
    assert!(world.judges.violation().is_none(), "{:?}", world.judges.violation());
}

#[test]
fn use_of_the_previous_secret_is_counted() {
    let mut world = sealed_world(Weather::fair());
    world.run(Duration::from_secs(10));
    world.rotate();
    world.crash(0, Crash::Process);
    world.kernel.after(Duration::from_millis(200), Happening::Start { node: 0 });
    world.run(Duration::from_secs(20));
    assert!(previous_secret(&world) > 20, "more than one for each of four peers that it met");
}

/// Datagrams that the present lives accepted under the previous secret.
fn previous_secret(world: &World) -> u64 {
    let wires = world.nodes.iter().filter_map(|node| node.wire.as_ref());
    wires.map(|wire| wire.datagrams.counters().previous_secret()).sum()
}
