//! Our plain messages to those of raft-rs and back, field by field, so that its protobuf library never parses a byte
//! from outside.
//!
//! A configuration entry keeps the change in its `context`, as it is on disk; raft-rs reads the `data` of such an entry
//! only where it is proposed, and there it was written by raft-rs itself a moment before.

use bytes::Bytes;
use hyperscale_wire::messages as wire;
use prost::Message as _;
use raft::eraftpb;
use raft::eraftpb::{ConfChangeTransition, ConfChangeType, EntryType, MessageType};

use crate::id::RaftId;
use crate::message::{
    Configuration, ConfigurationChange, ConfigurationStep, Entry, EntryBody, HardState, Message, MessageKind,
    Snapshot,
};
use crate::record;

/// Kinds of messages and their names in raft-rs. What is not here does not leave or enter this node.
const KINDS: [(MessageKind, MessageType); 10] = [
    (MessageKind::Append, MessageType::MsgAppend),
    (MessageKind::AppendResponse, MessageType::MsgAppendResponse),
    (MessageKind::Vote, MessageType::MsgRequestVote),
    (MessageKind::VoteResponse, MessageType::MsgRequestVoteResponse),
    (MessageKind::PreVote, MessageType::MsgRequestPreVote),
    (MessageKind::PreVoteResponse, MessageType::MsgRequestPreVoteResponse),
    (MessageKind::Snapshot, MessageType::MsgSnapshot),
    (MessageKind::Heartbeat, MessageType::MsgHeartbeat),
    (MessageKind::HeartbeatResponse, MessageType::MsgHeartbeatResponse),
    (MessageKind::TimeoutNow, MessageType::MsgTimeoutNow),
];

/// A message for raft-rs.
pub(crate) fn message_in(message: Message) -> eraftpb::Message {
    let mut out = eraftpb::Message::default();
    out.set_msg_type(kind_in(message.kind));
    out.to = message.to.get();
    out.from = message.from.get();
    out.term = message.term;
    out.log_term = message.log_term;
    out.index = message.index;
    out.set_entries(message.entries.into_iter().map(entry_in).collect::<Vec<_>>().into());
    out.commit = message.commit;
    out.commit_term = message.commit_term;
    if let Some(snapshot) = message.snapshot {
        out.set_snapshot(snapshot_in(snapshot));
    }
    out.reject = message.rejection.is_some();
    out.reject_hint = message.rejection.unwrap_or_default();
    out.context = message.context;
    out.priority = message.priority;
    out
}

/// A message of raft-rs, unless it is one that peers do not exchange.
pub(crate) fn message_out(mut message: eraftpb::Message) -> Option<Message> {
    let kind = KINDS.iter().find(|(_, theirs)| *theirs == message.get_msg_type())?.0;
    let snapshot = (kind == MessageKind::Snapshot).then(|| snapshot_out(message.take_snapshot()));
    Some(Message {
        kind,
        to: RaftId::new(message.to)?,
        from: RaftId::new(message.from)?,
        term: message.term,
        log_term: message.log_term,
        index: message.index,
        entries: message.take_entries().into_iter().map(entry_out).collect(),
        commit: message.commit,
        commit_term: message.commit_term,
        snapshot,
        rejection: message.reject.then_some(message.reject_hint),
        context: message.take_context(),
        priority: message.priority,
        proof: None,
        lacks_blobs: false,
    })
}

fn kind_in(kind: MessageKind) -> MessageType {
    KINDS.iter().find(|(ours, _)| *ours == kind).expect("every kind is in the table").1
}

/// An entry for raft-rs.
pub(crate) fn entry_in(entry: Entry) -> eraftpb::Entry {
    let mut out = eraftpb::Entry { index: entry.index, term: entry.term, ..Default::default() };
    match entry.body {
        EntryBody::Empty => {}
        EntryBody::Command(bytes) => out.data = bytes,
        EntryBody::Configuration(change) => {
            out.set_entry_type(EntryType::EntryConfChangeV2);
            out.context = change_bytes(&change);
        }
    }
    out
}

/// An entry of raft-rs.
pub(crate) fn entry_out(mut entry: eraftpb::Entry) -> Entry {
    let body = match entry.get_entry_type() {
        EntryType::EntryNormal if entry.data.is_empty() => EntryBody::Empty,
        EntryType::EntryNormal => EntryBody::Command(entry.take_data()),
        EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => {
            EntryBody::Configuration(change_read(entry.take_context()).unwrap_or_default())
        }
    };
    Entry { index: entry.index, term: entry.term, body }
}

/// A snapshot for raft-rs.
pub(crate) fn snapshot_in(snapshot: Snapshot) -> eraftpb::Snapshot {
    let mut out = eraftpb::Snapshot { data: snapshot.state, ..Default::default() };
    let meta = out.mut_metadata();
    meta.index = snapshot.index;
    meta.term = snapshot.term;
    meta.set_conf_state(configuration_in(&snapshot.configuration));
    out
}

/// A snapshot of raft-rs.
pub(crate) fn snapshot_out(mut snapshot: eraftpb::Snapshot) -> Snapshot {
    let meta = snapshot.take_metadata();
    Snapshot {
        index: meta.index,
        term: meta.term,
        configuration: configuration_out(meta.get_conf_state()),
        state: snapshot.take_data(),
    }
}

/// A configuration for raft-rs.
pub(crate) fn configuration_in(configuration: &Configuration) -> eraftpb::ConfState {
    let numbers = |ids: &[RaftId]| ids.iter().map(|id| id.get()).collect::<Vec<u64>>();
    let mut out = eraftpb::ConfState::default();
    out.set_voters(numbers(&configuration.voters));
    out.set_learners(numbers(&configuration.learners));
    out.set_voters_outgoing(numbers(&configuration.voters_outgoing));
    out.set_learners_next(numbers(&configuration.learners_next));
    out
}

/// A configuration of raft-rs, in order: it comes from a hash map.
pub(crate) fn configuration_out(state: &eraftpb::ConfState) -> Configuration {
    let ids = |numbers: &[u64]| {
        let mut ids: Vec<RaftId> = numbers.iter().copied().filter_map(RaftId::new).collect();
        ids.sort_unstable();
        ids
    };
    Configuration {
        voters: ids(state.get_voters()),
        learners: ids(state.get_learners()),
        voters_outgoing: ids(state.get_voters_outgoing()),
        learners_next: ids(state.get_learners_next()),
    }
}

/// A hard state for raft-rs.
pub(crate) fn hard_state_in(state: HardState) -> eraftpb::HardState {
    let vote = state.vote.map_or(0, RaftId::get);
    eraftpb::HardState { term: state.term, vote, commit: state.commit, ..Default::default() }
}

/// A hard state of raft-rs.
pub(crate) fn hard_state_out(state: &eraftpb::HardState) -> HardState {
    HardState { term: state.term, vote: RaftId::new(state.vote), commit: state.commit }
}

/// A change for raft-rs. Always joint and left explicitly: a leader that dies in between leaves that to the next one.
pub(crate) fn change_in(change: &ConfigurationChange) -> eraftpb::ConfChangeV2 {
    let mut out = eraftpb::ConfChangeV2::default();
    if !change.steps.is_empty() {
        out.set_transition(ConfChangeTransition::Explicit);
    }
    let single = |step: &ConfigurationStep| {
        let (kind, id) = match *step {
            ConfigurationStep::AddVoter(id) => (ConfChangeType::AddNode, id),
            ConfigurationStep::AddLearner(id) => (ConfChangeType::AddLearnerNode, id),
            ConfigurationStep::Remove(id) => (ConfChangeType::RemoveNode, id),
        };
        let mut single = eraftpb::ConfChangeSingle::default();
        single.set_change_type(kind);
        single.node_id = id.get();
        single
    };
    out.set_changes(change.steps.iter().map(single).collect::<Vec<_>>().into());
    out
}

/// A change as it is kept in the context of its entry.
pub(crate) fn change_bytes(change: &ConfigurationChange) -> Bytes {
    record::change_out(change).encode_to_vec().into()
}

/// Reads what [`change_bytes`] wrote.
pub(crate) fn change_read(bytes: Bytes) -> Option<ConfigurationChange> {
    record::change_in(wire::ConfigurationChange::decode(bytes).ok()?).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use hyperscale_types::{BootEpoch, NodeId};

    use super::*;
    use crate::id::DirectoryId;
    use crate::message::{Addresses, Member};

    fn id(number: u64) -> RaftId {
        RaftId::new(number).unwrap()
    }

    pub(crate) fn full_message(kind: MessageKind) -> Message {
        let (node, directory) = (NodeId::new(7).unwrap(), DirectoryId([9; 16]));
        let member =
            Member { raft_id: id(4), node, directory, addresses: Addresses::example(7), boot: BootEpoch(0) };
        let steps = vec![ConfigurationStep::AddLearner(id(4)), ConfigurationStep::Remove(id(2))];
        let change = ConfigurationChange { steps, member: Some(member) };
        let configuration =
            Configuration { voters: vec![id(1), id(2)], learners: vec![id(4)], ..Configuration::default() };
        let snapshot = Snapshot { index: 3, term: 2, configuration, state: Bytes::from_static(b"state") };
        Message {
            kind,
            to: id(2),
            from: id(1),
            term: 5,
            log_term: 4,
            index: 11,
            entries: vec![
                Entry { index: 12, term: 5, body: EntryBody::Empty },
                Entry { index: 13, term: 5, body: EntryBody::Command(Bytes::from_static(b"x")) },
                Entry { index: 14, term: 5, body: EntryBody::Configuration(change) },
            ],
            commit: 10,
            commit_term: 4,
            snapshot: (kind == MessageKind::Snapshot).then_some(snapshot),
            rejection: Some(6),
            context: Bytes::from_static(b"c"),
            priority: -3,
            proof: None,
            lacks_blobs: false,
        }
    }

    #[test]
    fn every_kind_of_message_survives_the_mapping_field_by_field() {
        for (kind, _) in KINDS {
            let message = full_message(kind);
            assert_eq!(message_out(message_in(message.clone())), Some(message));
        }
    }

    #[test]
    fn proposals_reads_transfers_and_local_messages_have_no_word() {
        for theirs in [
            MessageType::MsgPropose,
            MessageType::MsgReadIndex,
            MessageType::MsgReadIndexResp,
            MessageType::MsgTransferLeader,
            MessageType::MsgHup,
            MessageType::MsgBeat,
            MessageType::MsgUnreachable,
            MessageType::MsgSnapStatus,
            MessageType::MsgCheckQuorum,
        ] {
            let mut message = message_in(full_message(MessageKind::Append));
            message.set_msg_type(theirs);
            assert_eq!(message_out(message), None, "{theirs:?}");
        }
    }

    #[test]
    fn hard_state_survives_the_mapping() {
        let state = HardState { term: 3, vote: Some(id(2)), commit: 9 };
        assert_eq!(hard_state_out(&hard_state_in(state)), state);
        assert_eq!(hard_state_out(&hard_state_in(HardState::default())), HardState::default());
    }

    #[test]
    fn changes_that_are_cut_short_are_not_read() {
        let EntryBody::Configuration(change) = full_message(MessageKind::Append).entries.remove(2).body
        else {
            unreachable!()
        };
        let bytes = change_bytes(&change);
        assert_eq!(change_read(bytes.clone()), Some(change));
        for length in [0, 1, 20, bytes.len() - 1] {
            assert_eq!(change_read(bytes.slice(..length)), None, "{length}");
        }
    }
}
