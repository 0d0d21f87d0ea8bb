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
