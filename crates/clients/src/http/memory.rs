//! A network in memory: every request is answered with the same bytes, without a system call.
//!
//! For tests, for counting allocations and instructions. It answers when the request's last write has come, whatever
//! the request says, and delivers the answer in the pieces it was given.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::network::{Endpoint, Network};

/// What the peer does.
#[derive(Clone, Debug)]
pub struct MemoryNetwork {
    script: Rc<Script>,
    written: Rc<RefCell<Vec<u8>>>,
}

#[derive(Debug)]
struct Script {
    /// The pieces of an answer; each is one read.
    pieces: Vec<Vec<u8>>,
    /// The peer closes the connection after an answer.
    close: bool,
    /// Every read waits for one turn of the runtime first.
    wait: bool,
    /// What was written is kept.
    record: bool,
}

impl MemoryNetwork {
    /// Answers every request with these bytes in one piece.
    pub fn answering(answer: impl Into<Vec<u8>>) -> Self {
        Self::scripted(vec![answer.into()], false, false, false)
    }

    /// Answers in pieces, each delivered by a read of its own after one turn of the runtime; then the peer closes
    /// the connection if `close`. What is written can be read with [`MemoryNetwork::written`].
    pub fn in_pieces(pieces: Vec<Vec<u8>>, close: bool) -> Self {
        Self::scripted(pieces, close, true, true)
    }

    /// Answers in one piece after one turn of the runtime, like a peer that is never there at once.
    pub fn waiting(answer: impl Into<Vec<u8>>) -> Self {
        Self::scripted(vec![answer.into()], false, true, false)
    }

    /// Everything written so far by connections of [`MemoryNetwork::in_pieces`].
    pub fn written(&self) -> Vec<u8> {
        self.written.borrow().clone()
    }

    fn scripted(pieces: Vec<Vec<u8>>, close: bool, wait: bool, record: bool) -> Self {
        let script = Rc::new(Script { pieces, close, wait, record });
        MemoryNetwork { script, written: Rc::default() }
    }
}

impl Network for MemoryNetwork {
    type Stream = MemoryStream;

    fn is_quiet(stream: &MemoryStream) -> bool {
        stream.next.is_none() && !stream.closed
    }

    async fn connect(&self, _: Endpoint<'_>) -> io::Result<MemoryStream> {
        Ok(MemoryStream { network: self.clone(), next: None, offset: 0, waited: false, closed: false })
    }

    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
    }
}

/// A connection of a [`MemoryNetwork`].
#[derive(Debug)]
pub struct MemoryStream {
    network: MemoryNetwork,
    /// The piece to deliver next; `None` while no request has come.
    next: Option<usize>,
    /// How much of that piece is delivered.
    offset: usize,
    waited: bool,
    closed: bool,
}

impl AsyncRead for MemoryStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closed {
            return Poll::Ready(Ok(()));
        }
        let Some(at) = this.next else {
            return Poll::Pending;
        };
        let script = &this.network.script;
        if script.wait && !this.waited {
            this.waited = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.waited = false;
        let Some(piece) = script.pieces.get(at) else {
            this.closed = script.close;
            this.next = None;
            return if this.closed { Poll::Ready(Ok(())) } else { Poll::Pending };
        };
        let rest = &piece[this.offset..];
        let taken = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..taken]);
        this.offset += taken;
        if this.offset == piece.len() {
            this.offset = 0;
            let last = at + 1 == script.pieces.len() && !script.close;
            this.next = (!last).then_some(at + 1);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemoryStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if this.network.script.record {
            this.network.written.borrow_mut().extend_from_slice(bytes);
        }
        this.next = Some(0);
        this.offset = 0;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
