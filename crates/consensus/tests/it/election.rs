//! The table "Leadership" of the consensus document, a test per row.

use std::time::Duration;

use hyperscale_consensus::{Config, Event, LogGroup, MessageKind, TransferCause};

use crate::cluster::{Cluster, id};

#[test]
fn one_leader_is_elected_and_stays() {
    let mut cluster = Cluster::new(5);
    let leader = cluster.elect();
    let term = cluster.group(leader).term();
    cluster.run_seconds(30);
    assert_eq!(cluster.leaders(), [leader]);
    assert_eq!(cluster.group(leader).term(), term);
}

#[test]
fn quorum_is_of_the_configured_voters_not_of_the_living() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    for id in cluster.ids().into_iter().filter(|id| *id != leader) {
        cluster.stop(id);
    }
    let proposal = cluster.propose(leader, "a").unwrap();
    cluster.run_seconds(10);
    assert!(cluster.lines(leader).is_empty());
    assert!(cluster.node(leader).failed.contains_key(&proposal));
    assert!(cluster.leaders().is_empty());
}

#[test]
fn next_leader_commits_within_three_seconds_of_a_crash() {
    for seed in 0..20 {
        let mut cluster = Cluster::with(3, Config { seed, ..Config::lan() });
        let leader = cluster.elect();
        cluster.run_seconds(2);
        cluster.stop(leader);
        let before = cluster.now;
        cluster.elect_other(Some(leader));
        assert!(cluster.now.since(before) <= Duration::from_secs(3), "seed {seed}");
    }
}

#[test]
fn two_that_lose_patience_at_the_same_moment_need_no_second_election() {
    let mut rivals = 0;
    for seed in 0..300 {
        let mut cluster = Cluster::with(3, Config { seed, ..Config::lan() });
        let leader = cluster.elect();
        cluster.run_seconds(2);
        cluster.stop(leader);
        let others = cluster.others(leader);
        let (before, term) = (cluster.now, cluster.group(others[0]).term());
        cluster.sent.clear();
        let next = cluster.elect_other(Some(leader));
        assert_eq!(cluster.group(next).term(), term + 1, "seed {seed}: one election");
        assert!(cluster.now.since(before) <= Config::lan().election_max, "seed {seed}");
        let asked = others.iter().all(|id| cluster.sent_by(*id, MessageKind::PreVote) > 0);
        rivals += u32::from(asked);
    }
    assert!(rivals > 0, "no two of them ever asked at the same moment");
}

#[test]
fn pre_vote_keeps_the_term_of_a_partitioned_voter_down() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    let away = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let term = cluster.group(leader).term();
    cluster.isolate(away);
    cluster.run_seconds(60);
    assert_eq!(cluster.group(away).term(), term);
    cluster.heal();
    cluster.run_seconds(5);
    assert_eq!((cluster.leaders(), cluster.group(leader).term()), (vec![leader], term));
}

#[test]
fn healthier_of_two_leads_and_the_ill_one_only_when_it_must() {
    for seed in 0..10 {
        let mut cluster = Cluster::with(3, Config { seed, ..Config::lan() });
        cluster.stop(id(3));
        let now = cluster.now;
        cluster.group(id(1)).set_health(now, 3);
        cluster.group(id(2)).set_health(now, 6);
        assert_eq!(cluster.elect(), id(1), "seed {seed}");
        cluster.start(id(3));
        let now = cluster.now;
        cluster.group(id(3)).set_health(now, 8);
        cluster.run_seconds(2);
        cluster.stop(id(1));
        let leader = cluster.elect_other(Some(id(1)));
        assert!([id(2), id(3)].contains(&leader), "there is always a possible leader");
    }
}

#[test]
fn leader_priority_decides_between_equally_healthy_nodes() {
    for seed in 0..10 {
        for preferred in [1, 2] {
            let mut cluster = Cluster::with(3, Config { seed, ..Config::lan() });
            cluster.stop(id(3));
            cluster.stop(id(preferred));
            cluster.config.leader_priority = 10;
            cluster.start(id(preferred));
            assert_eq!(cluster.elect(), id(preferred), "seed {seed}");
        }
    }
}

#[test]
fn leader_that_is_ill_for_five_seconds_hands_over_to_the_healthiest() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    let others: Vec<_> = cluster.ids().into_iter().filter(|id| *id != leader).collect();
    let now = cluster.now;
    cluster.group(leader).set_health(now, 6);
    cluster.group(leader).set_peer_health(others[0], 3);
    cluster.group(leader).set_peer_health(others[1], 1);
    cluster.run_seconds(4);
    assert_eq!(cluster.leaders(), [leader]);
    cluster.run_seconds(2);
    assert_eq!(cluster.leaders(), [others[1]]);
    let transferred = Event::Transferring { to: others[1], cause: TransferCause::Ill };
    assert!(cluster.has_event(leader, |event| *event == transferred));
}

#[test]
fn ill_leader_stays_when_everybody_is_ill_or_away() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    let others: Vec<_> = cluster.ids().into_iter().filter(|id| *id != leader).collect();
    let now = cluster.now;
    cluster.group(leader).set_health(now, 8);
    cluster.group(leader).set_peer_health(others[0], 6);
    cluster.isolate(others[1]);
    cluster.run_seconds(20);
    assert_eq!(cluster.leaders(), [leader]);
}

#[test]
fn two_ill_nodes_do_not_hand_leadership_back_and_forth() {
    let mut cluster = Cluster::new(2);
    let first = cluster.elect();
    cluster.run_seconds(2);
    let second = cluster.ids().into_iter().find(|id| *id != first).unwrap();
    // Each is ill and believes the other to be well.
    for (one, other) in [(first, second), (second, first)] {
        let now = cluster.now;
        cluster.group(one).set_health(now, 8);
        cluster.group(one).set_peer_health(other, 0);
    }
    let mut changes = Vec::new();
    let mut leader = vec![first];
    for second in 0..200 {
        cluster.run_seconds(1);
        if !cluster.leaders().is_empty() && cluster.leaders() != leader {
            leader = cluster.leaders();
            changes.push(second);
        }
    }
    let gaps: Vec<u64> = changes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= 29), "{changes:?}");
    assert!(gaps.len() >= 2 && gaps[1] > gaps[0], "the gap doubles: {changes:?}");
    let now = cluster.now;
    assert!(cluster.ids().into_iter().any(|id| cluster.group(id).is_flapping(now)));
}

#[test]
fn elections_after_a_failure_are_never_held_back() {
    let mut cluster = Cluster::new(3);
    let first = cluster.elect();
    cluster.run_seconds(2);
    let now = cluster.now;
    cluster.group(first).set_health(now, 8);
    cluster.run_seconds(7);
    let second = cluster.elect_other(Some(first));
    cluster.stop(second);
    let before = cluster.now;
    cluster.elect_other(Some(second));
    assert!(cluster.now.since(before) <= Duration::from_secs(4));
}

#[test]
fn asked_for_transfer_goes_through_at_once_and_as_often_as_asked() {
    let mut cluster = Cluster::new(3);
    let mut leader = cluster.elect();
    cluster.run_seconds(1);
    for _ in 0..3 {
        let now = cluster.now;
        let to = cluster.group(leader).transfer(now, None).unwrap();
        cluster.work(leader);
        cluster.run(Duration::from_millis(200));
        assert_eq!(cluster.leaders(), [to]);
        leader = cluster.elect();
        cluster.run_seconds(1);
    }
}

#[test]
fn true_hint_of_the_leaders_death_saves_the_wait() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    cluster.stop(leader);
    let now = cluster.now;
    for id in cluster.ids().into_iter().filter(|id| *id != leader) {
        cluster.group(id).hint_leader_dead(now, leader);
        cluster.work(id);
    }
    cluster.elect_other(Some(leader));
    assert!(cluster.now.since(now) <= Duration::from_millis(500), "{:?}", cluster.now.since(now));
}

#[test]
fn wrong_hint_of_the_leaders_death_is_harmless() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    let term = cluster.group(leader).term();
    for id in cluster.ids().into_iter().filter(|id| *id != leader) {
        let now = cluster.now;
        cluster.group(id).hint_leader_dead(now, leader);
        cluster.work(id);
        cluster.run_seconds(2);
    }
    assert_eq!((cluster.leaders(), cluster.group(leader).term()), (vec![leader], term));
    assert!(cluster.sent.iter().any(|message| message.kind == MessageKind::PreVote));
}

#[test]
fn process_that_slept_does_not_call_an_election_at_once() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    let sleeper = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let before = cluster.sent_by(sleeper, MessageKind::PreVote);
    let later = cluster.now.plus(Duration::from_mins(1));
    cluster.group(sleeper).tick(later);
    cluster.work(sleeper);
    assert_eq!(cluster.sent_by(sleeper, MessageKind::PreVote), before);
}

#[test]
fn voters_that_refuse_each_other_by_priority_and_by_log_still_elect_somebody() {
    let mut cluster = Cluster::new(3);
    let first = cluster.elect();
    cluster.run_seconds(1);
    // The old leader writes a longer log of an older term, alone.
    cluster.isolate(first);
    for _ in 0..5 {
        cluster.propose(first, "old").unwrap();
    }
    let second = cluster.elect_other(Some(first));
    cluster.run_seconds(3);
    // Its successor, now ill, has the newer but shorter log; the third voter is gone.
    let third = cluster.ids().into_iter().find(|id| *id != first && *id != second).unwrap();
    cluster.stop(third);
    cluster.stop(second);
    cluster.start(second);
    let now = cluster.now;
    cluster.group(second).set_health(now, 8);
    cluster.heal();
    assert_eq!(cluster.elect(), second);
}
