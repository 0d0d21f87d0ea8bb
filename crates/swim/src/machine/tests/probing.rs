//! Rules of `Probing`: rounds, helpers, suspicion, evidence, health multiplier.

use super::*;
use crate::audit::Cause;
use crate::suspicion::Witnesses;

const PERIOD: Duration = Duration::from_secs(1);

/// Advances to the start of the next round and returns what it sent.
fn next_round(rig: &mut Rig) -> Vec<Action> {
    for _ in 0..400 {
        let actions = rig.advance(Duration::from_millis(5));
        if datagrams(&actions).iter().any(|(_, datagram)| is_probe(datagram)) {
            return actions;
        }
    }
    panic!("no probe within two periods");
}

fn probed(actions: &[Action]) -> Vec<u64> {
    datagrams(actions).into_iter().filter(|(_, datagram)| is_probe(datagram)).map(|(to, _)| to).collect()
}

fn suspected(actions: &[Action]) -> Vec<u64> {
    let suspected = |event: &Event| match event {
        Event::Suspected { node, .. } => Some(node.get()),
        _ => None,
    };
    events(actions).iter().filter_map(suspected).collect()
}

fn everyone_well(numbers: impl IntoIterator<Item = u64> + Clone) -> Rig {
    let mut rig = Rig::among(numbers.clone());
    rig.well = numbers.into_iter().map(node).collect();
    rig
}

#[test]
fn one_probe_per_period_and_everyone_once_per_pass() {
    let mut rig = everyone_well(2..12);
    let mut targets: Vec<u64> = (0..10).flat_map(|_| probed(&next_round(&mut rig))).collect();
    targets.sort_unstable();
    assert_eq!(targets, (2..12).collect::<Vec<_>>());
    let more = rig.advance(10 * PERIOD);
    assert_eq!(probed(&more).len(), 10);
}

#[test]
fn unanswered_probe_goes_through_helpers_and_a_stream_after_the_timeout() {
    let mut rig = everyone_well(2..10);
    let actions = next_round(&mut rig);
    let target = probed(&actions)[0];
    rig.well.remove(&node(target));
    let target = probed(&next_round_to(&mut rig, target))[0];
    let before = rig.advance(secs(0.45));
    assert!(streams(&before).is_empty());
    let after = rig.advance(secs(0.1));
    let asked: BTreeSet<u64> = datagrams(&after)
        .into_iter()
        .filter(|(_, datagram)| matches!(datagram.message, Message::PingReq { target: it, .. } if it == node(target)))
        .map(|(to, _)| to)
        .collect();
    assert_eq!(asked.len(), 3);
    assert!(!asked.contains(&target));
    assert!(
        streams(&after)
            .iter()
            .any(|(to, body)| { to.node == Some(node(target)) && matches!(body, StreamBody::Probe { .. }) })
    );
}

/// Advances until the given member is probed.
fn next_round_to(rig: &mut Rig, target: u64) -> Vec<Action> {
    for _ in 0..100 {
        let actions = next_round(rig);
        if probed(&actions).contains(&target) {
            return actions;
        }
    }
    panic!("{target} was not probed");
}

#[test]
fn silence_until_the_end_of_the_period_makes_a_suspect() {
    let mut rig = everyone_well(2..10);
    rig.well.remove(&node(5));
    next_round_to(&mut rig, 5);
    assert_eq!(suspected(&rig.advance(secs(0.9))), [0_u64; 0]);
    let actions = rig.advance(secs(0.15));
    assert_eq!(suspected(&actions), [5]);
    assert!(events(&actions).contains(&Event::Suspected {
        node: node(5),
        cause: Cause::ProbeFailed,
        witnesses: Witnesses::one(node(ME)),
    }));
}

#[test]
fn ack_over_a_helper_or_the_stream_saves_the_target() {
    for over_stream in [false, true] {
        let mut rig = everyone_well(2..10);
        rig.well.clear();
        let actions = next_round(&mut rig);
        let target = probed(&actions)[0];
        let asked = rig.advance(secs(0.5));
        let (helper, seq) = datagrams(&asked)
            .into_iter()
            .find_map(|(to, datagram)| match datagram.message {
                Message::PingReq { seq, .. } => Some((to, seq)),
                _ => None,
            })
            .unwrap();
        if over_stream {
            rig.stream(target, StreamBody::Ack { seq });
        } else {
            rig.hear(helper, Message::Ack { seq }, &[]);
        }
        assert_eq!(suspected(&rig.advance(secs(0.55))), [0_u64; 0]);
    }
}

#[test]
fn late_ack_of_a_former_round_does_not_answer_this_one() {
    let mut rig = Rig::among([2]);
    let first = next_round(&mut rig);
    let Message::Probe { seq, .. } = datagrams_to(&first, 2)[0].message else { panic!() };
    rig.hear(2, Message::Ack { seq }, &[]);
    next_round(&mut rig);
    rig.hear(2, Message::Ack { seq }, &[]);
    assert_eq!(suspected(&rig.advance(secs(1.05))), [2]);
}

#[test]
fn suspect_dies_at_its_deadline_and_confirmations_only_shorten_it() {
    // n = 10 with this node: min 3 s, max 18 s.
    let deadline = |accusers: &[u64]| {
        let mut rig = everyone_well(2..11);
        rig.well.remove(&node(5));
        let start = rig.now;
        for accuser in accusers {
            rig.gossip(*accuser, &[update(5, 0, Status::Suspect, *accuser)]);
            rig.advance(secs(0.1));
        }
        while rig.status(5) == Some(Status::Suspect) {
            // Repeated gossip of known accusers must not restart anything.
            rig.gossip(2, &[update(5, 0, Status::Suspect, accusers[0])]);
            rig.advance(secs(0.05));
        }
        rig.now.since(start).as_secs_f64()
    };
    // This node confirms by itself when its own probe fails, which the bounds allow for.
    let (alone, crowd) = (deadline(&[2]), deadline(&[2, 3, 4, 6]));
    assert!((10.4..=18.1).contains(&alone), "{alone}");
    assert!((3.0..=3.2).contains(&crowd), "{crowd}");
}

#[test]
fn probe_to_a_suspect_carries_the_suspicion() {
    let mut rig = everyone_well(2..6);
    rig.gossip(3, &[update(4, 0, Status::Suspect, 3)]);
    rig.well.clear();
    let actions = next_round_to(&mut rig, 4);
    let probe = datagrams_to(&actions, 4).into_iter().find(|datagram| is_probe(datagram)).unwrap();
    assert_eq!(probe.members[0].claim, claim(1, 0, Status::Suspect));
    assert_eq!(probe.members[0].peer.node, node(4));
}

#[test]
fn refused_connection_is_suspicion_now_and_never_death() {
    let mut rig = everyone_well(2..6);
    let actions = rig.command(Command::ConnectionFailed { node: node(4), boot: None });
    assert_eq!(suspected(&actions), [4]);
    let probe = datagrams_to(&actions, 4)[0];
    assert!(is_probe(probe) && probe.members[0].is_accusation());
    rig.well.clear();
    let repeated: Vec<_> =
        (0..5).flat_map(|_| rig.command(Command::ConnectionFailed { node: node(4), boot: None })).collect();
    assert_eq!(events(&repeated), []);
    assert_eq!(rig.status(4), Some(Status::Suspect));
}

#[test]
fn refused_connection_of_an_unconfirmed_peer_is_no_evidence() {
    let mut rig = Rig::among([2]);
    rig.gossip(2, &[update(3, 0, Status::Alive, 3)]);
    rig.command(Command::ConnectionFailed { node: node(3), boot: None });
    assert_eq!(rig.status(3), Some(Status::Alive));
}

#[test]
fn end_of_a_former_life_is_no_evidence_against_the_present_one() {
    let mut rig = everyone_well(2..6);
    let restarted = MemberUpdate { claim: claim(2, 0, Status::Alive), ..update(4, 0, Status::Alive, 4) };
    rig.gossip(3, &[restarted]);
    rig.advance(secs(6.0));
    let failed = |boot| Command::ConnectionFailed { node: node(4), boot: Some(BootEpoch(boot)) };
    assert!(suspected(&rig.command(failed(1))).is_empty());
    assert_eq!(suspected(&rig.command(failed(2))), [4]);
}

#[test]
fn dead_target_answered_by_nacks_leaves_the_multiplier_alone() {
    let mut rig = everyone_well(2..10);
    rig.well.remove(&node(5));
    next_round_to(&mut rig, 5);
    rig.advance(secs(3.0));
    assert_eq!(rig.swim.counters().probes_failed, 1);
    assert_eq!(rig.swim.lhm(), 0);
}

#[test]
fn each_missing_nack_of_a_living_helper_adds_one() {
    let mut rig = everyone_well(2..10);
    rig.well.clear();
    let target = probed(&next_round(&mut rig))[0];
    let asked = rig.advance(secs(0.6));
    let helpers: Vec<u64> = datagrams(&asked)
        .into_iter()
        .filter(|(_, datagram)| matches!(datagram.message, Message::PingReq { .. }))
        .map(|(to, _)| to)
        .collect();
    let other = (2..10).find(|number| *number != target && !helpers.contains(number)).unwrap();
    rig.gossip(other, &[]);
    rig.advance(secs(0.42));
    assert_eq!(rig.swim.lhm(), 0, "not known yet whether the helpers live");
    rig.gossip(helpers[0], &[]);
    rig.gossip(helpers[1], &[]);
    rig.gossip(helpers[1], &[]);
    assert_eq!(rig.swim.lhm(), 2);
}

#[test]
fn probe_of_a_former_life_does_not_accuse_the_new_one() {
    let mut rig = everyone_well(2..10);
    rig.well.remove(&node(5));
    next_round_to(&mut rig, 5);
    rig.advance(secs(0.7));
    rig.input(Input::Datagram(bare(sender(5, 2, 0), Message::Gossip, &[])));
    let actions = rig.advance(secs(0.4));
    assert!(!events(&actions).iter().any(|event| matches!(event, Event::Suspected { .. })), "{actions:?}");
    assert_eq!(rig.status(5), Some(Status::Alive));
}

#[test]
fn helpers_nack_within_the_period_also_if_the_multiplier_rose_in_it() {
    let mut rig = everyone_well(2..10);
    rig.well.clear();
    next_round(&mut rig);
    rig.advance(secs(0.3));
    rig.gossip(9, &[update(ME, 0, Status::Suspect, 9)]);
    assert_eq!(rig.swim.lhm(), 1);
    let asked = rig.advance(secs(0.3));
    let patience: Vec<Duration> = datagrams(&asked)
        .into_iter()
        .filter_map(|(_, datagram)| match datagram.message {
            Message::PingReq { nack_after, .. } => Some(nack_after),
            _ => None,
        })
        .collect();
    assert_eq!(patience.len(), 3);
    assert!(patience.iter().all(|patience| *patience <= secs(0.4)), "{patience:?}");
}

#[test]
fn helpers_as_dead_as_the_target_do_not_make_a_node_think_itself_ill() {
    let mut rig = everyone_well(2..30);
    rig.well.retain(|node| node.get() > 15);
    let mut highest = 0;
    for _ in 0..40 {
        rig.advance(secs(0.5));
        rig.gossip(20, &[]);
        highest = highest.max(rig.swim.lhm());
    }
    assert!(rig.swim.counters().probes_failed > 3);
    assert_eq!(highest, 0);
}

#[test]
fn node_that_hears_nobody_blames_itself() {
    let mut rig = everyone_well(2..10);
    rig.well.clear();
    next_round(&mut rig);
    rig.advance(secs(1.02));
    assert_eq!(rig.swim.lhm(), 0, "one silent round may be chance");
    rig.advance(PERIOD);
    // Three missing nacks, less one for a period without lag.
    assert_eq!(rig.swim.lhm(), 2);
    let highest = (0..20).map(|_| {
        rig.advance(PERIOD);
        rig.swim.lhm()
    });
    assert!(highest.max() >= Some(5));
}

/// How long it takes until something like that is sent.
fn time_until(rig: &mut Rig, sent: impl Fn(&Message) -> bool) -> f64 {
    let start = rig.now;
    while rig.now.since(start) < secs(30.0) {
        let actions = rig.advance(Duration::from_millis(5));
        if datagrams(&actions).iter().any(|(_, datagram)| sent(&datagram.message)) {
            return rig.now.since(start).as_secs_f64();
        }
    }
    panic!("nothing like that was sent");
}

#[test]
fn period_and_timeout_are_stretched_by_the_multiplier() {
    let mut rig = everyone_well(2..10);
    rig.advance(secs(20.0));
    next_round(&mut rig);
    for incarnation in 0..4 {
        rig.gossip(2, &[update(ME, incarnation, Status::Suspect, 3)]);
    }
    assert_eq!(rig.swim.lhm(), 4);
    rig.well.clear();
    // The running period ends without lag: three are left when the next one begins, so everything takes four times.
    next_round(&mut rig);
    assert_eq!(rig.swim.lhm(), 3);
    let timeout = time_until(&mut rig, |message| matches!(message, Message::PingReq { .. }));
    assert!((1.95..=2.05).contains(&timeout), "{timeout}");
    let rest = time_until(&mut rig, |message| matches!(message, Message::Probe { .. }));
    assert!((1.95..=2.05).contains(&rest), "{rest}");
}

#[test]
fn helper_answers_ack_or_nack_for_the_target() {
    let mut rig = everyone_well(2..5);
    let ask = |seq, target| Message::PingReq {
        seq,
        target: node(target),
        addr: peer(target).addr,
        nack_after: secs(0.4),
    };
    let actions = rig.hear(2, ask(77, 3), &[]);
    assert_eq!(datagrams_to(&actions, 2)[0].message, Message::Ack { seq: 77 });
    rig.well.clear();
    let actions = rig.hear(2, ask(78, 4), &[]);
    assert!(datagrams_to(&actions, 2).is_empty());
    assert!(is_probe(datagrams_to(&actions, 4)[0]));
    let actions = rig.advance(secs(0.41));
    assert!(datagrams_to(&actions, 2).iter().any(|datagram| datagram.message == Message::Nack { seq: 78 }));
    let actions = rig.hear(2, ask(79, ME), &[]);
    assert_eq!(datagrams_to(&actions, 2)[0].message, Message::Ack { seq: 79 });
}

#[test]
fn probe_meant_for_another_node_is_not_answered() {
    let mut rig = Rig::among([2]);
    let actions = rig.hear(2, Message::Probe { seq: 1, target: node(3) }, &[]);
    assert!(datagrams(&actions).is_empty());
    assert_eq!(rig.swim.counters().misdirected, 1);
}

#[test]
fn node_that_slept_neither_judges_its_round_nor_buries_its_suspects() {
    let mut rig = everyone_well(2..10);
    rig.gossip(3, &[update(4, 0, Status::Suspect, 3)]);
    rig.well.clear();
    next_round(&mut rig);
    rig.sleep(secs(60.0));
    let woke = rig.advance(Duration::ZERO);
    assert_eq!(suspected(&woke), [0_u64; 0]);
    assert_eq!(rig.status(4), Some(Status::Suspect));
    assert!(rig.swim.lhm() >= 1);
    rig.gossip(3, &[update(4, 1, Status::Alive, 4)]);
    assert_eq!(rig.status(4), Some(Status::Alive));
}

#[test]
fn more_of_the_dead_are_probed_once_one_of_them_came_back() {
    let mut rig = everyone_well(2..60);
    let dead: Vec<_> = (20..60).map(|number| update(number, 0, Status::Dead, 3)).collect();
    rig.gossip(3, &dead);
    rig.well.retain(|node| node.get() < 20);
    let recalls = |actions: &[Action]| probed(actions).into_iter().filter(|number| *number >= 20).count();
    assert_eq!(recalls(&rig.advance(PERIOD)), 1);
    rig.hear_as(sender(40, 1, 1), Message::Gossip, &[]);
    assert_eq!(recalls(&rig.advance(PERIOD)), 16);
    rig.advance(12 * PERIOD);
    rig.well.insert(node(40));
    assert!(recalls(&rig.advance(PERIOD)) <= 2);
}

#[test]
fn one_of_the_dead_is_probed_each_period_so_that_a_partition_heals() {
    let mut rig = everyone_well(2..6);
    rig.gossip(3, &[update(2, 0, Status::Dead, 3)]);
    rig.well.remove(&node(2));
    let actions = rig.advance(5 * PERIOD);
    let recalls: Vec<_> =
        datagrams_to(&actions, 2).into_iter().filter(|datagram| is_probe(datagram)).collect();
    assert!(recalls.len() >= 4, "{}", recalls.len());
    assert!(recalls.iter().all(|datagram| datagram.members[0].claim == claim(1, 0, Status::Dead)));
    // It answers with a higher incarnation: it is back, and views are compared with the next period.
    rig.hear_as(sender(2, 1, 1), Message::Ack { seq: 0 }, &[]);
    assert_eq!(rig.status(2), Some(Status::Alive));
    let actions = rig.advance(PERIOD);
    assert!(streams(&actions).iter().any(|(_, body)| matches!(body, StreamBody::Digest { .. })));
}
