//! A replica before it takes part: it asks, founds, joins or refuses to start.

use super::*;
use crate::bootstrap::{PeerState, WaitReason, acknowledgement};
use crate::message::{Founder, Member};
use crate::roster::Roster;

fn report(number: u64, state: PeerState) -> Input {
    let addresses = Addresses::example(number as u8);
    let report = Report { node: node(number), directory: directory(number), addresses, state };
    Input::Message { from: node(number), message: ReplicaMessage::BootstrapReport(report) }
}

fn queries(out: &Out) -> Vec<u64> {
    let query = |it: &Output<u64>| match it {
        Output::Send { to, message: ReplicaMessage::BootstrapQuery { .. }, .. } => Some(to.get()),
        _ => None,
    };
    out.iter().filter_map(query).collect()
}

fn written(out: &Out) -> Vec<&Batch> {
    out.iter().filter_map(|it| if let Output::Persist(batch) = it { Some(batch) } else { None }).collect()
}

fn founders(count: u64) -> BTreeMap<NodeId, Founder> {
    let addresses = |number| Addresses::example(number as u8);
    let founder = |number| Founder { directory: directory(number), addresses: addresses(number) };
    (1..=count).map(|number| (node(number), founder(number))).collect()
}

fn members(count: u64) -> Vec<Member> {
    Roster::founding(&founders(count)).members().copied().collect()
}

fn reports(out: &Out) -> Vec<(u64, &PeerState)> {
    out.iter()
        .filter_map(|it| match it {
            Output::Send { to, message: ReplicaMessage::BootstrapReport(report), .. } => {
                Some((to.get(), &report.state))
            }
            _ => None,
        })
        .collect()
}

fn is_opened(out: &Out) -> bool {
    out.iter().any(|it| matches!(it, Output::Opened(_)))
}

#[test]
fn empty_replica_asks_every_peer_it_reached_until_all_have_reported_and_acknowledges() {
    let (mut replica, out) = started(1, 3, Loaded::default());
    assert!(matches!(out[..], [Output::Timer(_)]), "{out:?}");
    assert_eq!(queries(&handle(&mut replica, Input::PeerReached(node(2)))), [2]);
    assert_eq!(queries(&handle(&mut replica, Input::PeerReached(node(3)))), [3]);
    assert_eq!(queries(&handle(&mut replica, Input::Timer)), [2, 3]);
    assert!(handle(&mut replica, report(2, PeerState::Empty)).is_empty(), "one is missing");
    let out = handle(&mut replica, report(3, PeerState::Empty));
    let [batch] = written(&out)[..] else { panic!("{out:?}") };
    assert_eq!(batch.raft_id, Some(RaftId::FIRST));
    let ticket = batch.ticket;
    let out = handle(&mut replica, Input::Persisted(ticket));
    let acknowledged = PeerState::Acknowledged(members(3));
    assert_eq!(reports(&out), [(2, &acknowledged), (3, &acknowledged)], "told once it is durable");
    assert!(!is_opened(&out) && replica.group().is_none(), "not before all have");
}

#[test]
fn founder_opens_once_all_have_acknowledged_the_same_and_resumes_after_a_restart() {
    let mut disk = MemoryDisk::default();
    disk.write(&Batch { raft_id: Some(RaftId::FIRST), ..acknowledgement(&founders(3)) }).unwrap();
    disk.sync().unwrap();
    let (mut replica, out) = started(1, 3, disk.load().unwrap());
    assert!(!is_opened(&out), "others may not have acknowledged: {out:?}");
    for peer in [2, 3] {
        assert_eq!(queries(&handle(&mut replica, Input::PeerReached(node(peer)))), [peer]);
    }
    let acknowledged = PeerState::Acknowledged(members(3));
    assert!(!is_opened(&handle(&mut replica, report(2, acknowledged.clone()))), "one is missing");
    assert!(!is_opened(&handle(&mut replica, report(3, PeerState::Empty))));
    let out = handle(&mut replica, report(3, acknowledged));
    assert!(is_opened(&out) && out.iter().any(|it| matches!(it, Output::Timer(_))), "{out:?}");
    assert_eq!(replica.group().unwrap().configuration().voters.len(), 3);
    for batch in written(&out) {
        disk.write(batch).unwrap();
    }
    assert!(is_opened(&started(1, 3, disk.load().unwrap()).1), "it asks nobody then");
}

#[test]
fn founder_that_lost_its_disk_after_all_acknowledged_does_not_win_a_quorum_for_a_second_founding() {
    // The third founder is slow: it heard of the first while that was empty, and of the second after it lost its disk.
    let (mut third, _) = started(3, 3, Loaded::default());
    for peer in [1, 2] {
        handle(&mut third, Input::PeerReached(node(peer)));
    }
    handle(&mut third, report(1, PeerState::Empty));
    let mut fresh = report(2, PeerState::Empty);
    if let Input::Message { message: ReplicaMessage::BootstrapReport(report), .. } = &mut fresh {
        report.directory = directory(99);
    }
    let out = handle(&mut third, fresh);
    assert_eq!(written(&out).len(), 1);
    assert!(!is_opened(&handle(&mut third, Input::Persisted(Ticket(0)))));
    // Those who founded with the directory that is gone keep to it, and so it never opens.
    for state in [PeerState::Acknowledged(members(3)), PeerState::Empty] {
        assert!(!is_opened(&handle(&mut third, report(1, state))));
    }
    // Nor does the one that lost its disk take part in what the first ones founded.
    let (mut second, _) = started(2, 3, Loaded::default());
    handle(&mut second, Input::PeerReached(node(1)));
    let mut known = members(3);
    known[1].directory = directory(98);
    for state in
        [PeerState::Acknowledged(known.clone()), PeerState::Running { members: known, learners: Vec::new() }]
    {
        assert!(written(&handle(&mut second, report(1, state))).is_empty());
    }
}

#[test]
fn replica_that_cannot_open_its_disk_does_not_say_that_it_is_empty() {
    let hard_state = crate::message::HardState { term: 1, ..Default::default() };
    let (mut replica, _) = started(1, 3, Loaded { hard_state, ..Loaded::default() });
    let message = ReplicaMessage::BootstrapQuery { directory: directory(2) };
    assert!(handle(&mut replica, Input::Message { from: node(2), message }).is_empty());
}

#[test]
fn report_of_somebody_who_was_not_asked_or_in_anothers_name_is_ignored() {
    let (mut replica, _) = started(1, 2, Loaded::default());
    assert!(handle(&mut replica, report(2, PeerState::Empty)).is_empty());
    handle(&mut replica, Input::PeerReached(node(2)));
    let Input::Message { message, .. } = report(2, PeerState::Empty) else { unreachable!() };
    assert!(handle(&mut replica, Input::Message { from: node(3), message }).is_empty());
    assert_eq!(written(&handle(&mut replica, report(2, PeerState::Empty))).len(), 1);
}

#[test]
fn replica_that_was_added_begins_with_its_raft_id_alone() {
    let (mut replica, _) = started(4, 4, Loaded::default());
    handle(&mut replica, Input::PeerReached(node(1)));
    let others = PeerState::Running { members: members(3), learners: Vec::new() };
    let out = handle(&mut replica, report(1, others.clone()));
    let [Output::Waiting { known_by, reason: WaitReason::NotAdded }] = out[..] else { panic!("{out:?}") };
    assert_eq!(known_by, node(1), "nobody has added it yet");
    assert!(handle(&mut replica, report(1, others)).is_empty(), "said once");
    let raft_id = RaftId::new(4).unwrap();
    let added = report(1, PeerState::Running { members: members(4), learners: vec![raft_id] });
    let out = handle(&mut replica, added);
    let [batch] = written(&out)[..] else { panic!("{out:?}") };
    assert_eq!((batch.raft_id, &batch.snapshot), (Some(raft_id), &None));
    let ticket = batch.ticket;
    assert!(is_opened(&handle(&mut replica, Input::Persisted(ticket))));
    let bound = Loaded { raft_id: Some(raft_id), ..Loaded::default() };
    assert!(is_opened(&started(4, 4, bound).1), "and goes on so after a restart");
}

#[test]
fn log_without_raft_id_and_impossible_peers_are_refused() {
    let hard_state = crate::message::HardState { term: 1, ..Default::default() };
    let (mut replica, out) = started(1, 3, Loaded { hard_state, ..Loaded::default() });
    assert!(matches!(out[..], [Output::Failed(StartError::Unbound)]), "{out:?}");
    assert!(handle(&mut replica, Input::Timer).is_empty());
    assert!(matches!(started(1, 0, Loaded::default()).1[..], [Output::Failed(StartError::Bootstrap(_))]));
    let (mut replica, _) = started(1, 3, Loaded::default());
    let out = handle(&mut replica, Input::PeerReached(node(1)));
    assert!(matches!(out[..], [Output::Failed(StartError::Bootstrap(_))]), "its own address twice: {out:?}");
}

#[test]
fn call_before_it_takes_part_fails_and_a_query_is_answered() {
    let (mut replica, _) = started(1, 3, Loaded::default());
    let out = handle(&mut replica, Input::Call { call: CallId(5), request: Request::Read });
    let [Output::Reply { call: CallId(5), reply: Reply::Failed(ProposeError::NotStarted) }] = out[..] else {
        panic!("{out:?}")
    };
    let message = ReplicaMessage::BootstrapQuery { directory: directory(2) };
    let out = handle(&mut replica, Input::Message { from: node(2), message });
    let [Output::Send { message: ReplicaMessage::BootstrapReport(report), .. }] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((report.node, &report.state), (node(1), &PeerState::Empty));
}

#[test]
fn timer_is_asked_for_once_and_replaced_when_it_changes() {
    let (mut replica, _) = started(1, 1, Loaded::default());
    let out = handle(&mut replica, Input::Persisted(Ticket(0)));
    let timers = |out: &Out| out.iter().filter(|it| matches!(it, Output::Timer(_))).count();
    assert_eq!(timers(&out), 1);
    assert_eq!(timers(&handle(&mut replica, Input::Health(1))), 0, "it is the same");
    assert_eq!(timers(&handle(&mut replica, Input::Timer)), 1, "it has passed");
}
