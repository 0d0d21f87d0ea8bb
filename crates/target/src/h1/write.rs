//! Answers as bytes of HTTP/1.

use bytes::Bytes;
use http::StatusCode;

use super::head::Manner;
use super::{Connection, Hangup};
use crate::reply::{Body, FILLING, Pieces, Reply, TRAILER};
use crate::routes::Site;
use crate::socket::Socket;

/// Buffered bytes after which they are written out, so that large bodies do not pile up.
const OUT_BYTES_MAX: usize = 64 * 1024;

/// Whether the connection goes on after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    KeepAlive,
    Close,
}

/// The answer of `/` ready to be copied: with body and without.
pub(crate) struct Prepared {
    pub(super) full: Bytes,
    pub(super) head: Bytes,
}

impl Prepared {
    /// `None` if the body is so large that it is generated anew each time.
    pub(crate) fn index(site: &Site) -> Option<Self> {
        let reply = site.index();
        let length = reply.body.length().filter(|length| *length <= OUT_BYTES_MAX as u64)?;
        let mut bytes = Vec::new();
        let manner = Manner { keep_alive: true, is_old: false, is_head: false };
        write_head(&mut bytes, &reply, manner);
        let head = Bytes::copy_from_slice(&bytes);
        match &reply.body {
            Body::Bytes(body) => bytes.extend_from_slice(body),
            _ => bytes.extend(FILLING.iter().cycle().take(length as usize)),
        }
        Some(Self { full: bytes.into(), head })
    }
}

/// Writes the head of a reply and says what happens after its body.
pub(super) fn write_head(out: &mut Vec<u8>, reply: &Reply, manner: Manner) -> Next {
    write_status_line(out, reply.status);
    for (name, value) in &reply.headers {
        write_header(out, name, value);
    }
    let mut next = if manner.keep_alive { Next::KeepAlive } else { Next::Close };
    if !reply.is_bodiless() {
        match (reply.body.length(), manner.is_old) {
            (Some(length), _) => write_header(out, "content-length", itoa::Buffer::new().format(length)),
            (None, false) => write_header(out, "transfer-encoding", "chunked"),
            // Only the end of the connection can end it.
            (None, true) => next = Next::Close,
        }
        if matches!(&reply.body, Body::Pieces(pieces) if pieces.trailers) {
            write_header(out, "trailer", TRAILER);
        }
    }
    match (next, manner.is_old) {
        (Next::Close, _) => write_header(out, "connection", "close"),
        (Next::KeepAlive, true) => write_header(out, "connection", "keep-alive"),
        (Next::KeepAlive, false) => {}
    }
    out.extend_from_slice(b"\r\n");
    next
}

pub(super) fn write_status_line(out: &mut Vec<u8>, status: u16) {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason.unwrap_or("Unknown").as_bytes());
    out.extend_from_slice(b"\r\n");
}

pub(super) fn write_header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

impl<S: Socket> Connection<S> {
    /// Buffers a reply; whatever does not fit the buffer is written out on the way.
    pub(super) async fn send(&mut self, reply: &Reply, manner: Manner) -> Result<Next, Hangup> {
        let next = write_head(&mut self.out, reply, manner);
        if manner.is_head || reply.is_bodiless() {
            return Ok(next);
        }
        match &reply.body {
            Body::Bytes(bytes) => self.out.extend_from_slice(bytes),
            Body::Fill(length) => self.send_filling(*length).await?,
            Body::Pieces(pieces) => self.send_pieces(pieces, !manner.is_old).await?,
        }
        Ok(next)
    }

    async fn send_filling(&mut self, length: u64) -> Result<(), Hangup> {
        let mut missing = length;
        while missing > 0 {
            let count = missing.min(FILLING.len() as u64) as usize;
            self.out.extend_from_slice(&FILLING[..count]);
            missing -= count as u64;
            self.flush_if_large().await?;
        }
        Ok(())
    }

    async fn send_pieces(&mut self, pieces: &Pieces, may_chunk: bool) -> Result<(), Hangup> {
        let chunked = may_chunk && Body::Pieces(*pieces).length().is_none();
        for index in 0..pieces.count {
            if index > 0 && !pieces.interval.is_zero() {
                self.flush().await?;
                tokio::time::sleep(pieces.interval).await;
            }
            let piece = pieces.piece(index);
            if chunked && !piece.is_empty() {
                self.out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                self.out.extend_from_slice(&piece);
                self.out.extend_from_slice(b"\r\n");
            } else {
                self.out.extend_from_slice(&piece);
            }
            self.flush_if_large().await?;
        }
        if chunked {
            self.out.extend_from_slice(b"0\r\n");
            if pieces.trailers {
                write_header(&mut self.out, TRAILER, itoa::Buffer::new().format(pieces.count));
            }
            self.out.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    async fn flush_if_large(&mut self) -> Result<(), Hangup> {
        if self.out.len() >= OUT_BYTES_MAX { self.flush().await } else { Ok(()) }
    }
}
