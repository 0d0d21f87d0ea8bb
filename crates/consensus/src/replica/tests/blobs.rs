//! Blobs: stored on a quorum, fetched where they are missing, collected when nothing names them.

use super::*;
use crate::replica::running::Running;

/// Stores a blob of five bytes and names it.
fn named_blob(net: &mut Net, number: u64, text: &'static [u8]) -> BlobId {
    let blob = BlobId::of(text);
    let stored = net.reply(number, 70, Request::StoreBlob(Bytes::from_static(text)));
    assert_eq!(stored, Reply::Stored(blob));
    let command = [b"blob", &blob.hash[..]].concat();
    assert!(matches!(net.reply(number, 71, Request::Propose(command.into())), Reply::Applied { .. }));
    blob
}

fn holders(net: &Net, blob: BlobId) -> Vec<u64> {
    net.blobs.keys().filter(|(_, it)| *it == blob).map(|(number, _)| *number).collect()
}

#[test]
fn blob_is_stored_on_a_quorum_before_its_caller_may_name_it() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(follower);
    let stored = net.reply(leader, 1, Request::StoreBlob(Bytes::from_static(b"plan1")));
    assert_eq!(stored, Reply::Stored(BlobId::of(b"plan1")));
    assert_eq!(holders(&net, BlobId::of(b"plan1")).len(), 2);
    let alone = net.reply(follower, 2, Request::StoreBlob(Bytes::from_static(b"plan2")));
    assert!(matches!(alone, Reply::Failed(ProposeError::Quorum(QuorumError::Timeout(_)))), "{alone:?}");
}

#[test]
fn voter_that_misses_a_blob_fetches_it_from_whoever_has_it() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(follower);
    let blob = named_blob(&mut net, leader, b"plan1");
    assert!(!holders(&net, blob).contains(&follower));
    net.is_cut = None;
    net.run_until(|net| holders(net, blob).contains(&follower));
    // One that is damaged is found when somebody asks for it, and fetched too.
    net.blobs.remove(&(follower, blob));
    net.input(follower, Input::BlobRead { blob, to: node(leader), bytes: None });
    net.run_until(|net| holders(net, blob).contains(&follower));
}

#[test]
fn member_that_joins_fetches_what_the_state_names() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let blob = named_blob(&mut net, leader, b"plan1");
    let change = add(4);
    net.reply(leader, 1, Request::Change(change));
    net.start(4, 4);
    net.input(4, Input::PeerReached(node(leader)));
    net.run_until(|net| holders(net, blob).contains(&4));
}

#[test]
fn learner_is_not_made_a_voter_before_it_holds_what_the_state_names() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let blob = named_blob(&mut net, leader, b"plan1");
    net.is_stalled = true;
    net.reply(leader, 1, Request::Change(add(4)));
    net.start(4, 4);
    net.input(4, Input::PeerReached(node(leader)));
    let since = net.now;
    net.run_until(|net| net.now.since(since) > Duration::from_secs(25));
    let voters = |net: &Net| net.replicas[&leader].0.group().unwrap().configuration().voters.len();
    let applied = |number: u64| net.replicas[&number].0.group().unwrap().applied();
    assert_eq!((applied(4), voters(&net)), (applied(leader), 3), "it has the log and lacks the blob");
    net.blobs.insert((4, blob), Bytes::from_static(b"plan1"));
    net.input(4, Input::BlobStored(blob));
    net.run_until(|net| voters(net) == 4);
}

#[test]
fn blob_that_nothing_names_is_removed_after_the_grace_and_not_before() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let blob = named_blob(&mut net, leader, b"plan1");
    let since = net.now;
    net.run_until(|net| net.now.since(since) > Duration::from_secs(25));
    assert_eq!(holders(&net, blob).len(), 3, "it is named");
    net.reply(leader, 80, Request::Propose(Bytes::from_static(b"forget")));
    let forgotten = net.now;
    net.run_until(|net| holders(net, blob).is_empty());
    assert!(net.now.since(forgotten) >= Duration::from_secs(19), "{:?}", net.now.since(forgotten));
}

/// Lets time pass; not more than half a minute.
fn pass(net: &mut Net, seconds: u64) {
    let until = net.now.plus(Duration::from_secs(seconds));
    net.run_until(|net| net.now >= until);
}

#[test]
fn blob_is_kept_while_the_entry_that_names_it_waits_for_a_quorum() {
    let mut net = Net::founded(2);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let blob = BlobId::of(b"plan1");
    let stored = net.reply(leader, 1, Request::StoreBlob(Bytes::from_static(b"plan1")));
    assert_eq!(stored, Reply::Stored(blob));
    net.is_cut = Some(follower);
    let command = [b"blob", &blob.hash[..]].concat();
    net.input(leader, Input::Call { call: CallId(2), request: Request::Propose(command.into()) });
    pass(&mut net, 25);
    pass(&mut net, 25);
    net.is_cut = None;
    // Somebody leads again, and has not decided the entry when the next pass is due.
    let waits = |net: &Net| {
        let group = net.replicas[&leader].0.group().unwrap();
        group.leader().is_some() && group.applied().0 < group.last_index()
    };
    net.run_until(waits);
    net.now = net.now.plus(PASS_EVERY * 2);
    for number in [leader, follower] {
        net.input(number, Input::Timer);
    }
    assert!(waits(&net), "the passes came before the decision");
    net.run_until(|net| {
        net.replicas.values().all(|(it, ..)| it.group().unwrap().machine().1.contains(&blob))
    });
    assert_eq!(holders(&net, blob).len(), 2);
}

#[test]
fn grace_begins_anew_with_another_leader_and_after_a_pause() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    pass(&mut net, 3);
    let blob = BlobId::of(b"plan1");
    net.reply(leader, 1, Request::StoreBlob(Bytes::from_static(b"plan1")));
    pass(&mut net, 15);
    net.is_cut = Some(leader);
    net.run_until(|net| net.replicas.iter().any(|(number, it)| *number != leader && is_established(it)));
    net.replicas.remove(&leader);
    pass(&mut net, 15);
    assert_eq!(holders(&net, blob).len(), 3, "the next leader may bring an entry along that names it");
    // Everybody sleeps.
    net.now = net.now.plus(Duration::from_mins(1));
    pass(&mut net, 10);
    assert_eq!(holders(&net, blob).len(), 3, "what was decided meanwhile is not known yet");
    pass(&mut net, 20);
    assert_eq!(holders(&net, blob), [leader], "nothing was");
}

fn is_established((replica, ..): &(Replica<Counter>, MemoryDisk, Option<Now>)) -> bool {
    replica.group().is_some_and(RaftGroup::is_established)
}

fn running(net: &Net) -> &Running<Counter> {
    match &net.replicas[&1].0.stage {
        Stage::Running(running) => running,
        _ => panic!("it takes part"),
    }
}

/// A blob of five bytes that is listed before all that [`MANY`] names.
fn first_blob() -> (BlobId, Bytes) {
    let texts = (0u32..).map(|number| Bytes::from(format!("{number:05}")));
    texts.map(|text| (BlobId::of(&text), text)).find(|(blob, _)| blob.hash[0] == 0).unwrap()
}

#[test]
fn blob_that_is_named_while_the_pass_is_under_way_is_not_removed() {
    let mut net = Net::founded(1);
    net.reply(1, 1, Request::Propose(Bytes::from_static(MANY)));
    pass(&mut net, 3);
    let (blob, bytes) = first_blob();
    assert_eq!(net.reply(1, 2, Request::StoreBlob(bytes)), Reply::Stored(blob));
    let stored = net.now;
    net.run_until(|net| net.now.since(stored) > Duration::from_millis(19_990));
    // The pass in which its grace ends has listed the beginning of the state when an entry names it.
    let mut left = None;
    for _ in 0..200 {
        net.step();
        let pass = &running(&net).blobs.pass;
        if net.now.since(stored) > Duration::from_secs(20) && pass.has_begun() {
            left = Some(net.now);
            break;
        }
    }
    assert!(left.is_some(), "a pass takes more than one tick");
    let command = [b"blob", &blob.hash[..]].concat();
    assert!(matches!(net.reply(1, 3, Request::Propose(command.into())), Reply::Applied { .. }));
    net.run_until(|net| net.now.since(stored) > Duration::from_secs(24));
    assert_eq!(holders(&net, blob), [1]);
}

#[test]
fn pass_over_many_blobs_takes_no_more_than_its_limit_per_tick() {
    let mut net = Net::founded(1);
    net.reply(1, 1, Request::Propose(Bytes::from_static(MANY)));
    net.run_until(|net| running(net).blobs.pass.has_begun());
    let (mut ticks, begun) = (0, running(&net).blobs.pass.number());
    while running(&net).blobs.pass.has_begun() {
        net.step();
        ticks += 1;
    }
    assert_eq!(running(&net).blobs.pass.number(), begun);
    assert_eq!(ticks, MANY_COUNT.div_ceil(BLOBS_PER_SLICE) - 1, "one slice per tick");
    assert_eq!(running(&net).blobs.missing.len(), MANY_COUNT);
}

#[test]
fn bytes_that_do_not_match_their_id_are_not_kept() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let (blob, bytes) = (BlobId::of(b"plan1"), Bytes::from_static(b"plan2"));
    for message in
        [ReplicaMessage::BlobPut { blob, bytes: bytes.clone() }, ReplicaMessage::BlobData { blob, bytes }]
    {
        net.input(follower, Input::Message { from: node(leader), message });
    }
    assert!(net.blobs.is_empty());
}

#[test]
fn replica_asks_for_the_next_blob_when_one_has_come() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(follower);
    let count = 4 * FETCHES_MAX as u64;
    let texts: Vec<Bytes> = (0..count).map(|number| Bytes::from(format!("b{number:04}"))).collect();
    for (text, number) in texts.iter().zip(0..) {
        let stored = net.reply(leader, 100 + number, Request::StoreBlob(text.clone()));
        assert_eq!(stored, Reply::Stored(BlobId::of(text)));
        let command = [b"blob", &BlobId::of(text).hash[..]].concat();
        net.reply(leader, 200 + number, Request::Propose(command.into()));
    }
    net.is_cut = None;
    let held =
        |net: &Net| texts.iter().filter(|text| holders(net, BlobId::of(text)).contains(&follower)).count();
    net.run_until(|net| held(net) > 0);
    let begun = net.now;
    net.run_until(|net| held(net) == texts.len());
    assert!(net.now.since(begun) < PASS_EVERY, "{:?}", net.now.since(begun));
}
