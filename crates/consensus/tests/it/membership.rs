//! Configuration changes, learners, lost disks.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::storage::MemoryDisk;
use hyperscale_consensus::{
    COMMAND_BYTES_MAX, Change, ChangeError, Config, Event, LogGroup, MessageKind, Promotion, ProposalId,
    ProposeError, RaftId, RaftRole, TransferError,
};
use hyperscale_types::{BootEpoch, NodeId};

use crate::cluster::{Cluster, addresses, directory, id};

fn add(cluster: &mut Cluster, leader: RaftId, node: u64, dir: u8) -> Result<(), ProposeError> {
    let now = cluster.now;
    let node = NodeId::new(node).unwrap();
    let change = Change::Add { node, directory: directory(dir), addresses: addresses(dir) };
    let changed = cluster.group(leader).change(now, ProposalId(1 << 40), change);
    cluster.work(leader);
    changed
}

fn remove(cluster: &mut Cluster, leader: RaftId, id: RaftId) -> Result<(), ProposeError> {
    let now = cluster.now;
    let changed = cluster.group(leader).change(now, ProposalId(1 << 41), Change::Remove(id));
    cluster.work(leader);
    changed
}

/// A group with a fourth member that listens.
fn with_learner() -> (Cluster, RaftId) {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.propose(leader, "before").unwrap();
    cluster.run_seconds(1);
    add(&mut cluster, leader, 4, 4).unwrap();
    cluster.add(id(4), MemoryDisk::default());
    cluster.run_seconds(2);
    (cluster, leader)
}

#[test]
fn newcomer_listens_first_and_votes_when_close_for_ten_seconds() {
    let (mut cluster, leader) = with_learner();
    assert_eq!(cluster.group(leader).configuration().learners, [id(4)]);
    assert_eq!(cluster.lines(id(4)), ["before"]);
    cluster.run_seconds(7);
    assert_eq!(cluster.group(leader).configuration().learners, [id(4)], "not before");
    cluster.run_seconds(5);
    assert_eq!(cluster.group(leader).configuration().voters, [id(1), id(2), id(3), id(4)]);
    assert!(!cluster.group(leader).configuration().is_joint());
    assert!(cluster.has_event(leader, |event| matches!(event, Event::Promoting { id, .. } if id.get() == 4)));
    for number in 1..=4 {
        assert_eq!(cluster.group(id(number)).configuration().voters.len(), 4);
    }
}

#[test]
fn silent_learner_is_never_promoted() {
    let (mut cluster, leader) = with_learner();
    cluster.stop(id(4));
    cluster.run_seconds(120);
    assert_eq!(cluster.group(leader).configuration().learners, [id(4)]);
}

#[test]
fn learner_whose_snapshot_is_lost_is_not_promoted_however_short_the_log_is() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    add(&mut cluster, leader, 4, 4).unwrap();
    cluster.add(id(4), MemoryDisk::default());
    cluster.lost = Some(MessageKind::Snapshot);
    cluster.run_seconds(60);
    assert!(cluster.group(leader).last_index() < Config::lan().promotion.lag_max);
    assert_eq!(cluster.group(id(4)).last_index(), 0, "it hears heartbeats and has nothing");
    assert_eq!(cluster.group(leader).configuration().learners, [id(4)]);
    cluster.lost = None;
    cluster.run_seconds(30);
    assert_eq!(cluster.group(leader).configuration().voters.len(), 4);
}

#[test]
fn changes_are_made_one_at_a_time() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    add(&mut cluster, leader, 4, 4).unwrap();
    let second = add(&mut cluster, leader, 5, 5);
    assert_eq!(second, Err(ProposeError::Change(ChangeError::Pending)));
    cluster.run_seconds(1);
    add(&mut cluster, leader, 5, 5).unwrap();
}

#[test]
fn change_that_finds_the_log_full_is_refused_as_overload_and_leaves_no_trace() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let command = Bytes::from(vec![b'x'; COMMAND_BYTES_MAX]);
    while cluster.propose_bytes(leader, command.clone()).is_ok() {}
    assert_eq!(add(&mut cluster, leader, 4, 4), Err(ProposeError::Overloaded));
    cluster.run_seconds(2);
    assert_eq!(add(&mut cluster, leader, 4, 4), Ok(()), "raft-rs would take the refused one for pending");
}

#[test]
fn new_leader_leaves_a_joint_configuration_that_the_old_one_entered() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    add(&mut cluster, leader, 4, 4).unwrap();
    cluster.deliver();
    assert!(cluster.group(leader).configuration().is_joint());
    cluster.stop(leader);
    let next = cluster.elect_other(Some(leader));
    cluster.run_seconds(2);
    assert!(!cluster.group(next).configuration().is_joint());
    assert_eq!(cluster.group(next).configuration().learners, [id(4)]);
}

#[test]
fn voter_that_lost_its_disk_is_removed_and_added_as_new() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.propose(leader, "kept").unwrap();
    cluster.run_seconds(1);
    let lost = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.stop(lost);
    let known = add(&mut cluster, leader, lost.get(), 9);
    assert_eq!(known, Err(ProposeError::Change(ChangeError::NodeKnown(lost))));
    remove(&mut cluster, leader, lost).unwrap();
    cluster.run_seconds(1);
    let same_directory = add(&mut cluster, leader, lost.get(), lost.get() as u8);
    assert_eq!(same_directory, Err(ProposeError::Change(ChangeError::DirectoryKnown(lost))));
    add(&mut cluster, leader, lost.get(), 9).unwrap();
    cluster.add(id(4), MemoryDisk::default());
    cluster.run_seconds(14);
    let mut voters: Vec<RaftId> = (1..=4).map(id).filter(|id| *id != lost).collect();
    voters.sort_unstable();
    assert_eq!(cluster.group(leader).configuration().voters, voters);
    assert_eq!(cluster.lines(id(4)), ["kept"]);
}

#[test]
fn removed_member_is_not_listened_to() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let gone = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.isolate(gone);
    remove(&mut cluster, leader, gone).unwrap();
    cluster.run_seconds(2);
    let term = cluster.group(leader).term();
    cluster.heal();
    cluster.run_seconds(30);
    assert_eq!((cluster.leaders(), cluster.group(leader).term()), (vec![leader], term));
}

#[test]
fn draining_leader_hands_over_before_it_is_removed() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let refused = remove(&mut cluster, leader, leader);
    assert_eq!(refused, Err(ProposeError::Change(ChangeError::IsLeader)));
    let now = cluster.now;
    let heir = cluster.group(leader).transfer(now, None).unwrap();
    cluster.work(leader);
    cluster.run_seconds(1);
    assert_eq!(cluster.leaders(), [heir]);
    remove(&mut cluster, heir, leader).unwrap();
    cluster.run_seconds(1);
    assert_eq!(cluster.group(heir).configuration().voters.len(), 2);
    cluster.propose(heir, "after").unwrap();
    cluster.run_seconds(1);
    assert_eq!(cluster.lines(heir), ["after"]);
}

#[test]
fn voter_that_is_made_leader_of_its_own_removal_steps_down() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let gone = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let now = cluster.now;
    cluster.group(leader).change(now, ProposalId(1 << 41), Change::Remove(gone)).unwrap();
    cluster.group(leader).transfer(now, Some(gone)).unwrap();
    cluster.work(leader);
    for _ in 0..250 {
        cluster.run(cluster.config.tick);
        let is_member = cluster.group(gone).configuration().contains(gone);
        assert!(is_member || cluster.group(gone).role() == RaftRole::Follower, "it does not lead on");
    }
    let led = |event: &Event| matches!(event, Event::LeaderChanged { role: RaftRole::Leader, .. });
    assert!(cluster.has_event(gone, led), "it led for a moment");
    let next = cluster.elect_other(Some(gone));
    assert!(!cluster.group(next).configuration().contains(gone));
    cluster.propose(next, "after").unwrap();
    cluster.run_seconds(1);
    assert_eq!(cluster.lines(next), ["after"]);
}

#[test]
fn last_voter_stays_and_hands_over_to_nobody() {
    let mut cluster = Cluster::new(1);
    let leader = cluster.elect();
    let refused = remove(&mut cluster, leader, leader);
    assert_eq!(refused, Err(ProposeError::Change(ChangeError::LastVoter)));
    let now = cluster.now;
    assert_eq!(cluster.group(leader).transfer(now, None), Err(TransferError::NoCandidate));
    assert_eq!(cluster.group(leader).transfer(now, Some(id(9))), Err(TransferError::NotVoter));
}

#[test]
fn single_voter_grows_to_three() {
    let promotion = Promotion { stable: Duration::from_secs(1), ..Config::lan().promotion };
    let mut cluster = Cluster::with(1, Config { promotion, ..Config::lan() });
    let leader = cluster.elect();
    for number in [2, 3] {
        add(&mut cluster, leader, number, number as u8).unwrap();
        cluster.add(id(number), MemoryDisk::default());
        cluster.run_seconds(5);
    }
    assert_eq!(cluster.group(leader).configuration().voters, [id(1), id(2), id(3)]);
    cluster.stop(leader);
    cluster.elect_other(Some(leader));
}

#[test]
fn restarted_voter_does_not_fall_back_behind_the_last_change() {
    let (mut cluster, leader) = with_learner();
    cluster.run_seconds(14);
    let mut others = [1, 2, 3].map(id).into_iter().filter(|id| *id != leader);
    let (removed, behind) = (others.next().unwrap(), others.next().unwrap());
    remove(&mut cluster, leader, removed).unwrap();
    cluster.run_seconds(2);
    cluster.propose(leader, "last").unwrap();
    cluster.run_seconds(1);
    cluster.stop(behind);
    // Nobody tells it anything: what it asks for votes by is what its disk knows.
    cluster.start(behind);
    cluster.work(behind);
    let configuration = cluster.group(behind).configuration();
    assert!(
        !configuration.is_voter(removed),
        "with its vote {configuration:?} elects a leader without 'last'"
    );
}

#[test]
fn member_is_moved_once_and_what_is_refused_says_why() {
    let (mut cluster, leader) = with_learner();
    let now = cluster.now;
    let mut moves = |id: RaftId, dir: u8, boot: u64, number: u64| {
        let change = Change::Move { id, addresses: addresses(dir), boot: BootEpoch(boot) };
        let changed = cluster.group(leader).change(now, ProposalId(1 << 42 | number), change);
        cluster.work(leader);
        cluster.run_seconds(1);
        changed
    };
    assert_eq!(moves(id(4), 44, 3, 1), Ok(()));
    assert_eq!(moves(id(4), 44, 4, 2), Err(ChangeError::SameAddresses.into()));
    assert_eq!(moves(id(4), 45, 3, 5), Err(ChangeError::EarlierLife.into()), "a life has its addresses once");
    assert_eq!(moves(id(4), 45, 2, 6), Err(ChangeError::EarlierLife.into()));
    assert_eq!(moves(id(9), 44, 1, 3), Err(ChangeError::UnknownMember.into()));
    for number in 1..=4 {
        assert_eq!(cluster.group(id(number)).roster().member(id(4)).unwrap().addresses, addresses(44));
    }
    assert_eq!(cluster.group(leader).configuration().learners, [id(4)], "it listens as before");
}
