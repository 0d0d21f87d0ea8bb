//! Hot: received bytes on their way to `h2`.
//!
//! `h2` reads what fits behind the frames it has, some kilobytes at a time, and copies a frame that did not fit. A connection
//! that brings more than that reads through a large buffer: one read of the byte stream fills it, and what it has is handed
//! out so that nothing needs to be copied again – the header of a long frame alone, for which `h2` then makes room, then its
//! payload. The buffer belongs to the core; a connection has it from a read until everything was handed out.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::frames::{HEADER_BYTES, payload_bytes};

/// Bytes of one read. Each read acknowledges what it took, and on a local network the kernel handles the peer's next segments
/// in the same system call: with a quarter of this size a body of 100 kB takes three times as many reads.
const BUFFER_BYTES: usize = 256 << 10;
/// A read of at least this many bytes has likely left more behind.
const LARGE_READ: usize = BUFFER_BYTES / 2;
/// Fewer bytes than this are as well read without the buffer.
const SMALL_READ: usize = 16 << 10;
/// Payloads from this size on are handed out apart from their header.
const LONG_PAYLOAD: usize = 1 << 10;

/// The buffer is no longer used after this many consecutive small reads.
const SMALL_READS_MAX: u8 = 64;

/// The buffer of a core, while none of its connections uses it.
#[derive(Clone, Debug, Default)]
pub struct SpareBuffer(Rc<RefCell<Box<[u8]>>>);

impl SpareBuffer {
    /// The buffer, or another one if it is in use.
    fn take(&self) -> Box<[u8]> {
        let buffer = self.0.take();
        if buffer.is_empty() { vec![0; BUFFER_BYTES].into_boxed_slice() } else { buffer }
    }

    fn give_back(&self, buffer: Box<[u8]>) {
        self.0.replace(buffer);
    }
}

/// What was read and not handed out.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    spare: SpareBuffer,
    /// Reads go through the buffer: one has brought all that `h2` had room for.
    is_buffered: bool,
    /// Empty while there is nothing to hand out.
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    /// The begin of a header that the last read has cut off, in front of the next read.
    cut: [u8; HEADER_BYTES],
    cut_bytes: usize,
    /// Bytes of the current frame that were not handed out.
    frame_left: usize,
    /// Consecutive reads that were small, or found nothing.
    small_reads: u8,
    backlog: Backlog,
    ended: bool,
}

/// Whether there is likely more to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Backlog {
    /// The last read was not large.
    #[default]
    Unlikely,
    /// The last read was large.
    Likely,
    /// The same, and whoever waits for what was handed out had its turn.
    Yielded,
}

impl Inbound {
    pub(super) fn new(spare: SpareBuffer) -> Self {
        Inbound { spare, ..Inbound::default() }
    }

    /// Whether the last read brought so much that there is likely more.
    pub(super) fn is_behind(&self) -> bool {
        self.backlog != Backlog::Unlikely
    }

    /// Fills `buf` with the next bytes. `seen` sees every byte once, as soon as it was read, and says how much of the
    /// current frame is still to come; nothing if it does not know, in the middle of a header.
    pub(super) fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        io: &mut T,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        mut seen: impl FnMut(&[u8]) -> Option<usize>,
    ) -> Poll<io::Result<()>> {
        if !self.is_buffered {
            let before = buf.filled().len();
            let result = Pin::new(io).poll_read(cx, buf);
            let came = &buf.filled()[before..];
            if !came.is_empty()
                && let Some(frame_left) = seen(came)
                && buf.remaining() == 0
            {
                (self.is_buffered, self.small_reads) = (true, 0);
                self.frame_left = frame_left;
            }
            return result;
        }
        loop {
            let piece = self.piece(buf.remaining());
            if piece > 0 || self.ended {
                buf.put_slice(&self.buffer[self.from..self.from + piece]);
                self.from += piece;
                self.give_back();
                return Poll::Ready(Ok(()));
            }
            ready!(self.fill(io, cx, &mut seen))?;
        }
    }

    /// Reads once, behind the begin of a header that was cut off.
    fn fill<T: AsyncRead + Unpin>(
        &mut self,
        io: &mut T,
        cx: &mut Context<'_>,
        seen: &mut impl FnMut(&[u8]) -> Option<usize>,
    ) -> Poll<io::Result<()>> {
        // Else all of a large answer would gather in memory before anybody takes its first frame.
        if self.backlog == Backlog::Likely {
            self.backlog = Backlog::Yielded;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut buffer = self.spare.take();
        let (cut, space) = buffer.split_at_mut(self.cut_bytes);
        cut.copy_from_slice(&self.cut[..self.cut_bytes]);
        let mut space = ReadBuf::new(space);
        let result = Pin::new(io).poll_read(cx, &mut space);
        let came = space.filled();
        self.small_reads = if came.len() < SMALL_READ { self.small_reads.saturating_add(1) } else { 0 };
        self.backlog = if came.len() < LARGE_READ { Backlog::Unlikely } else { Backlog::Likely };
        if !matches!(result, Poll::Ready(Ok(()))) {
            self.spare.give_back(buffer);
            return result;
        }
        self.ended = came.is_empty();
        seen(came);
        (self.from, self.to) = (0, self.cut_bytes + came.len());
        self.cut_bytes = 0;
        self.buffer = buffer;
        result
    }

    /// How many bytes to hand out, at most `room`: as many whole short frames as there are, or the header of a long one, or
    /// what is there of its payload.
    fn piece(&mut self, room: usize) -> usize {
        let bytes = &self.buffer[self.from..self.to];
        if self.frame_left > 0 {
            let piece = self.frame_left.min(bytes.len()).min(room);
            self.frame_left -= piece;
            return piece;
        }
        let mut whole = 0;
        while let Some(header) = bytes[whole..].first_chunk() {
            let payload = payload_bytes(header);
            let frame = HEADER_BYTES + payload;
            if payload >= LONG_PAYLOAD || whole + frame > bytes.len().min(room) {
                if whole == 0 {
                    whole = HEADER_BYTES.min(room);
                    self.frame_left = frame - whole;
                }
                return whole;
            }
            whole += frame;
        }
        // A header that was cut off by the end is for `h2` to complain about.
        if whole == 0 && self.ended { bytes.len().min(room) } else { whole }
    }

    /// The buffer goes back to the core when nothing, or not even a header, is left in it.
    fn give_back(&mut self) {
        let rest = &self.buffer[self.from..self.to];
        let is_cut = self.frame_left == 0 && rest.len() < HEADER_BYTES && !self.ended;
        if self.buffer.is_empty() || !rest.is_empty() && !is_cut {
            return;
        }
        self.cut_bytes = rest.len();
        self.cut[..self.cut_bytes].copy_from_slice(rest);
        (self.from, self.to) = (0, 0);
        self.spare.give_back(std::mem::take(&mut self.buffer));
        let is_between_frames = self.frame_left == 0 && self.cut_bytes == 0;
        self.is_buffered = self.ended || !is_between_frames || self.small_reads < SMALL_READS_MAX;
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use proptest::prelude::*;

    use super::*;
    use crate::http::h2::frames::Frames;

    /// A byte stream that brings at most `step` bytes per read, and ends.
    struct Steps<'a> {
        bytes: &'a [u8],
        step: usize,
    }

    impl AsyncRead for Steps<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let (came, rest) = self.bytes.split_at(self.step.min(buf.remaining()).min(self.bytes.len()));
            buf.put_slice(came);
            self.bytes = rest;
            Poll::Ready(Ok(()))
        }
    }

    /// Reads everything as `h2` would, `room` bytes at a time, and returns the pieces.
    fn pieces(bytes: &[u8], room: usize) -> Vec<Vec<u8>> {
        pieces_of(Steps { bytes, step: usize::MAX }, room, &SpareBuffer::default())
    }

    fn pieces_of(mut io: Steps<'_>, room: usize, spare: &SpareBuffer) -> Vec<Vec<u8>> {
        let (mut inbound, mut frames) = (Inbound::new(spare.clone()), Frames::default());
        let mut pieces = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(poll_fn(|cx| {
            loop {
                let mut bytes = vec![0; room];
                let mut buf = ReadBuf::new(&mut bytes);
                let seen = |came: &[u8]| {
                    frames.feed(came, |_| {});
                    frames.payload_left()
                };
                if inbound.poll_read(&mut io, cx, &mut buf, seen).is_pending() {
                    assert!(inbound.buffer.is_empty(), "who waits has no buffer");
                    return Poll::Pending;
                }
                if buf.filled().is_empty() {
                    return Poll::Ready(());
                }
                pieces.push(buf.filled().to_vec());
            }
        }));
        pieces
    }

    fn frame(payload: usize) -> Vec<u8> {
        let mut bytes = (payload as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([0, 0, 0, 0, 0, 1]);
        bytes.extend(vec![b'x'; payload]);
        bytes
    }

    #[test]
    fn long_frames_come_in_two_pieces_and_short_ones_together() {
        let bytes: Vec<u8> = [8_183, 16_000, 5, 0, 7, 2_000].into_iter().flat_map(frame).collect();
        let lengths: Vec<usize> = pieces(&bytes, 8_192).iter().map(Vec::len).collect();
        assert_eq!(lengths, [8_192, 9, 8_192, 7_808, 14 + 9 + 16, 9, 2_000], "the first fills the room");
        let lengths: Vec<usize> = pieces(&bytes, 100_000).iter().map(Vec::len).collect();
        assert_eq!(lengths, [bytes.len()], "without a full read there is no buffer");
    }

    #[test]
    fn connections_of_a_core_use_the_same_buffer_one_after_the_other() {
        let spare = SpareBuffer::default();
        let bytes: Vec<u8> = [50_000; 20].into_iter().flat_map(frame).collect();
        let address = || spare.0.borrow().as_ptr();
        pieces_of(Steps { bytes: &bytes, step: usize::MAX }, 8_192, &spare);
        let first = address();
        assert_eq!(spare.0.borrow().len(), BUFFER_BYTES);
        pieces_of(Steps { bytes: &bytes, step: 100_000 }, 8_192, &spare);
        assert_eq!((address(), spare.0.borrow().len()), (first, BUFFER_BYTES));
    }

    #[test]
    fn the_buffer_is_left_after_many_small_reads() {
        const ROOM: usize = 2 * HEADER_BYTES;
        let bytes = frame(0).repeat(1_000);
        let (mut inbound, mut io) =
            (Inbound::new(SpareBuffer::default()), Steps { bytes: &bytes, step: ROOM });
        let mut is_buffered_after_read = || {
            let (mut cx, mut space) = (Context::from_waker(Waker::noop()), [0; ROOM]);
            let read = inbound.poll_read(&mut io, &mut cx, &mut ReadBuf::new(&mut space), |_| Some(0));
            assert!(read.is_ready());
            inbound.is_buffered
        };
        assert!(is_buffered_after_read(), "it fills the room");
        let reads = (1..=u8::MAX).find(|_| !is_buffered_after_read());
        assert_eq!(reads, Some(SMALL_READS_MAX));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_or_changed(
            payloads in proptest::collection::vec(0usize..20_000, 0..40), cut in 0usize..9, room in 1usize..9_000,
            step in prop_oneof![1usize..100, 1usize..300_000],
        ) {
            let mut bytes: Vec<u8> = payloads.into_iter().flat_map(frame).collect();
            bytes.truncate(bytes.len().saturating_sub(cut));
            let io = Steps { bytes: &bytes, step };
            prop_assert_eq!(pieces_of(io, room, &SpareBuffer::default()).concat(), bytes);
        }
    }
}
