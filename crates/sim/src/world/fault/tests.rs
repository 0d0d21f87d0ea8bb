use std::time::Duration;

use super::*;
use crate::faults::{LeaderMoment, LeaderTrouble};
use crate::invariants::Judges;
use crate::moment::Moment;
use crate::network::{Partition, Weather};
use crate::paths::Path;
use crate::recorder::Recorder;
use crate::world::{LogSetup, Setup, Shape};
use hyperscale_consensus::{Config as LogConfig, RaftId};
use hyperscale_swim::{Bugs, Config};

const AFTER: Duration = Duration::from_secs(2);

/// Five nodes with a log that have found each other.
fn world() -> World {
    let config = Config { bugs: Bugs::NONE, ..Config::lan() };
    let setup = Setup {
        seed: 5,
        shape: Shape::cluster_of(5),
        config,
        weather: Weather::fair(),
        skewed_clocks: false,
        log: Some(LogSetup::quiet(LogConfig::lan())),
        registers: false,
        version: Version::Old,
        start_within: Duration::from_secs(1),
    };
    let mut world = World::new(setup, Judges::all(), Recorder::off());
    world.run(Duration::from_secs(20));
    world
}

fn happen(world: &mut World, fault: Fault) {
    world.plan(world.kernel.now(), fault);
    world.run(Duration::from_millis(1));
}

fn is_up(world: &World, node: usize) -> bool {
    world.truth.nodes[node].process.is_up()
}

#[test]
fn faults_hit_whoever_is_in_the_place_of_a_replaced_node() {
    let mut world = world();
    happen(&mut world, Fault::Replace { node: 0, after: AFTER });
    world.run(AFTER * 2);
    assert!(is_up(&world, 5));
    happen(&mut world, Fault::Crash { node: 0, how: Crash::Machine });
    assert!(!is_up(&world, 5));
    happen(&mut world, Fault::Upgrade { node: 0 });
    assert!(is_up(&world, 5) && !is_up(&world, 0));
    assert_eq!(world.truth.nodes[5].process.version, Version::New);
    let (links, span) = (Partition::between(&[0], &[1, 2, 3, 4], 5), AFTER);
    happen(&mut world, Fault::Cut { number: 1, links, span });
    assert!(!world.network.reaches(world.kernel.now(), 5, 1));
}

#[test]
fn upgrade_ends_the_old_build_that_another_fault_started_again() {
    let mut world = world();
    happen(&mut world, Fault::Crash { node: 1, how: Crash::Process });
    happen(&mut world, Fault::Restart { node: 1 });
    let before = world.truth.nodes[1].process;
    assert!(is_up(&world, 1) && before.version == Version::Old);
    happen(&mut world, Fault::Upgrade { node: 1 });
    let after = world.truth.nodes[1].process;
    assert!(is_up(&world, 1) && after.version == Version::New);
    assert!(after.boot > before.boot, "a process does not change its build while it runs");
    world.run(AFTER * 10);
    assert_eq!(world.judges.violation(), None);
}

#[test]
fn replacement_is_not_there_before_its_time() {
    let mut world = world();
    happen(&mut world, Fault::Replace { node: 0, after: AFTER });
    happen(&mut world, Fault::Restart { node: 0 });
    assert!(!is_up(&world, 5));
    world.run(AFTER);
    assert!(is_up(&world, 5));
    assert_eq!(world.truth.nodes[5].process.version, Version::Old, "it runs what the other one ran");
}

#[test]
fn voter_that_lost_its_disk_is_removed_and_added_as_new() {
    let mut world = world();
    let (victim, before) = (1, id_in_the_group(&world, 1));
    happen(&mut world, Fault::LoseDisk { node: victim, after: AFTER });
    assert_eq!(id_in_the_group(&world, victim), None);
    world.run(AFTER * 10);
    let after = id_in_the_group(&world, victim);
    assert!(after > before, "{after:?}");
    let leader = world.leader_of(0).expect("it settled");
    let group = world.nodes[leader].host.as_ref().unwrap().manager().unwrap().group();
    assert_eq!(group.configuration().voters.len(), 3);
    assert!(group.configuration().voters.contains(&after.unwrap()));
    assert_eq!(world.judges.violation(), None);
}

fn id_in_the_group(world: &World, node: usize) -> Option<RaftId> {
    world.nodes[node].host.as_ref()?.disk.durable().raft_id
}

#[test]
fn as_many_voters_stay_away_as_the_group_can_miss_and_no_more() {
    let mut world = world();
    let voters_away = |world: &World, seed| {
        let absent = world.draw_minority(&mut fastrand::Rng::with_seed(seed));
        absent.nodes.into_iter().filter(|node| *node < 3).count()
    };
    assert!((0..20).all(|seed| voters_away(&world, seed) == 1), "one of three");
    happen(&mut world, Fault::LoseDisk { node: 1, after: AFTER * 100 });
    assert!((0..20).all(|seed| voters_away(&world, seed) == 0), "two of three are left already");
}

#[test]
fn group_decides_without_those_who_are_cut_off_and_they_do_not() {
    let mut world = world();
    let leader = world.leader_of(0).expect("it settled");
    let absent = Absent { nodes: vec![leader, 4], how: Absence::CutOff };
    happen(&mut world, Fault::Heal { absent });
    world.run(AFTER * 5);
    let successor = world.leader_of(0).expect("those who are left elect another leader");
    assert!(successor != leader && is_up(&world, leader));
    let applied = |world: &World, node: usize| {
        world.nodes[node].host.as_ref().unwrap().manager().unwrap().group().applied().0
    };
    let before = applied(&world, leader);
    assert!(world.propose_nothing(successor).is_some());
    world.run(AFTER);
    assert!(applied(&world, successor) > before && applied(&world, leader) == before);
    happen(&mut world, Fault::Heal { absent: Absent::default() });
    world.run(AFTER * 5);
    assert_eq!(applied(&world, leader), applied(&world, successor));
    assert_eq!(world.judges.violation(), None);
}

#[test]
fn those_who_stay_dead_are_not_started() {
    let mut world = world();
    happen(&mut world, Fault::Crash { node: 1, how: Crash::Machine });
    happen(&mut world, Fault::Heal { absent: Absent { nodes: vec![2, 3], how: Absence::Dead } });
    assert_eq!([0, 1, 2, 3, 4].map(|node| is_up(&world, node)), [true, true, false, false, true]);
}

fn hit(when: LeaderMoment) -> Fault {
    let trouble = LeaderTrouble::Crash { how: Crash::Machine, back: AFTER * 100 };
    Fault::HitLeader { cluster: 0, when, trouble, until: Moment::seconds(1000) }
}

#[test]
fn whoever_leads_is_hit_at_any_moment_or_when_it_is_elected() {
    let mut world = world();
    let first = world.leader_of(0).expect("it settled");
    happen(&mut world, hit(LeaderMoment::Elected));
    assert!(is_up(&world, first), "it waits for the next one");
    happen(&mut world, hit(LeaderMoment::Any));
    assert!(!is_up(&world, first));
    world.run(AFTER * 5);
    let down = (0..3).filter(|node| !is_up(&world, *node)).count();
    assert_eq!(down, 2, "the next one was hit right after its election");
    assert_eq!(world.paths.count(Path::LeaderHitWhenElected), 1);
}

#[test]
fn leader_is_hit_inside_a_joint_change() {
    let mut world = world();
    let leader = world.leader_of(0).expect("it settled");
    happen(&mut world, hit(LeaderMoment::JointChange));
    world.run(AFTER);
    assert!(is_up(&world, leader), "nothing changes yet");
    let other = (0..3).find(|node| *node != leader).expect("three managers");
    happen(&mut world, Fault::Replace { node: other, after: AFTER });
    world.run(AFTER * 2);
    assert!(!is_up(&world, leader));
    assert_eq!(world.paths.count(Path::LeaderHitInJointChange), 1);
}

#[test]
fn faults_for_leaders_end_with_the_phase() {
    let mut world = world();
    let leader = world.leader_of(0).expect("it settled");
    let Fault::HitLeader { cluster, when, trouble, .. } = hit(LeaderMoment::Any) else { unreachable!() };
    let until = world.kernel.now();
    happen(&mut world, Fault::HitLeader { cluster, when, trouble, until });
    assert!(is_up(&world, leader));
}
