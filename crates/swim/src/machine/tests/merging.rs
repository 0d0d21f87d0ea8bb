//! Rules of `Members`: identity, precedence, stale news, deaths by gossip, leaving.

use proptest::prelude::*;

use super::*;
use crate::audit::Cause;
use crate::awareness::Lifeguard;
use crate::claim::tests::any_claim;
use crate::config::SuspicionConfig;
use crate::machine::merge::BOOT_STEP_BY_HEARSAY;
use crate::suspicion::SuspicionTimeouts;

fn died(actions: &[Action]) -> usize {
    events(actions).iter().filter(|event| matches!(event, Event::Died { .. })).count()
}

#[test]
fn suspicion_needs_the_same_or_a_newer_incarnation() {
    let mut rig = Rig::among([2, 3]);
    rig.hear_as(sender(2, 1, 5), Message::Gossip, &[]);
    rig.gossip(3, &[update(2, 4, Status::Suspect, 3)]);
    assert_eq!(rig.status(2), Some(Status::Alive));
    rig.gossip(3, &[update(2, 5, Status::Suspect, 3)]);
    assert_eq!(rig.status(2), Some(Status::Suspect));
}

#[test]
fn suspect_is_cleared_by_a_higher_incarnation_only() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(3, &[update(2, 0, Status::Suspect, 3)]);
    rig.gossip(3, &[update(2, 0, Status::Alive, 2)]);
    assert_eq!(rig.status(2), Some(Status::Suspect));
    let actions = rig.gossip(3, &[update(2, 1, Status::Alive, 2)]);
    assert_eq!(events(&actions), [Event::Refuted { node: node(2) }]);
}

#[test]
fn stored_incarnation_rises_even_when_the_state_does_not_change() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(3, &[update(2, 1, Status::Dead, 3)]);
    rig.gossip(3, &[update(2, 10, Status::Dead, 3)]);
    assert_eq!(rig.claim_of(2), claim(1, 10, Status::Dead));
    rig.gossip(3, &[update(2, 2, Status::Alive, 2)]);
    assert_eq!(rig.status(2), Some(Status::Dead), "a delayed alive must not resurrect");
}

#[test]
fn restarted_node_supersedes_its_old_self() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(3, &[update(2, 100, Status::Dead, 3)]);
    let actions = rig.hear_as(sender(2, 2, 0), Message::Gossip, &[]);
    assert_eq!(rig.claim_of(2), claim(2, 0, Status::Alive));
    assert!(events(&actions).contains(&Event::Joined { peer: peer(2), boot: BootEpoch(2), returned: true }));
}

#[test]
fn messages_of_a_former_life_are_dropped() {
    let mut rig = Rig::among([3]);
    rig.hear_as(sender(2, 2, 0), Message::Gossip, &[]);
    let actions = rig.hear_as(sender(2, 1, 9), Message::Probe { seq: 1, target: node(ME) }, &[]);
    assert!(!datagrams(&actions).iter().any(|(_, it)| matches!(it.message, Message::Ack { .. })));
    assert_eq!(rig.swim.counters().stale_boots, 1);
    assert_eq!(rig.claim_of(2), claim(2, 0, Status::Alive));
}

#[test]
fn stale_alive_is_answered_with_the_accusation_sent_to_its_subject() {
    for status in [Status::Suspect, Status::Dead] {
        let mut rig = Rig::among([2, 3]);
        rig.gossip(3, &[update(2, 4, status, 3)]);
        let actions = rig.gossip(3, &[update(2, 3, Status::Alive, 2)]);
        let told = datagrams_to(&actions, 2);
        assert_eq!(told.len(), 1, "{status}");
        assert_eq!(told[0].members[0].claim, claim(1, 4, status));
    }
}

#[test]
fn subject_is_told_once_per_period_however_many_stale_news_arrive() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(3, &[update(2, 4, Status::Suspect, 3)]);
    let stale = [update(2, 3, Status::Alive, 2)];
    let told: usize = (0..10).map(|_| datagrams_to(&rig.gossip(3, &stale), 2).len()).sum();
    assert_eq!(told, 1);
}

#[test]
fn death_by_gossip_fires_the_same_event_once() {
    let mut rig = Rig::among([2, 3, 4]);
    let dead = [update(2, 0, Status::Dead, 3)];
    assert_eq!(died(&rig.gossip(3, &dead)), 1);
    assert_eq!(died(&rig.gossip(4, &dead)), 0);
    assert_eq!(died(&rig.gossip(4, &[update(2, 1, Status::Dead, 4)])), 0);
}

#[test]
fn death_of_somebody_unknown_is_remembered_but_is_no_event() {
    let mut rig = Rig::among([3]);
    let actions = rig.gossip(3, &[update(2, 4, Status::Dead, 3)]);
    assert_eq!(events(&actions), []);
    assert_eq!(rig.status(2), None);
    rig.gossip(3, &[update(2, 4, Status::Alive, 2)]);
    assert_eq!(rig.status(2), None, "order of arrival must not matter");
    rig.gossip(3, &[update(2, 5, Status::Alive, 2)]);
    assert_eq!(rig.status(2), Some(Status::Alive));
}

#[test]
fn leave_is_not_a_death() {
    let mut rig = Rig::among([2, 3]);
    rig.well.insert(node(3));
    rig.gossip(3, &[update(2, 0, Status::Suspect, 3)]);
    let actions = rig.gossip(2, &[update(2, 0, Status::Left, 2)]);
    assert!(events(&actions).contains(&Event::Left { node: node(2) }));
    assert_eq!(died(&rig.gossip(3, &[update(2, 0, Status::Dead, 3)])), 0);
    assert_eq!(died(&rig.advance(secs(60.0))), 0);
    assert_eq!(rig.status(2), Some(Status::Left));
}

#[test]
fn dead_are_removed_after_their_time_and_stay_dead() {
    let mut rig = Rig::among([2, 3]);
    rig.well.insert(node(3));
    rig.gossip(3, &[update(2, 7, Status::Dead, 3)]);
    rig.advance(rig.swim.config().dead_ttl + secs(1.0));
    assert_eq!(rig.status(2), None);
    assert!(rig.swim.audit().any(|entry| entry.node == node(2) && entry.cause == Cause::Forgotten));
    let actions = rig.gossip(3, &[update(2, 7, Status::Alive, 2)]);
    assert_eq!(rig.status(2), None);
    assert_eq!(datagrams_to(&actions, 2)[0].members[0].claim, claim(1, 7, Status::Dead));
}

#[test]
fn accused_node_contradicts_with_a_higher_incarnation() {
    let mut rig = Rig::among([2, 3]);
    rig.gossip(2, &[update(ME, 0, Status::Suspect, 3)]);
    assert_eq!(rig.swim.incarnation(), Incarnation(1));
    rig.gossip(2, &[update(ME, 7, Status::Dead, 3)]);
    assert_eq!(rig.swim.incarnation(), Incarnation(8));
    rig.gossip(2, &[update(ME, 7, Status::Dead, 3)]);
    assert_eq!(rig.swim.incarnation(), Incarnation(8), "an old accusation needs no answer");
    assert_eq!(rig.swim.counters().refutations, 2);
}

#[test]
fn answer_to_a_probe_with_an_accusation_already_contradicts_it() {
    let mut rig = Rig::among([2]);
    let probe = Message::Probe { seq: 9, target: node(ME) };
    let actions = rig.hear(2, probe, &[update(ME, 0, Status::Suspect, 2)]);
    let acks = datagrams_to(&actions, 2);
    assert_eq!(acks[0].message, Message::Ack { seq: 9 });
    assert_eq!(acks[0].from.incarnation, Incarnation(1));
}

#[test]
fn newer_process_under_the_same_id_supersedes_this_one() {
    let mut rig = Rig::among([2]);
    let newer = MemberUpdate { claim: claim(2, 0, Status::Alive), ..update(ME, 0, Status::Alive, ME) };
    assert_eq!(events(&rig.gossip(2, &[newer])), [Event::Superseded { boot: BootEpoch(2) }]);
    assert_eq!(events(&rig.gossip(2, &[newer])), []);
    assert_eq!(rig.swim.incarnation(), Incarnation(0));
}

#[test]
fn leaving_node_tells_so_does_not_contradict_and_departs() {
    let mut rig = Rig::among([2, 3]);
    rig.command(Command::Leave);
    rig.gossip(2, &[update(ME, 0, Status::Suspect, 3)]);
    assert_eq!(rig.swim.incarnation(), Incarnation(0));
    let actions = rig.advance(secs(5.0));
    let left = |(_, datagram): &(u64, &Datagram)| {
        datagram
            .members
            .iter()
            .any(|update| update.peer.node == node(ME) && update.claim.status == Status::Left)
    };
    assert!(datagrams(&actions).iter().any(left));
    assert!(!datagrams(&actions).iter().any(|(_, datagram)| is_probe(datagram)));
    assert_eq!(events(&actions).last(), Some(&Event::Departed));
    assert!(rig.gossip(2, &[]).is_empty());
}

#[test]
fn full_table_makes_room_among_the_dead_and_then_refuses() {
    let mut config = Config::lan();
    config.limits.members = 3;
    let mut rig = Rig::with(config, ME);
    rig.meet([2, 3, 4]);
    rig.meet([5]);
    assert_eq!((rig.status(5), rig.swim.counters().members_refused), (None, 1));
    rig.gossip(3, &[update(2, 0, Status::Dead, 3)]);
    rig.meet([5]);
    assert_eq!((rig.status(5), rig.status(2)), (Some(Status::Alive), None));
    assert_eq!(rig.swim.counters().members_evicted, 1);
}

#[test]
fn full_table_makes_room_among_those_that_left() {
    let mut config = Config::lan();
    config.limits.members = 3;
    let mut rig = Rig::with(config, ME);
    rig.meet([2, 3, 4]);
    rig.gossip(3, &[update(2, 0, Status::Left, 2)]);
    rig.meet([5]);
    assert_eq!((rig.status(5), rig.status(2)), (Some(Status::Alive), None));
    rig.gossip(3, &[update(2, 0, Status::Alive, 2)]);
    assert_eq!(rig.status(2), None, "it is remembered that it left");
}

#[test]
fn every_transition_is_audited_with_cause_and_witnesses() {
    let mut rig = Rig::among([2, 3, 4]);
    rig.gossip(3, &[update(2, 0, Status::Suspect, 4)]);
    rig.advance(secs(30.0));
    let of_two: Vec<_> = rig
        .swim
        .audit()
        .filter(|entry| entry.node == node(2))
        .map(|entry| (entry.status_before(), entry.after.map(|claim| claim.status), entry.cause))
        .collect();
    assert_eq!(
        of_two,
        [
            (None, Some(Status::Alive), Cause::Contact),
            (Some(Status::Alive), Some(Status::Suspect), Cause::Gossip),
            (Some(Status::Suspect), Some(Status::Dead), Cause::SuspicionExpired),
        ]
    );
    let death = rig.swim.audit().filter(|entry| entry.node == node(2)).last().unwrap();
    assert!(death.witnesses.iter().any(|witness| witness == node(4)));
}

#[test]
fn suspect_that_is_accused_of_a_newer_incarnation_gets_a_new_timer_and_the_audit_tells_when() {
    let mut rig = Rig::among([2, 3, 4]);
    rig.gossip(3, &[update(2, 0, Status::Suspect, 4)]);
    rig.advance(secs(1.0));
    let actions = rig.gossip(3, &[update(2, 1, Status::Suspect, 3)]);
    assert!(!events(&actions).iter().any(|event| matches!(event, Event::Suspected { .. })), "{actions:?}");
    rig.advance(secs(30.0));
    let of_two: Vec<_> = rig.swim.audit().filter(|entry| entry.node == node(2)).copied().collect();
    let [_, first, second, death] = &of_two[..] else { panic!("{of_two:?}") };
    assert_eq!(second.at.since(first.at), secs(1.0));
    assert_eq!(second.after.map(|claim| claim.incarnation), Some(Incarnation(1)));
    // This node's own probe confirms; the accusers of the older incarnation do not.
    assert_eq!(death.witnesses.iter().collect::<Vec<_>>(), [node(3), node(ME)]);
    let timeouts = SuspicionTimeouts::new(&SuspicionConfig::default(), secs(1.0), 4, Lifeguard::On);
    assert_eq!(death.at.since(second.at), timeouts.with(1));
}

proptest! {
    #[test]
    fn view_depends_on_what_was_heard_not_on_its_order(claims in proptest::collection::vec(any_claim(), 1..20), seed: u64) {
        let stored = |claims: &[Claim]| {
            let mut rig = Rig::among([3]);
            for claim in claims {
                let heard = MemberUpdate { claim: *claim, ..update(2, 0, Status::Alive, 3) };
                rig.gossip(3, &[heard]);
            }
            let tomb = rig.swim.tombs.get(node(2));
            rig.swim.member(node(2)).map(|member| member.claim).or(tomb)
        };
        let mut shuffled = claims.clone();
        fastrand::Rng::with_seed(seed).shuffle(&mut shuffled);
        shuffled.extend(&claims);
        let largest = claims.iter().copied().reduce(Claim::merge);
        prop_assert_eq!(stored(&claims), largest);
        prop_assert_eq!(stored(&shuffled), largest);
    }
}

fn with_boot(number: u64, boot: u64) -> MemberUpdate {
    sender(number, boot, 0).alive()
}

#[test]
fn boot_that_somebody_made_up_does_not_burn_an_id() {
    let mut rig = Rig::among([2, 3]);
    for boot in [u64::MAX, 2 + BOOT_STEP_BY_HEARSAY] {
        for status in [Status::Alive, Status::Dead, Status::Left] {
            let mut made_up = with_boot(2, boot);
            made_up.claim.status = status;
            rig.gossip(3, &[made_up]);
        }
    }
    assert_eq!(rig.claim_of(2), claim(1, 0, Status::Alive));
    rig.gossip(3, &[with_boot(9, u64::MAX)]);
    assert!(rig.swim.member(node(9)).is_none(), "nor one that nobody knows yet");
    assert_eq!(rig.swim.counters().boots_refused, 7);
    rig.hear_as(sender(2, 2, 0), Message::Gossip, &[]);
    assert_eq!(rig.claim_of(2), claim(2, 0, Status::Alive), "it restarts as ever");
}

#[test]
fn node_whose_boot_was_exceeded_by_gossip_is_told_and_may_come_back_above_it() {
    let mut rig = Rig::among([2, 3]);
    let made_up = BOOT_STEP_BY_HEARSAY;
    rig.gossip(3, &[with_boot(2, made_up)]);
    let actions = rig.hear_as(sender(2, 1, 0), Message::Gossip, &[]);
    let told = datagrams_to(&actions, 2)[0];
    assert!(told.members.iter().any(|it| it.peer.node == node(2) && it.claim.boot == BootEpoch(made_up)));
    rig.hear_as(sender(2, made_up + 1, 0), Message::Gossip, &[]);
    assert_eq!(rig.claim_of(2), claim(made_up + 1, 0, Status::Alive));
    // Who never heard what was made up still believes the node itself.
    let mut other = Rig::among([2, 3]);
    other.hear_as(sender(2, made_up + 1, 0), Message::Gossip, &[]);
    assert_eq!(other.claim_of(2), claim(made_up + 1, 0, Status::Alive));
}
