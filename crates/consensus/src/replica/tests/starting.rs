//! A replica before it takes part: it asks, founds, joins or refuses to start.

use super::*;
use crate::message::Member;
use crate::roster::Roster;

fn report(number: u64, members: Option<Vec<Member>>) -> Input {
    let report = Report { node: node(number), directory: directory(number), members, learners: Vec::new() };
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

fn is_opened(out: &Out) -> bool {
    out.iter().any(|it| matches!(it, Output::Opened(_)))
}

#[test]
fn empty_replica_asks_every_peer_it_reached_until_all_have_reported_and_founds() {
    let (mut replica, out) = started(1, 3, Loaded::default());
    assert!(matches!(out[..], [Output::Timer(_)]), "{out:?}");
    assert_eq!(queries(&handle(&mut replica, Input::PeerReached(node(2)))), [2]);
    assert_eq!(queries(&handle(&mut replica, Input::PeerReached(node(3)))), [3]);
    assert_eq!(queries(&handle(&mut replica, Input::Timer)), [2, 3]);
    assert!(handle(&mut replica, report(2, None)).is_empty(), "one is missing");
    let out = handle(&mut replica, report(3, None));
    let [batch] = written(&out)[..] else { panic!("{out:?}") };
    assert_eq!(batch.raft_id, Some(RaftId::FIRST));
    assert!(!is_opened(&out) && replica.group().is_none(), "not before it is on disk");
    let ticket = batch.ticket;
    let out = handle(&mut replica, Input::Persisted(ticket));
    assert!(is_opened(&out) && out.iter().any(|it| matches!(it, Output::Timer(_))), "{out:?}");
    assert_eq!(replica.group().unwrap().configuration().voters.len(), 3);
}

#[test]
fn report_of_somebody_who_was_not_asked_or_in_anothers_name_is_ignored() {
    let (mut replica, _) = started(1, 2, Loaded::default());
    assert!(handle(&mut replica, report(2, None)).is_empty());
    handle(&mut replica, Input::PeerReached(node(2)));
    let Input::Message { message, .. } = report(2, None) else { unreachable!() };
    assert!(handle(&mut replica, Input::Message { from: node(3), message }).is_empty());
    assert_eq!(written(&handle(&mut replica, report(2, None))).len(), 1);
}

#[test]
fn replica_that_was_added_begins_with_its_raft_id_alone() {
    let (mut replica, _) = started(4, 4, Loaded::default());
    handle(&mut replica, Input::PeerReached(node(1)));
    let founders: BTreeMap<_, _> = (1..=3).map(|number| (node(number), directory(number))).collect();
    let mut members: Vec<Member> = Roster::founding(&founders).members().copied().collect();
    assert!(handle(&mut replica, report(1, Some(members.clone()))).is_empty(), "nobody has added it yet");
    let raft_id = RaftId::new(4).unwrap();
    members.push(Member { raft_id, node: node(4), directory: directory(4) });
    let mut added = report(1, Some(members));
    if let Input::Message { message: ReplicaMessage::BootstrapReport(report), .. } = &mut added {
        report.learners = vec![raft_id];
    }
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
    assert!(matches!(out[..], [Output::Reply { call: CallId(5), reply: Reply::Failed(_) }]), "{out:?}");
    let message = ReplicaMessage::BootstrapQuery { directory: directory(2) };
    let out = handle(&mut replica, Input::Message { from: node(2), message });
    let [Output::Send { message: ReplicaMessage::BootstrapReport(report), .. }] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((report.node, &report.members), (node(1), &None));
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
