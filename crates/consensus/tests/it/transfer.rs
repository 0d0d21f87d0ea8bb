//! Handing over leadership while there is work: with a proposal in every tick no voter ever has the whole log when the
//! leader looks.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::{Event, LogGroup, ProposalId, RaftId, TransferCause};
use hyperscale_types::Now;

use crate::cluster::Cluster;

/// Time passes, and the leader gets a proposal before every tick that is on its way when it ticks.
fn work_hard(cluster: &mut Cluster, leader: RaftId, duration: Duration) {
    let end = cluster.now.plus(duration);
    while cluster.now < end {
        cluster.now = cluster.now.plus(cluster.config.tick);
        load(cluster, leader);
        for id in cluster.ids() {
            cluster.tick(id);
        }
        cluster.deliver();
    }
}

fn load(cluster: &mut Cluster, leader: RaftId) {
    let (now, proposal) = (cluster.now, ProposalId(cluster.now.nanos_since(Now::ZERO)));
    let _ = cluster.group(leader).propose(now, proposal, Bytes::from_static(b"x"));
}

#[test]
fn ill_leader_hands_over_while_there_is_load() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    let now = cluster.now;
    cluster.group(leader).set_health(now, 8);
    work_hard(&mut cluster, leader, Duration::from_secs(10));
    let is_ill = |event: &Event| matches!(event, Event::Transferring { cause: TransferCause::Ill, .. });
    assert!(cluster.has_event(leader, is_ill));
    assert_ne!(cluster.elect(), leader);
}

#[test]
fn draining_leader_finds_an_heir_while_there_is_load() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    work_hard(&mut cluster, leader, Duration::from_secs(1));
    load(&mut cluster, leader);
    let now = cluster.now;
    let heir = cluster.group(leader).transfer(now, None).unwrap();
    cluster.work(leader);
    cluster.run(Duration::from_millis(200));
    assert_eq!(cluster.leaders(), [heir]);
    let lines = cluster.lines(leader);
    assert_eq!(cluster.lines(heir), lines, "what was proposed before is not lost");
    assert_eq!(lines.len(), 51);
}

#[test]
fn voter_that_is_far_behind_is_no_heir_however_healthy() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(2);
    let others: Vec<RaftId> = cluster.ids().into_iter().filter(|id| *id != leader).collect();
    cluster.group(leader).set_peer_health(others[1], 2);
    // The first one gets nothing; no time passes in which the leader could miss it.
    cluster.cut.insert((leader, others[0]));
    for _ in 0..1001 {
        cluster.propose(leader, "x").unwrap();
        cluster.deliver();
    }
    let now = cluster.now;
    assert_eq!(cluster.group(leader).transfer(now, None), Ok(others[1]));
}
