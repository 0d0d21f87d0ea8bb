//! A build that does not understand what the group has agreed on stops, says so, and leaves its disk to a newer one.

use bytes::Bytes;
use hyperscale_consensus::register::{Body, Command, Group, Register, VERSION};
use hyperscale_consensus::storage::{LogStorage, MemoryDisk};
use hyperscale_consensus::{
    Action, Config, Halt, LogGroup, OpenError, Outdated, ProposalId, ProposeError, RaftGroup, RaftId,
    founding,
};
use hyperscale_types::{Now, Token};

use crate::cluster::{Cluster, NEWER, Notes, founders, id};

fn old() -> Notes {
    Notes { is_old: true, ..Notes::default() }
}

/// A group with one replica of an older build that follows.
fn with_old(config: Config) -> (Cluster, RaftId, RaftId) {
    let mut cluster = Cluster::with(3, config);
    let leader = cluster.elect();
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    cluster.stop(follower);
    cluster.start_with(follower, old());
    cluster.run_seconds(1);
    (cluster, leader, follower)
}

fn outdated(cluster: &mut Cluster, id: RaftId) -> Option<u64> {
    match cluster.group(id).halted() {
        Some(Halt::Outdated { index, outdated: Outdated { agreed: 2, understood: 1 } }) => Some(*index),
        _ => None,
    }
}

#[test]
fn replica_of_an_older_build_stops_where_the_group_moves_on_and_a_newer_one_goes_on_from_there() {
    let (mut cluster, leader, follower) = with_old(Config { seed: 7, ..Config::lan() });
    cluster.propose(leader, "both understand this").unwrap();
    cluster.propose(leader, NEWER).unwrap();
    cluster.propose(leader, "only the new ones do").unwrap();
    cluster.run_seconds(1);
    assert_eq!(cluster.lines(follower), ["both understand this", NEWER], "nothing after it is applied");
    let (applied, _) = cluster.group(follower).applied();
    assert_eq!(outdated(&mut cluster, follower), Some(applied));
    assert_eq!(cluster.lines(leader).len(), 3, "the others go on");
    cluster.stop(follower);
    cluster.start_with(follower, old());
    cluster.run_seconds(1);
    assert_eq!(outdated(&mut cluster, follower), Some(applied), "and again after a restart");
    cluster.stop(follower);
    cluster.start(follower);
    cluster.run_seconds(1);
    assert_eq!(cluster.lines(follower).len(), 3);
}

#[test]
fn replica_of_an_older_build_does_not_take_a_snapshot_it_does_not_understand() {
    let config = Config { seed: 7, snapshot_entries: 20, trailing_entries: 2, ..Config::lan() };
    let (mut cluster, leader, follower) = with_old(config.clone());
    cluster.isolate(follower);
    cluster.propose(leader, NEWER).unwrap();
    for _ in 0..50 {
        cluster.propose(leader, "more").unwrap();
        cluster.deliver();
    }
    let disk = cluster.node(follower).disk.load().unwrap();
    cluster.heal();
    cluster.run_seconds(5);
    assert!(outdated(&mut cluster, follower).is_some());
    let kept = cluster.node(follower).disk.load().unwrap();
    assert_eq!((kept.snapshot, kept.entries), (disk.snapshot, disk.entries));
    let (now, loaded) = (cluster.now, cluster.node(leader).disk.load().unwrap());
    let opened = RaftGroup::open(now, config, leader, loaded, old());
    assert!(matches!(opened.err(), Some(OpenError::Outdated(Outdated { agreed: 2, understood: 1 }))));
    cluster.stop(follower);
    cluster.start(follower);
    cluster.run_seconds(15);
    assert_eq!(cluster.lines(follower).len(), 51, "the snapshot is sent again");
}

#[test]
fn leader_of_an_older_build_tells_everybody_who_waits_that_it_has_stopped() {
    let mut cluster = Cluster::new(1);
    cluster.stop(id(1));
    cluster.start_with(id(1), old());
    let leader = cluster.elect();
    let now = cluster.now;
    for (number, command) in [(1, NEWER), (2, "after it")] {
        cluster
            .group(leader)
            .propose(now, ProposalId(number), Bytes::from_static(command.as_bytes()))
            .unwrap();
    }
    cluster.work(leader);
    assert!(outdated(&mut cluster, leader).is_some());
    assert_eq!(cluster.node(leader).failed.get(&ProposalId(2)), Some(&ProposeError::Halted));
    assert_eq!(cluster.propose(leader, "later"), Err(ProposeError::Halted));
}

#[test]
fn register_stops_at_a_cluster_version_it_does_not_understand() {
    let mut disk = MemoryDisk::default();
    disk.write(&founding(&founders(1))).unwrap();
    let loaded = disk.load().unwrap();
    let machine = Register::new(Group::Managers);
    let mut group = RaftGroup::open(Now::ZERO, Config::lan(), id(1), loaded, machine).unwrap();
    while !group.is_established() {
        let now = group.next_tick();
        group.tick(now);
        work(&mut group);
    }
    for (version, is_understood) in [(VERSION, true), (VERSION + 1, false)] {
        let command = Command { token: Token(0), body: Body::ClusterVersion { version } };
        let now = group.next_tick();
        group.propose(now, ProposalId(u64::from(version)), command.encode()).unwrap();
        work(&mut group);
        assert_eq!(group.halted().is_none(), is_understood, "{version}");
    }
    let outdated = Outdated { agreed: VERSION + 1, understood: VERSION };
    assert_eq!(group.halted(), Some(&Halt::Outdated { index: group.applied().0, outdated }));
}

fn work(group: &mut RaftGroup<Register>) {
    loop {
        let mut actions = Vec::new();
        group.ready(group.next_tick(), &mut actions);
        if actions.is_empty() {
            return;
        }
        for action in actions {
            if let Action::Persist(batch) = action {
                group.persisted(batch.ticket);
            }
        }
    }
}
