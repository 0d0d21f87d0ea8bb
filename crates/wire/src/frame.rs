//! Frames: a length of four bytes (big-endian), then that many bytes.
//!
//! The reader takes bytes as they arrive, split anywhere. It refuses a length before anything is allocated for it, and its
//! buffer grows with what arrived, not with what was announced.

use std::fmt;

use crate::counters::Refusal;
use crate::limits::FRAME_MAX;

/// Bytes of the length.
pub const FRAME_HEADER: usize = 4;

/// Why a connection's bytes are not frames. The connection must be closed: nothing after this can be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// More than [`FRAME_MAX`] bytes announced.
    #[error("a frame of {0} bytes is too large")]
    TooLarge(u32),
    /// No bytes announced.
    #[error("a frame is empty")]
    Empty,
    /// The connection ended inside a frame.
    #[error("the connection ended in the middle of a frame")]
    Truncated,
}

impl FrameError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            FrameError::TooLarge(_) => Refusal::FrameTooLarge,
            FrameError::Empty => Refusal::FrameEmpty,
            FrameError::Truncated => Refusal::FrameTruncated,
        }
    }
}

/// Cuts a connection's bytes into frames.
///
/// ```text
/// header(0..3 bytes) ──4th byte──► body(0..n bytes) ──nth byte──► frame, header(0 bytes)
///       └──length 0 or > FRAME_MAX──► refused (for ever)
/// ```
#[derive(Default)]
pub struct FrameReader {
    state: State,
}

/// A frame may hold secrets, over TLS in plain: only sizes are shown.
impl fmt::Debug for FrameReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            State::Header { filled, .. } => write!(f, "FrameReader(header, {filled} bytes)"),
            State::Body { length, bytes } => write!(f, "FrameReader({} of {length} bytes)", bytes.len()),
            State::Refused(error) => write!(f, "FrameReader({error:?})"),
        }
    }
}

enum State {
    Header { bytes: [u8; FRAME_HEADER], filled: usize },
    Body { length: usize, bytes: Vec<u8> },
    Refused(FrameError),
}

impl Default for State {
    fn default() -> Self {
        State::Header { bytes: [0; FRAME_HEADER], filled: 0 }
    }
}

impl FrameReader {
    /// Takes bytes from the front of `input` and returns the next frame, or `None` when `input` is used up.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, FrameError> {
        loop {
            match &mut self.state {
                State::Refused(error) => return Err(*error),
                State::Header { bytes, filled } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    let part = take(input, FRAME_HEADER - *filled);
                    bytes[*filled..*filled + part.len()].copy_from_slice(part);
                    *filled += part.len();
                    if *filled == FRAME_HEADER {
                        let announced = u32::from_be_bytes(*bytes);
                        self.state = begin_body(announced);
                    }
                }
                State::Body { length, bytes } => {
                    let part = take(input, *length - bytes.len());
                    bytes.extend_from_slice(part);
                    if bytes.len() < *length {
                        return Ok(None);
                    }
                    let frame = std::mem::take(bytes);
                    self.state = State::default();
                    return Ok(Some(frame));
                }
            }
        }
    }

    /// Says that no more bytes will come.
    pub fn finish(&self) -> Result<(), FrameError> {
        match &self.state {
            State::Header { filled: 0, .. } => Ok(()),
            State::Header { .. } | State::Body { .. } => Err(FrameError::Truncated),
            State::Refused(error) => Err(*error),
        }
    }

    /// Bytes it has allocated.
    pub fn allocated(&self) -> usize {
        match &self.state {
            State::Body { bytes, .. } => bytes.capacity(),
            State::Header { .. } | State::Refused(_) => 0,
        }
    }
}

fn begin_body(announced: u32) -> State {
    match announced {
        0 => State::Refused(FrameError::Empty),
        n if n as usize > FRAME_MAX => State::Refused(FrameError::TooLarge(n)),
        n => State::Body { length: n as usize, bytes: Vec::new() },
    }
}

fn take<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (part, rest) = input.split_at(most.min(input.len()));
    *input = rest;
    part
}

/// Appends a frame.
///
/// # Panics
/// If the content is empty or longer than [`FRAME_MAX`]: callers cut first.
pub fn put_frame(content: &[u8], out: &mut Vec<u8>) {
    assert!(!content.is_empty() && content.len() <= FRAME_MAX, "a frame has 1 to {FRAME_MAX} bytes");
    out.extend_from_slice(&(content.len() as u32).to_be_bytes());
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(reader: &mut FrameReader, mut input: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut frames = Vec::new();
        while let Some(frame) = reader.next(&mut input)? {
            frames.push(frame);
        }
        assert!(input.is_empty());
        Ok(frames)
    }

    #[test]
    fn four_gigabytes_announced_are_refused_before_anything_is_allocated() {
        let mut reader = FrameReader::default();
        let refused = reader.next(&mut &[0xff, 0xff, 0xff, 0xff, 1, 2, 3][..]);
        assert_eq!(refused, Err(FrameError::TooLarge(u32::MAX)));
        assert_eq!(reader.allocated(), 0);
        assert_eq!(
            reader.next(&mut &[0, 0, 0, 1, 7][..]),
            Err(FrameError::TooLarge(u32::MAX)),
            "and it stays so"
        );
    }

    #[test]
    fn the_buffer_grows_with_what_arrives() {
        let mut reader = FrameReader::default();
        assert_eq!(reader.next(&mut &[0, 0, 0xff, 0xff, 1, 2, 3][..]), Ok(None));
        assert!(reader.allocated() <= 64, "{} bytes for 3 that arrived", reader.allocated());
    }

    #[test]
    fn the_largest_frame_passes_and_one_byte_more_does_not() {
        let mut bytes = Vec::new();
        put_frame(&vec![7; FRAME_MAX], &mut bytes);
        assert_eq!(read_all(&mut FrameReader::default(), &bytes), Ok(vec![vec![7; FRAME_MAX]]));
        let announced = FrameReader::default().next(&mut &[0, 1, 0, 0][..]);
        assert_eq!(announced, Err(FrameError::TooLarge(65_536)));
    }

    #[test]
    fn empty_and_truncated_frames_are_refused() {
        assert_eq!(FrameReader::default().next(&mut &[0, 0, 0, 0][..]), Err(FrameError::Empty));
        for cut in 1..6 {
            let mut reader = FrameReader::default();
            assert_eq!(reader.next(&mut &[0, 0, 0, 2, 1, 2][..cut]), Ok(None));
            assert_eq!(reader.finish(), Err(FrameError::Truncated), "cut after {cut}");
        }
        assert_eq!(FrameReader::default().finish(), Ok(()));
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_frames(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..20),
            cuts in prop::collection::vec(1usize..200, 1..50),
        ) {
            let mut bytes = Vec::new();
            for frame in &frames {
                put_frame(frame, &mut bytes);
            }
            let mut reader = FrameReader::default();
            let mut seen = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (part, after) = rest.split_at((*cut).min(rest.len()));
                seen.extend(read_all(&mut reader, part).unwrap());
                rest = after;
            }
            prop_assert_eq!(seen, frames);
            prop_assert_eq!(reader.finish(), Ok(()));
        }
    }
}
