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

use super::Endpoint;

/// What the peer does.
#[derive(Clone, Debug)]
pub struct MemoryNetwork {
    script: Rc<Script>,
    written: Rc<RefCell<Vec<u8>>>,
    hosts: Rc<Hosts>,
    asked: Option<Rc<RefCell<Vec<String>>>>,
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
        MemoryNetwork { script, written: Rc::default(), hosts: Rc::default(), asked: None }
    }
}

/// Names and addresses of the model.
#[derive(Debug)]
struct Hosts {
    /// What every name resolves to.
    addresses: Vec<IpAddr>,
    /// Those of them that refuse connections.
    refusing: Vec<IpAddr>,
}

impl Default for Hosts {
    fn default() -> Self {
        Hosts { addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], refusing: Vec::new() }
    }
}

impl MemoryNetwork {
    /// The same peer under several addresses, of which some refuse connections. What is resolved and whom it connects
    /// to can be read with [`MemoryNetwork::asked`].
    #[must_use]
    pub fn with_addresses(mut self, addresses: Vec<IpAddr>, refusing: Vec<IpAddr>) -> Self {
        self.hosts = Rc::new(Hosts { addresses, refusing });
        self.asked = Some(Rc::default());
        self
    }

    /// Names resolved and peers connected to so far, in order, by a network [`MemoryNetwork::with_addresses`].
    pub fn asked(&self) -> Vec<String> {
        self.asked.as_ref().map(|asked| asked.borrow().clone()).unwrap_or_default()
    }

    pub(super) fn connect(&self, to: Endpoint<'_>) -> io::Result<MemoryStream> {
        if let Endpoint::Tcp { peer, .. } = to {
            self.note(|| peer.to_string());
            if self.hosts.refusing.contains(&peer.ip()) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
        }
        Ok(MemoryStream { network: self.clone(), next: None, offset: 0, waited: false, closed: false })
    }

    pub(super) fn resolve(&self, host: &str) -> Vec<IpAddr> {
        self.note(|| host.to_owned());
        self.hosts.addresses.clone()
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if let Some(asked) = &self.asked {
            asked.borrow_mut().push(text());
        }
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

impl MemoryStream {
    pub(super) fn is_quiet(&self) -> bool {
        self.next.is_none() && !self.closed
    }
}

impl AsyncRead for MemoryStream {
    #[inline]
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
