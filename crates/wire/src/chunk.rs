//! Chunks: what one sealed frame carries.
//!
//! ```text
//! chunk  = kind(1) flags(1) stream(8, big-endian) payload
//! data   = kind 1; payload of at most CHUNK_MAX bytes
//! credit = kind 2; payload: u32, bytes the receiver took (stream 0: for the whole lane)
//! abort  = kind 3; no payload: the sender gives the stream up
//! stop   = kind 4; no payload: the receiver wants no more of the stream
//! flags  = first(1) last(2) transfer(4) zstd(8) class(16, 32); only data has any, and only a first chunk has others
//!          than `last`
//! ```
//! Each direction numbers its streams itself, from 1, in the order in which they begin. Data and abort name a stream of
//! their sender; credit and stop one of their receiver.

use std::fmt;

use crate::class::Class;
use crate::counters::Refusal;
use crate::limits::CHUNK_MAX;

/// Bytes before the payload.
pub const CHUNK_HEADER: usize = 10;

const DATA: u8 = 1;
const CREDIT: u8 = 2;
const ABORT: u8 = 3;
const STOP: u8 = 4;

const FIRST: u8 = 1;
const LAST: u8 = 2;
const TRANSFER: u8 = 4;
const ZSTD: u8 = 8;
const CLASS_SHIFT: u8 = 4;
const FLAGS: u8 = 0b0011_1111;

/// A decoded chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// A piece of a message or of a transfer.
    Data {
        /// Number of the stream, not zero.
        stream: u64,
        /// Set on the first piece only.
        first: Option<First>,
        /// Nothing follows.
        last: bool,
        /// A piece of the message or transfer.
        payload: &'a [u8],
    },
    /// The receiver took so many bytes.
    Credit {
        /// The stream, or zero for the whole lane.
        stream: u64,
        /// Bytes that the peer may send on top of what it has left.
        bytes: u32,
    },
    /// The sender gives up.
    Abort {
        /// The stream of which nothing more is sent.
        stream: u64,
    },
    /// The receiver gives up.
    Stop {
        /// The stream of which nothing more is read.
        stream: u64,
    },
}

/// A payload may hold secrets: only its size is shown.
impl fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Chunk::Data { stream, first, last, payload } => f
                .debug_struct("Data")
                .field("stream", stream)
                .field("first", first)
                .field("last", last)
                .field("payload_bytes", &payload.len())
                .finish(),
            Chunk::Credit { stream, bytes } => write!(f, "Credit {{ stream: {stream}, bytes: {bytes} }}"),
            Chunk::Abort { stream } => write!(f, "Abort {{ stream: {stream} }}"),
            Chunk::Stop { stream } => write!(f, "Stop {{ stream: {stream} }}"),
        }
    }
}

/// What the first piece of a stream says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Order of sending, headroom and rate of the stream.
    pub class: Class,
    /// A head and then bytes, handed on as they arrive; else one message.
    pub transfer: bool,
    /// The message is compressed.
    pub zstd: bool,
}

/// Bytes that are not a chunk. The connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chunk is malformed")]
pub struct ChunkError;

impl ChunkError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        Refusal::ChunkMalformed
    }
}

impl<'a> Chunk<'a> {
    /// Reads a chunk.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ChunkError> {
        let (header, payload) = bytes.split_first_chunk::<CHUNK_HEADER>().ok_or(ChunkError)?;
        let [kind, flags, stream @ ..] = *header;
        let stream = u64::from_be_bytes(stream);
        match kind {
            DATA => decode_data(flags, stream, payload),
            _ if flags != 0 => Err(ChunkError),
            CREDIT => {
                let bytes = u32::from_be_bytes(payload.try_into().map_err(|_| ChunkError)?);
                if bytes == 0 { Err(ChunkError) } else { Ok(Chunk::Credit { stream, bytes }) }
            }
            ABORT | STOP if stream == 0 || !payload.is_empty() => Err(ChunkError),
            ABORT => Ok(Chunk::Abort { stream }),
            STOP => Ok(Chunk::Stop { stream }),
            _ => Err(ChunkError),
        }
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Chunk::Data { stream, first, last, payload } => {
                put_header(out, DATA, data_flags(first, last), stream);
                out.extend_from_slice(payload);
            }
            Chunk::Credit { stream, bytes } => {
                put_header(out, CREDIT, 0, stream);
                out.extend_from_slice(&bytes.to_be_bytes());
            }
            Chunk::Abort { stream } => put_header(out, ABORT, 0, stream),
            Chunk::Stop { stream } => put_header(out, STOP, 0, stream),
        }
    }
}

fn decode_data(flags: u8, stream: u64, payload: &[u8]) -> Result<Chunk<'_>, ChunkError> {
    let last = flags & LAST != 0;
    let is_first = flags & FIRST != 0;
    let first = is_first.then(|| First {
        class: Class::from_bits(flags >> CLASS_SHIFT),
        transfer: flags & TRANSFER != 0,
        zstd: flags & ZSTD != 0,
    });
    let foreign_flags = if is_first { flags & !FLAGS } else { flags & !LAST };
    let compressed_transfer = flags & (TRANSFER | ZSTD) == TRANSFER | ZSTD;
    // An empty piece says nothing unless it begins or ends something.
    let idle = payload.is_empty() && !is_first && !last;
    if stream == 0 || payload.len() > CHUNK_MAX || foreign_flags != 0 || compressed_transfer || idle {
        return Err(ChunkError);
    }
    Ok(Chunk::Data { stream, first, last, payload })
}

fn data_flags(first: Option<First>, last: bool) -> u8 {
    let last = if last { LAST } else { 0 };
    first.map_or(last, |first| {
        let transfer = if first.transfer { TRANSFER } else { 0 };
        let zstd = if first.zstd { ZSTD } else { 0 };
        FIRST | last | transfer | zstd | (first.class.bits() << CLASS_SHIFT)
    })
}

fn put_header(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u64) {
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(chunk: &Chunk<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        chunk.encode(&mut out);
        out
    }

    #[test]
    fn every_chunk_is_read_back() {
        let mut chunks = vec![
            Chunk::Credit { stream: 0, bytes: 1 },
            Chunk::Credit { stream: 9, bytes: u32::MAX },
            Chunk::Abort { stream: 3 },
            Chunk::Stop { stream: u64::MAX },
            Chunk::Data { stream: 5, first: None, last: false, payload: b"x" },
            Chunk::Data { stream: 5, first: None, last: true, payload: b"" },
        ];
        for class in Class::ALL {
            for (transfer, zstd) in [(false, false), (true, false), (false, true)] {
                let first = Some(First { class, transfer, zstd });
                chunks.push(Chunk::Data { stream: 1, first, last: zstd, payload: b"payload" });
            }
        }
        for chunk in chunks {
            assert_eq!(Chunk::decode(&bytes_of(&chunk)), Ok(chunk));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let stream = |number: u8| [0, 0, 0, 0, 0, 0, 0, number];
        let chunk = |kind: u8, flags: u8, number: u8, payload: &[u8]| {
            let mut bytes = vec![kind, flags];
            bytes.extend_from_slice(&stream(number));
            bytes.extend_from_slice(payload);
            bytes
        };
        let too_long = vec![0; CHUNK_MAX + 1];
        for (why, bytes) in [
            ("empty", vec![]),
            ("short", vec![DATA; CHUNK_HEADER - 1]),
            ("unknown kind", chunk(9, 0, 1, b"")),
            ("stream zero", chunk(DATA, FIRST, 0, b"x")),
            ("payload too long", chunk(DATA, FIRST, 1, &too_long)),
            ("unknown flag", chunk(DATA, FIRST | 64, 1, b"x")),
            ("class on a later piece", chunk(DATA, 1 << CLASS_SHIFT, 1, b"x")),
            ("compressed transfer", chunk(DATA, FIRST | TRANSFER | ZSTD, 1, b"x")),
            ("empty piece in the middle", chunk(DATA, 0, 1, b"")),
            ("credit of nothing", chunk(CREDIT, 0, 1, &[0; 4])),
            ("credit too short", chunk(CREDIT, 0, 1, &[1; 3])),
            ("credit with flags", chunk(CREDIT, LAST, 1, &[1; 4])),
            ("abort with payload", chunk(ABORT, 0, 1, b"x")),
            ("stop of stream zero", chunk(STOP, 0, 0, b"")),
        ] {
            assert_eq!(Chunk::decode(&bytes), Err(ChunkError), "{why}");
        }
    }
}
