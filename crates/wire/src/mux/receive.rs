//! The receiving half: streams in progress, reassembly, credit to give back.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::Event;
use crate::chunk::{Chunk, ChunkError, First};
use crate::class::{Class, Lane};
use crate::compress::Packed;
use crate::counters::Refusal;
use crate::limits::{CHUNK_COST, CREDIT_PORTION, MESSAGE_MAX, STREAM_CREDIT, STREAMS_MAX, TRANSFER_MAX};

/// What a peer must not do. The connection must be closed; what was under way on it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MuxError {
    /// Bytes that are no chunk.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// A piece of a stream that was never begun or has ended.
    #[error("stream {0} is not in progress")]
    StreamUnknown(u64),
    /// A stream that begins with a number not above all before.
    #[error("stream {0} was used before")]
    StreamReused(u64),
    /// More than [`STREAMS_MAX`] in progress.
    #[error("too many streams in progress")]
    StreamsFull,
    /// More bytes than there was credit for.
    #[error("more was sent than there was credit for")]
    CreditExceeded,
    /// More credit than can be owed.
    #[error("more credit was given than was owed")]
    CreditOverflow,
    /// A message beyond [`MESSAGE_MAX`].
    #[error("a message is too large")]
    MessageTooLarge,
    /// A transfer beyond [`TRANSFER_MAX`].
    #[error("a transfer is too large")]
    TransferTooLarge,
    /// Compression on the control lane.
    #[error("nothing may be compressed on the control lane")]
    CompressionForbidden,
    /// A transfer on the control lane.
    #[error("transfers are for the bulk lane")]
    TransferForbidden,
}

impl MuxError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            MuxError::Chunk(error) => error.refusal(),
            MuxError::StreamUnknown(_) => Refusal::StreamUnknown,
            MuxError::StreamReused(_) => Refusal::StreamReused,
            MuxError::StreamsFull => Refusal::StreamsFull,
            MuxError::CreditExceeded => Refusal::CreditExceeded,
            MuxError::CreditOverflow => Refusal::CreditOverflow,
            MuxError::MessageTooLarge => Refusal::MessageTooLarge,
            MuxError::TransferTooLarge => Refusal::TransferTooLarge,
            MuxError::CompressionForbidden => Refusal::CompressionForbidden,
            MuxError::TransferForbidden => Refusal::TransferForbidden,
        }
    }
}

/// Credit of something that was received; goes back to the peer through [`Mux::release`](super::Mux::release).
/// Dropping it instead slows the peer down for ever, so it is not copied and must be used.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "credit that is not released is lost to the peer"]
pub struct Credit {
    /// Zero: of the lane only.
    stream: u64,
    bytes: u32,
}

#[cfg(test)]
impl Credit {
    /// What is left of a credit that was released.
    pub(super) const fn none() -> Self {
        Self { stream: 0, bytes: 0 }
    }
}

pub(super) struct Receiver {
    lane: Lane,
    /// Highest number that began. Streams begin in the order of their numbers, whatever their class, so that credit that
    /// is released late never meets another stream than its own.
    last_stream: u64,
    streams: BTreeMap<u64, Incoming>,
    /// What the peer may still send on the lane.
    credit: u32,
    /// Released, but not told to the peer yet.
    owed: u32,
    /// Streams with credit that is worth telling.
    grants: BTreeSet<u64>,
    stops: BTreeSet<u64>,
}

struct Incoming {
    body: Body,
    /// What the peer may still send on the stream.
    credit: u32,
    /// Taken, but not told to the peer yet.
    owed: u32,
}

enum Body {
    Message {
        class: Class,
        zstd: bool,
        bytes: Vec<u8>,
        /// Credit of the lane that its chunks cost so far.
        cost: u32,
    },
    /// Bytes after the head.
    Transfer {
        received: u64,
    },
    Discarding,
}

impl Receiver {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            lane,
            last_stream: 0,
            streams: BTreeMap::new(),
            credit: lane.credit(),
            owed: 0,
            grants: BTreeSet::new(),
            stops: BTreeSet::new(),
        }
    }

    pub(super) fn data(
        &mut self,
        stream: u64,
        first: Option<First>,
        last: bool,
        payload: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<(), MuxError> {
        if let Some(first) = first {
            self.begin(stream, first)?;
        }
        let chunk_cost = payload.len() as u32 + CHUNK_COST;
        self.spend(stream, chunk_cost)?;
        let incoming = self.streams.get_mut(&stream).expect("spending found the stream");
        match &mut incoming.body {
            Body::Message { bytes, cost, .. } => {
                if bytes.len() + payload.len() > MESSAGE_MAX {
                    return Err(MuxError::MessageTooLarge);
                }
                bytes.extend_from_slice(payload);
                *cost += chunk_cost;
                if last {
                    self.end_message(stream, events);
                } else {
                    self.extend_message_credit(stream);
                }
            }
            Body::Transfer { received } => {
                let counted = if first.is_some() { 0 } else { payload.len() as u64 };
                *received += counted;
                if *received > TRANSFER_MAX {
                    return Err(MuxError::TransferTooLarge);
                }
                let class = first.map(|first| first.class);
                self.transfer_piece(stream, class, last, payload, events);
            }
            Body::Discarding => {
                self.release(Credit { stream, bytes: chunk_cost });
                if last {
                    self.forget(stream);
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, stream: u64, first: First) -> Result<(), MuxError> {
        if stream <= self.last_stream {
            return Err(MuxError::StreamReused(stream));
        }
        if self.streams.len() >= STREAMS_MAX {
            return Err(MuxError::StreamsFull);
        }
        if first.zstd && self.lane == Lane::Control {
            return Err(MuxError::CompressionForbidden);
        }
        if first.transfer && self.lane == Lane::Control {
            return Err(MuxError::TransferForbidden);
        }
        let body = if first.transfer {
            Body::Transfer { received: 0 }
        } else {
            Body::Message { class: first.class, zstd: first.zstd, bytes: Vec::new(), cost: 0 }
        };
        self.last_stream = stream;
        self.streams.insert(stream, Incoming { body, credit: STREAM_CREDIT, owed: 0 });
        Ok(())
    }

    fn spend(&mut self, stream: u64, bytes: u32) -> Result<(), MuxError> {
        let incoming = self.streams.get_mut(&stream).ok_or(MuxError::StreamUnknown(stream))?;
        incoming.credit = incoming.credit.checked_sub(bytes).ok_or(MuxError::CreditExceeded)?;
        self.credit = self.credit.checked_sub(bytes).ok_or(MuxError::CreditExceeded)?;
        Ok(())
    }

    /// The bytes of a message are taken into its buffer at once: the stream gets new credit while the message may grow.
    fn extend_message_credit(&mut self, stream: u64) {
        let incoming = self.streams.get_mut(&stream).expect("the caller holds it");
        incoming.owed = STREAM_CREDIT - incoming.credit;
        if incoming.owed >= CREDIT_PORTION {
            self.grants.insert(stream);
        }
    }

    fn end_message(&mut self, stream: u64, events: &mut Vec<Event>) {
        let Some(Incoming { body: Body::Message { class, zstd, bytes, cost }, .. }) = self.forget(stream)
        else {
            unreachable!("the caller matched a message");
        };
        let credit = Credit { stream: 0, bytes: cost };
        events.push(Event::Message { stream, data: Packed::new(class, bytes.into(), zstd), credit });
    }

    fn transfer_piece(
        &mut self,
        stream: u64,
        class: Option<Class>,
        last: bool,
        payload: &[u8],
        events: &mut Vec<Event>,
    ) {
        let credit = Credit { stream, bytes: payload.len() as u32 + CHUNK_COST };
        let data = Bytes::copy_from_slice(payload);
        match class {
            Some(class) => {
                events.push(Event::Begin { stream, head: Packed::new(class, data, false), credit });
            }
            // It only ends the transfer.
            None if payload.is_empty() => self.release(credit),
            None => events.push(Event::Data { stream, data, credit }),
        }
        if last {
            self.forget(stream);
            events.push(Event::End { stream });
        }
    }

    pub(super) fn aborted(&mut self, stream: u64, events: &mut Vec<Event>) -> Result<(), MuxError> {
        let incoming = self.forget(stream).ok_or(MuxError::StreamUnknown(stream))?;
        match incoming.body {
            // Nobody has heard of it yet, and an event without credit would cost the peer nothing.
            Body::Message { cost, .. } => self.release(Credit { stream: 0, bytes: cost }),
            Body::Transfer { .. } => events.push(Event::Aborted { stream }),
            Body::Discarding => {}
        }
        Ok(())
    }

    pub(super) fn stop(&mut self, stream: u64) {
        let Some(incoming) = self.streams.get_mut(&stream) else { return };
        let buffered = match std::mem::replace(&mut incoming.body, Body::Discarding) {
            Body::Message { cost, .. } => cost,
            Body::Transfer { .. } => 0,
            Body::Discarding => return,
        };
        self.stops.insert(stream);
        self.release(Credit { stream: 0, bytes: buffered });
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "credit goes back once: whoever releases it has it no more"
    )]
    pub(super) fn release(&mut self, credit: Credit) {
        let Credit { stream, bytes } = credit;
        self.owed += bytes;
        if let Some(incoming) = self.streams.get_mut(&stream) {
            incoming.owed += bytes;
            if incoming.owed >= CREDIT_PORTION {
                self.grants.insert(stream);
            }
        }
    }

    fn forget(&mut self, stream: u64) -> Option<Incoming> {
        self.grants.remove(&stream);
        self.stops.remove(&stream);
        self.streams.remove(&stream)
    }

    /// What the sender of the other side should know: credit of the lane, credit of streams, stops.
    pub(super) fn next_note(&mut self) -> Option<Chunk<'static>> {
        if self.owed >= CREDIT_PORTION {
            let bytes = std::mem::take(&mut self.owed);
            self.credit += bytes;
            return Some(Chunk::Credit { stream: 0, bytes });
        }
        if let Some(stream) = self.grants.pop_first() {
            let incoming = self.streams.get_mut(&stream).expect("a stream that ends leaves the set");
            let bytes = std::mem::take(&mut incoming.owed);
            incoming.credit += bytes;
            return Some(Chunk::Credit { stream, bytes });
        }
        self.stops.pop_first().map(|stream| Chunk::Stop { stream })
    }

    pub(super) fn held_bytes(&self) -> usize {
        (self.lane.credit() - self.credit - self.owed) as usize
    }
}
