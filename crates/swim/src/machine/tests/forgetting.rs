//! Rules about what is forgotten: contacts whose member is gone, workers that are gone, and how much is remembered of them.

use std::sync::Arc;

use hyperscale_types::Token;

use super::*;
use crate::embedded::{Embedded, EmbeddedState, WorkerLoad, WorkerState};
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

/// What is known of a member's state, and whether the host was told of it, after a datagram that carries this version.
fn hear_state(rig: &mut Rig, from: Sender, version: u64) -> (Option<u64>, bool) {
    let state = EmbeddedState::Worker(WorkerLoad { queue_depth: version as u32, ..IDLE });
    let embedded = Some(Arc::new(Embedded { version, state }));
    let actions = rig.input(Input::Datagram(Datagram { embedded, ..bare(from, Message::Gossip, &[]) }));
    let is_told = events(&actions).iter().any(|event| matches!(event, Event::StateChanged { .. }));
    (rig.swim.member(from.peer.node).and_then(|member| member.state).map(|state| state.version), is_told)
}

const IDLE: WorkerLoad = WorkerLoad {
    state: WorkerState::Healthy,
    cores_total: 8,
    cores_available: 8,
    queue_depth: 0,
    cpu_percent: 0,
    memory_percent: 0,
    segments: 0,
    segments_digest: 0,
    lhm: 0,
};

#[test]
fn member_that_was_forgotten_comes_back_with_no_older_state_in_the_same_life() {
    let mut rig = Rig::among([2]);
    rig.well.insert(node(2));
    assert_eq!(hear_state(&mut rig, sender(200, 1, 0), 5), (Some(5), true));
    rig.gossip(2, &[update(200, 0, Status::Dead, 2)]);
    // Its datagrams arrive, and nothing reaches it that it could contradict.
    assert_eq!(hear_state(&mut rig, sender(200, 1, 0), 6), (Some(6), true));
    rig.advance(rig.swim.config().dead_ttl + secs(1.0));
    assert_eq!(rig.status(200), None);
    rig.gossip(2, &[update(200, 1, Status::Alive, 200)]);
    assert_eq!(hear_state(&mut rig, sender(200, 1, 0), 5), (Some(6), false), "late");
    assert_eq!(hear_state(&mut rig, sender(200, 1, 1), 6), (Some(6), false), "known");
    assert_eq!(hear_state(&mut rig, sender(200, 1, 1), 7), (Some(7), true));
    assert_eq!(hear_state(&mut rig, sender(200, 2, 0), 1), (Some(1), true), "of another life");
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
