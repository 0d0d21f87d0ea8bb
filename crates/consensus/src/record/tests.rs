use prost::Message as _;

use super::*;
use crate::convert::tests::full_message;

#[test]
fn every_message_survives_the_wire() {
    for (kind, _) in KINDS {
        let mut message = full_message(kind);
        message.proof = Some(StateProof { index: 3, hash: StateHash(u64::MAX) });
        let bytes = message_out(message.clone()).encode_to_vec();
        let read = wire::RaftMessage::decode(&bytes[..]).unwrap();
        assert_eq!(message_in(read), Ok(message));
    }
}

#[test]
fn kinds_that_peers_must_not_send_are_refused() {
    for kind in [
        wire::RaftMessageType::Unspecified,
        wire::RaftMessageType::TransferLeader,
        wire::RaftMessageType::Unreachable,
    ] {
        let mut message = message_out(full_message(MessageKind::Heartbeat));
        message.r#type = kind.into();
        assert!(message_in(message).is_err(), "{kind:?}");
    }
}

#[test]
fn what_is_missing_is_an_error_and_never_a_default() {
    let broken = |change: fn(&mut wire::RaftMessage)| {
        let mut message = message_out(full_message(MessageKind::Snapshot));
        change(&mut message);
        message_in(message)
    };
    assert!(broken(|m| m.from = 0).is_err());
    assert!(broken(|m| m.entries[0].r#type = 0).is_err());
    assert!(broken(|m| m.entries[1].command = Bytes::new()).is_err());
    assert!(broken(|m| m.entries[2].configuration = None).is_err());
    assert!(broken(|m| m.snapshot.as_mut().unwrap().meta = None).is_err());
    assert!(broken(|m| m.snapshot.as_mut().unwrap().meta.as_mut().unwrap().format_version = 9).is_err());
    assert!(broken(|_| {}).is_ok());
}

#[test]
fn hard_state_survives_the_disk() {
    let state = HardState { term: 7, vote: RaftId::new(3), commit: 9 };
    assert_eq!(hard_state_in(&hard_state_out(state)), state);
}
