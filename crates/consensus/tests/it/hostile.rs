//! Whatever a member says, a replica does not fall over: messages drawn at random, most of them nearly right, at replicas
//! in every role. What they may break is agreement with the liar; never the process.

use bytes::Bytes;
use fastrand::Rng;
use hyperscale_consensus::{
    Configuration, ConfigurationChange, ConfigurationStep, DirectoryId, Entry, EntryBody, Member, Message,
    MessageKind, MessageRefusal, RaftId, Snapshot, StateHash, StateProof,
};
use hyperscale_types::{BootEpoch, NodeId};

use crate::cluster::{Cluster, addresses, id};
use crate::refusal::message;

const KINDS: [MessageKind; 10] = [
    MessageKind::Append,
    MessageKind::AppendResponse,
    MessageKind::Vote,
    MessageKind::VoteResponse,
    MessageKind::PreVote,
    MessageKind::PreVoteResponse,
    MessageKind::Snapshot,
    MessageKind::Heartbeat,
    MessageKind::HeartbeatResponse,
    MessageKind::TimeoutNow,
];

/// A number near another one, rarely one that is far out.
fn near(rng: &mut Rng, number: u64) -> u64 {
    match rng.u8(..20) {
        0 => rng.u64(..),
        1 => 0,
        _ => (number + rng.u64(..4)).saturating_sub(2),
    }
}

fn entries(rng: &mut Rng, index: u64, term: u64) -> Vec<Entry> {
    let body = |rng: &mut Rng| match rng.u8(..3) {
        0 => EntryBody::Empty,
        1 => EntryBody::Command(Bytes::from_static(b"lie")),
        _ => EntryBody::Configuration(change(rng)),
    };
    (1..=rng.u64(..4))
        .map(|step| Entry { index: index.wrapping_add(step), term: near(rng, term), body: body(rng) })
        .collect()
}

fn change(rng: &mut Rng) -> ConfigurationChange {
    let (raft_id, node) = (any_id(rng), NodeId::new(rng.u64(1..9)).unwrap());
    let step = match rng.u8(..3) {
        0 => ConfigurationStep::AddVoter(raft_id),
        1 => ConfigurationStep::AddLearner(raft_id),
        _ => ConfigurationStep::Remove(raft_id),
    };
    let member = rng.bool().then_some(Member {
        raft_id,
        node,
        directory: DirectoryId([rng.u8(..); 16]),
        addresses: addresses(rng.u8(..)),
        boot: BootEpoch(rng.u64(..3)),
    });
    ConfigurationChange { steps: vec![step; rng.usize(..3)], member }
}

fn any_id(rng: &mut Rng) -> RaftId {
    id(rng.u64(1..7))
}

fn configuration(rng: &mut Rng) -> Configuration {
    let mut ids = || -> Vec<RaftId> { (0..rng.usize(..4)).map(|_| any_id(rng)).collect() };
    Configuration { voters: ids(), learners: ids(), voters_outgoing: ids(), learners_next: ids() }
}

/// A message to this replica that is not far from what it might really get.
fn any_message(cluster: &mut Cluster, rng: &mut Rng, to: RaftId) -> Message {
    let group = cluster.group(to);
    let (term, last, committed) = (group.term(), group.last_index(), group.committed());
    let state =
        Bytes::copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]);
    let term = near(rng, term);
    let index = near(rng, last);
    Message {
        log_term: near(rng, term),
        index,
        entries: entries(rng, index, term),
        commit: near(rng, committed),
        commit_term: near(rng, term),
        snapshot: rng.bool().then(|| Snapshot {
            index: near(rng, committed + 2),
            term: near(rng, term),
            configuration: configuration(rng),
            state,
        }),
        rejection: rng.bool().then(|| near(rng, last)),
        context: Bytes::copy_from_slice(&term.to_be_bytes()),
        priority: rng.i64(-1000..1000),
        lacks_blobs: rng.bool(),
        proof: (rng.u8(..50) == 0).then(|| StateProof { index: committed, hash: StateHash(rng.u64(..)) }),
        ..message(KINDS[rng.usize(..KINDS.len())], any_id(rng), to, term)
    }
}

fn lie(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut cluster = Cluster::new([1, 3, 5][rng.usize(..3)]);
    let leader = cluster.elect();
    for _ in 0..rng.usize(..20) {
        cluster.propose(leader, "truth").unwrap();
    }
    cluster.run_seconds(rng.u64(..2));
    for _ in 0..200 {
        let ids = cluster.ids();
        let to = ids[rng.usize(..ids.len())];
        let message = any_message(&mut cluster, &mut rng, to);
        let _ = cluster.step(to, message);
        cluster.work(to);
        if rng.u8(..10) == 0 {
            cluster.run(cluster.config.tick * 10);
        }
        if rng.u8(..10) == 0 {
            let _ = cluster.propose(to, "more truth");
        }
    }
}

#[test]
fn no_message_makes_a_replica_panic() {
    for seed in 0..300 {
        lie(seed);
    }
}

#[test]
fn message_without_a_term_is_refused() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let follower = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
    let term = cluster.group(follower).term();
    for kind in KINDS {
        // raft-rs takes a message without a term for one of its own and does not compare terms at all.
        let refused = cluster.step(follower, message(kind, leader, follower, 0));
        assert_eq!(refused, Err(MessageRefusal::BadNumber), "{kind:?}");
        cluster.work(follower);
    }
    assert_eq!(cluster.group(follower).term(), term);
}
