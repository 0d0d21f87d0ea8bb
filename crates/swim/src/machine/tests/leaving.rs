//! Rules about leaves that the node did not announce itself: others may say so by mistake, and it contradicts.

use super::*;

fn left(number: u64, by: u64) -> MemberUpdate {
    update(number, 0, Status::Left, by)
}

fn told(actions: &[Action], number: u64) -> bool {
    let about = |datagram: &&Datagram| datagram.members.first() == Some(&left(number, ME));
    datagrams_to(actions, number).iter().any(about)
}

fn difference(members: Vec<MemberUpdate>) -> StreamBody {
    StreamBody::MemberDifference { buckets: u64::MAX, members, answer: false }
}

/// A core among members that answer, without any news.
fn settled() -> Rig {
    let mut rig = Rig::among(2..8);
    rig.well = (2..8).map(node).collect();
    rig.advance(secs(60.0));
    rig
}

#[test]
fn living_node_that_hears_that_it_left_contradicts() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(2, &[left(ME, 3)]);
    assert_eq!(rig.swim.incarnation(), Incarnation(1));
}

#[test]
fn who_is_said_to_have_left_and_speaks_is_told_and_comes_back() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(3, &[left(2, 3)]);
    let actions = rig.gossip(2, &[]);
    assert_eq!(rig.status(2), Some(Status::Left), "the same incarnation does not bring it back");
    assert!(told(&actions, 2));
    let actions = rig.hear_as(sender(2, 1, 1), Message::Gossip, &[]);
    assert!(events(&actions).contains(&Event::Joined { peer: peer(2), boot: BootEpoch(1), returned: true }));
}

#[test]
fn answer_to_a_probe_tells_who_asks_that_it_is_said_to_have_left() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(3, &[left(2, 3)]);
    let probe = Message::Probe { seq: 7, target: node(ME) };
    let actions = rig.hear(2, probe, &[]);
    let sent = datagrams_to(&actions, 2);
    let ack = sent.iter().find(|datagram| datagram.message == Message::Ack { seq: 7 }).unwrap();
    assert_eq!(ack.members[0].claim, claim(1, 0, Status::Left));
}

#[test]
fn who_left_long_ago_and_speaks_is_told_too() {
    let mut rig = Rig::among([3]);
    rig.gossip(3, &[left(2, 3)]);
    assert_eq!(rig.status(2), None);
    assert!(told(&rig.gossip(2, &[]), 2));
    rig.hear_as(sender(2, 1, 1), Message::Gossip, &[]);
    assert_eq!(rig.status(2), Some(Status::Alive));
}

#[test]
fn who_left_elsewhere_and_lives_here_is_told_and_may_contradict() {
    let mut rig = settled();
    let actions = rig.stream(2, difference(vec![left(5, 2)]));
    assert_eq!(datagrams_to(&actions, 5)[0].members[0].claim, claim(1, 0, Status::Left));
    assert!(!events(&actions).contains(&Event::Left { node: node(5) }));
    rig.hear_as(sender(5, 1, 1), Message::Gossip, &[]);
    rig.advance(secs(10.0));
    assert_eq!(rig.status(5), Some(Status::Alive));
}

#[test]
fn leave_heard_in_anti_entropy_holds_without_contradiction_and_is_not_a_death() {
    let mut rig = settled();
    rig.well.remove(&node(5));
    rig.stream(2, difference(vec![left(5, 2)]));
    assert_eq!(rig.status(5), Some(Status::Suspect));
    let actions = rig.advance(secs(3.1));
    assert_eq!(rig.status(5), Some(Status::Left));
    assert!(events(&actions).contains(&Event::Left { node: node(5) }));
    assert!(!events(&actions).iter().any(|event| matches!(event, Event::Died { .. })));
}

#[test]
fn leave_of_a_suspect_heard_in_anti_entropy_is_not_a_death() {
    let mut rig = settled();
    rig.well.remove(&node(5));
    rig.gossip(3, &[update(5, 0, Status::Suspect, 3)]);
    rig.stream(2, difference(vec![left(5, 2)]));
    rig.advance(secs(3.1));
    assert_eq!(rig.status(5), Some(Status::Left));
}

#[test]
fn leave_that_the_node_itself_tells_in_anti_entropy_holds_at_once() {
    let mut rig = settled();
    let actions = rig.stream(5, difference(vec![left(5, 5)]));
    assert_eq!(rig.status(5), Some(Status::Left));
    assert!(events(&actions).contains(&Event::Left { node: node(5) }));
}
