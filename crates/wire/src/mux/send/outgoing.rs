//! One stream on its way out: a message, or a transfer that is fed piece by piece.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use crate::chunk::First;
use crate::class::Class;
use crate::limits::{CHUNK_COST, CHUNK_MAX};

/// A stream that is to be sent, as far as it is not.
pub(super) struct Outgoing {
    pub(super) class: Class,
    pub(super) body: Body,
    pub(super) phase: Phase,
    pub(super) credit: u32,
}

/// Whether its first chunk has left, and under which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Queued,
    InProgress { stream: u64 },
}

/// The bytes that are left.
pub(super) enum Body {
    Message { rest: Bytes, zstd: bool },
    Transfer { head: Bytes, pieces: VecDeque<Bytes>, buffered: usize, pushed: u64, finished: bool },
}

impl Outgoing {
    pub(super) fn first(&self) -> First {
        match self.body {
            Body::Message { zstd, .. } => First { class: self.class, transfer: false, zstd },
            Body::Transfer { .. } => First { class: self.class, transfer: true, zstd: false },
        }
    }
}

impl Body {
    /// Credit of the lane without which it may not begin.
    pub(super) fn first_cost(&self) -> u32 {
        match self {
            Body::Message { rest, .. } => message_cost(rest.len()).max(chunk_cost(0)),
            Body::Transfer { head, .. } => chunk_cost(head.len()),
        }
    }

    /// Credit of the lane that is kept for the rest of it once it has begun.
    pub(super) fn reservation(&self) -> u32 {
        match self {
            Body::Message { rest, .. } => message_cost(rest.len()),
            Body::Transfer { .. } => 0,
        }
    }

    /// Bytes that count against the queue of its class.
    pub(super) fn queued(&self) -> usize {
        match self {
            Body::Message { rest, .. } => rest.len(),
            Body::Transfer { head, .. } => head.len(),
        }
    }

    pub(super) fn buffered(&self) -> usize {
        match self {
            Body::Message { .. } => 0,
            Body::Transfer { buffered, .. } => *buffered,
        }
    }

    pub(super) fn is_message(&self) -> bool {
        matches!(self, Body::Message { .. })
    }

    /// The next payload within the credit of stream and lane, and whether it is the last one. The credit of a message is
    /// reserved, the head of a transfer was checked before it began.
    pub(super) fn take(&mut self, stream_credit: u32, lane_credit: u32, begins: bool) -> (Bytes, bool) {
        match self {
            Body::Message { rest, .. } => {
                let payload = rest.split_to(rest.len().min(CHUNK_MAX));
                (payload, rest.is_empty())
            }
            Body::Transfer { head, .. } if begins => (std::mem::take(head), false),
            Body::Transfer { pieces, buffered, finished, .. } => {
                let credit = stream_credit.min(lane_credit).saturating_sub(CHUNK_COST);
                let payload = take_piece(pieces, CHUNK_MAX.min(credit as usize));
                *buffered -= payload.len();
                (payload, *finished && pieces.is_empty())
            }
        }
    }
}

/// Credit of one chunk.
pub(super) const fn chunk_cost(payload: usize) -> u32 {
    payload as u32 + CHUNK_COST
}

/// Credit of what is left of a message: that of its chunks.
pub(super) const fn message_cost(rest: usize) -> u32 {
    rest as u32 + rest.div_ceil(CHUNK_MAX) as u32 * CHUNK_COST
}

fn take_piece(pieces: &mut VecDeque<Bytes>, most: usize) -> Bytes {
    let Some(piece) = pieces.front_mut() else { return Bytes::new() };
    let payload = piece.split_to(piece.len().min(most));
    if !piece.has_remaining() {
        pieces.pop_front();
    }
    payload
}
