//! What replicas of a log group say to each other: messages of the control lane, and transfers of the bulk lane for what may
//! be large.

use bytes::Bytes;
use hyperscale_consensus::replica::ReplicaMessage;
use hyperscale_consensus::{
    BlobId, Leader, Message, MessageKind, PeerState, ProposeError, QuorumError, RaftId, Reach, Report,
    Snapshot, record,
};
use hyperscale_types::NodeId;
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::messages::{
    ApplyResult, BlobData, BlobGet, BlobPut, BlobPutAnswer, BlobRef, BootstrapAnswer, BootstrapQuery,
    BootstrapState, Bulk, Control, Encoding, Error, ErrorCode, ErrorDetails, Propose, Proposed, RaftBatch,
    RaftSnapshot, ReadIndex, ReadIndexAnswer, SnapshotTransfer, bulk, control,
};

use crate::Unreadable;

/// How long an asker waits for a proposal or a read at least; the group gives up earlier.
const DEADLINE_MS: u64 = 5_000;

/// What is sent for a message of this group.
pub fn to_outgoing(group: &str, message: ReplicaMessage) -> Outgoing {
    let group = group.to_owned();
    let (call_id, answer, deadline_ms, body) = match message {
        ReplicaMessage::Raft(message) if message.kind == MessageKind::Snapshot => {
            return snapshot_out(group, *message);
        }
        ReplicaMessage::Raft(message) => {
            let messages = vec![record::message_out(*message)];
            (0, false, 0, control::Body::Raft(RaftBatch { group, messages }))
        }
        ReplicaMessage::BlobPut { blob, bytes } => {
            let request_id = Bytes::copy_from_slice(&blob.hash);
            let head = BlobPut { request_id, blob: Some(blob_out(blob)), encoding: Encoding::Plain.into() };
            return Outgoing::Transfer(bulk(bulk::Body::BlobPut(head)), bytes);
        }
        ReplicaMessage::BlobData { blob, bytes } => {
            let head = BlobData { blob: Some(blob_out(blob)), encoding: Encoding::Plain.into() };
            return Outgoing::Transfer(bulk(bulk::Body::BlobData(head)), bytes);
        }
        ReplicaMessage::BlobStored { blob } => {
            let answer = BlobPutAnswer { blob: Some(blob_out(blob)), stored: true };
            return Outgoing::Bulk(bulk(bulk::Body::BlobPutAnswer(answer)));
        }
        ReplicaMessage::BlobGet { blob } => {
            return Outgoing::Bulk(bulk(bulk::Body::BlobGet(BlobGet { blob: Some(blob_out(blob)) })));
        }
        ReplicaMessage::BootstrapQuery { directory } => {
            let directory_id = Bytes::copy_from_slice(&directory.0);
            let query = BootstrapQuery { peers: Vec::new(), directory_id };
            (0, false, DEADLINE_MS, control::Body::BootstrapQuery(query))
        }
        ReplicaMessage::BootstrapReport(report) => {
            (0, true, 0, control::Body::BootstrapAnswer(report_out(&report, group)))
        }
        ReplicaMessage::Propose { number, command } => {
            let request_id = Bytes::copy_from_slice(&number.to_be_bytes());
            (number, false, DEADLINE_MS, control::Body::Propose(Propose { request_id, group, command }))
        }
        ReplicaMessage::Proposed { number, result } => {
            let result = match result {
                Ok((index, outcome)) => ApplyResult { index, outcome, error: None },
                Err(error) => ApplyResult { error: Some(error_out(error)), ..ApplyResult::default() },
            };
            (number, true, 0, control::Body::Proposed(Proposed { results: vec![result] }))
        }
        ReplicaMessage::ReadIndex { number } => {
            (number, false, DEADLINE_MS, control::Body::ReadIndex(ReadIndex { group }))
        }
        ReplicaMessage::ReadIndexAnswer { number, result: Ok(index) } => {
            (number, true, 0, control::Body::ReadIndexAnswer(ReadIndexAnswer { index }))
        }
        ReplicaMessage::ReadIndexAnswer { number, result: Err(error) } => {
            (number, true, 0, control::Body::Error(error_out(error)))
        }
    };
    Outgoing::Control(Control { call_id, answer, deadline_ms, body: Some(body) })
}

/// Reads what arrived from this node; nothing if it is not for the log.
pub fn from_incoming(
    group: &str,
    sent_by: NodeId,
    incoming: Incoming,
) -> Result<Vec<ReplicaMessage>, Unreadable> {
    match incoming {
        Incoming::Control(message) => control_in(group, sent_by, message),
        Incoming::Transfer(Bulk { body: Some(bulk::Body::Snapshot(head)), .. }, data) => {
            Ok(vec![snapshot_in(group, *head, data)?])
        }
        Incoming::Transfer(Bulk { body: Some(bulk::Body::BlobPut(head)), .. }, bytes) => {
            Ok(vec![ReplicaMessage::BlobPut { blob: blob_in(head.blob)?, bytes }])
        }
        Incoming::Transfer(Bulk { body: Some(bulk::Body::BlobData(head)), .. }, bytes) => {
            Ok(vec![ReplicaMessage::BlobData { blob: blob_in(head.blob)?, bytes }])
        }
        Incoming::Bulk(Bulk { body: Some(bulk::Body::BlobPutAnswer(answer)), .. }) if answer.stored => {
            Ok(vec![ReplicaMessage::BlobStored { blob: blob_in(answer.blob)? }])
        }
        Incoming::Bulk(Bulk { body: Some(bulk::Body::BlobGet(get)), .. }) => {
            Ok(vec![ReplicaMessage::BlobGet { blob: blob_in(get.blob)? }])
        }
        Incoming::Admitted(_) | Incoming::Bulk(_) | Incoming::Transfer(..) => Ok(Vec::new()),
    }
}

/// Whether only replicas say this to each other. An error answers a question of the replica.
pub fn is_of_log(message: &Incoming) -> bool {
    use {bulk::Body as B, control::Body as C};
    match message {
        Incoming::Control(Control { body: Some(body), .. }) => matches!(
            body,
            C::Raft(_)
                | C::Propose(_)
                | C::Proposed(_)
                | C::ReadIndex(_)
                | C::ReadIndexAnswer(_)
                | C::BootstrapQuery(_)
                | C::BootstrapAnswer(_)
                | C::Error(_)
        ),
        Incoming::Bulk(Bulk { body: Some(body), .. }) => matches!(body, B::BlobPutAnswer(_) | B::BlobGet(_)),
        Incoming::Transfer(Bulk { body: Some(body), .. }, _) => {
            matches!(body, B::Snapshot(_) | B::BlobPut(_) | B::BlobData(_))
        }
        _ => false,
    }
}

fn control_in(group: &str, sent_by: NodeId, message: Control) -> Result<Vec<ReplicaMessage>, Unreadable> {
    let number = message.call_id;
    let in_group = |named: &str| if named == group { Ok(()) } else { Err(Unreadable::OtherGroup) };
    Ok(vec![match message.body {
        Some(control::Body::Raft(batch)) => {
            in_group(&batch.group)?;
            let read = |message| Ok(ReplicaMessage::Raft(Box::new(record::message_in(message)?)));
            return batch.messages.into_iter().map(read).collect();
        }
        Some(control::Body::BootstrapQuery(query)) => {
            ReplicaMessage::BootstrapQuery { directory: record::directory_in(&query.directory_id)? }
        }
        Some(control::Body::BootstrapAnswer(answer)) => {
            in_group(&answer.cluster)?;
            ReplicaMessage::BootstrapReport(report_in(answer, sent_by)?)
        }
        Some(control::Body::Propose(propose)) => {
            in_group(&propose.group)?;
            ReplicaMessage::Propose { number, command: propose.command }
        }
        Some(control::Body::Proposed(proposed)) => {
            let result = proposed.results.into_iter().next().ok_or(Unreadable::Missing("results"))?;
            let result = match result.error {
                Some(error) => Err(error_in(&error)?),
                None => Ok((result.index, result.outcome)),
            };
            ReplicaMessage::Proposed { number, result }
        }
        Some(control::Body::ReadIndex(read)) => {
            in_group(&read.group)?;
            ReplicaMessage::ReadIndex { number }
        }
        Some(control::Body::ReadIndexAnswer(answer)) => {
            ReplicaMessage::ReadIndexAnswer { number, result: Ok(answer.index) }
        }
        Some(control::Body::Error(error)) if message.answer => {
            ReplicaMessage::ReadIndexAnswer { number, result: Err(error_in(&error)?) }
        }
        _ => return Ok(Vec::new()),
    }])
}

fn bulk(body: bulk::Body) -> Bulk {
    Bulk { body: Some(body), ..Bulk::default() }
}

fn blob_out(blob: BlobId) -> BlobRef {
    BlobRef { hash: Bytes::copy_from_slice(&blob.hash), length: blob.length }
}

/// Reads the id of a blob.
pub fn blob_in(blob: Option<BlobRef>) -> Result<BlobId, Unreadable> {
    let blob = blob.ok_or(Unreadable::Missing("blob"))?;
    let hash = blob.hash[..].try_into().map_err(|_| Unreadable::OutOfRange("blob.hash"))?;
    Ok(BlobId { hash, length: blob.length })
}

fn snapshot_out(group: String, message: Message) -> Outgoing {
    let (from, to, term) = (message.from.get(), message.to.get(), message.term);
    let RaftSnapshot { meta, data, .. } = record::snapshot_out(message.snapshot.unwrap_or_default());
    let blob = Some(BlobRef { hash: Bytes::new(), length: data.len() as u64 });
    let encoding = Encoding::Plain.into();
    let head = SnapshotTransfer { group, meta, blob, encoding, from, to, term };
    Outgoing::Transfer(bulk(bulk::Body::Snapshot(Box::new(head))), data)
}

fn snapshot_in(group: &str, head: SnapshotTransfer, data: Bytes) -> Result<ReplicaMessage, Unreadable> {
    if head.group != group {
        return Err(Unreadable::OtherGroup);
    }
    if head.blob.as_ref().is_none_or(|blob| blob.length != data.len() as u64) {
        return Err(Unreadable::OutOfRange("blob"));
    }
    let id = |number| RaftId::new(number).ok_or(Unreadable::Missing("raft_id"));
    let snapshot = RaftSnapshot { meta: head.meta, data, blob: None };
    let snapshot: Snapshot = record::snapshot_in(snapshot)?;
    let (from, to) = (id(head.from)?, id(head.to)?);
    Ok(ReplicaMessage::Raft(Box::new(Message::of_snapshot(from, to, head.term, snapshot))))
}

fn report_out(report: &Report, cluster: String) -> BootstrapAnswer {
    let (state, learners) = match &report.state {
        PeerState::Empty => (BootstrapState::Empty, Vec::new()),
        PeerState::Acknowledged(_) => (BootstrapState::Acknowledged, Vec::new()),
        PeerState::Running { learners, .. } => (BootstrapState::Running, learners.clone()),
    };
    BootstrapAnswer {
        state: state.into(),
        node: Some(record::addresses_out(report.node, report.addresses)),
        directory_id: Bytes::copy_from_slice(&report.directory.0),
        cluster,
        members: report.state.members().iter().copied().map(record::member_out).collect(),
        learners: learners.into_iter().map(RaftId::get).collect(),
    }
}

fn report_in(answer: BootstrapAnswer, node: NodeId) -> Result<Report, Unreadable> {
    let state = answer.state();
    let members = answer.members.into_iter().map(record::member_in).collect::<Result<Vec<_>, _>>()?;
    let learner = |number| RaftId::new(number).ok_or(Unreadable::Missing("learners"));
    let state = match state {
        BootstrapState::Empty => PeerState::Empty,
        BootstrapState::Acknowledged => PeerState::Acknowledged(members),
        BootstrapState::Running => {
            let learners = answer.learners.into_iter().map(learner).collect::<Result<_, _>>()?;
            PeerState::Running { members, learners }
        }
        BootstrapState::Unspecified => return Err(Unreadable::Unknown("state")),
    };
    let addresses = record::addresses_in(&answer.node.ok_or(Unreadable::Missing("node"))?)?;
    Ok(Report { node, directory: record::directory_in(&answer.directory_id)?, addresses, state })
}

fn error_out(error: ProposeError) -> Error {
    let (code, reach) = match error {
        ProposeError::NotLeader { leader } => {
            let node = leader.map(|leader| record::addresses_out(leader.node, leader.addresses));
            let details = node.map(|node| ErrorDetails { node: Some(node), ..ErrorDetails::default() });
            let (code, message) = (ErrorCode::NotLeader.into(), error.to_string());
            return Error { code, message, retry_after_ms: 0, details };
        }
        ProposeError::NoQuorum { reachable, needed } => {
            (ErrorCode::NoQuorum, Some(Reach { reachable, needed }))
        }
        ProposeError::Quorum(QuorumError::Unavailable(reach)) => (ErrorCode::QuorumUnavailable, Some(reach)),
        ProposeError::Quorum(QuorumError::Timeout(reach)) => (ErrorCode::QuorumTimeout, Some(reach)),
        ProposeError::Quorum(QuorumError::CircuitOpen(reach)) => (ErrorCode::QuorumCircuitOpen, Some(reach)),
        ProposeError::Transferring => (ErrorCode::Transferring, None),
        ProposeError::Overloaded => (ErrorCode::Overloaded, None),
        ProposeError::Size => (ErrorCode::TooLarge, None),
        ProposeError::Replaced => (ErrorCode::Replaced, None),
        // Changes of the configuration are made where the leader is, and never asked for over the wire.
        ProposeError::Change(_) => (ErrorCode::Invalid, None),
        ProposeError::Halted => (ErrorCode::Halted, None),
        ProposeError::NotStarted => (ErrorCode::NotStarted, None),
    };
    let details = reach.map(|reach| ErrorDetails {
        voters_reachable: u32::try_from(reach.reachable).ok(),
        voters_needed: u32::try_from(reach.needed).ok(),
        ..ErrorDetails::default()
    });
    Error { code: code.into(), message: error.to_string(), retry_after_ms: 0, details }
}

fn error_in(error: &Error) -> Result<ProposeError, Unreadable> {
    let reach = || {
        let details = error.details.as_ref().ok_or(Unreadable::Missing("details"))?;
        let voters = |number: Option<u32>| number.ok_or(Unreadable::Missing("voters"));
        let (reachable, needed) = (voters(details.voters_reachable)?, voters(details.voters_needed)?);
        Ok::<_, Unreadable>(Reach { reachable: reachable as usize, needed: needed as usize })
    };
    Ok(match error.code() {
        ErrorCode::NotLeader => ProposeError::NotLeader { leader: leader_in(error)? },
        ErrorCode::NoQuorum => {
            let Reach { reachable, needed } = reach()?;
            ProposeError::NoQuorum { reachable, needed }
        }
        ErrorCode::QuorumUnavailable => QuorumError::Unavailable(reach()?).into(),
        ErrorCode::QuorumTimeout => QuorumError::Timeout(reach()?).into(),
        ErrorCode::QuorumCircuitOpen => QuorumError::CircuitOpen(reach()?).into(),
        ErrorCode::Transferring => ProposeError::Transferring,
        ErrorCode::Overloaded => ProposeError::Overloaded,
        ErrorCode::TooLarge => ProposeError::Size,
        ErrorCode::Replaced => ProposeError::Replaced,
        ErrorCode::Halted => ProposeError::Halted,
        ErrorCode::NotStarted => ProposeError::NotStarted,
        _ => return Err(Unreadable::Unknown("error.code")),
    })
}

/// Whom a replica takes for the leader, if it says so.
fn leader_in(error: &Error) -> Result<Option<Leader>, Unreadable> {
    let Some(node) = error.details.as_ref().and_then(|details| details.node.as_ref()) else {
        return Ok(None);
    };
    let addresses = record::addresses_in(node)?;
    let node = NodeId::new(node.node_id).ok_or(Unreadable::Missing("details.node"))?;
    Ok(Some(Leader { node, addresses }))
}
