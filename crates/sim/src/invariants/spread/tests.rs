use hyperscale_swim::{Bugs, Command, Config, Limits};

use super::*;
use crate::faults::Fault;
use crate::invariants::scene::Scene;
use crate::invariants::{Judges, Violation};
use crate::network::Weather;
use crate::process::Version;
use crate::recorder::Recorder;
use crate::world::{Setup, Shape, World, id_of};

/// Members of the scenes: one of them may be down, two are too many.
const MEMBERS: usize = 10;
/// When the first member hears the news, and when the last one does, too late.
const FIRST_S: u64 = 100;
const LATE_S: u64 = 109;

/// What the judge says of a node that hears late that the last member left, after what happened before.
fn late(happens: impl Fn(&mut Spread, &Scene)) -> Verdict {
    let (mut judge, scene) = (Spread::default(), Scene::of(&[0; MEMBERS]));
    let left = Event::Left { node: id_of(MEMBERS - 1) };
    assert_eq!(scene.ask(&mut judge, 0, FIRST_S, What::Event(&left)), Ok(()));
    happens(&mut judge, &scene);
    scene.ask(&mut judge, 1, LATE_S, What::Event(&left))
}

fn ends(judge: &mut Spread, scene: &Scene, nodes: std::ops::Range<usize>, at_s: u64) {
    for node in nodes {
        assert_eq!(scene.ask(judge, node, at_s, What::Ended), Ok(()));
    }
}

#[test]
fn news_that_come_late_are_objected_to() {
    assert!(late(|_, _| {}).is_err());
}

#[test]
fn news_are_judged_while_a_tenth_is_down_and_not_while_more_are() {
    assert!(late(|judge, scene| ends(judge, scene, 2..3, FIRST_S + 1)).is_err());
    assert_eq!(late(|judge, scene| ends(judge, scene, 2..5, FIRST_S + 1)), Ok(()));
}

#[test]
fn outages_that_ended_or_were_noticed_before_excuse_nothing() {
    assert!(late(|judge, scene| ends(judge, scene, 2..5, FIRST_S - 90)).is_err());
    let restarted = late(|judge, scene| {
        ends(judge, scene, 2..5, FIRST_S - 9);
        for node in 2..5 {
            assert_eq!(scene.ask(judge, node, FIRST_S - 1, What::Started), Ok(()));
        }
    });
    assert!(restarted.is_err());
}

/// What is broken when some of 340 members die, six others leave at the same time, and nothing is lost on its way.
fn die_at_once(seed: u64, dying: usize, bugs: Bugs) -> Option<Violation> {
    let lan = Config::lan();
    let setup = Setup {
        seed,
        shape: Shape::cluster_of(340),
        config: Config { bugs, limits: Limits { audit: 2048, ..lan.limits }, ..lan },
        weather: Weather::fair(),
        skewed_clocks: false,
        log: None,
        registers: false,
        version: Version::New,
        start_within: Duration::from_secs(1),
    };
    let mut world = World::new(setup, Judges::of(vec![Box::new(Spread::default())]), Recorder::off());
    world.run(Duration::from_secs(70));
    for node in 340 - dying..340 {
        world.plan(world.kernel.now(), Fault::Kill { node });
    }
    for node in 170..176 {
        world.tell(node, Command::Leave);
    }
    world.run(Duration::from_secs(45));
    world.judges.violation().cloned()
}

#[test]
fn news_that_spread_while_half_of_a_cluster_dies_may_be_late() {
    // Seed 7 had a member that learned of a leave after 22 s.
    assert_eq!(die_at_once(7, 160, Bugs::NONE), None);
}

#[test]
fn news_reach_everybody_in_time_while_less_than_a_tenth_of_a_cluster_dies() {
    assert_eq!(die_at_once(7, 30, Bugs::NONE), None);
    let broken = die_at_once(7, 30, Bugs::one(hyperscale_swim::Bug::TransmitOnce));
    assert_eq!(broken.map(|it| it.invariant), Some("spread"));
}
