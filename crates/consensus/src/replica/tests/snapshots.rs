//! Snapshots of the own state are made elsewhere and hold up nothing.

use super::*;
use crate::message::MessageKind;

fn snapshot_of(net: &mut Net, number: u64) -> u64 {
    net.replicas.get_mut(&number).unwrap().1.load().unwrap().snapshot.index
}

#[test]
fn heartbeats_and_entries_pass_between_begin_and_end_of_a_snapshot() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let before = snapshot_of(&mut net, leader);
    net.holds_snapshots = true;
    let mut call = 0;
    while !net.snapshots.iter().any(|(number, _)| *number == leader) {
        call += 1;
        assert!(call < 200, "a snapshot is due after 20 entries");
        assert!(matches!(net.reply(leader, call, command()), Reply::Applied { .. }));
    }
    // The leader's snapshot is being made; heartbeats leave, and more entries than a snapshot is made after are applied.
    let is_heartbeat = |it: &(u64, NodeId, ReplicaMessage)| matches!(&it.2, ReplicaMessage::Raft(message) if message.kind == MessageKind::Heartbeat);
    net.run_until(|net| net.in_flight.iter().any(|it| it.1 == node(leader) && is_heartbeat(it)));
    for call in 1000..1060 {
        assert!(matches!(net.reply(leader, call, command()), Reply::Applied { .. }));
    }
    assert_eq!(snapshot_of(&mut net, leader), before);
    let place = net.snapshots.iter().position(|(number, _)| *number == leader).unwrap();
    let job = net.snapshots.remove(place).1;
    assert!(net.snapshots.iter().all(|(number, _)| *number != leader), "one at a time");
    let (index, last) = (job.index(), net.replicas[&leader].0.group().unwrap().applied().0);
    let snapshot = job.run();
    assert_eq!(u64::from_be_bytes(snapshot.state[snapshot.state.len() - 8..].try_into().unwrap()), call);
    net.input(leader, Input::SnapshotMade(snapshot));
    assert_eq!(snapshot_of(&mut net, leader), index, "of the state as it was at the begin");
    assert!(
        net.snapshots.iter().any(|(number, job)| *number == leader && job.index() == last),
        "the next one"
    );
    // It starts again from that snapshot and applies what its disk knows to be committed: all but the last entry.
    net.start(leader, 3);
    assert_eq!(snapshot_of(&mut net, leader), index);
    assert_eq!(net.replicas[&leader].0.group().unwrap().applied().0, last - 1);
}

#[test]
fn snapshot_that_was_overtaken_by_one_of_the_leader_is_thrown_away() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.holds_snapshots = true;
    let mut call = 0;
    while !net.snapshots.iter().any(|(number, _)| *number == follower) {
        call += 1;
        assert!(call < 200, "a snapshot is due after 20 entries");
        net.reply(leader, call, command());
    }
    let place = net.snapshots.iter().position(|(number, _)| *number == follower).unwrap();
    let job = net.snapshots.remove(place).1;
    net.holds_snapshots = false;
    for (number, job) in std::mem::take(&mut net.snapshots) {
        net.input(number, Input::SnapshotMade(job.run()));
    }
    net.is_cut = Some(follower);
    for call in 1000..1100 {
        net.reply(leader, call, command());
    }
    net.is_cut = None;
    let old = job.index();
    net.run_until(|net| net.replicas[&follower].0.group().unwrap().applied().0 > old + 90);
    let restored = snapshot_of(&mut net, follower);
    assert!(restored > old);
    net.input(follower, Input::SnapshotMade(job.run()));
    assert_eq!(snapshot_of(&mut net, follower), restored);
}
