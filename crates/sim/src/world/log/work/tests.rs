use std::time::Duration;

use crate::process::Crash;
use crate::world::{Shape, World, id_of};

/// Whether each of these managers has reached the others.
fn have_met(world: &World, managers: &[usize]) -> bool {
    let has_met = |manager: usize, other: usize| {
        let known = world.nodes[manager].swim.member(id_of(other));
        known.is_some_and(|member| member.confirmed && member.claim.status.is_live())
    };
    let others = |manager| managers.iter().filter(move |other| **other != manager);
    managers.iter().all(|manager| others(*manager).all(|other| has_met(*manager, *other)))
}

#[test]
fn managers_whose_configured_peers_were_all_replaced_meet_through_the_log() {
    let mut world = World::with_quiet_log(Shape::cluster_of(3));
    world.run(Duration::from_secs(20));
    let newcomers = [0, 1, 2].map(|founder| {
        let newcomer = world.replace(founder, Duration::from_secs(1));
        world.run(Duration::from_mins(1));
        newcomer
    });
    assert!(have_met(&world, &newcomers), "who is added when all configured peers are gone");
    for manager in newcomers {
        world.crash(manager, Crash::Machine);
    }
    for manager in newcomers {
        world.start(manager);
    }
    assert!(!have_met(&world, &newcomers));
    world.run(Duration::from_secs(30));
    assert!(have_met(&world, &newcomers), "who restarts with the others");
    assert_eq!(world.judges.violation(), None);
}
