//! The sending half: queues, turns, credit.

mod outgoing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use outgoing::{Body, Outgoing, Phase, chunk_cost};

use super::receive::MuxError;
use crate::chunk::Chunk;
use crate::class::{Class, Lane};
use crate::compress::compress;
use crate::limits::{
    CHUNK_MAX, CONTROL_HEADROOM, MESSAGE_MAX, MESSAGE_PLAIN_MAX, QUEUE_BYTES_MAX, QUEUE_MESSAGES_MAX,
    STREAM_CREDIT, STREAMS_MAX, TRANSFER_BUFFER_MAX, TRANSFER_MAX,
};

/// Why something could not be queued. Nothing was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The queue of the class, or the buffer of the transfer, is full: the peer is slow. Try again after some was sent.
    #[error("the queue is full")]
    Full,
    /// A message beyond [`MESSAGE_MAX`] or, before compression, [`MESSAGE_PLAIN_MAX`]; a head beyond [`CHUNK_MAX`] or a transfer beyond [`TRANSFER_MAX`].
    #[error("too large for the wire")]
    TooLarge,
    /// The link was accepted and has not heard which lane it is, or it is closed.
    #[error("the link has no lane yet, or is closed")]
    NoLane,
    /// A transfer on the control lane.
    #[error("transfers are for the bulk lane")]
    TransferForbidden,
    /// A message without a body: nobody could tell what it is.
    #[error("the message has no body")]
    NoBody,
    /// No such transfer: it ended, was stopped by the peer, or never was.
    #[error("no such transfer")]
    NoTransfer,
}

/// One of our messages or transfers, as this side calls it. Its stream gets a number when it begins: by then more urgent
/// ones may have overtaken it, and numbers of streams only rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sending(u64);

pub(super) struct Sender {
    lane: Lane,
    last: Sending,
    outgoing: BTreeMap<Sending, Outgoing>,
    /// Highest number of a stream that began.
    last_stream: u64,
    /// Streams in progress.
    streams: BTreeMap<u64, Sending>,
    queues: [Queue; Class::ALL.len()],
    /// Credit of the lane.
    credit: u32,
    /// Part of `credit` that messages in progress will need.
    reserved: u32,
    aborts: BTreeSet<u64>,
}

/// Streams of one class: those that have not begun, those in progress, and whose turn it is.
#[derive(Default)]
struct Queue {
    fresh: VecDeque<Sending>,
    running: VecDeque<Sending>,
    bytes: usize,
    fresh_went_last: bool,
}

impl Sender {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            lane,
            last: Sending(0),
            outgoing: BTreeMap::new(),
            last_stream: 0,
            streams: BTreeMap::new(),
            queues: Default::default(),
            credit: lane.credit(),
            reserved: 0,
            aborts: BTreeSet::new(),
        }
    }

    pub(super) const fn lane(&self) -> Lane {
        self.lane
    }

    pub(super) fn send(&mut self, class: Class, message: Bytes) -> Result<Sending, SendError> {
        // However well it compresses: receivers would take it for a bomb.
        if message.len() > MESSAGE_PLAIN_MAX {
            return Err(SendError::TooLarge);
        }
        let packed = if self.lane == Lane::Bulk { compress(&message) } else { None };
        let zstd = packed.is_some();
        let rest = packed.map_or(message, Bytes::from);
        if rest.len() > MESSAGE_MAX {
            return Err(SendError::TooLarge);
        }
        self.enqueue(class, rest.len(), Body::Message { rest, zstd })
    }

    pub(super) fn begin(&mut self, class: Class, head: Bytes) -> Result<Sending, SendError> {
        if self.lane == Lane::Control {
            return Err(SendError::TransferForbidden);
        }
        if head.len() > CHUNK_MAX {
            return Err(SendError::TooLarge);
        }
        let size = head.len();
        let pieces = VecDeque::new();
        self.enqueue(class, size, Body::Transfer { head, pieces, buffered: 0, pushed: 0, finished: false })
    }

    fn enqueue(&mut self, class: Class, bytes: usize, body: Body) -> Result<Sending, SendError> {
        let queue = &mut self.queues[class as usize];
        if queue.fresh.len() >= QUEUE_MESSAGES_MAX || queue.bytes + bytes > QUEUE_BYTES_MAX {
            return Err(SendError::Full);
        }
        self.last.0 += 1;
        queue.bytes += bytes;
        queue.fresh.push_back(self.last);
        let outgoing = Outgoing { class, body, phase: Phase::Queued, credit: STREAM_CREDIT };
        self.outgoing.insert(self.last, outgoing);
        Ok(self.last)
    }

    pub(super) fn push(&mut self, sending: Sending, data: Bytes) -> Result<(), SendError> {
        let Some(Outgoing { body: Body::Transfer { pieces, buffered, pushed, finished: false, .. }, .. }) =
            self.outgoing.get_mut(&sending)
        else {
            return Err(SendError::NoTransfer);
        };
        if *pushed + data.len() as u64 > TRANSFER_MAX {
            return Err(SendError::TooLarge);
        }
        if *buffered + data.len() > TRANSFER_BUFFER_MAX {
            return Err(SendError::Full);
        }
        if !data.is_empty() {
            *pushed += data.len() as u64;
            *buffered += data.len();
            pieces.push_back(data);
        }
        Ok(())
    }

    pub(super) fn room(&self, sending: Sending) -> usize {
        match self.outgoing.get(&sending).map(|outgoing| &outgoing.body) {
            Some(Body::Transfer { buffered, finished: false, .. }) => TRANSFER_BUFFER_MAX - buffered,
            _ => 0,
        }
    }

    pub(super) fn finish(&mut self, sending: Sending) -> Result<(), SendError> {
        match self.outgoing.get_mut(&sending).map(|outgoing| &mut outgoing.body) {
            Some(Body::Transfer { finished, .. }) if !*finished => {
                *finished = true;
                Ok(())
            }
            _ => Err(SendError::NoTransfer),
        }
    }

    pub(super) fn abort(&mut self, sending: Sending) -> Result<(), SendError> {
        match self.outgoing.get(&sending).map(|outgoing| &outgoing.body) {
            Some(Body::Transfer { .. }) => {
                self.give_up(sending);
                Ok(())
            }
            _ => Err(SendError::NoTransfer),
        }
    }

    /// The peer wants no more of a stream. `None`: it had ended already, which the peer could not know.
    pub(super) fn stopped(&mut self, stream: u64) -> Result<Option<Sending>, MuxError> {
        let sending = self.in_progress(stream)?;
        if let Some(sending) = sending {
            self.give_up(sending);
        }
        Ok(sending)
    }

    /// What has this number. `None`: it has ended.
    fn in_progress(&self, stream: u64) -> Result<Option<Sending>, MuxError> {
        if stream > self.last_stream {
            return Err(MuxError::StreamUnknown(stream));
        }
        Ok(self.streams.get(&stream).copied())
    }

    fn give_up(&mut self, sending: Sending) {
        if let Some(Phase::InProgress { stream }) = self.remove(sending).map(|outgoing| outgoing.phase) {
            self.aborts.insert(stream);
        }
    }

    /// Takes something out of everything that knows it.
    fn remove(&mut self, sending: Sending) -> Option<Outgoing> {
        let outgoing = self.outgoing.remove(&sending)?;
        let queue = &mut self.queues[outgoing.class as usize];
        queue.fresh.retain(|other| *other != sending);
        queue.running.retain(|other| *other != sending);
        queue.bytes -= outgoing.body.queued();
        if let Phase::InProgress { stream } = outgoing.phase {
            self.streams.remove(&stream);
            self.reserved -= outgoing.body.reservation();
        }
        Some(outgoing)
    }

    pub(super) fn credited(&mut self, stream: u64, bytes: u32) -> Result<(), MuxError> {
        let (credit, most) = if stream == 0 {
            (&mut self.credit, self.lane.credit())
        } else {
            // It may have ended while the credit was under way.
            let Some(sending) = self.in_progress(stream)? else { return Ok(()) };
            let outgoing = self.outgoing.get_mut(&sending).expect("a stream in progress is being sent");
            (&mut outgoing.credit, STREAM_CREDIT)
        };
        *credit = credit.checked_add(bytes).filter(|sum| *sum <= most).ok_or(MuxError::CreditOverflow)?;
        Ok(())
    }

    pub(super) fn next_note(&mut self) -> Option<Chunk<'static>> {
        self.aborts.pop_first().map(|stream| Chunk::Abort { stream })
    }

    pub(super) fn next_data(&mut self, out: &mut Vec<u8>) -> bool {
        Class::ALL.into_iter().any(|class| match self.pick(class) {
            Some(sending) => {
                self.put_chunk(sending, out);
                true
            }
            None => false,
        })
    }

    /// Whose turn it is in a class: one that begins and one in progress, alternately.
    fn pick(&mut self, class: Class) -> Option<Sending> {
        let fresh = self.queues[class as usize].fresh.front().is_some_and(|&fresh| self.may_begin(fresh));
        let running = self.queues[class as usize].running.iter().position(|&sending| self.may_go_on(sending));
        let queue = &mut self.queues[class as usize];
        let take_fresh = fresh && (running.is_none() || !queue.fresh_went_last);
        queue.fresh_went_last = take_fresh;
        if take_fresh { queue.fresh.pop_front() } else { queue.running.remove(running?) }
    }

    fn may_begin(&self, sending: Sending) -> bool {
        let outgoing = &self.outgoing[&sending];
        self.streams.len() < STREAMS_MAX && self.spare(outgoing.class) >= outgoing.body.first_cost()
    }

    fn may_go_on(&self, sending: Sending) -> bool {
        let outgoing = &self.outgoing[&sending];
        match &outgoing.body {
            // Never less than a whole chunk: so it costs what was reserved for it.
            Body::Message { rest, .. } => outgoing.credit >= chunk_cost(rest.len().min(CHUNK_MAX)),
            Body::Transfer { pieces, finished, .. } => {
                let least = chunk_cost(usize::from(!pieces.is_empty()));
                let idle = pieces.is_empty() && !finished;
                !idle && outgoing.credit >= least && self.spare(outgoing.class) >= least
            }
        }
    }

    /// Credit of the lane that a class may still take.
    fn spare(&self, class: Class) -> u32 {
        let headroom = if class == Class::Control { 0 } else { CONTROL_HEADROOM };
        self.credit.saturating_sub(self.reserved).saturating_sub(headroom)
    }

    /// Writes the next chunk of what [`Sender::pick`] took out of its queue, and puts it back if it goes on.
    fn put_chunk(&mut self, sending: Sending, out: &mut Vec<u8>) {
        let spare = self.spare(self.outgoing[&sending].class);
        let outgoing = self.outgoing.get_mut(&sending).expect("queues name only what exists");
        let (stream, begins) = match outgoing.phase {
            Phase::InProgress { stream } => (stream, false),
            Phase::Queued => {
                self.last_stream += 1;
                self.streams.insert(self.last_stream, sending);
                (self.last_stream, true)
            }
        };
        let first = begins.then(|| outgoing.first());
        let reserved_before = if begins { 0 } else { outgoing.body.reservation() };
        let (payload, last) = outgoing.body.take(outgoing.credit, spare, begins);
        Chunk::Data { stream, first, last, payload: &payload }.encode(out);

        let cost = chunk_cost(payload.len());
        outgoing.credit -= cost;
        outgoing.phase = Phase::InProgress { stream };
        self.credit -= cost;
        self.reserved = self.reserved - reserved_before + outgoing.body.reservation();
        let queue = &mut self.queues[outgoing.class as usize];
        queue.bytes -= if begins || outgoing.body.is_message() { payload.len() } else { 0 };
        queue.running.push_back(sending);
        if last {
            self.remove(sending);
        }
    }

    pub(super) fn queued_bytes(&self) -> usize {
        let transfers: usize = self.outgoing.values().map(|outgoing| outgoing.body.buffered()).sum();
        transfers + self.queues.iter().map(|queue| queue.bytes).sum::<usize>()
    }
}
