//! Kinds of messages: one word per thing that nodes say to each other, whatever carries it.

use bytes::Bytes;
use prost::Message;

use crate::compress::DecompressError;
use crate::counters::{Counters, Refusal};
use crate::measure::{Shape, measure, shapes};
use crate::messages::{Bulk, Control, Gossip, Membership, bulk, control, gossip, membership};

macro_rules! kinds {
    ($($kind:ident = $name:literal,)*) => {
        /// What a message is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(
                #[doc = concat!("`", $name, "`; see the proto files.")]
                $kind,
            )*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];

            /// Its name, as in the proto files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    Error = "error",
    Hello = "hello",
    Welcome = "welcome",
    Ping = "ping",
    Pong = "pong",
    Register = "register",
    Registered = "registered",
    LeaseRenew = "lease_renew",
    LeaseRenewed = "lease_renewed",
    Raft = "raft",
    Propose = "propose",
    Proposed = "proposed",
    ReadIndex = "read_index",
    ReadIndexAnswer = "read_index_answer",
    Dispatch = "dispatch",
    DispatchAnswer = "dispatch_answer",
    Cancel = "cancel",
    CancelAnswer = "cancel_answer",
    CancelCompletion = "cancel_completion",
    CancelCompletionAnswer = "cancel_completion_answer",
    JobLeaderChanged = "job_leader_changed",
    JobLeaderChangedAnswer = "job_leader_changed_answer",
    StateRequest = "state_request",
    StateSnapshot = "state_snapshot",
    Drain = "drain",
    DrainAnswer = "drain_answer",
    JobSubmit = "job_submit",
    JobAccepted = "job_accepted",
    JobPartEnd = "job_part_end",
    JobPartEndAnswer = "job_part_end_answer",
    Join = "join",
    MemberList = "member_list",
    SyncDigest = "sync_digest",
    MemberDifference = "member_difference",
    WorkerDifference = "worker_difference",
    StreamProbe = "stream_probe",
    StreamAck = "stream_ack",
    WorkerAnnounce = "worker_announce",
    WorkerListRequest = "worker_list_request",
    WorkerList = "worker_list",
    JobControl = "job_control",
    JobControlAnswer = "job_control_answer",
    BootstrapQuery = "bootstrap_query",
    BootstrapAnswer = "bootstrap_answer",
    JobEvent = "job_event",
    Direct = "direct",
    Presence = "presence",
    Progress = "progress",
    ProgressAnswer = "progress_answer",
    AttemptResult = "attempt_result",
    AttemptResultAnswer = "attempt_result_answer",
    BlobPut = "blob_put",
    BlobPutAnswer = "blob_put_answer",
    BlobGet = "blob_get",
    BlobData = "blob_data",
    Snapshot = "snapshot",
    SnapshotAnswer = "snapshot_answer",
    Statistics = "statistics",
    JobProgress = "job_progress",
    GossipTick = "gossip_tick",
    Probe = "probe",
    Ack = "ack",
    Nack = "nack",
    PingReq = "ping_req",
    XProbe = "xprobe",
    XAck = "xack",
}

/// Why bytes are not a message. The peer is told, the connection may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Not the encoding of any message.
    #[error("a message is malformed")]
    Malformed,
    /// A message that would take more than [`DECODED_MAX`](crate::limits::DECODED_MAX) once it is decoded.
    #[error("a message takes too much memory")]
    Bloated,
    /// A message whose body this version does not know.
    #[error("a message is of an unknown kind")]
    Unknown,
    /// A message that does not decompress.
    #[error(transparent)]
    Packed(#[from] DecompressError),
    /// A message in another class than [that of its kind](crate::speak::class_of).
    #[error("a message `{}` in another class than its own", .0.name())]
    WrongClass(Kind),
}

impl MessageError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            MessageError::Malformed => Refusal::MessageMalformed,
            MessageError::Bloated => Refusal::MessageBloated,
            MessageError::Unknown => Refusal::MessageUnknown,
            MessageError::Packed(error) => error.refusal(),
            MessageError::WrongClass(_) => Refusal::WrongClass,
        }
    }
}

/// A message that travels on its own: the envelope of one plane.
pub trait Envelope: Message + Default {
    /// What it carries; `None`: something newer than this version.
    fn kind(&self) -> Option<Kind>;

    /// What of it takes memory.
    fn shape() -> &'static Shape;

    /// The most that decoding these bytes takes, at most [`DECODED_MAX`](crate::limits::DECODED_MAX).
    fn measure(bytes: &[u8]) -> Result<usize, MessageError> {
        measure(Self::shape(), bytes)
    }

    /// Decodes it, if that does not take too much memory, and says what it is.
    fn decode_known(bytes: Bytes, counters: &mut Counters) -> Result<(Kind, Self), MessageError> {
        decode(bytes).inspect_err(|error| counters.refuse(error.refusal()))
    }
}

fn decode<M: Envelope>(bytes: Bytes) -> Result<(Kind, M), MessageError> {
    M::measure(&bytes)?;
    let message = M::decode(bytes)?;
    let kind = message.kind().ok_or(MessageError::Unknown)?;
    Ok((kind, message))
}

impl Envelope for Gossip {
    fn shape() -> &'static Shape {
        &shapes::GOSSIP
    }

    fn kind(&self) -> Option<Kind> {
        use gossip::Body;
        Some(match &self.body {
            // Without a body it only carries updates.
            None => Kind::GossipTick,
            Some(Body::Probe(_)) => Kind::Probe,
            Some(Body::Ack(_)) => Kind::Ack,
            Some(Body::Nack(_)) => Kind::Nack,
            Some(Body::PingReq(_)) => Kind::PingReq,
            Some(Body::Xprobe(_)) => Kind::XProbe,
            Some(Body::Xack(_)) => Kind::XAck,
        })
    }
}

impl Envelope for Control {
    fn shape() -> &'static Shape {
        &shapes::CONTROL
    }

    fn kind(&self) -> Option<Kind> {
        use control::Body;
        Some(match self.body.as_ref()? {
            Body::Error(_) => Kind::Error,
            Body::Hello(_) => Kind::Hello,
            Body::Welcome(_) => Kind::Welcome,
            Body::Ping(_) => Kind::Ping,
            Body::Pong(_) => Kind::Pong,
            Body::Register(_) => Kind::Register,
            Body::Registered(_) => Kind::Registered,
            Body::LeaseRenew(_) => Kind::LeaseRenew,
            Body::LeaseRenewed(_) => Kind::LeaseRenewed,
            Body::Raft(_) => Kind::Raft,
            Body::Propose(_) => Kind::Propose,
            Body::Proposed(_) => Kind::Proposed,
            Body::ReadIndex(_) => Kind::ReadIndex,
            Body::ReadIndexAnswer(_) => Kind::ReadIndexAnswer,
            Body::Dispatch(_) => Kind::Dispatch,
            Body::DispatchAnswer(_) => Kind::DispatchAnswer,
            Body::Cancel(_) => Kind::Cancel,
            Body::CancelAnswer(_) => Kind::CancelAnswer,
            Body::CancelCompletion(_) => Kind::CancelCompletion,
            Body::CancelCompletionAnswer(_) => Kind::CancelCompletionAnswer,
            Body::JobLeaderChanged(_) => Kind::JobLeaderChanged,
            Body::JobLeaderChangedAnswer(_) => Kind::JobLeaderChangedAnswer,
            Body::StateRequest(_) => Kind::StateRequest,
            Body::StateSnapshot(_) => Kind::StateSnapshot,
            Body::Drain(_) => Kind::Drain,
            Body::DrainAnswer(_) => Kind::DrainAnswer,
            Body::JobSubmit(_) => Kind::JobSubmit,
            Body::JobAccepted(_) => Kind::JobAccepted,
            Body::JobPartEnd(_) => Kind::JobPartEnd,
            Body::JobPartEndAnswer(_) => Kind::JobPartEndAnswer,
            Body::Membership(membership) => return membership.kind(),
            Body::JobControl(_) => Kind::JobControl,
            Body::JobControlAnswer(_) => Kind::JobControlAnswer,
            Body::BootstrapQuery(_) => Kind::BootstrapQuery,
            Body::BootstrapAnswer(_) => Kind::BootstrapAnswer,
            Body::JobEvent(_) => Kind::JobEvent,
            Body::Direct(_) => Kind::Direct,
            Body::Presence(_) => Kind::Presence,
        })
    }
}

impl Membership {
    /// What it carries; `None`: something newer than this version.
    fn kind(&self) -> Option<Kind> {
        use membership::Body;
        Some(match self.body.as_ref()? {
            Body::Join(_) => Kind::Join,
            Body::MemberList(_) => Kind::MemberList,
            Body::SyncDigest(_) => Kind::SyncDigest,
            Body::MemberDifference(_) => Kind::MemberDifference,
            Body::WorkerDifference(_) => Kind::WorkerDifference,
            Body::StreamProbe(_) => Kind::StreamProbe,
            Body::StreamAck(_) => Kind::StreamAck,
            Body::WorkerAnnounce(_) => Kind::WorkerAnnounce,
            Body::WorkerListRequest(_) => Kind::WorkerListRequest,
            Body::WorkerList(_) => Kind::WorkerList,
            Body::Xprobe(_) => Kind::XProbe,
            Body::Xack(_) => Kind::XAck,
        })
    }
}

impl Envelope for Bulk {
    fn shape() -> &'static Shape {
        &shapes::BULK
    }

    fn kind(&self) -> Option<Kind> {
        use bulk::Body;
        Some(match self.body.as_ref()? {
            Body::Error(_) => Kind::Error,
            Body::Hello(_) => Kind::Hello,
            Body::Welcome(_) => Kind::Welcome,
            Body::Progress(_) => Kind::Progress,
            Body::ProgressAnswer(_) => Kind::ProgressAnswer,
            Body::AttemptResult(_) => Kind::AttemptResult,
            Body::AttemptResultAnswer(_) => Kind::AttemptResultAnswer,
            Body::BlobPut(_) => Kind::BlobPut,
            Body::BlobPutAnswer(_) => Kind::BlobPutAnswer,
            Body::BlobGet(_) => Kind::BlobGet,
            Body::BlobData(_) => Kind::BlobData,
            Body::Snapshot(_) => Kind::Snapshot,
            Body::SnapshotAnswer(_) => Kind::SnapshotAnswer,
            Body::Statistics(_) => Kind::Statistics,
            Body::JobProgress(_) => Kind::JobProgress,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_message_and_messages_of_a_newer_version_are_told_apart() {
        let mut counters = Counters::default();
        let nonsense = Control::decode_known(Bytes::from_static(&[0xff]), &mut counters);
        assert_eq!(nonsense.unwrap_err(), MessageError::Malformed);
        assert_eq!(counters.refused(Refusal::MessageMalformed), 1);
        // call_id 1, then field 900, length-delimited, empty.
        let newer = Bytes::from_static(&[0x08, 0x01, 0xa2, 0x38, 0x00]);
        let newer_inside =
            Control { body: Some(control::Body::Membership(Membership::default())), ..Control::default() };
        for bytes in [newer.clone(), newer_inside.encode_to_vec().into()] {
            let unknown = Control::decode_known(bytes, &mut counters);
            assert_eq!(unknown.unwrap_err(), MessageError::Unknown);
        }
        assert_eq!(Bulk::decode_known(newer, &mut counters).unwrap_err(), MessageError::Unknown);
        assert_eq!(counters.refused(Refusal::MessageUnknown), 3);
        assert_eq!(Gossip::decode_known(Bytes::new(), &mut counters).unwrap().0, Kind::GossipTick);
    }
}
