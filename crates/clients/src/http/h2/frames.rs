//! Hot: sees every byte of every connection. No allocation.
//!
//! Finds the frames in a direction of a connection (RFC 9113, section 4.1), however the bytes are cut. Reads nothing
//! but the nine bytes in front of each frame: whether frames make sense is for `h2` to say.

/// Bytes that a client sends before its first frame.
pub(super) const PREFACE_BYTES: usize = 24;
pub(super) const HEADER_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What a completed frame means to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A part of a message, with so many bytes on the wire; `last` if the message ends with it.
    Message { stream: u32, bytes: u64, last: bool },
    /// The peer takes no new streams.
    GoAway,
}

/// Where one direction of a connection is.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Bytes that belong to the preface or the current frame's payload.
    skip: usize,
    header: [u8; HEADER_BYTES],
    /// How much of `header` is there.
    filled: usize,
    /// A message ends with this stream's header block, which is continued in further frames.
    ends_with_block: Option<u32>,
}

impl Frames {
    /// The direction from the client.
    pub(super) fn after_preface() -> Self {
        Frames { skip: PREFACE_BYTES, ..Frames::default() }
    }

    /// Takes the next bytes and calls `on_frame` for every frame that is complete with them.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut on_frame: impl FnMut(Frame)) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len());
                self.skip -= skipped;
                bytes = &bytes[skipped..];
            } else {
                let taken = (HEADER_BYTES - self.filled).min(bytes.len());
                self.header[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
                self.filled += taken;
                bytes = &bytes[taken..];
                if self.filled == HEADER_BYTES {
                    self.skip = self.payload();
                }
            }
            if self.skip == 0 && self.filled == HEADER_BYTES {
                self.filled = 0;
                if let Some(frame) = self.complete() {
                    on_frame(frame);
                }
            }
        }
    }

    /// How much of the current frame's payload is still to come; unknown in the middle of a header.
    pub(super) fn payload_left(&self) -> Option<usize> {
        (self.skip > 0 || self.filled == 0).then_some(self.skip)
    }

    fn payload(&self) -> usize {
        payload_bytes(&self.header)
    }

    fn complete(&mut self) -> Option<Frame> {
        let [.., kind, flags, a, b, c, d] = self.header;
        let stream = u32::from_be_bytes([a & 0x7f, b, c, d]);
        let last = match kind {
            GOAWAY => return Some(Frame::GoAway),
            DATA => flags & END_STREAM != 0,
            HEADERS if flags & END_STREAM == 0 => false,
            HEADERS if flags & END_HEADERS != 0 => true,
            HEADERS => {
                self.ends_with_block = Some(stream);
                false
            }
            CONTINUATION => {
                flags & END_HEADERS != 0 && self.ends_with_block.take_if(|id| *id == stream).is_some()
            }
            _ => return None,
        };
        Some(Frame::Message { stream, bytes: (HEADER_BYTES + self.payload()) as u64, last })
    }
}

/// Length of the payload that follows a frame header.
pub(super) fn payload_bytes(header: &[u8; HEADER_BYTES]) -> usize {
    let [high, middle, low, ..] = *header;
    usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: usize) -> Vec<u8> {
        let mut bytes = (payload as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(vec![b'x'; payload]);
        bytes
    }

    fn read(mut frames: Frames, bytes: &[u8], step: usize) -> Vec<Frame> {
        let mut found = Vec::new();
        for piece in bytes.chunks(step) {
            frames.feed(piece, |frame| found.push(frame));
        }
        found
    }

    #[test]
    fn messages_end_with_data_headers_or_continuations() {
        let bytes = [
            vec![b'p'; PREFACE_BYTES],
            frame(4, 0, 0, 12),
            frame(HEADERS, END_HEADERS, 1, 5),
            frame(HEADERS, END_HEADERS | END_STREAM, 3, 0),
            frame(DATA, 0, 1, 300),
            frame(DATA, END_STREAM, 1, 0),
            frame(HEADERS, END_STREAM, 5, 7),
            frame(CONTINUATION, 0, 5, 7),
            frame(CONTINUATION, END_HEADERS, 5, 1),
            frame(HEADERS, 0, 7, 1),
            frame(CONTINUATION, END_HEADERS, 7, 1),
            frame(8, 0, 1, 4),
            frame(GOAWAY, 0, 0, 8),
        ]
        .concat();
        let message = |stream, bytes, last| Frame::Message { stream, bytes, last };
        let expected = [
            message(1, 14, false),
            message(3, 9, true),
            message(1, 309, false),
            message(1, 9, true),
            message(5, 16, false),
            message(5, 16, false),
            message(5, 10, true),
            message(7, 10, false),
            message(7, 10, false),
            Frame::GoAway,
        ];
        for step in [1, 2, 7, 9, 10, bytes.len()] {
            assert_eq!(read(Frames::after_preface(), &bytes, step), expected, "{step}");
        }
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_bytes_are_cut(
            frames in proptest::collection::vec((0u8..10, any::<u8>(), any::<u32>(), 0usize..40), 0..8),
            step in 1usize..50,
        ) {
            let bytes: Vec<u8> =
                frames.iter().flat_map(|(kind, flags, stream, length)| frame(*kind, *flags, *stream, *length)).collect();
            let whole = read(Frames::default(), &bytes, bytes.len().max(1));
            prop_assert_eq!(read(Frames::default(), &bytes, step), whole);
        }
    }
}
