//! What a route answers with: a reply, described without saying how it is written, or a fault.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// Outcome of a route.
#[derive(Debug)]
pub(crate) enum Answer {
    Reply(Reply),
    Fault(Fault),
}

/// Ways to misbehave. Each is performed by the connection, for only it can break the rules of its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Reset the connection (HTTP/2: the stream) instead of answering.
    Reset,
    /// Close the connection without an answer.
    Close,
    /// Announce 1000 bytes, send 10, close.
    CloseMidBody,
    /// Send bytes that are no HTTP, close.
    Garbage,
    /// Send the head of the answer byte by byte with this pause in between.
    SlowHead(Duration),
    /// Send a head of this many bytes.
    HugeHead(usize),
    /// Send a body whose end is the end of the connection.
    NoLength,
    /// Answer properly, then close although the connection was to be kept.
    CloseAfter,
    /// Send an interim answer (103) before the final one.
    EarlyHints,
}

/// A proper answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Names in lower case. Length and connection headers are added by whoever writes the reply.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
    /// Waited for before the head is written, in addition to injected latency.
    pub(crate) delay: Duration,
}

/// The body of a reply.
#[derive(Debug)]
pub(crate) enum Body {
    Bytes(Bytes),
    /// This many bytes of [`FILLING`].
    Fill(u64),
    Pieces(Pieces),
}

impl Body {
    /// Its length, if it is known before the end.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Fill(length) => Some(*length),
            Self::Pieces(pieces) => pieces.length(),
        }
    }
}

/// What generated bodies consist of, over and over.
pub(crate) const FILLING: &[u8; 8192] = &{
    let alphabet = b"0123456789abcdef";
    let mut block = [0; 8192];
    let mut at = 0;
    while at < block.len() {
        block[at] = alphabet[at % alphabet.len()];
        at += 1;
    }
    block
};

/// A body sent piece by piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pieces {
    pub(crate) count: u64,
    /// Waited for between two pieces.
    pub(crate) interval: Duration,
    pub(crate) kind: PieceKind,
    /// Send a trailer with the number of pieces.
    pub(crate) trailers: bool,
}

/// What the pieces are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PieceKind {
    /// Lines `chunk 1`, `chunk 2`, …
    Lines,
    /// Server-sent events with growing ids.
    Events,
    /// Equal parts of a body of this known length.
    Drip(u64),
}

/// The trailer sent after [`Pieces`] that ask for one.
pub(crate) const TRAILER: &str = "x-pieces";

impl Pieces {
    /// The piece with this number, from 0.
    pub(crate) fn piece(&self, index: u64) -> Bytes {
        match self.kind {
            PieceKind::Lines => format!("chunk {}\n", index + 1).into(),
            PieceKind::Events => format!("id: {0}\ndata: {{\"n\":{0}}}\n\n", index + 1).into(),
            PieceKind::Drip(total) => {
                let up_to =
                    |index: u64| (u128::from(total) * u128::from(index) / u128::from(self.count)) as u64;
                FILLING.iter().cycle().copied().take((up_to(index + 1) - up_to(index)) as usize).collect()
            }
        }
    }

    fn length(&self) -> Option<u64> {
        match self.kind {
            PieceKind::Drip(total) => Some(total),
            PieceKind::Lines | PieceKind::Events => None,
        }
    }
}

impl Reply {
    pub(crate) fn new(status: u16, body: Body) -> Self {
        Self { status, headers: Vec::new(), body, delay: Duration::ZERO }
    }

    pub(crate) fn text(status: u16, text: impl Into<Bytes>) -> Self {
        Self::new(status, Body::Bytes(text.into())).header("content-type", "text/plain")
    }

    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::new(status, Body::Bytes(value.to_string().into())).header("content-type", "application/json")
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    #[must_use]
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// What is answered instead of the route when an error is injected.
    pub(crate) fn injected_error() -> Self {
        Self::text(500, "injected error\n")
    }

    /// Whether the status forbids a body and its length (RFC 9110, 6.4.1).
    pub(crate) fn is_bodiless(&self) -> bool {
        self.status < 200 || self.status == 204 || self.status == 304
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

/// A request that a route cannot make sense of.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    message: String,
}

impl Refusal {
    /// The request is wrong (400).
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into() }
    }

    /// The method does not fit the route (405).
    pub(crate) fn method(allowed: &str) -> Self {
        Self { status: 405, message: format!("only {allowed} is allowed here") }
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self::text(refusal.status, refusal.message + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drip_pieces_add_up_to_the_announced_length() {
        for (total, count) in [(10, 3), (3, 10), (0, 1), (1_000, 7), (8_193, 2)] {
            let pieces =
                Pieces { count, interval: Duration::ZERO, kind: PieceKind::Drip(total), trailers: false };
            let sent: usize = (0..count).map(|index| pieces.piece(index).len()).sum();
            assert_eq!(sent as u64, total, "{total} bytes in {count}");
        }
    }
}
