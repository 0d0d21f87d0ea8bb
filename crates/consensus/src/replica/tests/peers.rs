//! Members that join, are cut off, restart or close their connections.

use super::*;
use crate::bootstrap::{PeerState, Report};
use crate::check::MessageRefusal;
use crate::message::{Member, Message, MessageKind, Snapshot};

#[test]
fn member_that_joins_is_answered_before_the_log_names_those_it_answers() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let change = add(4);
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
fn replica_asks_the_members_it_knows_who_a_newer_sender_is_and_refuses_it_until_one_vouches() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let term = net.replicas[&leader].0.group().unwrap().term();
    let vote = |from: u64| {
        let [from, to] = [from, follower].map(|number| RaftId::new(number).unwrap());
        let snapshot = Message::of_snapshot(from, to, term + 1, Snapshot::default());
        let message =
            Message { kind: MessageKind::Vote, index: 1000, log_term: term, snapshot: None, ..snapshot };
        ReplicaMessage::Raft(Box::new(message))
    };
    let refused = |net: &Net| {
        let refused = net.replicas[&follower].0.group().unwrap().refused();
        refused.get(&MessageRefusal::NeverMember).copied().unwrap_or(0)
    };
    net.input(follower, Input::Message { from: node(9), message: vote(9) });
    assert_eq!(refused(&net), 1);
    let asked = |it: &(u64, NodeId, ReplicaMessage)| matches!(it.2, ReplicaMessage::BootstrapQuery { .. });
    assert_eq!(net.in_flight.iter().filter(|it| asked(it)).count(), 2, "both other members");
    net.input(follower, Input::Message { from: node(9), message: vote(9) });
    assert_eq!(net.in_flight.iter().filter(|it| asked(it)).count(), 2, "not with every message");
    // What a stranger says about itself is worth nothing.
    let (raft_id, addresses) = (RaftId::new(9).unwrap(), Addresses::example(9));
    let members =
        vec![Member { raft_id, node: node(9), directory: directory(9), addresses, boot: BootEpoch(0) }];
    let state = PeerState::Running { members, learners: Vec::new() };
    let report =
        |from| Report { node: node(from), directory: directory(from), addresses, state: state.clone() };
    let told =
        |from| Input::Message { from: node(from), message: ReplicaMessage::BootstrapReport(report(from)) };
    net.input(follower, told(9));
    net.input(follower, Input::Message { from: node(9), message: vote(9) });
    assert_eq!(refused(&net), 3);
    assert_eq!(net.replicas[&follower].0.group().unwrap().term(), term);
    net.input(follower, told(leader));
    net.input(follower, Input::Message { from: node(8), message: vote(9) });
    assert_eq!(net.replicas[&follower].0.group().unwrap().refused()[&MessageRefusal::Impersonated], 1);
    net.input(follower, Input::Message { from: node(9), message: vote(9) });
    assert_eq!(refused(&net), 3, "a member vouches for it");
}

#[test]
fn snapshot_on_its_way_to_a_peer_that_is_gone_is_sent_again_at_once() {
    let (mut net, leader, follower) = with_lost_snapshot();
    let (before, lost) = (snapshots(&net, leader, follower), net.now);
    net.input(leader, Input::PeerGone(node(follower)));
    net.run_until(|net| snapshots(net, leader, follower) > before);
    assert!(net.now.since(lost) < Duration::from_secs(1), "not only after the time of a lost one");
}

fn snapshots(net: &Net, leader: u64, follower: u64) -> usize {
    net.sent.iter().filter(|sent| **sent == (leader, follower, Lane::Bulk)).count()
}

/// Three replicas; the snapshot that the leader sent to a follower got lost.
fn with_lost_snapshot() -> (Net, u64, u64) {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(follower);
    for number in 0..80 {
        net.reply(leader, number, command());
    }
    // Heard of again, it is too far behind for the entries that are kept; the snapshot itself is lost.
    net.is_cut = None;
    while snapshots(&net, leader, follower) == 0 {
        net.step();
    }
    net.in_flight.retain(|(_, _, message)| message.lane() == Lane::Control);
    (net, leader, follower)
}

#[test]
fn undelivered_snapshot_is_sent_again_at_once() {
    let (mut net, leader, follower) = with_lost_snapshot();
    let (before, lost) = (snapshots(&net, leader, follower), net.now);
    net.input(leader, Input::Undelivered { to: node(follower), lane: Lane::Bulk });
    net.run_until(|net| snapshots(net, leader, follower) > before);
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

/// Where the replicas' logs say that a member is.
fn addresses_of(net: &Net, member: u64) -> Vec<Addresses> {
    let rosters = net.replicas.values().map(|(replica, ..)| replica.group().unwrap().roster());
    let members = rosters.filter_map(|roster| roster.members().find(|it| it.node == node(member)));
    members.map(|member| member.addresses).collect()
}

fn says_it_moved(net: &Net, number: u64, member: u64) -> bool {
    let (id, addresses) = (RaftId::new(member).unwrap(), Addresses::example(200));
    net.events.contains(&(number, Event::MemberMoved { id, addresses }))
}

#[test]
fn log_and_peers_follow_a_member_that_moved() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let before = net.replicas[&leader].0.group().unwrap().configuration().clone();
    net.has_moved = Some(follower);
    net.start(follower, 3);
    // Its hello reaches everybody; the leader has the log say so.
    for number in 1..=3 {
        let (addresses, boot) = (Addresses::example(200), BootEpoch(2));
        net.input(number, Input::PeerAddresses { node: node(follower), addresses, boot });
    }
    net.run_until(|net| addresses_of(net, follower) == [Addresses::example(200); 3]);
    net.run_until(|net| !net.replicas[&leader].0.group().unwrap().configuration().is_joint());
    assert!((1..=3).all(|number| says_it_moved(&net, number, follower)), "hosts are told: {:?}", net.events);
    assert_eq!(net.replicas[&leader].0.group().unwrap().configuration(), &before, "it votes as before");
    let entries = net.replicas[&leader].0.group().unwrap().last_index();
    let since = net.now;
    net.run_until(|net| net.now.since(since) > Duration::from_secs(5));
    assert_eq!(net.replicas[&leader].0.group().unwrap().last_index(), entries, "it is said once");
    assert!(matches!(net.reply(follower, 9, command()), Reply::Applied { .. }));
}

#[test]
fn leader_that_heard_of_an_earlier_life_does_not_bring_its_addresses_back() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let other = 6 - leader - follower;
    let hello = |number: u8, boot: u64| {
        let (addresses, boot) = (Addresses::example(number), BootEpoch(boot));
        Input::PeerAddresses { node: node(follower), addresses, boot }
    };
    net.input(other, hello(199, 2));
    net.input(leader, hello(200, 3));
    net.input(leader, hello(199, 2));
    net.run_until(|net| addresses_of(net, follower) == [Addresses::example(200); 3]);
    net.run_until(|net| !net.replicas[&leader].0.group().unwrap().configuration().is_joint());
    let heir = RaftId::new(other);
    net.input(leader, Input::Call { call: CallId(77), request: Request::Transfer(heir) });
    net.run_until(|net| net.replicas[&other].0.group().unwrap().is_established());
    let since = net.now;
    net.run_until(|net| net.now.since(since) > Duration::from_secs(5));
    assert_eq!(net.leader(), Some(other));
    assert_eq!(addresses_of(&net, follower), [Addresses::example(200); 3]);
}

#[test]
fn member_that_moved_says_so_itself_when_it_leads() {
    let mut net = Net::founded(1);
    net.has_moved = Some(1);
    net.start(1, 1);
    net.run_until(|net| addresses_of(net, 1) == [Addresses::example(200)]);
    net.input(
        1,
        Input::PeerAddresses { node: node(9), addresses: Addresses::example(9), boot: BootEpoch(1) },
    );
    assert_eq!(addresses_of(&net, 9), [], "nobody becomes a member by what it says");
}
