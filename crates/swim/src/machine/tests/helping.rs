//! Rules about helpers: who is asked, and how long one takes to say that nobody answered.

use super::*;

fn requests(actions: &[Action], about: u64) -> BTreeSet<u64> {
    datagrams(actions)
        .into_iter()
        .filter(|(_, it)| matches!(it.message, Message::PingReq { target, .. } if target == node(about)))
        .map(|(to, _)| to)
        .collect()
}

#[test]
fn helpers_are_reached_members_that_nobody_accuses() {
    let mut rig = Rig::among(2..6);
    rig.well = (3..6).map(node).collect();
    let hearsay: Vec<_> = (50..90).map(|number| update(number, 0, Status::Alive, 3)).collect();
    rig.gossip(3, &hearsay);
    rig.gossip(3, &[update(4, 0, Status::Suspect, 3)]);
    let actions = rig.advance(secs(5.0));
    assert_eq!(rig.status(4), Some(Status::Suspect));
    assert_eq!(requests(&actions, 2), BTreeSet::from([3, 5]));
}

#[test]
fn helper_nacks_within_its_own_period_however_long_it_is_given() {
    let mut rig = Rig::among([2, 3]);
    let addr = peer(3).addr;
    let ask = Message::PingReq { seq: 77, target: node(3), addr, nack_after: secs(60.0) };
    rig.hear(2, ask, &[]);
    let actions = rig.advance(rig.swim.config().probe.period);
    assert!(datagrams_to(&actions, 2).iter().any(|it| it.message == Message::Nack { seq: 77 }));
}
