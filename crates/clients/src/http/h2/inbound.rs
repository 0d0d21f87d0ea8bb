//! Hot: received bytes on their way to `h2`.
//!
//! `h2` reads what fits behind the frames it has, some kilobytes at a time, and copies a frame that did not fit. A connection
//! that brings more than that gets a buffer: one read of the byte stream fills it, and what it has is handed out so that
//! nothing needs to be copied again – the header of a long frame alone, for which `h2` then makes room, then its payload.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::frames::{HEADER_BYTES, payload_bytes};

/// Bytes of one read.
const BUFFER_BYTES: usize = 64 << 10;
/// Payloads from this size on are handed out apart from their header.
const LONG_PAYLOAD: usize = 1 << 10;

/// The buffer is freed after this many consecutive reads that fill less than half of it.
const SMALL_READS_MAX: u8 = 64;

/// What was read and not handed out.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    /// Empty as long as reads bring no more than `h2` offers room for.
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    /// Bytes of the current frame that were not handed out.
    frame_left: usize,
    /// Reads in a row that did not half fill the buffer, or found nothing; 0 after one that did, behind which there is likely
    /// more.
    small_reads: u8,
    /// Whoever waits for what was handed out had its turn.
    has_yielded: bool,
    ended: bool,
}

impl Inbound {
    /// Whether the last read brought so much that there is likely more.
    pub(super) fn is_behind(&self) -> bool {
        self.small_reads == 0 && self.to > 0
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
        if self.buffer.is_empty() {
            let before = buf.filled().len();
            let result = Pin::new(io).poll_read(cx, buf);
            let came = &buf.filled()[before..];
            if !came.is_empty()
                && let Some(frame_left) = seen(came)
                && buf.remaining() == 0
            {
                self.buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
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

    /// Reads once, behind the rest that is too short to be handed out.
    fn fill<T: AsyncRead + Unpin>(
        &mut self,
        io: &mut T,
        cx: &mut Context<'_>,
        seen: &mut impl FnMut(&[u8]) -> Option<usize>,
    ) -> Poll<io::Result<()>> {
        // Else all of a large answer would gather in memory before anybody takes its first frame.
        if self.is_behind() && !self.has_yielded {
            self.has_yielded = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_yielded = false;
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        let mut space = ReadBuf::new(&mut self.buffer[self.to..]);
        let Poll::Ready(read) = Pin::new(io).poll_read(cx, &mut space) else {
            self.small_reads = self.small_reads.saturating_add(1);
            return Poll::Pending;
        };
        read?;
        let came = space.filled();
        self.ended = came.is_empty();
        self.small_reads = if came.len() < BUFFER_BYTES / 2 { self.small_reads.saturating_add(1) } else { 0 };
        seen(came);
        self.to += came.len();
        Poll::Ready(Ok(()))
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

    /// Memory that is not needed goes back, when everything was handed out.
    fn give_back(&mut self) {
        if self.from == self.to && self.frame_left == 0 && self.small_reads >= SMALL_READS_MAX {
            *self = Inbound { ended: self.ended, ..Inbound::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use proptest::prelude::*;

    use super::*;
    use crate::http::h2::frames::Frames;

    /// Reads everything as `h2` would, `room` bytes at a time, and returns the pieces.
    fn pieces(bytes: &[u8], room: usize) -> Vec<Vec<u8>> {
        let (mut inbound, mut frames, mut io) = (Inbound::default(), Frames::default(), bytes);
        let mut pieces = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(poll_fn(|cx| {
            loop {
                let mut space = vec![0; room];
                let mut buf = ReadBuf::new(&mut space);
                let seen = |came: &[u8]| {
                    frames.feed(came, |_| {});
                    frames.payload_left()
                };
                if inbound.poll_read(&mut io, cx, &mut buf, seen).is_pending() {
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

    proptest! {
        #[test]
        fn no_byte_is_lost_or_changed(
            payloads in proptest::collection::vec(0usize..20_000, 0..40), cut in 0usize..9, room in 1usize..9_000,
        ) {
            let mut bytes: Vec<u8> = payloads.into_iter().flat_map(frame).collect();
            bytes.truncate(bytes.len().saturating_sub(cut));
            prop_assert_eq!(pieces(&bytes, room).concat(), bytes);
        }
    }
}
