//! Sealed parts of the state: stored before a snapshot lists them, read before anything is applied on top of one.

use super::*;

fn seal(net: &mut Net, number: u64) {
    let sealed = net.reply(number, 900, Request::Propose(Bytes::from_static(b"seal")));
    assert!(matches!(sealed, Reply::Applied { .. }));
}

fn snapshot_of(net: &mut Net, number: u64) -> u64 {
    net.replicas.get_mut(&number).unwrap().1.load().unwrap().snapshot.index
}

fn applied(net: &Net, number: u64) -> u64 {
    net.replicas[&number].0.group().map_or(0, |group| group.applied().0)
}

#[test]
fn snapshot_is_not_written_before_the_part_it_lists() {
    let mut net = Net::founded(1);
    let before = snapshot_of(&mut net, 1);
    net.is_stalled = true;
    seal(&mut net, 1);
    // All that follows the snapshot waits with it.
    for call in 0..30 {
        net.input(1, Input::Call { call: CallId(call), request: command() });
    }
    assert_eq!(snapshot_of(&mut net, 1), before);
    net.is_stalled = false;
    net.blobs.insert((1, BlobId::of(PART)), Bytes::from_static(PART));
    net.input(1, Input::BlobStored(BlobId::of(PART)));
    for call in 30..60 {
        assert!(matches!(net.reply(1, call, command()), Reply::Applied { .. }));
    }
    assert!(snapshot_of(&mut net, 1) > before);
}

#[test]
fn replica_that_starts_from_a_snapshot_reads_its_parts_before_it_applies() {
    let mut net = Net::founded(1);
    seal(&mut net, 1);
    for call in 0..30 {
        net.reply(1, call, command());
    }
    let (last, snapshot) = (applied(&net, 1), snapshot_of(&mut net, 1));
    assert!(snapshot < last);
    let part = net.blobs.remove(&(1, BlobId::of(PART))).unwrap();
    net.start(1, 1);
    let since = net.now;
    net.run_until(|net| net.now.since(since) > Duration::from_secs(10));
    assert_eq!(applied(&net, 1), snapshot, "there is nobody to get it from");
    net.blobs.insert((1, BlobId::of(PART)), part);
    net.start(1, 1);
    net.run_until(|net| applied(net, 1) >= last);
}

#[test]
fn member_that_joins_gets_sealed_parts_from_whoever_has_them() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    seal(&mut net, leader);
    for call in 0..60 {
        net.reply(leader, call, command());
    }
    net.reply(leader, 901, Request::Change(add(4)));
    net.start(4, 4);
    net.input(4, Input::PeerReached(node(leader)));
    let reads_all = |net: &Net| net.replicas[&4].0.group().is_some_and(|it| it.machine().2.unread.is_empty());
    net.run_until(|net| applied(net, 4) > 60 && reads_all(net) && applied(net, 4) == applied(net, leader));
    assert!(net.blobs.contains_key(&(4, BlobId::of(PART))));
}
