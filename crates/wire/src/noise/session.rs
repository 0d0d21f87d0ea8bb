//! A sealed connection after its handshake.
//!
//! ```text
//! frame content = Noise message of: 0x00                (the next frames have a new key)
//!                                 | 0x01 chunk
//! ```
//! | state | event | next |
//! | --- | --- | --- |
//! | awaiting confirmation | a frame opens | confirmed |
//! | confirmed | a frame opens | confirmed |
//! | any | a frame does not open, or its key is overdue | broken: nothing opens any more |

use std::fmt;

use hyperscale_types::Now;
use snow::TransportState;

use crate::counters::Refusal;
use crate::limits::{FRAME_MAX, REKEY_AFTER, REKEY_FRAMES, REKEY_OVERDUE_AFTER, REKEY_OVERDUE_FRAMES};

const TAG: usize = 16;
const REKEY: u8 = 0;
const CHUNK: u8 = 1;

/// What a session takes off the content of a frame.
pub(super) const SESSION_OVERHEAD: usize = TAG + 1;

/// Why a frame did not open. The session is over and the connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Changed, repeated, left out, or sealed by somebody else.
    #[error("a frame is forged")]
    Forged,
    /// The peer did not change its key in time.
    #[error("the peer does not change its keys")]
    RekeyOverdue,
    /// Sealed rightly, but without meaning.
    #[error("a sealed frame is malformed")]
    Malformed,
}

impl OpenError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            OpenError::Forged => Refusal::FrameForged,
            OpenError::RekeyOverdue => Refusal::RekeyOverdue,
            OpenError::Malformed => Refusal::ChunkMalformed,
        }
    }
}

/// What a frame was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Opened<'a> {
    /// A chunk.
    Chunk(&'a [u8]),
    /// The peer changed its key.
    Rekeyed,
}

/// A chunk may hold secrets: only its size is shown.
impl fmt::Debug for Opened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opened::Chunk(chunk) => write!(f, "Chunk({} bytes)", chunk.len()),
            Opened::Rekeyed => f.write_str("Rekeyed"),
        }
    }
}

/// Whether the peer has shown that it has the keys of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confirmation {
    Awaited,
    Confirmed,
    Broken(OpenError),
}

/// Keys of both directions of one connection.
pub struct Session {
    transport: TransportState,
    confirmation: Confirmation,
    sent_under_key: u64,
    key_since: Now,
    received_under_key: u64,
    peer_key_since: Now,
    /// Plain bytes of the frame in hand; kept to save allocations.
    scratch: Vec<u8>,
    rekeys: u64,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("confirmation", &self.confirmation).finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(transport: TransportState, confirmation: Confirmation, now: Now) -> Self {
        Self {
            transport,
            confirmation,
            sent_under_key: 0,
            key_since: now,
            received_under_key: 0,
            peer_key_since: now,
            scratch: Vec::new(),
            rekeys: 0,
        }
    }

    /// Whether the peer has shown that it has the keys. Until then the handshake is in progress.
    pub fn is_confirmed(&self) -> bool {
        self.confirmation == Confirmation::Confirmed
    }

    /// How often this side changed its key.
    pub fn rekeys(&self) -> u64 {
        self.rekeys
    }

    /// Seals a chunk and appends it as a frame, after changing the key if that is due.
    ///
    /// # Panics
    /// If the chunk does not fit a frame.
    pub fn seal(&mut self, now: Now, chunk: &[u8], out: &mut Vec<u8>) {
        if self.sent_under_key + 1 >= REKEY_FRAMES || now.since(self.key_since) >= REKEY_AFTER {
            self.put(REKEY, &[], out);
            self.transport.rekey_outgoing();
            self.sent_under_key = 0;
            self.key_since = now;
            self.rekeys += 1;
        }
        self.put(CHUNK, chunk, out);
    }

    pub(super) fn put(&mut self, kind: u8, chunk: &[u8], out: &mut Vec<u8>) {
        let sealed = chunk.len() + SESSION_OVERHEAD;
        assert!(sealed <= FRAME_MAX, "a chunk fits a frame");
        self.scratch.clear();
        self.scratch.push(kind);
        self.scratch.extend_from_slice(chunk);
        out.extend_from_slice(&(sealed as u32).to_be_bytes());
        let begin = out.len();
        out.resize(begin + sealed, 0);
        self.transport
            .write_message(&self.scratch, &mut out[begin..])
            .expect("the length was checked, and 2^64 frames are never sent");
        self.sent_under_key += 1;
    }

    /// Opens a frame that arrived now.
    pub fn open(&mut self, now: Now, frame: &[u8]) -> Result<Opened<'_>, OpenError> {
        if let Confirmation::Broken(error) = self.confirmation {
            return Err(error);
        }
        let length = match self.open_into_scratch(now, frame) {
            Ok(length) => length,
            Err(error) => {
                self.confirmation = Confirmation::Broken(error);
                return Err(error);
            }
        };
        self.confirmation = Confirmation::Confirmed;
        match self.scratch[..length].split_first() {
            Some((&CHUNK, chunk)) => Ok(Opened::Chunk(chunk)),
            _ => Ok(Opened::Rekeyed),
        }
    }

    fn open_into_scratch(&mut self, now: Now, frame: &[u8]) -> Result<usize, OpenError> {
        if self.received_under_key >= REKEY_OVERDUE_FRAMES {
            return Err(OpenError::RekeyOverdue);
        }
        self.scratch.resize(frame.len(), 0);
        let length = self.transport.read_message(frame, &mut self.scratch).map_err(|_| OpenError::Forged)?;
        self.received_under_key += 1;
        match self.scratch[..length] {
            [REKEY] => {
                self.transport.rekey_incoming();
                self.received_under_key = 0;
                self.peer_key_since = now;
            }
            // A peer that was silent changes its key before it says anything else, however late that is.
            [CHUNK, ..] if now.since(self.peer_key_since) >= REKEY_OVERDUE_AFTER => {
                return Err(OpenError::RekeyOverdue);
            }
            [CHUNK, ..] => {}
            _ => return Err(OpenError::Malformed),
        }
        Ok(length)
    }
}

#[cfg(test)]
impl Session {
    /// Pretends that so many frames were sent under the present key.
    pub(super) fn set_sent_under_key(&mut self, frames: u64) {
        self.sent_under_key = frames;
    }

    /// Pretends that so many frames were received under the present key.
    pub(super) fn set_received_under_key(&mut self, frames: u64) {
        self.received_under_key = frames;
    }
}
