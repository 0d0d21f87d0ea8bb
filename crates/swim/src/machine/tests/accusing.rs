//! Rules about accusations: what they may change about their subject, and how many are told in a period.

use super::*;
use crate::machine::merge::TOLD_PER_PERIOD_MAX;

#[test]
fn accusation_of_the_same_identity_changes_neither_address_nor_role() {
    let mut rig = Rig::among([2, 3]);
    let other = Peer { addr: peer(9).addr, role: Role::Worker, ..peer(2) };
    let place = |rig: &Rig| rig.swim.member(node(2)).map(|member| (member.addr, member.role)).unwrap();
    for status in [Status::Suspect, Status::Dead] {
        rig.gossip(3, &[MemberUpdate { peer: other, ..update(2, 0, status, 3) }]);
        assert_eq!(rig.status(2), Some(status));
        assert_eq!(place(&rig), (peer(2).addr, Role::Manager), "{status}");
    }
    rig.gossip(3, &[MemberUpdate { peer: other, ..update(2, 1, Status::Alive, 2) }]);
    assert_eq!(place(&rig), (other.addr, other.role), "a newer incarnation is where it says");
}

#[test]
fn accusations_told_in_a_period_are_limited_and_the_rest_is_counted() {
    let subjects = 2..2 + TOLD_PER_PERIOD_MAX as u64 + 10;
    let mut rig = Rig::among(subjects.clone().chain([99]));
    let about_all = |incarnation, status| {
        subjects.clone().map(|number| update(number, incarnation, status, 99)).collect::<Vec<_>>()
    };
    rig.gossip(99, &about_all(4, Status::Suspect));
    let stale = about_all(3, Status::Alive);
    for _ in 0..2 {
        rig.gossip(99, &stale);
        assert_eq!(rig.swim.counters().accusations_told, TOLD_PER_PERIOD_MAX as u64);
    }
    assert_eq!(rig.swim.counters().accusations_withheld, 20, "ten each time, not those told before");
    rig.well.insert(node(99));
    rig.advance(secs(1.05));
    let told = rig.swim.counters().accusations_told;
    rig.gossip(99, &stale);
    assert_eq!(rig.swim.counters().accusations_told - told, TOLD_PER_PERIOD_MAX as u64, "anew each period");
}
