//! Rules of `Gossip` and of the embedded state: size, order, quotas, number of transmissions, silence.

use std::sync::Arc;

use super::*;
use crate::embedded::{Embedded, EmbeddedState, GateLoad, ManagerLoad, Phase};
use crate::load::LoadLevel;
use crate::size;

fn manager_state(jobs: u32) -> EmbeddedState {
    EmbeddedState::Manager(ManagerLoad {
        datacenter: "dc-one".into(),
        leader: false,
        term: 7,
        phase: Phase::Active,
        jobs,
        segments: 0,
        workers_total: 0,
        workers_healthy: 0,
        cores_total: 0,
        cores_available: 0,
        lhm: 0,
        backpressure: LoadLevel::Normal,
    })
}

/// News about many members at once.
fn flood(rig: &mut Rig, count: u64) {
    let news: Vec<_> = (1000..1000 + count).map(|number| update(number, 0, Status::Alive, number)).collect();
    rig.gossip(2, &news);
}

#[test]
fn datagrams_never_exceed_their_limit() {
    let mut rig = Rig::among(2..6);
    rig.command(Command::SetState(manager_state(3)));
    flood(&mut rig, 500);
    let actions = rig.advance(secs(3.0));
    let sizes: Vec<_> = datagrams(&actions)
        .iter()
        .map(|(_, datagram)| size::datagram_len(datagram) + rig.swim.config().gossip.seal_bytes)
        .collect();
    assert!(sizes.iter().all(|bytes| *bytes <= 1400), "{:?}", sizes.iter().max());
    assert!(sizes.iter().any(|bytes| *bytes > 1250), "the space is used");
}

#[test]
fn tick_sends_to_three_members_every_200_ms_while_there_is_news() {
    let mut rig = Rig::among(2..20);
    rig.well = (2..20).map(node).collect();
    rig.advance(secs(30.0));
    flood(&mut rig, 500);
    rig.advance(secs(0.2));
    let actions = rig.advance(secs(1.0));
    let gossip = datagrams(&actions).iter().filter(|(_, it)| it.message == Message::Gossip).count();
    assert!((12..=18).contains(&gossip), "{gossip}");
}

#[test]
fn with_nothing_to_say_nothing_is_sent() {
    let mut rig = Rig::among(2..6);
    rig.well = (2..6).map(node).collect();
    rig.advance(secs(60.0));
    let actions = rig.advance(secs(10.0));
    assert!(datagrams(&actions).iter().all(|(_, datagram)| is_probe(datagram)));
    assert!(datagrams(&actions).iter().all(|(_, datagram)| datagram.members.is_empty()));
}

#[test]
fn each_update_is_sent_its_number_of_times_and_then_rests() {
    let mut rig = Rig::among(2..6);
    rig.well = (2..6).map(node).collect();
    rig.advance(secs(60.0));
    rig.gossip(2, &[update(3, 5, Status::Alive, 3)]);
    let actions = rig.advance(secs(60.0));
    let about_three = datagrams(&actions)
        .into_iter()
        .filter(|(to, _)| *to != 3)
        .flat_map(|(_, datagram)| &datagram.members)
        .filter(|update| update.peer.node == node(3))
        .count();
    assert_eq!(about_three, 12);
    assert_eq!(rig.swim.sizes().member_updates, 0);
}

#[test]
fn what_concerns_the_receiver_goes_first() {
    let mut rig = Rig::among(2..6);
    rig.gossip(2, &[update(3, 0, Status::Suspect, 2)]);
    flood(&mut rig, 300);
    let actions = rig.hear(3, Message::Probe { seq: 1, target: node(ME) }, &[]);
    let ack = datagrams_to(&actions, 3).into_iter().find(|it| it.message == Message::Ack { seq: 1 }).unwrap();
    assert_eq!(ack.members[0].peer.node, node(3));
    assert_eq!(ack.members[0].claim.status, Status::Suspect);
}

#[test]
fn ack_is_sent_at_once_however_much_gossip_waits() {
    let mut rig = Rig::among(2..6);
    flood(&mut rig, 2000);
    let actions = rig.hear(4, Message::Probe { seq: 5, target: node(ME) }, &[]);
    assert_eq!(datagrams(&actions)[0].1.message, Message::Ack { seq: 5 });
}

#[test]
fn least_sent_news_leave_first() {
    let mut rig = Rig::among(2..6);
    flood(&mut rig, 10);
    rig.advance(secs(1.0));
    rig.gossip(2, &[update(3, 9, Status::Alive, 3)]);
    let actions = rig.hear(4, Message::Probe { seq: 5, target: node(ME) }, &[]);
    assert_eq!(datagrams_to(&actions, 4)[0].members[0].peer.node, node(3));
}

#[test]
fn probes_and_acks_carry_the_state_and_gossip_does_not() {
    let mut rig = Rig::among(2..6);
    rig.command(Command::SetState(manager_state(1)));
    let actions = rig.advance(secs(5.0));
    for (_, datagram) in datagrams(&actions) {
        assert_eq!(datagram.embedded.is_some(), is_probe(datagram));
    }
    let actions = rig.hear(2, Message::Probe { seq: 1, target: node(ME) }, &[]);
    assert!(datagrams_to(&actions, 2)[0].embedded.is_some());
}

#[test]
fn state_leaves_even_under_a_flood_of_membership() {
    let mut rig = Rig::among(2..6);
    rig.command(Command::SetState(manager_state(1)));
    flood(&mut rig, 2000);
    let actions = rig.hear(2, Message::Probe { seq: 1, target: node(ME) }, &[]);
    let ack = datagrams_to(&actions, 2)[0];
    assert!(ack.embedded.is_some() && !ack.members.is_empty());
}

#[test]
fn version_rises_with_each_change_and_only_then() {
    let mut rig = Rig::among([2]);
    let versions = [1, 1, 2].map(|jobs| {
        rig.command(Command::SetState(manager_state(jobs)));
        rig.swim.state().unwrap().version
    });
    assert_eq!(versions, [1, 1, 2]);
}

#[test]
fn stale_state_is_dropped_and_a_newer_one_is_an_event() {
    let mut rig = Rig::among([2]);
    let mut say = |version, jobs, boot| {
        let embedded = Some(Arc::new(Embedded { version, state: manager_state(jobs) }));
        let from = sender(2, boot, 0);
        let actions = rig.input(Input::Datagram(Datagram { embedded, ..bare(from, Message::Gossip, &[]) }));
        let changed =
            events(&actions).iter().filter(|event| matches!(event, Event::StateChanged { .. })).count();
        let stored = rig.swim.member(node(2)).unwrap().state.unwrap().state.clone();
        (changed, stored)
    };
    assert_eq!(say(5, 1, 1), (1, manager_state(1)));
    assert_eq!(say(4, 2, 1), (0, manager_state(1)));
    assert_eq!(say(5, 3, 1), (0, manager_state(1)));
    assert_eq!(say(6, 1, 1), (0, manager_state(1)), "same content, newer version");
    assert_eq!(say(7, 4, 1), (1, manager_state(4)));
    assert_eq!(say(1, 9, 2), (1, manager_state(9)), "a new life counts anew");
}

#[test]
fn state_of_another_role_than_the_members_is_refused() {
    let mut rig = Rig::among([2, 200]);
    let gate =
        EmbeddedState::Gate(GateLoad { leader: true, term: 1, phase: Phase::Active, jobs_owned: 0, lhm: 0 });
    for (from, state) in [(2, gate), (200, manager_state(1))] {
        let embedded = Some(Arc::new(Embedded { version: 9, state }));
        let actions = rig
            .input(Input::Datagram(Datagram { embedded, ..bare(sender(from, 1, 0), Message::Gossip, &[]) }));
        assert_eq!(events(&actions), []);
        assert!(rig.swim.member(node(from)).unwrap().state.is_none());
    }
    assert_eq!(rig.swim.counters().foreign_embedded, 2);
}
