//! How many bytes a message takes on the wire, at most.
//!
//! The core fills datagrams up to a limit without encoding them. These are upper bounds for tag-length-value encodings
//! such as protocol buffers: ids as fixed 64 bits, other numbers as varints, one byte of tag per field, two of length per
//! nested message. The crate that encodes checks that it never needs more.

use std::net::SocketAddr;

use crate::embedded::{Embedded, EmbeddedState};
use crate::message::{Datagram, MemberUpdate, Message, Peer, Sender};
use crate::workers::WorkerUpdate;

/// Versions of the protocol, kind of message and length of the whole.
const ENVELOPE: usize = 24;
/// Tag and 8 bytes.
const FIXED64: usize = 9;
/// Tag and a number below 128.
const SMALL: usize = 2;
/// Tag and length of a nested message below 16 KiB.
const NESTED: usize = 3;

/// Upper bound of an encoded datagram, without what sealing adds.
pub fn datagram_len(datagram: &Datagram) -> usize {
    head_len(&datagram.from, &datagram.message)
        + datagram.embedded.as_deref().map_or(0, embedded_len)
        + datagram.members.iter().map(member_len).sum::<usize>()
        + datagram.workers.iter().map(|worker| worker_len(worker)).sum::<usize>()
}

/// Upper bound of a datagram on which nothing rides.
pub fn head_len(from: &Sender, message: &Message) -> usize {
    ENVELOPE
        + peer_len(&from.peer)
        + number(from.boot.0)
        + number(from.incarnation.0.into())
        + message_len(message)
}

/// Upper bound of a membership update.
pub fn member_len(update: &MemberUpdate) -> usize {
    let claim = number(update.claim.boot.0) + number(update.claim.incarnation.0.into()) + SMALL;
    NESTED + peer_len(&update.peer) + claim + FIXED64
}

/// Upper bound of a worker update.
pub fn worker_len(update: &WorkerUpdate) -> usize {
    let version = NESTED
        + number(update.version.boot.0)
        + number(update.version.owner_token.0)
        + number(update.version.counter);
    let addrs = addr_len(&update.addr) + update.api_addr.as_ref().map_or(0, addr_len);
    let cores = number(update.cores_total.into()) + number(update.cores_available.into());
    NESTED + 2 * FIXED64 + version + addrs + SMALL + cores + NESTED + update.datacenter.len()
}

/// Upper bound of an embedded state.
pub fn embedded_len(embedded: &Embedded) -> usize {
    let state = match &embedded.state {
        EmbeddedState::Worker(it) => {
            let cores = number(it.cores_total.into()) + number(it.cores_available.into());
            let work = number(it.queue_depth.into()) + number(it.segments.into());
            cores + work + 4 * SMALL + FIXED64
        }
        EmbeddedState::Manager(it) => {
            let work = [it.jobs, it.segments, it.workers_total, it.workers_healthy, it.cores_total];
            let work: usize = work.iter().map(|value| number((*value).into())).sum();
            let cores = number(it.cores_available.into());
            NESTED + it.datacenter.len() + number(it.term) + work + cores + 4 * SMALL
        }
        EmbeddedState::Gate(it) => number(it.term) + number(it.jobs_owned.into()) + 3 * SMALL,
    };
    2 * NESTED + number(embedded.version) + state
}

fn message_len(message: &Message) -> usize {
    NESTED
        + match message {
            Message::Probe { seq, .. } => number((*seq).into()) + FIXED64,
            Message::Ack { seq } | Message::Nack { seq } => number((*seq).into()),
            Message::PingReq { seq, addr, nack_after, .. } => {
                let nanos = u64::try_from(nack_after.as_nanos()).unwrap_or(u64::MAX);
                number((*seq).into()) + FIXED64 + addr_len(addr) + number(nanos)
            }
            Message::Gossip => 0,
        }
}

fn peer_len(peer: &Peer) -> usize {
    NESTED + FIXED64 + addr_len(&peer.addr) + SMALL
}

fn addr_len(addr: &SocketAddr) -> usize {
    // As text, the longest of its kind: `255.255.255.255:65535`, and the like in brackets for IPv6.
    match addr {
        SocketAddr::V4(_) => NESTED + 21,
        SocketAddr::V6(_) => NESTED + 47,
    }
}

fn number(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    1 + bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_take_a_byte_per_seven_bits_and_a_tag() {
        let table = [(0, 2), (127, 2), (128, 3), (16_383, 3), (16_384, 4), (u64::MAX, 11)];
        for (value, len) in table {
            assert_eq!(number(value), len, "{value}");
        }
    }
}
