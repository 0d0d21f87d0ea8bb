//! Rules of anti-entropy: digest first, then the difference, both ways.

use super::*;
use crate::digest::Digest;

/// Delivers stream messages between two cores until none are left; how many of each kind.
fn converse(one: &mut Rig, other: &mut Rig, first: Vec<Action>) -> Vec<String> {
    let mut kinds = Vec::new();
    let mut to_other = true;
    let mut actions = first;
    while !actions.is_empty() {
        let receiver = if to_other { &mut *other } else { &mut *one };
        let number = receiver.swim.peer().node.get();
        let mut answers = Vec::new();
        for action in actions {
            if let Action::SendStream { to, message } = action
                && to.node == Some(node(number))
            {
                let name = format!("{:?}", message.body);
                kinds.push(name.split([' ', '{', '(']).next().unwrap_or_default().to_owned());
                answers.extend(receiver.input(Input::Stream(message)));
            }
        }
        actions = answers;
        to_other = !to_other;
    }
    kinds
}

fn pair() -> (Rig, Rig) {
    let mut one = Rig::with(Config::lan(), 1);
    let mut other = Rig::with(Config::lan(), 2);
    one.meet([2]);
    other.meet([1]);
    (one, other)
}

fn sync(one: &mut Rig, other: &mut Rig) -> Vec<String> {
    let slot = one.swim.members.find(other.swim.peer().node).unwrap();
    let mut out = Vec::new();
    one.swim.send_digest(&mut Turn { now: one.now, out: &mut out }, slot);
    converse(one, other, out)
}

fn view(rig: &Rig) -> BTreeMap<NodeId, Claim> {
    let me = rig.swim.me.update();
    let others = rig.swim.members().map(|member| (member.node, member.claim));
    others.chain([(me.peer.node, me.claim)]).collect()
}

#[test]
fn equal_views_end_with_the_digest() {
    let (mut one, mut other) = pair();
    let news = [update(5, 3, Status::Alive, 5)];
    one.gossip(2, &news);
    other.gossip(1, &news);
    assert_eq!(sync(&mut one, &mut other), ["Digest"]);
}

#[test]
fn difference_goes_both_ways_and_makes_the_views_equal() {
    let (mut one, mut other) = pair();
    let shared: Vec<_> = (100..600).map(|number| update(number, 0, Status::Alive, number)).collect();
    one.gossip(2, &shared);
    other.gossip(1, &shared);
    one.gossip(2, &[update(700, 0, Status::Alive, 700), update(101, 4, Status::Alive, 101)]);
    other.gossip(1, &[update(800, 0, Status::Alive, 800), update(102, 0, Status::Suspect, 1)]);
    assert_eq!(sync(&mut one, &mut other), ["Digest", "MemberDifference", "MemberDifference"]);
    assert_eq!(view(&one), view(&other));
    assert_eq!(view(&one).len(), 504);
}

#[test]
fn only_the_buckets_that_differ_are_sent() {
    let (mut one, mut other) = pair();
    let shared: Vec<_> = (100..1100).map(|number| update(number, 0, Status::Alive, number)).collect();
    one.gossip(2, &shared);
    other.gossip(1, &shared);
    one.gossip(2, &[update(5000, 0, Status::Alive, 5000)]);
    let actions = other.stream(1, StreamBody::Digest { members: Box::new(one.swim.digest()), workers: None });
    let StreamBody::MemberDifference { buckets, members, answer: true } = streams(&actions)[0].1 else {
        panic!()
    };
    assert_eq!(buckets.count_ones(), 1);
    assert!(members.len() < 40, "{}", members.len());
}

#[test]
fn dead_of_the_other_side_is_only_suspected_here_for_the_shortest_time() {
    let (mut one, mut other) = pair();
    let members: Vec<_> = (100..106).map(|number| update(number, 0, Status::Alive, number)).collect();
    one.gossip(2, &members);
    other.gossip(1, &members);
    one.meet([100]);
    other.gossip(1, &[update(100, 0, Status::Dead, 1)]);
    sync(&mut one, &mut other);
    assert_eq!(one.status(100), Some(Status::Suspect));
    one.advance(secs(2.9));
    assert_eq!(one.status(100), Some(Status::Suspect));
    one.advance(secs(0.2));
    assert_eq!(one.status(100), Some(Status::Dead));
}

#[test]
fn who_is_dead_elsewhere_and_lives_here_is_told_and_not_accused_in_public() {
    let mut rig = Rig::among(2..8);
    rig.well = (2..8).map(node).collect();
    rig.advance(secs(60.0));
    let dead = vec![update(5, 0, Status::Dead, 2)];
    let body = StreamBody::MemberDifference { buckets: u64::MAX, members: dead, answer: false };
    let actions = rig.stream(2, body);
    assert_eq!(datagrams_to(&actions, 5)[0].members[0].claim, claim(1, 0, Status::Dead));
    assert_eq!(rig.swim.sizes().member_updates, 0);
    rig.hear_as(sender(5, 1, 1), Message::Gossip, &[]);
    assert_eq!(rig.status(5), Some(Status::Alive));
}

#[test]
fn digests_are_exchanged_every_thirty_seconds() {
    let mut rig = Rig::among([2, 3]);
    rig.well = [2, 3].map(node).into();
    let digests = |actions: &[Action]| {
        streams(actions).into_iter().filter(|(_, body)| matches!(body, StreamBody::Digest { .. })).count()
    };
    rig.advance(secs(30.0));
    let actions = rig.advance(secs(300.0));
    // A manager compares with one member and with every other manager; here both are managers.
    assert_eq!(digests(&actions), 20);
}

#[test]
fn oversized_lists_are_cut_and_counted() {
    let mut rig = Rig::among([2]);
    let members = vec![update(3, 0, Status::Alive, 3); crate::message::PAGE_MAX + 1];
    rig.stream(2, StreamBody::MemberDifference { buckets: u64::MAX, members, answer: false });
    assert_eq!(rig.swim.counters().pages_cut, 1);
}

#[test]
fn forgotten_and_remembered_dead_count_as_the_same_view() {
    let (mut one, mut other) = pair();
    one.gossip(2, &[update(100, 0, Status::Alive, 100)]);
    one.gossip(2, &[update(100, 0, Status::Dead, 2)]);
    assert_eq!(sync(&mut one, &mut other), ["Digest"]);
    assert_eq!(Digest::default().difference(&Digest::default()), 0);
}

#[test]
fn suspicion_passed_on_by_anti_entropy_is_no_confirmation() {
    let mut rig = Rig::among(2..11);
    rig.gossip(2, &[update(5, 0, Status::Suspect, 2)]);
    let slot = rig.swim.members.find(node(5)).unwrap();
    for relay in [3, 4, 6] {
        let mut other = Rig::with(Config::lan(), relay);
        other.meet((1..11).filter(|number| *number != relay));
        other.gossip(2, &[update(5, 0, Status::Suspect, 2)]);
        let (to, mut out) = (Endpoint { node: Some(node(ME)), addr: peer(ME).addr }, Vec::new());
        other.swim.send_members_of(&mut Turn { now: other.now, out: &mut out }, to, u64::MAX, false);
        for (_, body) in streams(&out) {
            rig.stream(relay, body.clone());
        }
    }
    assert_eq!(rig.swim.suspicions[&slot].witnesses().iter().count(), 1);
}
