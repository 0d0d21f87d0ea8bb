//! Members that join, are cut off, restart or close their connections.

use super::*;

#[test]
fn member_that_joins_is_answered_before_the_log_names_those_it_answers() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let change = Change::Add { node: node(4), directory: directory(4) };
    assert!(matches!(net.reply(leader, 1, Request::Change(change)), Reply::Applied { outcome: None, .. }));
    net.start(4, 4);
    net.input(4, Input::PeerReached(node(leader)));
    net.run_until(|net| {
        let applied = |number: &u64| net.replicas[number].0.group().map(RaftGroup::applied);
        applied(&4).is_some() && applied(&4) == applied(&leader)
    });
    assert!(matches!(net.reply(4, 1, command()), Reply::Applied { .. }));
    assert!(net.replicas[&4].0.leader_node().is_some());
}

#[test]
fn undelivered_snapshot_is_sent_again_at_once() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(follower);
    for number in 0..80 {
        net.reply(leader, number, command());
    }
    let snapshots =
        |net: &Net| net.sent.iter().filter(|sent| **sent == (leader, follower, Lane::Bulk)).count();
    // Heard of again, it is too far behind for the entries that are kept; the snapshot itself is lost.
    net.is_cut = None;
    while snapshots(&net) == 0 {
        net.step();
    }
    net.in_flight.retain(|(_, _, message)| message.lane() == Lane::Control);
    let (before, lost) = (snapshots(&net), net.now);
    net.input(leader, Input::Undelivered { to: node(follower), lane: Lane::Bulk });
    net.run_until(|net| snapshots(net) > before);
    assert!(net.now.since(lost) < Duration::from_secs(1), "not only after the time of a lost one");
}

#[test]
fn peer_that_closed_its_connections_is_doubted_and_somebody_else_leads_soon() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    net.replicas.remove(&leader);
    net.in_flight.clear();
    let from = net.now;
    for number in net.replicas.keys().copied().collect::<Vec<_>>() {
        net.input(number, Input::PeerGone(node(leader)));
    }
    net.run_until(|net| net.leader().is_some());
    assert!(net.now.since(from) < Config::lan().election_min, "{:?}", net.now.since(from));
}

#[test]
fn restarted_replica_resumes_with_what_its_disk_holds() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.reply(leader, 1, command());
    net.start(follower, 3);
    assert!(net.replicas[&follower].0.group().is_some(), "without asking anybody");
    assert!(matches!(net.reply(follower, 2, Request::Read), Reply::Readable { .. } | Reply::Failed(_)));
}

#[test]
fn version_of_a_member_is_known_once_it_said_so() {
    let mut net = Net::founded(3);
    let [one, two] = [1, 2].map(|number| RaftId::new(number).unwrap());
    net.input(1, Input::PeerVersion { node: node(2), version: 7 });
    let replica = &net.replicas[&1].0;
    assert_eq!([replica.understood(one), replica.understood(two)], [Some(1), Some(7)]);
    assert_eq!(replica.understood(RaftId::new(3).unwrap()), None);
}
