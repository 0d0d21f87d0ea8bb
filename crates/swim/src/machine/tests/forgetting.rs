//! Rules about what is forgotten: contacts whose member is gone, workers that are gone, and how much is remembered of them.

use hyperscale_types::Token;

use super::*;
use crate::table::TOMBS_MAX;
use crate::workers::{GRAVES_MAX, WorkerMembership, WorkerReport};

fn joins(actions: &[Action]) -> usize {
    let is_join =
        |(to, body): &(Endpoint, &StreamBody)| to.addr == peer(2).addr && matches!(body, StreamBody::Join);
    streams(actions).iter().filter(|sent| is_join(sent)).count()
}

fn death_of(worker: u64) -> WorkerReport {
    WorkerReport {
        worker: node(worker),
        boot: BootEpoch(1),
        owner_token: Token(1),
        addr: peer(worker).addr,
        api_addr: None,
        membership: WorkerMembership::Dead,
        cores_total: 8,
        cores_available: 0,
        datacenter: "dc".into(),
    }
}

#[test]
fn contact_whose_member_was_forgotten_is_tried_again_for_ever() {
    let mut rig = Rig::idle(Config::lan(), ME);
    rig.command(Command::Join { contacts: vec![peer(2).addr] });
    let list = [2, 3].map(|number| update(number, 0, Status::Alive, number)).to_vec();
    rig.stream(2, StreamBody::Members { members: list, last: true });
    rig.meet([3]);
    rig.well.insert(node(3));
    rig.gossip(3, &[update(2, 0, Status::Dead, 3)]);
    let dead_ttl = rig.swim.config().dead_ttl;
    assert_eq!(joins(&rig.advance(dead_ttl.mul_f64(0.99))), 0, "it is probed as one of the dead");
    rig.advance(dead_ttl.mul_f64(0.02));
    assert_eq!(rig.status(2), None);
    for hour in 0..3 {
        let tries = joins(&rig.advance(Duration::from_hours(1)));
        assert!(tries >= 60, "{tries} in hour {hour}");
    }
}

#[test]
fn worker_that_is_gone_is_forgotten_after_its_time_and_its_grave_kept() {
    let mut rig = Rig::among([2]);
    rig.well.insert(node(2));
    rig.command(Command::Worker(death_of(200)));
    let dead_ttl = rig.swim.config().dead_ttl;
    rig.advance(dead_ttl.mul_f64(0.99));
    assert_eq!((rig.swim.sizes().workers, rig.swim.sizes().graves), (1, 0));
    rig.advance(dead_ttl.mul_f64(0.02));
    assert_eq!((rig.swim.sizes().workers, rig.swim.sizes().graves), (0, 1));
}

#[test]
fn tombs_that_fall_out_are_counted() {
    let mut rig = Rig::among([2]);
    let first = 1000;
    let dead = |number| update(number, 0, Status::Dead, 2);
    let all: Vec<_> = (first..first + TOMBS_MAX as u64 + 3).map(dead).collect();
    rig.gossip(2, &all);
    assert_eq!((rig.swim.sizes().tombs, rig.swim.counters().tombs_dropped), (TOMBS_MAX, 3));
}

#[test]
fn graves_that_fall_out_are_counted() {
    let mut config = Config::lan();
    config.limits.workers = 1;
    let mut rig = Rig::with(config, ME);
    // Each makes room for the next and gets a grave, but the last.
    for worker in (1000..).take(GRAVES_MAX + 4) {
        rig.command(Command::Worker(death_of(worker)));
    }
    assert_eq!((rig.swim.sizes().graves, rig.swim.counters().graves_dropped), (GRAVES_MAX, 3));
}
