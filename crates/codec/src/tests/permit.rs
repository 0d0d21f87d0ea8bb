//! Who may say what in datagrams.

use hyperscale_wire::counters::Refusal;

use super::*;

/// What nodes of either role say to each other in datagrams: whether it is heard, and how often it was refused.
fn said_between(from: Role, to: Role, cross: bool) -> (bool, u64) {
    let mut sender = example_sender();
    sender.peer.role = from;
    let bytes = if cross {
        let Sender { peer, boot, incarnation } = sender;
        let cluster = ClusterName::new("eu-west-1");
        let from = CrossSender { cluster, node: peer.node, addr: peer.addr, boot, incarnation };
        let message = CrossMessage { from, body: CrossBody::XProbe { seq: 1, target: None } };
        gossip::encode_cross(&message, peer.role, OURS)
    } else {
        gossip::encode(&Datagram { from: sender, ..example() }, OURS)
    };
    let mut counters = Counters::default();
    let heard = gossip::decode(&bytes, id(1), to, OURS, &mut counters);
    assert!(heard.is_ok() || matches!(heard, Err(Unreadable::NotPermitted(_))), "{heard:?}");
    (heard.is_ok(), counters.refused(Refusal::NotPermitted))
}

#[test]
fn datagrams_are_heard_by_whom_their_sender_may_speak_to_and_refused_and_counted_by_others() {
    let (worker, manager, gate) = (Role::Worker, Role::Manager, Role::Gate);
    let (heard, refused) = ((true, 0), (false, 1));
    for (from, to, as_member, across) in [
        (worker, worker, heard, refused),
        (worker, manager, heard, refused),
        (worker, gate, refused, refused),
        (manager, worker, heard, refused),
        (manager, manager, heard, refused),
        (manager, gate, refused, heard),
        (gate, worker, refused, refused),
        (gate, manager, refused, heard),
        (gate, gate, heard, refused),
    ] {
        assert_eq!(said_between(from, to, false), as_member, "{from} to {to}");
        assert_eq!(said_between(from, to, true), across, "{from} to {to}, between clusters");
    }
}

#[test]
fn worker_with_a_certificate_does_not_gossip_as_a_manager() {
    let mut sender = example_sender();
    sender.peer.role = Role::Manager;
    let bytes = gossip::encode(&Datagram { from: sender, ..example() }, OURS);
    let mut counters = Counters::default();
    let mut heard = |proven| {
        let sealed_by = gossip::SealedBy { node: id(1), proven };
        gossip::decode(&bytes, sealed_by, Role::Manager, OURS, &mut counters)
    };
    assert!(heard(None).is_ok(), "with the shared secret a role is claimed");
    assert!(heard(Some(Role::Manager)).is_ok());
    assert_eq!(heard(Some(Role::Worker)), Err(Unreadable::OtherRole));
    assert_eq!(counters.refused(Refusal::NotPermitted), 1);
    // Nor does it gossip that it is one.
    let mut about_itself = example_sender().alive();
    about_itself.peer.role = Role::Manager;
    sender.peer.role = Role::Worker;
    let members = vec![about_itself];
    let bytes = gossip::encode(&Datagram { from: sender, members, ..example() }, OURS);
    let sealed_by = gossip::SealedBy { node: id(1), proven: Some(Role::Worker) };
    let heard = gossip::decode(&bytes, sealed_by, Role::Manager, OURS, &mut counters);
    assert_eq!(heard, Err(Unreadable::OtherRole));
}
