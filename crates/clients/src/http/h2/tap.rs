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
use super::inbound::{Inbound, SpareBuffer};
use crate::clock;
use crate::lease::LeaseDeadline;

/// How often in a row a write waits for more reads, of 256 KiB each.
const HOLDS_MAX: u8 = 2;

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
    /// How often the write that comes next was held back.
    holds: u8,
}

impl<T> Tap<T> {
    pub(super) fn new(io: T, ledger: Rc<RefCell<Ledger>>, lease: LeaseDeadline, spare: SpareBuffer) -> Self {
        Tap {
            io,
            ledger,
            lease,
            sending: Frames::after_preface(),
            receiving: Frames::default(),
            inbound: Inbound::new(spare),
            holds: 0,
        }
    }

    /// Whether a write waits, with the driver woken. While large answers come in faster than they are read, every answer that
    /// ends would cost a write for the request that follows it; those of some reads go out together instead.
    fn holds_back(&mut self, cx: &Context<'_>) -> bool {
        let holds = self.inbound.is_behind() && self.holds < HOLDS_MAX;
        self.holds = if holds { self.holds + 1 } else { 0 };
        if holds {
            cx.waker().wake_by_ref();
        }
        holds
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
        if this.holds_back(cx) {
            return Poll::Pending;
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// A peer with `left` bytes to send that takes everything, and counts how often it was written to.
    struct Peer {
        left: usize,
        writes: usize,
    }

    impl AsyncRead for Peer {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.left == 0 {
                return Poll::Pending;
            }
            let came = self.left.min(buf.remaining());
            buf.initialize_unfilled_to(came);
            buf.advance(came);
            self.left -= came;
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Peer {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.writes += 1;
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reads until the tap has nothing to hand out for now, with room for 8 KiB as `h2` has.
    fn read_all(tap: &mut Tap<Peer>, cx: &mut Context<'_>) {
        let mut space = [0; 8 << 10];
        while Pin::new(&mut *tap).poll_read(cx, &mut ReadBuf::new(&mut space)).is_ready() {}
    }

    #[test]
    fn a_write_waits_while_more_comes_in_than_is_read_but_not_for_ever() {
        let tap = |left| {
            let peer = Peer { left, writes: 0 };
            Tap::new(peer, Rc::default(), LeaseDeadline::default(), SpareBuffer::default())
        };
        let counted = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&counted));
        let mut cx = Context::from_waker(&waker);

        let mut ends = tap(200 << 10);
        while ends.io.left > 0 {
            read_all(&mut ends, &mut cx);
            let wrote = Pin::new(&mut ends).poll_write(&mut cx, b"request").is_ready();
            assert_eq!(wrote, !ends.inbound.is_behind());
        }
        read_all(&mut ends, &mut cx);
        assert!(Pin::new(&mut ends).poll_write(&mut cx, b"request").is_ready(), "nothing more has come");

        let mut endless = tap(usize::MAX);
        for _ in 0..HOLDS_MAX {
            read_all(&mut endless, &mut cx);
            let woken = counted.0.load(Ordering::Relaxed);
            assert!(Pin::new(&mut endless).poll_write(&mut cx, b"request").is_pending());
            assert!(counted.0.load(Ordering::Relaxed) > woken, "who waits is woken");
        }
        read_all(&mut endless, &mut cx);
        assert!(Pin::new(&mut endless).poll_write(&mut cx, b"request").is_ready());
        assert_eq!(endless.io.writes, 1);
    }
}
