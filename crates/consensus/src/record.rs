//! Messages, entries and snapshots as the messages of `proto/log.proto`: what crosses the wire and what is on disk.
//!
//! What is missing, unknown or contradicts itself is an error that names it, never a default.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::messages as wire;

use crate::apply::StateHash;
use crate::id::{DirectoryId, RaftId};
use crate::message::{
    Addresses, Configuration, ConfigurationChange, ConfigurationStep, Entry, EntryBody, HardState, Member,
    Message, MessageKind, Snapshot, StateProof,
};

/// Version of the layout of snapshots.
const FORMAT: u32 = 1;

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad record: {0}")]
pub struct RecordError(pub &'static str);

type Read<T> = Result<T, RecordError>;

/// Kinds of messages and their names on the wire.
const KINDS: [(MessageKind, wire::RaftMessageType); 10] = [
    (MessageKind::Append, wire::RaftMessageType::Append),
    (MessageKind::AppendResponse, wire::RaftMessageType::AppendResponse),
    (MessageKind::Vote, wire::RaftMessageType::RequestVote),
    (MessageKind::VoteResponse, wire::RaftMessageType::RequestVoteResponse),
    (MessageKind::PreVote, wire::RaftMessageType::RequestPreVote),
    (MessageKind::PreVoteResponse, wire::RaftMessageType::RequestPreVoteResponse),
    (MessageKind::Snapshot, wire::RaftMessageType::Snapshot),
    (MessageKind::Heartbeat, wire::RaftMessageType::Heartbeat),
    (MessageKind::HeartbeatResponse, wire::RaftMessageType::HeartbeatResponse),
    (MessageKind::TimeoutNow, wire::RaftMessageType::TimeoutNow),
];

/// A message for the wire.
pub fn message_out(message: Message) -> wire::RaftMessage {
    let kind = KINDS.iter().find(|(ours, _)| *ours == message.kind).expect("every kind is in the table").1;
    wire::RaftMessage {
        r#type: kind.into(),
        to: message.to.get(),
        from: message.from.get(),
        term: message.term,
        log_term: message.log_term,
        index: message.index,
        entries: message.entries.into_iter().map(entry_out).collect(),
        commit: message.commit,
        commit_term: message.commit_term,
        snapshot: message.snapshot.map(snapshot_out),
        reject: message.rejection.is_some(),
        reject_hint: message.rejection.unwrap_or_default(),
        context: message.context,
        priority: message.priority,
        lacks_blobs: message.lacks_blobs,
        proof: message.proof.map(|proof| wire::StateProof { index: proof.index, hash: proof.hash.0 }),
    }
}

/// A message from the wire. Kinds that peers must not send are unknown here.
pub fn message_in(message: wire::RaftMessage) -> Read<Message> {
    let kind = KINDS.iter().find(|(_, theirs)| i32::from(*theirs) == message.r#type);
    Ok(Message {
        kind: kind.ok_or(RecordError("a kind of message that peers do not send"))?.0,
        to: raft_id(message.to)?,
        from: raft_id(message.from)?,
        term: message.term,
        log_term: message.log_term,
        index: message.index,
        entries: message.entries.into_iter().map(entry_in).collect::<Read<_>>()?,
        commit: message.commit,
        commit_term: message.commit_term,
        snapshot: message.snapshot.map(snapshot_in).transpose()?,
        rejection: message.reject.then_some(message.reject_hint),
        context: message.context,
        priority: message.priority,
        proof: message.proof.map(|proof| StateProof { index: proof.index, hash: StateHash(proof.hash) }),
        lacks_blobs: message.lacks_blobs,
    })
}

/// An entry for wire and disk.
pub fn entry_out(entry: Entry) -> wire::LogEntry {
    let (kind, command, configuration) = match entry.body {
        EntryBody::Empty => (wire::LogEntryType::Empty, Bytes::new(), None),
        EntryBody::Command(command) => (wire::LogEntryType::Command, command, None),
        EntryBody::Configuration(change) => {
            (wire::LogEntryType::Configuration, Bytes::new(), Some(change_out(&change)))
        }
    };
    wire::LogEntry {
        r#type: kind.into(),
        term: entry.term,
        index: entry.index,
        command,
        configuration,
        context: Bytes::new(),
    }
}

/// An entry from wire or disk.
pub fn entry_in(entry: wire::LogEntry) -> Read<Entry> {
    let body = match wire::LogEntryType::try_from(entry.r#type) {
        Ok(wire::LogEntryType::Empty) => EntryBody::Empty,
        Ok(wire::LogEntryType::Command) if entry.command.is_empty() => {
            return Err(RecordError("a command without bytes"));
        }
        Ok(wire::LogEntryType::Command) => EntryBody::Command(entry.command),
        Ok(wire::LogEntryType::Configuration) => {
            let change = entry.configuration.ok_or(RecordError("a configuration entry without a change"))?;
            EntryBody::Configuration(change_in(change)?)
        }
        Ok(wire::LogEntryType::Unspecified) | Err(_) => {
            return Err(RecordError("an entry of an unknown kind"));
        }
    };
    Ok(Entry { index: entry.index, term: entry.term, body })
}

pub(crate) fn change_out(change: &ConfigurationChange) -> wire::ConfigurationChange {
    let step = |step: &ConfigurationStep| {
        let (kind, id) = match *step {
            ConfigurationStep::AddVoter(id) => (wire::ConfigurationChangeType::AddVoter, id),
            ConfigurationStep::AddLearner(id) => (wire::ConfigurationChangeType::AddLearner, id),
            ConfigurationStep::Remove(id) => (wire::ConfigurationChangeType::Remove, id),
        };
        wire::ConfigurationStep { r#type: kind.into(), raft_id: id.get() }
    };
    wire::ConfigurationChange {
        transition: wire::ConfigurationTransition::Explicit.into(),
        steps: change.steps.iter().map(step).collect(),
        member: change.member.map(member_out),
    }
}

/// A member for wire and disk.
pub fn member_out(member: Member) -> wire::Member {
    wire::Member {
        raft_id: member.raft_id.get(),
        node: Some(wire::NodeRef {
            boot_epoch: member.boot.0,
            ..addresses_out(member.node, member.addresses)
        }),
        directory_id: Bytes::copy_from_slice(&member.directory.0),
    }
}

/// A member from wire or disk.
pub fn member_in(member: wire::Member) -> Read<Member> {
    let node = member.node.ok_or(RecordError("a member without node"))?;
    Ok(Member {
        raft_id: raft_id(member.raft_id)?,
        node: NodeId::new(node.node_id).ok_or(RecordError("a member without node"))?,
        directory: directory_in(&member.directory_id)?,
        addresses: addresses_in(&node)?,
        boot: BootEpoch(node.boot_epoch),
    })
}

/// Where a node says it is reached.
pub fn addresses_in(node: &wire::NodeRef) -> Read<Addresses> {
    let address = |text: &str| text.parse().map_err(|_| RecordError("an address that is none"));
    let api = (!node.api_address.is_empty()).then(|| address(&node.api_address)).transpose()?;
    Ok(Addresses { peer: address(&node.peer_address)?, api })
}

/// Where this node is reached.
pub fn addresses_out(node: NodeId, addresses: Addresses) -> wire::NodeRef {
    wire::NodeRef {
        node_id: node.get(),
        peer_address: addresses.peer.to_string(),
        api_address: addresses.api.map(|api| api.to_string()).unwrap_or_default(),
        ..Default::default()
    }
}

/// The id of a data directory from wire or disk.
pub fn directory_in(bytes: &[u8]) -> Read<DirectoryId> {
    bytes.try_into().map(DirectoryId).map_err(|_| RecordError("a directory id has 16 bytes"))
}

pub(crate) fn change_in(change: wire::ConfigurationChange) -> Read<ConfigurationChange> {
    if change.transition != i32::from(wire::ConfigurationTransition::Explicit) {
        return Err(RecordError("a change that is not left explicitly"));
    }
    let step = |step: wire::ConfigurationStep| {
        let id = raft_id(step.raft_id)?;
        match wire::ConfigurationChangeType::try_from(step.r#type) {
            Ok(wire::ConfigurationChangeType::AddVoter) => Ok(ConfigurationStep::AddVoter(id)),
            Ok(wire::ConfigurationChangeType::AddLearner) => Ok(ConfigurationStep::AddLearner(id)),
            Ok(wire::ConfigurationChangeType::Remove) => Ok(ConfigurationStep::Remove(id)),
            Ok(wire::ConfigurationChangeType::Unspecified) | Err(_) => Err(RecordError("an unknown step")),
        }
    };
    Ok(ConfigurationChange {
        steps: change.steps.into_iter().map(step).collect::<Read<_>>()?,
        member: change.member.map(member_in).transpose()?,
    })
}

/// A snapshot for wire and disk.
pub fn snapshot_out(snapshot: Snapshot) -> wire::RaftSnapshot {
    let numbers = |ids: Vec<RaftId>| ids.into_iter().map(RaftId::get).collect();
    let configuration = wire::ConfigurationState {
        voters: numbers(snapshot.configuration.voters),
        learners: numbers(snapshot.configuration.learners),
        voters_outgoing: numbers(snapshot.configuration.voters_outgoing),
        learners_next: numbers(snapshot.configuration.learners_next),
        auto_leave: false,
    };
    let meta = wire::SnapshotMeta {
        index: snapshot.index,
        term: snapshot.term,
        configuration: Some(configuration),
        format_version: FORMAT,
        ..Default::default()
    };
    wire::RaftSnapshot { meta: Some(meta), data: snapshot.state, blob: None }
}

/// A snapshot from wire or disk, its data inline.
pub fn snapshot_in(snapshot: wire::RaftSnapshot) -> Read<Snapshot> {
    let meta = snapshot.meta.ok_or(RecordError("a snapshot without description"))?;
    if meta.format_version != FORMAT {
        return Err(RecordError("a snapshot of an unknown format"));
    }
    let ids = |numbers: Vec<u64>| numbers.into_iter().map(raft_id).collect::<Read<Vec<RaftId>>>();
    let configuration = meta.configuration.ok_or(RecordError("a snapshot without configuration"))?;
    Ok(Snapshot {
        index: meta.index,
        term: meta.term,
        configuration: Configuration {
            voters: ids(configuration.voters)?,
            learners: ids(configuration.learners)?,
            voters_outgoing: ids(configuration.voters_outgoing)?,
            learners_next: ids(configuration.learners_next)?,
        },
        state: snapshot.data,
    })
}

/// Term and vote for the disk.
pub fn hard_state_out(state: HardState) -> wire::HardState {
    wire::HardState { term: state.term, vote: state.vote.map_or(0, RaftId::get), commit: state.commit }
}

/// Term and vote from the disk.
pub fn hard_state_in(state: &wire::HardState) -> HardState {
    HardState { term: state.term, vote: RaftId::new(state.vote), commit: state.commit }
}

fn raft_id(number: u64) -> Read<RaftId> {
    RaftId::new(number).ok_or(RecordError("zero is no raft id"))
}
