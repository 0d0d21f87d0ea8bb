//! What nodes say over streams: joining, anti-entropy, probes and worker state between members, probes between clusters.

use hyperscale_swim::federation::CrossMessage;
use hyperscale_swim::{BUCKETS, Digest, StreamBody, StreamMessage};
use hyperscale_types::{NodeId, Role};
use hyperscale_wire::messages::{
    self, Join, MemberDifference, MemberList, Membership, StreamAck, StreamProbe, SyncDigest,
    WorkerDifference, WorkerList, WorkerListRequest, membership,
};

use crate::Unreadable;
use crate::gossip::{CrossOut, Heard, cross_out, xack, xprobe};
use crate::update::{members, members_out, sender, sender_out, worker, worker_out, workers, workers_out};

/// The body of a control message.
pub fn to_message(message: &StreamMessage) -> Membership {
    Membership { from: Some(sender_out(&message.from)), body: Some(body_out(&message.body)) }
}

/// The body of a control message between clusters. `role` is what its sender is.
pub fn cross_to_message(message: &CrossMessage, role: Role) -> Membership {
    let (from, body) = cross_out(message, role);
    let body = match body {
        CrossOut::Probe(probe) => membership::Body::Xprobe(probe),
        CrossOut::Ack(ack) => membership::Body::Xack(ack),
    };
    Membership { from: Some(from), body: Some(body) }
}

/// Reads the body of a control message that came from `sent_by`.
pub fn from_message(message: Membership, sent_by: NodeId) -> Result<Heard<StreamMessage>, Unreadable> {
    let from = sender(message.from, sent_by)?;
    match message.body.ok_or(Unreadable::Unknown("body"))? {
        membership::Body::Xprobe(probe) => xprobe(from, probe),
        membership::Body::Xack(ack) => xack(from, ack),
        said => Ok(Heard::Member(StreamMessage { from, body: body(said)? })),
    }
}

fn body_out(body: &StreamBody) -> membership::Body {
    use membership::Body;
    match body {
        StreamBody::Join => Body::Join(Join {}),
        StreamBody::Members { members, last } => {
            Body::MemberList(MemberList { members: members_out(members), last: *last })
        }
        StreamBody::Digest { members, workers } => Body::SyncDigest(SyncDigest {
            members: Some(digest_out(members)),
            workers: workers.as_deref().map(digest_out),
        }),
        StreamBody::MemberDifference { buckets, members, answer } => {
            let members = members_out(members);
            Body::MemberDifference(MemberDifference { buckets: *buckets, members, answer: *answer })
        }
        StreamBody::WorkerDifference { buckets, workers, answer } => {
            let workers = workers_out(workers);
            Body::WorkerDifference(WorkerDifference { buckets: *buckets, workers, answer: *answer })
        }
        StreamBody::Probe { seq } => Body::StreamProbe(StreamProbe { sequence: *seq }),
        StreamBody::Ack { seq } => Body::StreamAck(StreamAck { sequence: *seq }),
        StreamBody::Worker(update) => Body::WorkerAnnounce(worker_out(update)),
        StreamBody::WorkerListRequest => Body::WorkerListRequest(WorkerListRequest {}),
        StreamBody::WorkerList { workers, last } => {
            Body::WorkerList(WorkerList { workers: workers_out(workers), last: *last })
        }
    }
}

fn body(body: membership::Body) -> Result<StreamBody, Unreadable> {
    use membership::Body;
    Ok(match body {
        Body::Join(Join {}) => StreamBody::Join,
        Body::MemberList(list) => StreamBody::Members { members: members(list.members)?, last: list.last },
        Body::SyncDigest(sync) => StreamBody::Digest {
            members: digest(&sync.members.ok_or(Unreadable::Missing("sync_digest.members"))?)?,
            workers: sync.workers.as_ref().map(digest).transpose()?,
        },
        Body::MemberDifference(difference) => StreamBody::MemberDifference {
            buckets: difference.buckets,
            members: members(difference.members)?,
            answer: difference.answer,
        },
        Body::WorkerDifference(difference) => StreamBody::WorkerDifference {
            buckets: difference.buckets,
            workers: workers(difference.workers)?,
            answer: difference.answer,
        },
        Body::StreamProbe(probe) => StreamBody::Probe { seq: probe.sequence },
        Body::StreamAck(ack) => StreamBody::Ack { seq: ack.sequence },
        Body::WorkerAnnounce(update) => StreamBody::Worker(worker(update)?),
        Body::WorkerListRequest(WorkerListRequest {}) => StreamBody::WorkerListRequest,
        Body::WorkerList(list) => StreamBody::WorkerList { workers: workers(list.workers)?, last: list.last },
        // Not between members; see `from_message`.
        Body::Xprobe(_) | Body::Xack(_) => return Err(Unreadable::Unknown("body")),
    })
}

fn digest_out(digest: &Digest) -> messages::Digest {
    messages::Digest { buckets: digest.0.to_vec() }
}

fn digest(message: &messages::Digest) -> Result<Box<Digest>, Unreadable> {
    let buckets: [u64; BUCKETS] =
        message.buckets.as_slice().try_into().map_err(|_| Unreadable::OutOfRange("buckets"))?;
    Ok(Box::new(Digest(buckets)))
}
