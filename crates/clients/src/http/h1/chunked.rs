//! The chunked transfer coding (RFC 9112, section 7.1), fed piece by piece; keeps no bytes.

use hyperscale_types::limits::RESPONSE_HEAD_MAX;

use crate::http::h1::head::Malformed;

/// Where a decoder is in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunked {
    state: State,
    /// Bytes of extensions and trailers so far; bounded like a head.
    overhead: u32,
}

/// ```text
/// Size ─ digits ─→ Size, ';' ─→ Extension ─ CR ─→ SizeLf ─ LF ─→ Data(n>0) ─ n bytes ─→ DataCr → DataLf → Size
///                                                         └────→ LineStart (n=0) ─ CR ─→ EndLf ─ LF ─→ Done
///                                                                └ other ─→ Line ─ CR ─→ LineLf ─ LF ─→ LineStart
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a chunk's size: the number so far, and how many digits it has.
    Size(u64, u8),
    /// After the size, up to the end of its line.
    Extension(u64),
    /// Before the line feed of a size line.
    SizeLf(u64),
    /// In a chunk's data, so many bytes before its end.
    Data(u64),
    /// Before the carriage return after data.
    DataCr,
    /// Before the line feed after data.
    DataLf,
    /// At the start of a trailer line.
    LineStart,
    /// In a trailer line.
    Line,
    /// Before the line feed of a trailer line.
    LineLf,
    /// Before the very last line feed.
    EndLf,
    /// Complete.
    Done,
}

/// A size has at most this many hexadecimal digits.
const SIZE_DIGITS_MAX: u8 = 15;

/// What comes next.
pub(crate) enum Item<'a> {
    /// Bytes of the body, and what follows them.
    Data(&'a [u8], &'a [u8]),
    /// The body is complete; what follows it.
    End(&'a [u8]),
    /// More bytes are needed.
    More,
}

impl Chunked {
    /// At the start of a body.
    pub(crate) const fn new() -> Self {
        Chunked { state: State::Size(0, 0), overhead: 0 }
    }

    /// Reads on to the next data, the end of the body or of the input.
    pub(crate) fn next<'a>(&mut self, mut input: &'a [u8]) -> Result<Item<'a>, Malformed> {
        loop {
            if self.state == State::Done {
                return Ok(Item::End(input));
            }
            let Some((first, rest)) = input.split_first() else {
                return Ok(Item::More);
            };
            if let State::Data(left) = self.state {
                let taken = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(taken);
                let left = left - taken as u64;
                self.state = if left == 0 { State::DataCr } else { State::Data(left) };
                return Ok(Item::Data(data, rest));
            }
            self.state = self.step(*first)?;
            input = rest;
        }
    }

    /// One byte of framing.
    fn step(&mut self, byte: u8) -> Result<State, Malformed> {
        Ok(match (self.state, byte) {
            (State::Size(_, 0), b';' | b' ' | b'\t' | b'\r') => return Err(Malformed::Chunk),
            (State::Size(size, _), b'\r') => State::SizeLf(size),
            (State::Size(size, _), b';' | b' ' | b'\t') => State::Extension(size),
            (State::Size(size, digits), byte) => {
                let digit = char::from(byte).to_digit(16).ok_or(Malformed::Chunk)?;
                if digits == SIZE_DIGITS_MAX {
                    return Err(Malformed::Chunk);
                }
                State::Size(size << 4 | u64::from(digit), digits + 1)
            }
            (State::Extension(size), b'\r') => State::SizeLf(size),
            (State::Extension(size), byte) => self.overhead(byte, State::Extension(size))?,
            (State::SizeLf(0), b'\n') => State::LineStart,
            (State::SizeLf(size), b'\n') => State::Data(size),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size(0, 0),
            (State::LineStart, b'\r') => State::EndLf,
            (State::Line, b'\r') => State::LineLf,
            (State::LineStart | State::Line, byte) => self.overhead(byte, State::Line)?,
            (State::LineLf, b'\n') => State::LineStart,
            (State::EndLf, b'\n') => State::Done,
            _ => return Err(Malformed::Chunk),
        })
    }

    /// A byte that means nothing to us.
    fn overhead(&mut self, byte: u8, next: State) -> Result<State, Malformed> {
        self.overhead += 1;
        if byte == b'\n' || self.overhead as usize > RESPONSE_HEAD_MAX {
            Err(Malformed::Chunk)
        } else {
            Ok(next)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body and the bytes after it.
    type Decoded = (Vec<u8>, Vec<u8>);

    /// Decodes a body fed in pieces of `step` bytes; `None` if it is not complete.
    fn decode(input: &[u8], step: usize) -> Result<Option<Decoded>, Malformed> {
        let (mut chunked, mut body) = (Chunked::new(), Vec::new());
        for (at, piece) in input.chunks(step).enumerate() {
            let mut rest = piece;
            loop {
                match chunked.next(rest)? {
                    Item::More => break,
                    Item::Data(data, after) => {
                        body.extend_from_slice(data);
                        rest = after;
                    }
                    Item::End(after) => {
                        let fed = (at * step + piece.len()).min(input.len());
                        return Ok(Some((body, [after, &input[fed..]].concat())));
                    }
                }
            }
        }
        Ok(None)
    }

    #[test]
    fn chunks_extensions_and_trailers_are_read_at_every_split() {
        let input = b"5\r\nhello\r\n6 ;x=\"y\"\r\n world\r\n000\r\nDigest: x\r\nA: b\r\n\r\n!";
        for step in 1..input.len() {
            assert_eq!(decode(input, step), Ok(Some((b"hello world".to_vec(), b"!".to_vec()))), "{step}");
        }
    }

    #[test]
    fn broken_framing_is_refused() {
        for input in [
            &b"\r\n"[..],
            b"x\r\n",
            b"5\nhello",
            b"1\r\nab\r\n",
            b"1\r\na\n",
            b"1;x\nb",
            b"0\r\n\n",
            b"0\r\nA: b\n",
            b"1111111111111111\r\n",
            b"-1\r\n",
        ] {
            assert_eq!(decode(input, 1), Err(Malformed::Chunk), "{:?}", String::from_utf8_lossy(input));
        }
        let endless = [&b"0\r\n"[..], &vec![b'a'; RESPONSE_HEAD_MAX + 2]].concat();
        assert_eq!(decode(&endless, 4096), Err(Malformed::Chunk));
    }
}
