//! Proposing, applying, restarting, reading.

use bytes::Bytes;
use hyperscale_consensus::storage::{Loss, MemoryDisk};
use hyperscale_consensus::{
    Backlog, Config, Entry, EntryBody, Event, Halt, Leader, LogGroup, Member, Message, MessageKind,
    ProposalId, ProposeError, QuorumError, ReadId, record,
};
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::limits::MESSAGE_MAX;
use prost::Message as _;

use crate::cluster::{Cluster, Notes, addresses, directory, id};

#[test]
fn entries_are_applied_in_the_same_order_everywhere() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    for command in ["a", "b", "c"] {
        cluster.propose(leader, command).unwrap();
    }
    cluster.run_seconds(1);
    for id in cluster.ids() {
        assert_eq!(cluster.lines(id), ["a", "b", "c"]);
    }
    let hashes: Vec<_> = cluster.ids().into_iter().map(|id| cluster.group(id).applied()).collect();
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{hashes:?}");
}

#[test]
fn proposer_learns_index_and_outcome() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    let first = cluster.propose(leader, "a").unwrap();
    let second = cluster.propose(leader, "b").unwrap();
    cluster.run_seconds(1);
    let applied: Vec<_> =
        cluster.node(leader).applied.iter().filter(|applied| applied.proposal.is_some()).cloned().collect();
    assert_eq!(
        applied.iter().map(|a| (a.proposal, a.outcome)).collect::<Vec<_>>(),
        [(Some(first), Some(1)), (Some(second), Some(2))]
    );
    assert!(applied[0].index < applied[1].index);
}

#[test]
fn one_voter_is_a_valid_group() {
    let mut cluster = Cluster::new(1);
    let leader = cluster.elect();
    cluster.propose(leader, "a").unwrap();
    assert_eq!(cluster.lines(leader), ["a"]);
}

#[test]
fn follower_names_the_leader_instead_of_proposing() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let named = *cluster.group(leader).roster().member(leader).unwrap();
    let named = Leader { node: named.node, addresses: named.addresses };
    assert_eq!(cluster.propose(follower, "a"), Err(ProposeError::NotLeader { leader: Some(named) }));
}

#[test]
fn commands_have_a_size() {
    let mut cluster = Cluster::new(1);
    let leader = cluster.elect();
    assert_eq!(cluster.propose(leader, ""), Err(ProposeError::Size));
    let large = Bytes::from(vec![b'x'; hyperscale_consensus::COMMAND_BYTES_MAX + 1]);
    assert_eq!(cluster.propose_bytes(leader, large), Err(ProposeError::Size));
}

#[test]
fn whole_group_restarts_from_its_disks() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.propose(leader, "kept").unwrap();
    cluster.run_seconds(1);
    for id in cluster.ids() {
        cluster.stop(id);
        cluster.node(id).disk.crash(Loss::All);
        cluster.start(id);
    }
    let leader = cluster.elect();
    cluster.propose(leader, "after").unwrap();
    cluster.run_seconds(1);
    for id in cluster.ids() {
        assert_eq!(cluster.lines(id), ["kept", "after"]);
    }
}

#[test]
fn entry_is_not_acknowledged_before_it_is_on_disk() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let followers: Vec<_> = cluster.ids().into_iter().filter(|id| *id != leader).collect();
    for follower in &followers {
        cluster.node(*follower).is_disk_slow = true;
    }
    cluster.propose(leader, "a").unwrap();
    cluster.deliver();
    assert!(cluster.lines(leader).is_empty(), "committed although only the leader's disk has it");
    cluster.sync(followers[0]);
    cluster.deliver();
    assert_eq!(cluster.lines(leader), ["a"]);
}

#[test]
fn leader_does_not_count_its_own_disk_before_it_has_written() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    cluster.node(leader).is_disk_slow = true;
    let silent = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.isolate(silent);
    cluster.propose(leader, "a").unwrap();
    cluster.deliver();
    assert!(
        cluster.lines(leader).is_empty(),
        "one follower and a disk that has not answered are no majority"
    );
    cluster.sync(leader);
    cluster.deliver();
    assert_eq!(cluster.lines(leader), ["a"]);
}

#[test]
fn vote_is_on_disk_before_it_is_sent() {
    let mut cluster = Cluster::new(3);
    for id in cluster.ids() {
        cluster.node(id).is_disk_slow = true;
    }
    cluster.run_seconds(10);
    let votes: usize = cluster
        .ids()
        .into_iter()
        .map(|id| cluster.sent_by(id, MessageKind::Vote) + cluster.sent_by(id, MessageKind::VoteResponse))
        .sum();
    assert_eq!(votes, 0);
    assert!(cluster.leaders().is_empty());
}

#[test]
fn entries_of_a_lost_leader_that_were_not_committed_are_replaced_and_the_proposer_is_told() {
    let mut cluster = Cluster::new(3);
    let old = cluster.elect();
    cluster.run_seconds(1);
    cluster.isolate(old);
    let lost = cluster.propose(old, "lost").unwrap();
    let new = cluster.elect_other(Some(old));
    cluster.propose(new, "won").unwrap();
    cluster.run_seconds(1);
    cluster.heal();
    cluster.run_seconds(2);
    for id in cluster.ids() {
        assert_eq!(cluster.lines(id), ["won"]);
    }
    assert_eq!(cluster.node(old).failed.get(&lost), Some(&ProposeError::Replaced));
}

#[test]
fn proposal_without_majority_times_out_with_voters_reachable_and_needed() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    cluster.isolate(leader);
    let proposal = cluster.propose(leader, "a").unwrap();
    cluster.run_seconds(6);
    let Some(ProposeError::Quorum(QuorumError::Timeout(reach))) = cluster.node(leader).failed.get(&proposal)
    else {
        panic!("{:?}", cluster.node(leader).failed)
    };
    assert_eq!((reach.reachable, reach.needed), (1, 2));
}

#[test]
fn leader_without_majority_steps_down_and_refuses_with_no_quorum() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    cluster.isolate(leader);
    cluster.run_seconds(3);
    assert!(!cluster.group(leader).is_leader());
    assert_eq!(cluster.propose(leader, "a"), Err(ProposeError::NoQuorum { reachable: 1, needed: 2 }));
}

#[test]
fn answered_read_closes_the_circuit() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    // Its disk stalls while one follower is away: three proposals time out, the other follower answers, the leader stays.
    let away = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.isolate(away);
    cluster.node(leader).is_disk_slow = true;
    for _ in 0..3 {
        cluster.propose(leader, "stalled").unwrap();
        cluster.run_seconds(6);
    }
    let open = cluster.propose(leader, "refused");
    assert!(matches!(open, Err(ProposeError::Quorum(QuorumError::CircuitOpen(_)))), "{open:?}");
    cluster.node(leader).is_disk_slow = false;
    cluster.sync(leader);
    cluster.run_seconds(11);
    let now = cluster.now;
    cluster.group(leader).read_index(now, ReadId(1)).unwrap();
    cluster.work(leader);
    cluster.deliver();
    assert!(cluster.node(leader).reads[&ReadId(1)].is_ok());
    assert!(cluster.propose(leader, "taken").is_ok());
}

#[test]
fn proposals_and_reads_beyond_what_may_wait_are_refused_until_some_are_answered() {
    let backlog_max = Backlog { proposals: 3, reads: 2 };
    let mut cluster = Cluster::with(3, Config { backlog_max, ..Config::lan() });
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let now = cluster.now;
    let group = cluster.group(leader);
    for number in 0..10 {
        let proposed = group.propose(now, ProposalId(1 << 40 | number), Bytes::from_static(b"x"));
        assert_eq!(proposed, if number < 3 { Ok(()) } else { Err(ProposeError::Overloaded) });
        let read = group.read_index(now, ReadId(number));
        assert_eq!(read, if number < 2 { Ok(()) } else { Err(ProposeError::Overloaded) });
    }
    assert_eq!(group.backlog(), backlog_max);
    cluster.run_seconds(1);
    assert_eq!(cluster.group(leader).backlog(), Backlog { proposals: 0, reads: 0 });
    assert!(cluster.propose(leader, "taken").is_ok());
}

#[test]
fn leader_that_lost_and_won_between_two_looks_is_established_anew() {
    let mut cluster = Cluster::new(1);
    let leader = cluster.elect();
    let (now, term) = (cluster.now, cluster.group(leader).term());
    // Somebody it does not know yet leads a later term, and is said to be dead at once.
    let other = crate::refusal::message(MessageKind::Heartbeat, id(4), leader, term + 1);
    let node = NodeId::new(4).unwrap();
    let member =
        Member { raft_id: id(4), node, directory: directory(4), addresses: addresses(4), boot: BootEpoch(0) };
    cluster.group(leader).vouch(&[member]);
    cluster.step(leader, other).unwrap();
    cluster.group(leader).hint_leader_dead(now, id(4));
    assert!(cluster.group(leader).is_leader());
    cluster.work(leader);
    let term = cluster.group(leader).term();
    assert!(cluster.group(leader).is_established());
    assert!(
        cluster
            .has_event(leader, |event| matches!(event, Event::Established { term: of, .. } if *of == term))
    );
}

#[test]
fn read_sees_everything_committed_before_it() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.propose(leader, "a").unwrap();
    cluster.deliver();
    let (now, committed) = (cluster.now, cluster.group(leader).committed());
    cluster.group(leader).read_index(now, ReadId(1)).unwrap();
    cluster.work(leader);
    assert_eq!(cluster.node(leader).reads.get(&ReadId(1)), None, "no answer without a round");
    cluster.deliver();
    let index = cluster.node(leader).reads[&ReadId(1)].unwrap();
    assert!(index >= committed);
}

#[test]
fn deposed_leader_never_answers_a_read() {
    let mut cluster = Cluster::new(3);
    let old = cluster.elect();
    cluster.run_seconds(1);
    cluster.isolate(old);
    let new = cluster.elect_other(Some(old));
    cluster.propose(new, "newer").unwrap();
    cluster.deliver();
    let now = cluster.now;
    if cluster.group(old).read_index(now, ReadId(9)).is_ok() {
        cluster.work(old);
        cluster.run_seconds(6);
        cluster.heal();
        cluster.run_seconds(2);
        assert!(cluster.node(old).reads[&ReadId(9)].is_err());
    }
}

#[test]
fn read_waits_until_a_new_leader_has_committed_in_its_term() {
    let mut cluster = Cluster::new(1);
    cluster.node(id(1)).is_disk_slow = true;
    cluster.run_seconds(3);
    assert!(cluster.group(id(1)).is_leader(), "nobody else votes");
    let now = cluster.now;
    cluster.group(id(1)).read_index(now, ReadId(1)).unwrap();
    cluster.work(id(1));
    assert_eq!(cluster.node(id(1)).reads.get(&ReadId(1)), None);
    cluster.sync(id(1));
    cluster.work(id(1));
    assert!(matches!(cluster.node(id(1)).reads.get(&ReadId(1)), Some(Ok(_))));
}

#[test]
fn snapshot_is_made_after_so_many_entries_and_replaces_the_log_on_restart() {
    let mut cluster = Cluster::with(3, Config { snapshot_entries: 20, trailing_entries: 5, ..Config::lan() });
    let leader = cluster.elect();
    for _ in 0..50 {
        cluster.propose(leader, "x").unwrap();
    }
    cluster.run_seconds(1);
    assert!(cluster.has_event(leader, |event| matches!(event, Event::SnapshotMade { .. })));
    cluster.stop(leader);
    cluster.start(leader);
    cluster.elect();
    cluster.run_seconds(1);
    assert_eq!(cluster.lines(leader).len(), 50);
}

#[test]
fn snapshot_is_made_after_so_many_bytes() {
    let mut cluster = Cluster::with(1, Config { snapshot_bytes: 1000, ..Config::lan() });
    let leader = cluster.elect();
    for _ in 0..20 {
        cluster.propose(leader, "0123456789012345678901234567890123456789").unwrap();
    }
    assert!(cluster.has_event(leader, |event| matches!(event, Event::SnapshotMade { .. })));
}

#[test]
fn follower_that_was_away_for_long_gets_a_snapshot() {
    let mut cluster = Cluster::with(3, Config { snapshot_entries: 20, trailing_entries: 5, ..Config::lan() });
    let leader = cluster.elect();
    let away = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.isolate(away);
    for _ in 0..100 {
        cluster.propose(leader, "x").unwrap();
    }
    cluster.run_seconds(1);
    cluster.heal();
    cluster.run_seconds(3);
    assert!(cluster.has_event(away, |event| matches!(event, Event::SnapshotRestored { .. })));
    assert_eq!(cluster.lines(away).len(), 100);
    assert_eq!(cluster.group(away).applied(), cluster.group(leader).applied());
}

#[test]
fn entries_that_were_compacted_long_ago_are_answered_when_they_are_sent_again() {
    let mut cluster = Cluster::with(3, Config { snapshot_entries: 20, trailing_entries: 5, ..Config::lan() });
    let leader = cluster.elect();
    for _ in 0..100 {
        cluster.propose(leader, "x").unwrap();
    }
    cluster.run_seconds(1);
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let term = cluster.group(leader).term();
    let mut again = crate::refusal::message(MessageKind::Append, leader, follower, term);
    (again.index, again.log_term) = (1, 1);
    again.entries = vec![Entry { index: 2, term, body: EntryBody::Empty }];
    cluster.sent.clear();
    assert_eq!(cluster.step(follower, again), Ok(()));
    cluster.work(follower);
    let committed = cluster.group(follower).committed();
    let is_answer =
        |message: &Message| message.kind == MessageKind::AppendResponse && message.index == committed;
    assert!(cluster.sent.iter().any(is_answer), "the leader learns how far this log is");
}

#[test]
fn lost_snapshot_is_sent_again() {
    let mut cluster = Cluster::with(3, Config { snapshot_entries: 20, trailing_entries: 5, ..Config::lan() });
    let leader = cluster.elect();
    let away = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.isolate(away);
    for _ in 0..100 {
        cluster.propose(leader, "x").unwrap();
    }
    cluster.run_seconds(1);
    cluster.heal();
    for _ in 0..500 {
        cluster.run(cluster.config.tick);
        if cluster.sent_by(leader, MessageKind::Snapshot) > 0 {
            break;
        }
        cluster.in_flight.retain(|message| message.kind != MessageKind::Snapshot);
    }
    // The first one arrives at a node that is down.
    cluster.stop(away);
    cluster.run_seconds(1);
    cluster.start(away);
    cluster.run_seconds(15);
    assert_eq!(cluster.lines(away).len(), 100);
}

#[test]
fn replica_whose_state_differs_from_the_leaders_stops_loudly() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    let bad = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let index = cluster.group(leader).last_index() + 1;
    cluster.stop(bad);
    cluster.start_with(bad, Notes { breaks_at: Some(index), ..Notes::default() });
    cluster.run_seconds(1);
    cluster.propose(leader, "a").unwrap();
    cluster.run_seconds(2);
    assert!(matches!(cluster.group(bad).halted(), Some(Halt::Diverged { .. })));
    assert!(cluster.has_event(bad, |event| matches!(event, Event::Halted(_))));
    assert_eq!(cluster.propose(bad, "b"), Err(ProposeError::Halted));
    cluster.propose(leader, "c").unwrap();
    cluster.run_seconds(1);
    assert_eq!(cluster.lines(leader), ["a", "c"], "the others go on");
}

#[test]
fn leader_whose_state_differs_from_a_majority_stops_itself_and_not_its_followers() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    let others: Vec<_> = cluster.ids().into_iter().filter(|id| *id != leader).collect();
    let index = cluster.group(leader).last_index() + 1;
    for other in &others {
        cluster.stop(*other);
        cluster.start_with(*other, Notes { breaks_at: Some(index), ..Notes::default() });
    }
    cluster.run_seconds(1);
    assert_eq!(cluster.leaders(), [leader]);
    cluster.propose(leader, "a").unwrap();
    cluster.run_seconds(2);
    let halt = cluster.group(leader).halted().cloned();
    assert!(matches!(halt, Some(Halt::Outvoted { .. })), "{halt:?}");
    for other in &others {
        assert_eq!(cluster.group(*other).halted(), None, "the majority goes on");
    }
    let next = cluster.elect_other(Some(leader));
    assert!(cluster.propose(next, "b").is_ok());
}

#[test]
fn equal_inputs_give_equal_runs() {
    let run = || {
        let mut cluster = Cluster::new(5);
        let leader = cluster.elect();
        cluster.propose(leader, "a").unwrap();
        cluster.isolate(leader);
        cluster.elect_other(Some(leader));
        cluster.heal();
        cluster.run_seconds(2);
        cluster.sent
    };
    assert_eq!(run(), run());
}

#[test]
fn node_with_an_empty_disk_neither_votes_nor_leads() {
    let mut cluster = Cluster::new(3);
    for number in 1..=3 {
        cluster.stop(id(number));
    }
    cluster.add(id(4), MemoryDisk::default());
    cluster.run_seconds(20);
    assert!(cluster.leaders().is_empty());
    assert_eq!(cluster.sent_by(id(4), MessageKind::PreVote), 0);
}

#[test]
fn no_append_is_larger_than_a_message_of_the_wire_may_be() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    cluster.sent.clear();
    let now = cluster.now;
    for number in 0..40 {
        let command = Bytes::from(vec![b'x'; 100_000]);
        cluster.group(leader).propose(now, ProposalId(1000 + number), command).unwrap();
    }
    cluster.work(leader);
    let appends = cluster.sent.iter().filter(|message| message.kind == MessageKind::Append);
    let sizes: Vec<usize> = appends.map(|m| record::message_out(m.clone()).encoded_len()).collect();
    assert!(sizes.iter().all(|size| *size <= MESSAGE_MAX), "{sizes:?}");
    assert!(sizes.len() < 40, "small enough entries still share a message: {sizes:?}");
    cluster.run_seconds(1);
    for id in cluster.ids() {
        assert_eq!(cluster.lines(id).len(), 40);
    }
}
