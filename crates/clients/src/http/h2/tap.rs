//! Hot: between `h2` and the byte stream. Watches frames go by and books them on their streams' accounts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyperscale_types::Now;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Traffic;
use super::frames::{Frame, Frames};
use super::inbound::Inbound;
use crate::clock;
use crate::lease::LeaseDeadline;

/// The accounts of the streams in use.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: HashMap<u32, Traffic, BuildHasherDefault<StreamHasher>>,
    going_away: bool,
}

impl Ledger {
    /// Begins an account. Must come before the stream's first frame is written.
    pub(super) fn open(&mut self, stream: u32) {
        self.accounts.insert(stream, Traffic::default());
    }

    /// The account so far.
    pub(super) fn read(&self, stream: u32) -> Traffic {
        self.accounts.get(&stream).copied().unwrap_or_default()
    }

    /// Ends an account; later frames of the stream are nobody's.
    pub(super) fn close(&mut self, stream: u32) -> Traffic {
        self.accounts.remove(&stream).unwrap_or_default()
    }

    /// Whether the peer has said that it takes no new streams.
    pub(super) fn is_going_away(&self) -> bool {
        self.going_away
    }

    fn sent(&mut self, frame: Frame, now: Now) {
        if let Frame::Message { stream, bytes, last } = frame
            && let Some(account) = self.accounts.get_mut(&stream)
        {
            account.bytes_sent += bytes;
            if last {
                account.sent = Some(now);
            }
        }
    }

    fn received(&mut self, frame: Frame, now: Now) {
        match frame {
            Frame::GoAway => self.going_away = true,
            Frame::Message { stream, bytes, last } => {
                if let Some(account) = self.accounts.get_mut(&stream) {
                    account.bytes_received += bytes;
                    account.first.get_or_insert(now);
                    if last {
                        account.ended = Some(now);
                    }
                }
            }
        }
    }
}

/// Stream identifiers are consecutive and chosen by us: spreading their bits is enough.
#[derive(Debug, Default)]
struct StreamHasher(u64);

impl Hasher for StreamHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, stream: u32) {
        self.0 = (self.0 ^ u64::from(stream)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A byte stream whose frames are watched.
#[derive(Debug)]
pub(super) struct Tap<T> {
    io: T,
    ledger: Rc<RefCell<Ledger>>,
    /// Compared before every write: the driver may wake up long after a request was queued.
    lease: LeaseDeadline,
    sending: Frames,
    receiving: Frames,
    inbound: Inbound,
}

impl<T> Tap<T> {
    pub(super) fn new(io: T, ledger: Rc<RefCell<Ledger>>, lease: LeaseDeadline) -> Self {
        Tap {
            io,
            ledger,
            lease,
            sending: Frames::after_preface(),
            receiving: Frames::default(),
            inbound: Inbound::default(),
        }
    }

    fn wrote<'a>(&mut self, slices: impl Iterator<Item = &'a [u8]>, mut written: usize) {
        let now = clock::now();
        let mut ledger = self.ledger.borrow_mut();
        for slice in slices {
            let taken = written.min(slice.len());
            self.sending.feed(&slice[..taken], |frame| ledger.sent(frame, now));
            written -= taken;
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Tap<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.inbound.poll_read(&mut this.io, cx, buf, |came| {
            let now = clock::now();
            let mut ledger = this.ledger.borrow_mut();
            this.receiving.feed(came, |frame| ledger.received(frame, now));
            this.receiving.payload_left()
        })
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Tap<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.lease.check_now().map_err(io::Error::other)?;
        let result = Pin::new(&mut this.io).poll_write_vectored(cx, slices);
        if let Poll::Ready(Ok(written)) = result {
            this.wrote(slices.iter().map(|slice| &**slice), written);
        }
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}
