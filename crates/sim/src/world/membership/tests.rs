use std::time::Duration;

use super::*;
use crate::invariants::{Judges, Violation};
use crate::network::Weather;
use crate::process::Version;
use crate::recorder::Recorder;
use crate::world::{Setup, Shape};
use hyperscale_swim::{Bugs, Config, Limits};

/// What is broken when five nodes meet, each with a ring of that many transitions.
fn broken_with(audit: usize, judges: Judges) -> Option<Violation> {
    let lan = Config::lan();
    let limits = Limits { audit, ..lan.limits };
    let setup = Setup {
        seed: 5,
        shape: Shape::cluster_of(5),
        config: Config { bugs: Bugs::NONE, limits, ..lan },
        weather: Weather::fair(),
        skewed_clocks: false,
        log: None,
        registers: false,
        version: Version::New,
        start_within: Duration::from_secs(1),
    };
    let mut world = World::new(setup, judges, Recorder::off());
    world.run(Duration::from_secs(20));
    world.judges.violation().cloned()
}

#[test]
fn transitions_that_fell_out_before_the_judges_saw_them_end_the_seed() {
    let broken =
        broken_with(1, Judges::all()).expect("the list that a newcomer gets names more than one member");
    assert_eq!(broken.invariant, "transitions_shown");
    assert!(broken.what.contains("limits.audit = 1 kept 1"), "{}", broken.what);
    assert!(broken.node.is_some());
}

#[test]
fn ring_that_is_large_enough_or_that_nobody_looks_at_breaks_nothing() {
    assert_eq!(broken_with(8, Judges::all()), None);
    assert_eq!(broken_with(1, Judges::none()), None);
}
