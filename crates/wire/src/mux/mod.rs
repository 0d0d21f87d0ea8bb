//! Many messages and transfers on one connection, cut into chunks, with credit.
//!
//! [`Mux`] joins the sending half ([`send`]) and the receiving half ([`receive`]) of one end of one lane. It owns the
//! queues and buffers of that lane, all of them limited, and must never see a socket, a key or a clock.
//!
//! # Order
//! A higher class goes first. Within a class messages begin in the order they were queued, and a message that begins
//! takes turns with those in progress: it waits behind one chunk of theirs at most, and none of them starves.
//!
//! # Credit
//! A sender may have [`STREAM_CREDIT`](crate::limits::STREAM_CREDIT) under way per stream and
//! [`Lane::credit`] per lane. Every chunk of data costs its payload and [`CHUNK_COST`](crate::limits::CHUNK_COST), so that
//! nothing that makes an event is free. Credit of the lane comes back when the receiving application has taken the bytes and
//! [`released`](Mux::release) them. A message begins only when the lane has credit for all of it, so that messages in
//! progress can never block each other half-way; the last
//! [`CONTROL_HEADROOM`](crate::limits::CONTROL_HEADROOM) bytes are for class `control` alone.
//!
//! # Streams
//! | half | state | event | next |
//! | --- | --- | --- | --- |
//! | send | queued | credit for it, turn | in progress: next number, first chunk |
//! | send | in progress | turn, stream has credit | chunk; after the last one: gone |
//! | send | in progress | `stop` from the peer | gone, answered with `abort`, event `Stopped` |
//! | send | gone | `stop` or credit from the peer | ignored: it was under way when the stream ended |
//! | send | transfer, queued | [`Mux::abort`] | gone; the peer never heard of it |
//! | send | transfer, in progress | [`Mux::abort`] | gone, `abort` sent |
//! | receive | unknown | first chunk, number above all before | in progress |
//! | receive | in progress | chunk within credit and size | in progress; after the last one: gone |
//! | receive | in progress | [`Mux::stop`] | discarding, `stop` sent |
//! | receive | in progress, discarding | `abort` | gone; of a transfer: event `Aborted` (not when discarding) |
//! | both | any | anything else, also for a number that never began | refused; the connection must be closed |

pub mod receive;
pub mod send;

#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;

pub use self::receive::{Credit, MuxError};
pub use self::send::{SendError, Sending};

use self::receive::Receiver;
use self::send::Sender;
use crate::chunk::Chunk;
use crate::class::{Class, Lane};
use crate::compress::Packed;

/// One end of one lane.
pub struct Mux {
    sender: Sender,
    receiver: Receiver,
}

/// Messages may hold secrets: only the sizes of what is queued and held are shown.
impl fmt::Debug for Mux {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mux")
            .field("lane", &self.lane())
            .field("queued_bytes", &self.queued_bytes())
            .field("received_bytes", &self.received_bytes())
            .finish_non_exhaustive()
    }
}

/// What arrived on a lane, in the order of its chunks.
#[derive(PartialEq, Eq)]
pub enum Event {
    /// A whole message.
    Message {
        /// The stream it came on, which ends with it.
        stream: u64,
        /// Its class and its bytes, still packed: what waits in a queue takes no more memory than its credit.
        data: Packed,
        /// To be released when it was dealt with.
        credit: Credit,
    },
    /// A transfer begins.
    Begin {
        /// The stream that its bytes follow on.
        stream: u64,
        /// The message at its head, never compressed.
        head: Packed,
        /// To be released when the head was dealt with.
        credit: Credit,
    },
    /// The next bytes of a transfer.
    Data {
        /// The stream that began with `Begin`.
        stream: u64,
        /// One piece, in the order they were sent.
        data: Bytes,
        /// To be released when they were dealt with.
        credit: Credit,
    },
    /// A transfer is complete.
    End {
        /// The stream that began with `Begin`.
        stream: u64,
    },
    /// The peer gave a transfer up. (Of a message that was given up nothing was told before, nor is now.)
    Aborted {
        /// The stream that began with `Begin`.
        stream: u64,
    },
    /// The peer wants no more of one of our messages or transfers.
    Stopped {
        /// The number that it was given when it was begun.
        sending: Sending,
    },
}

/// A piece of a transfer may hold secrets: only its size is shown.
impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Message { stream, data, .. } => {
                write!(f, "Message {{ stream: {stream}, data: {data:?} }}")
            }
            Event::Begin { stream, head, .. } => write!(f, "Begin {{ stream: {stream}, head: {head:?} }}"),
            Event::Data { stream, data, .. } => {
                write!(f, "Data {{ stream: {stream}, bytes: {} }}", data.len())
            }
            Event::End { stream } => write!(f, "End {{ stream: {stream} }}"),
            Event::Aborted { stream } => write!(f, "Aborted {{ stream: {stream} }}"),
            Event::Stopped { sending } => write!(f, "Stopped {{ sending: {sending:?} }}"),
        }
    }
}

impl Mux {
    /// One end of a fresh connection.
    pub fn new(lane: Lane) -> Self {
        Self { sender: Sender::new(lane), receiver: Receiver::new(lane) }
    }

    /// Control or bulk: decides which classes and sizes are allowed.
    pub const fn lane(&self) -> Lane {
        self.sender.lane()
    }

    /// Queues a message of at most [`MESSAGE_PLAIN_MAX`](crate::limits::MESSAGE_PLAIN_MAX) bytes, and
    /// [`MESSAGE_MAX`](crate::limits::MESSAGE_MAX) as it travels. On the bulk lane it is compressed when that pays.
    /// [`Link::send`](crate::link::Link::send) knows the class.
    pub fn send(&mut self, class: Class, message: Bytes) -> Result<Sending, SendError> {
        self.sender.send(class, message)
    }

    /// Begins a transfer with the message at its head, on the bulk lane.
    pub fn begin(&mut self, class: Class, head: Bytes) -> Result<Sending, SendError> {
        self.sender.begin(class, head)
    }

    /// Adds bytes to a transfer. [`SendError::Full`]: wait until [`Mux::room`] says there is some.
    pub fn push(&mut self, sending: Sending, data: Bytes) -> Result<(), SendError> {
        self.sender.push(sending, data)
    }

    /// Bytes that a transfer can take now.
    pub fn room(&self, sending: Sending) -> usize {
        self.sender.room(sending)
    }

    /// Says that a transfer is complete.
    pub fn finish(&mut self, sending: Sending) -> Result<(), SendError> {
        self.sender.finish(sending)
    }

    /// Gives a transfer up.
    pub fn abort(&mut self, sending: Sending) -> Result<(), SendError> {
        self.sender.abort(sending)
    }

    /// Tells the peer that no more of its stream is wanted.
    pub fn stop(&mut self, stream: u64) {
        self.receiver.stop(stream);
    }

    /// Gives back the credit of something that was dealt with.
    pub fn release(&mut self, credit: Credit) {
        self.receiver.release(credit);
    }

    /// Takes a chunk from the peer.
    pub fn handle(&mut self, chunk: &[u8], events: &mut Vec<Event>) -> Result<(), MuxError> {
        match Chunk::decode(chunk)? {
            Chunk::Data { stream, first, last, payload } => {
                self.receiver.data(stream, first, last, payload, events)
            }
            Chunk::Abort { stream } => self.receiver.aborted(stream, events),
            Chunk::Credit { stream, bytes } => self.sender.credited(stream, bytes),
            Chunk::Stop { stream } => {
                let stopped = self.sender.stopped(stream)?;
                events.extend(stopped.map(|sending| Event::Stopped { sending }));
                Ok(())
            }
        }
    }

    /// Appends the next chunk to send; `false`: there is nothing that may be sent now.
    pub fn next_chunk(&mut self, out: &mut Vec<u8>) -> bool {
        let note = self.receiver.next_note().or_else(|| self.sender.next_note());
        if let Some(note) = note {
            note.encode(out);
            return true;
        }
        self.sender.next_data(out)
    }

    /// Credit that is taken by what the application and messages in progress hold.
    pub fn received_bytes(&self) -> usize {
        self.receiver.held_bytes()
    }

    /// Bytes that wait to be sent.
    pub fn queued_bytes(&self) -> usize {
        self.sender.queued_bytes()
    }
}
