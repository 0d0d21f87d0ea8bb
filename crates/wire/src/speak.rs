//! Who may say what to whom: one table for both modes of authentication.
//!
//! With the shared secret a role is claimed and checked against the committed membership; with certificates it is proven.
//! Either way this table decides what it may say. It also gives every kind its class, in which it is sent and outside of
//! which it is refused: nobody makes progress as urgent as a lease.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyperscale_types::Role;

use crate::class::Class;
use crate::counters::Refusal;
use crate::kind::Kind;

/// A message that its sender's role may not send to the receiver's role. It was not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {from} may not send `{}` to a {to}", kind.name())]
pub struct NotPermitted {
    /// Role of the sender.
    pub from: Role,
    /// Role of the receiver.
    pub to: Role,
    /// What was said.
    pub kind: Kind,
}

impl NotPermitted {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        Refusal::NotPermitted
    }
}

/// Pairs of sender and receiver.
type Pairs = &'static [(Role, Role)];

use Role::{Gate as G, Manager as M, Worker as W};

/// Those who have connections at all: a worker knows its datacenter only.
const CONNECTED: Pairs = &[(W, W), (W, M), (M, W), (M, M), (M, G), (G, M), (G, G)];
/// Members of the same failure detector.
const SWIM: Pairs = &[(W, W), (W, M), (M, W), (M, M), (G, G)];
/// Members of the same log group.
const GROUP: Pairs = &[(M, M), (G, G)];
const BETWEEN_CLUSTERS: Pairs = &[(G, M), (M, G)];
const W_TO_M: Pairs = &[(W, M)];
const M_TO_W: Pairs = &[(M, W)];
const M_TO_M: Pairs = &[(M, M)];
const M_TO_G: Pairs = &[(M, G)];
const G_TO_M: Pairs = &[(G, M)];
const G_TO_G: Pairs = &[(G, G)];

/// From whoever may ask, downwards and to equals: gate → manager → worker.
const DOWN: Pairs = &[(M, W), (M, M), (G, M), (G, G)];
/// Answers to those.
const UP: Pairs = &[(W, M), (M, M), (M, G), (G, G)];

const TABLE: &[(Kind, Class, Pairs)] = &[
    (Kind::Error, Class::Control, CONNECTED),
    (Kind::Hello, Class::Control, CONNECTED),
    (Kind::Welcome, Class::Control, CONNECTED),
    (Kind::Ping, Class::Control, CONNECTED),
    (Kind::Pong, Class::Control, CONNECTED),
    (Kind::Register, Class::Control, UP),
    (Kind::Registered, Class::Control, DOWN),
    (Kind::LeaseRenew, Class::Control, &[(W, M), (M, M), (G, G), (G, M)]),
    (Kind::LeaseRenewed, Class::Control, &[(M, W), (M, M), (G, G), (M, G)]),
    (Kind::Raft, Class::Control, GROUP),
    (Kind::Propose, Class::Control, GROUP),
    (Kind::Proposed, Class::Control, GROUP),
    (Kind::ReadIndex, Class::Control, GROUP),
    (Kind::ReadIndexAnswer, Class::Control, GROUP),
    (Kind::Dispatch, Class::Dispatch, M_TO_W),
    (Kind::DispatchAnswer, Class::Dispatch, W_TO_M),
    (Kind::Cancel, Class::Control, DOWN),
    (Kind::CancelAnswer, Class::Control, UP),
    (Kind::CancelCompletion, Class::Control, UP),
    (Kind::CancelCompletionAnswer, Class::Control, DOWN),
    (Kind::JobLeaderChanged, Class::Control, &[(M, W), (M, G), (G, M)]),
    (Kind::JobLeaderChangedAnswer, Class::Control, &[(W, M), (G, M), (M, G)]),
    (Kind::StateRequest, Class::Control, &[(M, W), (G, M)]),
    (Kind::StateSnapshot, Class::Control, &[(W, M), (M, G)]),
    (Kind::Drain, Class::Control, &[(M, W), (M, M), (G, G)]),
    (Kind::DrainAnswer, Class::Control, &[(W, M), (M, M), (G, G)]),
    (Kind::JobSubmit, Class::Dispatch, &[(G, M), (M, M), (G, G)]),
    (Kind::JobAccepted, Class::Dispatch, &[(M, G), (M, M), (G, G)]),
    (Kind::JobPartEnd, Class::Control, M_TO_G),
    (Kind::JobPartEndAnswer, Class::Control, G_TO_M),
    (Kind::Join, Class::Control, SWIM),
    (Kind::MemberList, Class::Data, SWIM),
    (Kind::SyncDigest, Class::Data, SWIM),
    (Kind::MemberDifference, Class::Data, SWIM),
    (Kind::WorkerDifference, Class::Data, M_TO_M),
    (Kind::StreamProbe, Class::Control, SWIM),
    (Kind::StreamAck, Class::Control, SWIM),
    (Kind::WorkerAnnounce, Class::Control, M_TO_M),
    (Kind::WorkerListRequest, Class::Control, M_TO_M),
    (Kind::WorkerList, Class::Data, M_TO_M),
    (Kind::JobControl, Class::Control, DOWN),
    (Kind::JobControlAnswer, Class::Control, UP),
    (Kind::BootstrapQuery, Class::Control, GROUP),
    (Kind::BootstrapAnswer, Class::Control, GROUP),
    (Kind::JobEvent, Class::Control, M_TO_G),
    (Kind::Direct, Class::Control, M_TO_W),
    (Kind::Presence, Class::Control, GROUP),
    (Kind::Progress, Class::Telemetry, W_TO_M),
    (Kind::ProgressAnswer, Class::Telemetry, &[(M, W), (G, M)]),
    // A worker may tell a manager that does not lead the job; that one hands it on.
    (Kind::AttemptResult, Class::Data, &[(W, M), (M, M)]),
    (Kind::AttemptResultAnswer, Class::Data, &[(M, W), (M, M)]),
    (Kind::BlobPut, Class::Data, &[(W, M), (M, M), (G, M), (M, G), (G, G)]),
    (Kind::BlobPutAnswer, Class::Data, &[(M, W), (M, M), (M, G), (G, M), (G, G)]),
    (Kind::BlobGet, Class::Data, &[(W, M), (M, M), (M, G), (G, M), (G, G)]),
    (Kind::BlobData, Class::Data, &[(M, W), (M, M), (G, M), (M, G), (G, G)]),
    (Kind::Snapshot, Class::Data, GROUP),
    (Kind::SnapshotAnswer, Class::Data, GROUP),
    (Kind::Statistics, Class::Telemetry, G_TO_G),
    (Kind::JobProgress, Class::Telemetry, M_TO_G),
    (Kind::GossipTick, Class::Control, SWIM),
    (Kind::Probe, Class::Control, SWIM),
    (Kind::Ack, Class::Control, SWIM),
    (Kind::Nack, Class::Control, SWIM),
    (Kind::PingReq, Class::Control, SWIM),
    (Kind::XProbe, Class::Control, BETWEEN_CLUSTERS),
    (Kind::XAck, Class::Control, BETWEEN_CLUSTERS),
];

static BY_KIND: LazyLock<BTreeMap<Kind, (Class, Pairs)>> =
    LazyLock::new(|| TABLE.iter().map(|&(kind, class, pairs)| (kind, (class, pairs))).collect());

/// Whether `from` may say this to `to`.
pub fn permit(from: Role, to: Role, kind: Kind) -> Result<(), NotPermitted> {
    let pairs = BY_KIND.get(&kind).map_or(&[][..], |(_, pairs)| pairs);
    if pairs.contains(&(from, to)) { Ok(()) } else { Err(NotPermitted { from, to, kind }) }
}

/// How urgent a kind is.
pub fn class_of(kind: Kind) -> Class {
    BY_KIND.get(&kind).map_or(Class::Telemetry, |(class, _)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_exactly_one_row() {
        for &kind in Kind::ALL {
            assert_eq!(TABLE.iter().filter(|(row, ..)| *row == kind).count(), 1, "{}", kind.name());
        }
        assert_eq!(TABLE.len(), Kind::ALL.len());
    }

    #[test]
    fn a_worker_cannot_speak_for_a_manager_or_a_gate() {
        let only_rulers = [
            Kind::Raft,
            Kind::Propose,
            Kind::Dispatch,
            Kind::Direct,
            Kind::Presence,
            Kind::Cancel,
            Kind::JobLeaderChanged,
            Kind::LeaseRenewed,
            Kind::WorkerAnnounce,
            Kind::WorkerList,
            Kind::WorkerDifference,
            Kind::JobSubmit,
            Kind::JobPartEnd,
            Kind::Snapshot,
            Kind::Drain,
            Kind::XAck,
        ];
        for kind in only_rulers {
            for to in Role::ALL {
                assert!(permit(Role::Worker, to, kind).is_err(), "{} to a {to}", kind.name());
            }
        }
    }

    #[test]
    fn workers_and_gates_have_nothing_to_say_to_each_other() {
        for &kind in Kind::ALL {
            assert!(permit(Role::Worker, Role::Gate, kind).is_err(), "{}", kind.name());
            assert!(permit(Role::Gate, Role::Worker, kind).is_err(), "{}", kind.name());
        }
    }

    #[test]
    fn whoever_may_ask_may_be_answered() {
        for (request, answer) in [
            (Kind::Ping, Kind::Pong),
            (Kind::Register, Kind::Registered),
            (Kind::LeaseRenew, Kind::LeaseRenewed),
            (Kind::Propose, Kind::Proposed),
            (Kind::ReadIndex, Kind::ReadIndexAnswer),
            (Kind::Dispatch, Kind::DispatchAnswer),
            (Kind::Cancel, Kind::CancelAnswer),
            (Kind::CancelCompletion, Kind::CancelCompletionAnswer),
            (Kind::JobLeaderChanged, Kind::JobLeaderChangedAnswer),
            (Kind::StateRequest, Kind::StateSnapshot),
            (Kind::Drain, Kind::DrainAnswer),
            (Kind::JobSubmit, Kind::JobAccepted),
            (Kind::JobPartEnd, Kind::JobPartEndAnswer),
            (Kind::WorkerListRequest, Kind::WorkerList),
            (Kind::Join, Kind::MemberList),
            (Kind::SyncDigest, Kind::MemberDifference),
            (Kind::StreamProbe, Kind::StreamAck),
            (Kind::JobControl, Kind::JobControlAnswer),
            (Kind::BootstrapQuery, Kind::BootstrapAnswer),
            (Kind::Progress, Kind::ProgressAnswer),
            (Kind::JobProgress, Kind::ProgressAnswer),
            (Kind::AttemptResult, Kind::AttemptResultAnswer),
            (Kind::BlobPut, Kind::BlobPutAnswer),
            (Kind::BlobGet, Kind::BlobData),
            (Kind::Snapshot, Kind::SnapshotAnswer),
            (Kind::Probe, Kind::Ack),
            (Kind::PingReq, Kind::Nack),
            (Kind::XProbe, Kind::XAck),
        ] {
            for (from, to) in Role::ALL.into_iter().flat_map(|from| Role::ALL.map(|to| (from, to))) {
                if permit(from, to, request).is_ok() {
                    assert_eq!(permit(to, from, answer), Ok(()), "{} answered", request.name());
                    assert_eq!(permit(to, from, Kind::Error), Ok(()));
                }
            }
        }
    }
}
