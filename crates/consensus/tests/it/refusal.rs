//! Messages that raft-rs must not see, and the table in `check`.

use bytes::Bytes;
use hyperscale_consensus::storage::LogStorage;
use hyperscale_consensus::{
    Configuration, Entry, EntryBody, Event, Halt, LogGroup, Member, Message, MessageKind, MessageRefusal,
    RaftId, Snapshot, StateHash, StateProof,
};
use hyperscale_types::{BootEpoch, NodeId};

use crate::cluster::{Cluster, addresses, directory, id};

pub(crate) fn message(kind: MessageKind, from: RaftId, to: RaftId, term: u64) -> Message {
    Message {
        kind,
        to,
        from,
        term,
        log_term: 0,
        index: 0,
        entries: Vec::new(),
        commit: 0,
        commit_term: 0,
        snapshot: None,
        rejection: None,
        context: Bytes::new(),
        priority: 0,
        proof: None,
        lacks_blobs: false,
    }
}

/// A leader, one of its followers, and a message from the first to the second that is fine but for one thing.
fn refused(kind: MessageKind, spoil: impl FnOnce(&mut Message)) -> Result<(), MessageRefusal> {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let mut message = message(kind, leader, follower, cluster.group(leader).term());
    spoil(&mut message);
    let answer = cluster.step(follower, message);
    cluster.work(follower);
    if answer.is_err() {
        assert!(cluster.has_event(follower, |event| matches!(event, Event::Refused { .. })));
    }
    answer
}

#[test]
fn heartbeat_that_commits_beyond_the_log_is_refused() {
    assert_eq!(refused(MessageKind::Heartbeat, |m| m.commit = 1000), Err(MessageRefusal::CommitBeyondLog));
    assert_eq!(refused(MessageKind::Heartbeat, |m| m.commit = 1), Ok(()));
}

#[test]
fn replica_that_lost_acknowledged_entries_stops_and_neither_votes_nor_acknowledges() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let (term, last) = (cluster.group(leader).term(), cluster.group(follower).last_index());
    let mut old = message(MessageKind::Heartbeat, leader, follower, term - 1);
    old.commit = last + 1;
    assert_eq!(cluster.step(follower, old), Err(MessageRefusal::CommitBeyondLog));
    assert_eq!(cluster.group(follower).halted(), None, "who led before is not believed");
    let mut heartbeat = message(MessageKind::Heartbeat, leader, follower, term);
    heartbeat.commit = last + 1;
    assert_eq!(cluster.step(follower, heartbeat), Err(MessageRefusal::CommitBeyondLog));
    assert_eq!(cluster.group(follower).halted(), Some(&Halt::LostEntries { committed: last + 1, last }));
    cluster.sent.clear();
    let mut vote = message(MessageKind::Vote, leader, follower, term + 1);
    (vote.index, vote.log_term) = (last + 9, term);
    assert_eq!(cluster.step(follower, vote), Err(MessageRefusal::Halted));
    cluster.work(follower);
    assert_eq!(cluster.sent_by(follower, MessageKind::VoteResponse), 0);
}

#[test]
fn strangers_and_misrouted_messages_are_refused() {
    assert_eq!(refused(MessageKind::Heartbeat, |m| m.to = id(9)), Err(MessageRefusal::NotForUs));
    assert_eq!(refused(MessageKind::Heartbeat, |m| m.from = m.to), Err(MessageRefusal::UnknownSender));
    assert_eq!(refused(MessageKind::AppendResponse, |m| m.from = id(77)), Err(MessageRefusal::UnknownSender));
}

#[test]
fn member_that_speaks_for_another_is_refused() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    let others: Vec<_> = cluster.ids().into_iter().filter(|id| *id != leader).collect();
    let (now, term, liar) = (cluster.now, cluster.group(leader).term() + 1, cluster.node_of(others[1]));
    for kind in [MessageKind::Heartbeat, MessageKind::Vote, MessageKind::AppendResponse] {
        let lie = message(kind, leader, others[0], term);
        assert_eq!(
            cluster.group(others[0]).step(now, liar, lie),
            Err(MessageRefusal::Impersonated),
            "{kind:?}"
        );
    }
    cluster.work(others[0]);
    assert_eq!(cluster.group(others[0]).term(), term - 1);
}

#[test]
fn replica_that_is_behind_listens_to_newer_members_that_a_member_vouches_for_and_to_nobody_else() {
    for kind in [MessageKind::Heartbeat, MessageKind::Vote] {
        assert_eq!(refused(kind, |m| m.from = id(9)), Err(MessageRefusal::NeverMember));
        let mut cluster = Cluster::new(3);
        let leader = cluster.elect();
        let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
        let (now, term) = (cluster.now, cluster.group(follower).term());
        let newer = NodeId::new(9).unwrap();
        let member = Member {
            raft_id: id(9),
            node: newer,
            directory: directory(9),
            addresses: addresses(9),
            boot: BootEpoch(0),
        };
        cluster.group(follower).vouch(&[member]);
        let newer_speaks = message(kind, id(9), follower, term);
        assert_eq!(cluster.group(follower).step(now, newer, newer_speaks), Ok(()));
    }
}

#[test]
fn only_the_leader_hands_over() {
    let follower =
        |m: &mut Message| m.from = (1..=3).map(id).find(|id| *id != m.from && *id != m.to).unwrap();
    assert_eq!(refused(MessageKind::TimeoutNow, follower), Err(MessageRefusal::NotFromLeader));
    assert_eq!(refused(MessageKind::TimeoutNow, |_| {}), Ok(()));
}

#[test]
fn entries_with_gaps_or_against_the_committed_log_are_refused() {
    let entry = |index, term| Entry { index, term, body: EntryBody::Empty };
    let spoiled = |entries: Vec<Entry>| {
        refused(MessageKind::Append, |m| {
            (m.index, m.log_term) = (1, 1);
            m.term += 10;
            m.entries = entries;
        })
    };
    assert_eq!(spoiled(vec![entry(3, 5)]), Err(MessageRefusal::BadEntries));
    assert_eq!(spoiled(vec![entry(2, 99)]), Err(MessageRefusal::BadEntries));
    assert_eq!(spoiled(vec![entry(2, 3), entry(3, 2)]), Err(MessageRefusal::BadEntries));
    assert_eq!(spoiled(vec![entry(2, 0)]), Err(MessageRefusal::BadEntries));
    let beyond = refused(MessageKind::Append, |m| (m.index, m.log_term, m.commit) = (1000, 0, 1000));
    assert_eq!(beyond, Err(MessageRefusal::BadEntries), "an entry without a term is none to append to");
    assert_eq!(
        spoiled(vec![entry(2, 7)]),
        Err(MessageRefusal::BadEntries),
        "entry 2 is committed with another term"
    );
}

#[test]
fn impossible_numbers_answers_and_snapshots_are_refused() {
    assert_eq!(refused(MessageKind::Heartbeat, |m| m.term = u64::MAX), Err(MessageRefusal::BadNumber));
    assert_eq!(refused(MessageKind::AppendResponse, |m| m.index = 999), Err(MessageRefusal::BadAnswer));
    assert_eq!(
        refused(MessageKind::AppendResponse, |m| m.rejection = Some(999)),
        Err(MessageRefusal::BadAnswer)
    );
    let snapshot = |configuration| {
        let snapshot = Snapshot { index: 50, term: 1, configuration, state: Bytes::new() };
        refused(MessageKind::Snapshot, |m| m.snapshot = Some(snapshot))
    };
    let three = Configuration { voters: vec![id(1), id(2), id(3)], ..Configuration::default() };
    let no_term = Snapshot { index: 50, term: 0, configuration: three, state: Bytes::new() };
    let without_term = refused(MessageKind::Snapshot, |m| m.snapshot = Some(no_term));
    assert_eq!(without_term, Err(MessageRefusal::BadSnapshot));
    assert_eq!(snapshot(Configuration::default()), Err(MessageRefusal::BadSnapshot));
    let twice = Configuration { voters: vec![id(1), id(1)], ..Configuration::default() };
    assert_eq!(snapshot(twice), Err(MessageRefusal::BadSnapshot));
    let both = Configuration { voters: vec![id(1)], learners: vec![id(1)], ..Configuration::default() };
    assert_eq!(snapshot(both), Err(MessageRefusal::BadSnapshot));
    assert_eq!(refused(MessageKind::Snapshot, |_| {}), Err(MessageRefusal::BadSnapshot));
}

#[test]
fn leader_says_whose_state_differs_from_its_own() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let term = cluster.group(leader).term();
    let (index, _) = cluster.group(leader).applied();
    let mut answer = message(MessageKind::HeartbeatResponse, follower, leader, term);
    answer.proof = Some(StateProof { index, hash: StateHash(1) });
    cluster.step(leader, answer).unwrap();
    cluster.work(leader);
    assert!(cluster.has_event(leader, |event| *event == Event::PeerDiverged { peer: follower, index }));
}

#[test]
fn snapshot_that_cannot_be_read_stops_the_replica_and_touches_nothing() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.propose(leader, "kept").unwrap();
    cluster.run_seconds(1);
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let configuration = cluster.group(leader).configuration().clone();
    let term = cluster.group(leader).term();
    let mut sent = message(MessageKind::Snapshot, leader, follower, term);
    sent.snapshot = Some(Snapshot { index: 500, term, configuration, state: Bytes::from_static(b"\x09") });
    let disk = cluster.node(follower).disk.load().unwrap();
    cluster.sent.clear();
    cluster.step(follower, sent).unwrap();
    cluster.work(follower);
    assert!(matches!(cluster.group(follower).halted(), Some(Halt::BadSnapshot { index: 500, .. })));
    assert_eq!(cluster.node(follower).disk.load().unwrap(), disk, "the good log stays");
    assert_eq!(cluster.sent, [], "nobody is told that it was taken");
    cluster.start(follower);
    cluster.run_seconds(1);
    assert_eq!(cluster.lines(follower), ["kept"]);
}

#[test]
fn stopped_replica_says_nothing_even_when_its_disk_catches_up() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.node(follower).is_disk_slow = true;
    cluster.propose(leader, "acknowledged by others").unwrap();
    cluster.deliver();
    let term = cluster.group(leader).term();
    let (index, _) = cluster.group(follower).applied();
    let mut differs = message(MessageKind::Heartbeat, leader, follower, term);
    differs.proof = Some(StateProof { index, hash: StateHash(1) });
    cluster.step(follower, differs).unwrap();
    cluster.work(follower);
    assert!(matches!(cluster.group(follower).halted(), Some(Halt::Diverged { .. })));
    cluster.sent.clear();
    cluster.sync(follower);
    assert_eq!(cluster.sent, []);
}
