//! Rules about unconfirmed peers: who counts for failure detection, and how unreached ones are retried.

use super::*;

fn confirmed(rig: &Rig, number: u64) -> bool {
    rig.swim.member(node(number)).unwrap().confirmed
}

fn with_contacts(numbers: &[u64]) -> (Rig, Vec<Action>) {
    let mut rig = Rig::idle(Config::lan(), ME);
    let contacts = numbers.iter().map(|number| peer(*number).addr).collect();
    let mut actions = rig.command(Command::Join { contacts });
    actions.extend(rig.advance(secs(0.5)));
    (rig, actions)
}

fn joins(actions: &[Action]) -> Vec<SocketAddr> {
    streams(actions)
        .into_iter()
        .filter(|(_, body)| matches!(body, StreamBody::Join))
        .map(|(to, _)| to.addr)
        .collect()
}

#[test]
fn node_does_nothing_before_it_is_told_to_join() {
    let mut rig = Rig::idle(Config::lan(), ME);
    assert!(rig.advance(secs(60.0)).is_empty());
    assert!(rig.timers.is_empty());
}

#[test]
fn joining_asks_the_contacts_and_the_answer_is_the_full_list() {
    let (mut rig, actions) = with_contacts(&[2, 3]);
    assert_eq!(joins(&actions), [peer(2).addr, peer(3).addr]);
    assert!(!rig.swim.is_joined());
    let members = (2..20).map(|number| update(number, 0, Status::Alive, number)).collect();
    rig.stream(2, StreamBody::Members { members, last: true });
    assert!(rig.swim.is_joined());
    assert_eq!(rig.swim.live_count(), 19);
    assert!(confirmed(&rig, 2) && !confirmed(&rig, 5));
}

#[test]
fn node_whose_contacts_are_gone_asks_members_that_reach_it_for_the_list() {
    let (mut rig, _) = with_contacts(&[8, 9]);
    let reached = [2, 3].map(|number| peer(number).addr);
    let asks = |actions: &[Action]| joins(actions).iter().filter(|addr| reached.contains(addr)).count();
    assert_eq!(asks(&rig.advance(secs(2.0))), 0, "nobody is there to be asked");
    rig.meet([2, 3]);
    rig.well = [2, 3].map(node).into();
    assert_eq!(asks(&rig.advance(secs(5.0))), 5, "one per period until one answers");
    let actions =
        rig.stream(3, StreamBody::Members { members: vec![update(4, 0, Status::Alive, 4)], last: true });
    assert!(rig.swim.is_joined());
    assert_eq!(asked_for_workers(&actions), [2, 3, 4].map(node).into());
    assert_eq!(asks(&rig.advance(secs(60.0))), 0);
}

#[test]
fn join_is_answered_with_everybody_and_oneself() {
    let mut rig = Rig::among(2..10);
    let actions = rig.stream(50, StreamBody::Join);
    let (to, body) = streams(&actions)[0];
    assert_eq!(to.node, Some(node(50)));
    let StreamBody::Members { members, last: true } = body else { panic!("{body:?}") };
    let numbers: BTreeSet<u64> = members.iter().map(|update| update.peer.node.get()).collect();
    assert_eq!(numbers, (1..10).chain([50]).collect());
    assert!(confirmed(&rig, 50));
}

#[test]
fn newcomer_does_not_gossip_the_list_it_was_given() {
    let (mut rig, _) = with_contacts(&[2]);
    let members = (2..200).map(|number| update(number, 0, Status::Alive, number)).collect();
    rig.stream(2, StreamBody::Members { members, last: true });
    assert!(rig.swim.sizes().member_updates <= 1, "{:?}", rig.swim.sizes());
}

#[test]
fn gossip_about_a_peer_does_not_confirm_it_and_silence_does_not_accuse_it() {
    let mut rig = Rig::among([2]);
    rig.well.insert(node(2));
    rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    rig.gossip(2, &[update(3, 1, Status::Alive, 3)]);
    assert!(!confirmed(&rig, 3));
    let actions = rig.advance(secs(110.0));
    assert_eq!(rig.status(3), Some(Status::Alive));
    assert!(!events(&actions).iter().any(|event| matches!(event, Event::Suspected { .. })));
    let tries = datagrams_to(&actions, 3).into_iter().filter(|it| is_probe(it)).count();
    assert!((5..=9).contains(&tries), "{tries} tries with back-off");
}

#[test]
fn unconfirmed_member_is_warned_about_once_after_a_minute() {
    let mut rig = Rig::among([2]);
    rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    let warned = |actions: &[Action]| {
        events(actions).iter().filter(|event| matches!(event, Event::Unreachable { .. })).count()
    };
    assert_eq!(warned(&rig.advance(secs(59.0))), 0);
    assert_eq!(warned(&rig.advance(secs(2.0))), 1);
    assert_eq!(warned(&rig.advance(secs(600.0))), 0);
}

#[test]
fn hearsay_that_nobody_reaches_is_given_up_until_it_speaks() {
    let mut rig = Rig::among([2]);
    rig.well.insert(node(2));
    rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    let actions = rig.advance(secs(200.0));
    assert!(events(&actions).contains(&Event::Forgotten { node: node(3) }));
    assert!(!events(&actions).iter().any(|event| matches!(event, Event::Died { .. })));
    rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    assert_eq!(rig.status(3), None, "the same hearsay does not bring it back");
    rig.hear_as(sender(3, 0, 0), Message::Gossip, &[]);
    assert_eq!(rig.status(3), None, "nor does a late word of a former life");
    rig.gossip(3, &[]);
    assert_eq!(rig.status(3), Some(Status::Alive));
    assert!(confirmed(&rig, 3));
}

#[test]
fn leaving_node_is_not_woken_for_its_contacts() {
    let (mut rig, _) = with_contacts(&[9]);
    rig.meet([2]);
    rig.command(Command::Leave);
    let due = rig.timers.iter().find(|(_, timer)| matches!(timer, Timer::Contact(_)));
    let ((at, number), timer) = due.map(|(key, timer)| (*key, *timer)).unwrap();
    rig.timers.remove(&(at, number));
    rig.now = at;
    rig.input(Input::Timer(timer));
    assert!(!rig.timers.values().any(|timer| matches!(timer, Timer::Contact(_))));
}

#[test]
fn reached_peer_counts_for_failure_detection() {
    let mut rig = Rig::among([2]);
    rig.well.insert(node(2));
    rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    rig.well.insert(node(3));
    let actions = rig.advance(secs(1.0));
    assert!(events(&actions).contains(&Event::Confirmed { node: node(3) }));
    rig.well.remove(&node(3));
    rig.advance(secs(4.0));
    assert_eq!(rig.status(3), Some(Status::Suspect));
}

#[test]
fn unreached_contact_is_retried_and_warned_about() {
    let (mut rig, _) = with_contacts(&[2]);
    let actions = rig.advance(Duration::from_mins(10));
    assert!((12..=18).contains(&joins(&actions).len()), "{}", joins(&actions).len());
    let warning = events(&actions).into_iter().find_map(|event| match event {
        Event::Unreachable { node, addr, since } => Some((node, addr, since)),
        _ => None,
    });
    let (node, addr, since) = warning.unwrap();
    assert_eq!((node, addr), (None, peer(2).addr));
    assert!((secs(60.0)..=secs(61.0)).contains(&since), "{since:?}");
}

#[test]
fn contact_is_left_alone_once_its_member_was_reached() {
    let (mut rig, _) = with_contacts(&[2, 3]);
    rig.stream(2, StreamBody::Members { members: vec![update(2, 0, Status::Alive, 2)], last: true });
    rig.gossip(3, &[]);
    rig.well = [2, 3].map(node).into();
    assert_eq!(joins(&rig.advance(secs(120.0))), []);
}

#[test]
fn contact_that_is_named_after_its_member_was_reached_is_neither_tried_nor_warned_about() {
    let mut rig = Rig::among([2]);
    rig.well.insert(node(2));
    rig.command(Command::Join { contacts: vec![peer(2).addr, peer(3).addr] });
    let actions = rig.advance(Duration::from_mins(5));
    assert!(joins(&actions).iter().all(|addr| *addr == peer(3).addr), "{:?}", joins(&actions));
    let is_warning =
        |event: &&Event| matches!(event, Event::Unreachable { addr, .. } if *addr == peer(2).addr);
    assert_eq!(events(&actions).iter().find(is_warning), None);
}

#[test]
fn member_that_came_back_from_the_dead_is_probed_again() {
    let mut rig = Rig::among([2, 3]);
    rig.well.extend([node(2), node(3)]);
    rig.gossip(2, &[update(3, 0, Status::Dead, 2)]);
    rig.advance(secs(10.0));
    rig.gossip(2, &[update(3, 1, Status::Alive, 3)]);
    assert_eq!(rig.status(3), Some(Status::Alive));
    let probes = datagrams_to(&rig.advance(secs(10.0)), 3).into_iter().filter(|it| is_probe(it)).count();
    assert!(probes >= 4, "{probes} probes in ten periods of two members");
    rig.well.remove(&node(3));
    rig.advance(secs(6.0));
    assert_eq!(rig.status(3), Some(Status::Suspect));
}

#[test]
fn restart_heard_by_gossip_gets_its_own_time_to_be_reached() {
    let mut rig = Rig::among([2, 3, 4]);
    rig.well = [2, 3, 4].map(node).into();
    rig.advance(secs(300.0));
    rig.well.remove(&node(3));
    let newer = MemberUpdate { claim: claim(2, 0, Status::Alive), ..update(3, 0, Status::Alive, 3) };
    let mut actions = rig.gossip(2, &[newer]);
    actions.extend(rig.advance(secs(50.0)));
    assert_eq!(rig.status(3), Some(Status::Alive));
    assert!(!events(&actions).iter().any(|event| matches!(event, Event::Unreachable { .. })));
}

#[test]
fn who_was_given_up_is_probed_on_until_it_answers() {
    let mut rig = Rig::among([2]);
    rig.well = [node(2)].into();
    rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    rig.advance(secs(200.0));
    assert_eq!((rig.status(3), rig.swim.sizes().astray), (None, 1));
    let actions = rig.advance(secs(10.0));
    let tries = datagrams(&actions).into_iter().filter(|(to, _)| *to == 3).count();
    assert!((5..=12).contains(&tries), "{tries}");
    rig.hear(3, Message::Ack { seq: 1 }, &[]);
    assert_eq!((rig.status(3), rig.swim.sizes().astray), (Some(Status::Alive), 0));
}

#[test]
fn core_hears_nobody_and_says_nothing_before_it_is_told_to_join() {
    let mut rig = Rig::idle(Config::lan(), ME);
    let mut actions = rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    actions.extend(rig.stream(2, StreamBody::Join));
    actions.extend(rig.advance(secs(5.0)));
    assert!(actions.is_empty(), "{actions:?}");
    assert_eq!(rig.swim.members().count(), 0);
}
