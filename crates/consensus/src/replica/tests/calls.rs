//! What the host asks for: proposals, reads, hand-over.

use super::*;

#[test]
fn proposals_of_leader_and_follower_are_applied_and_replied_to_with_their_outcome() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let Reply::Applied { index: first, outcome: Some(1) } = net.reply(leader, 1, command()) else { panic!() };
    let Reply::Applied { index, outcome: Some(2) } = net.reply(follower, 1, command()) else { panic!() };
    assert!(index > first);
    assert!(net.replies.is_empty(), "one reply each");
}

#[test]
fn read_of_a_follower_waits_until_its_own_state_is_fresh() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let Reply::Applied { index, .. } = net.reply(leader, 1, command()) else { panic!() };
    let behind = net.replicas[&follower].0.group().unwrap().applied().0;
    assert!(behind < index, "the commit has not reached it yet");
    let Reply::Readable { index: read } = net.reply(follower, 2, Request::Read) else { panic!() };
    let applied = net.replicas[&follower].0.group().unwrap().applied().0;
    assert!(read >= index && applied >= read, "{read} {applied} {index}");
    assert!(matches!(net.reply(leader, 3, Request::ReadAsLeader), Reply::Readable { .. }));
    let refused = net.reply(follower, 4, Request::ReadAsLeader);
    assert!(matches!(refused, Reply::Failed(ProposeError::NotLeader { .. })), "{refused:?}");
}

#[test]
fn question_that_the_leader_never_answers_fails_after_a_while() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(leader);
    let asked = net.now;
    let reply = net.reply(follower, 1, command());
    assert!(matches!(reply, Reply::Failed(ProposeError::Quorum(QuorumError::Timeout(_)))), "{reply:?}");
    assert!(net.now.since(asked) >= Config::lan().quorum_timeout);
}

#[test]
fn strangers_may_not_propose_or_read() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let last = net.replicas[&leader].0.group().unwrap().last_index();
    for message in [
        ReplicaMessage::Propose { number: 1, command: Bytes::from_static(b"x") },
        ReplicaMessage::ReadIndex { number: 2 },
    ] {
        net.input(leader, Input::Message { from: node(9), message });
    }
    assert_eq!(net.replicas[&leader].0.group().unwrap().last_index(), last);
    assert!(net.sent.iter().all(|(_, to, _)| *to != 9), "nor are they answered");
}

#[test]
fn leadership_is_handed_over_where_the_leader_is() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    assert!(matches!(net.reply(follower, 1, Request::Transfer(None)), Reply::NotTransferred(_)));
    let Reply::Transferring(to) = net.reply(leader, 1, Request::Transfer(None)) else { panic!() };
    net.run_until(|net| net.leader().is_some_and(|number| number != leader));
    assert_eq!(net.leader(), Some(to.get()));
}
