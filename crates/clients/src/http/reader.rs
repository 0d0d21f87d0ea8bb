//! Hot: fed with everything that is received. Allocates only for a head that comes in several pieces.
//!
//! Reads one answer from pieces of bytes, however they are cut: interim answers are skipped, the final head and the
//! body are handed to a [`Sink`]. Performs no I/O; it is what the fuzzer drives.

use hyperscale_types::limits::RESPONSE_HEAD_MAX;

use super::chunked::{Chunked, Item};
use super::head::{self, Framing, Head, Malformed};

/// Interim (1xx) answers before the final one.
const INTERIM_MAX: u8 = 32;

/// Who wants the parts of an answer.
pub(crate) trait Sink {
    /// The final head.
    fn head(&mut self, head: &Head<'_, '_>);

    /// Bytes of the body, still content-coded.
    fn body(&mut self, bytes: &[u8]);
}

/// Where reading an answer is.
#[derive(Debug)]
pub(crate) struct Reader {
    state: State,
    /// It answers a HEAD request.
    to_head: bool,
    keep_alive: bool,
    interim: u8,
    /// The final status; 0 until it is known.
    status: u16,
    /// Bytes that the body may still have.
    body_left: u64,
    /// The beginning of a head that is not complete.
    partial: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    Close,
    Done,
}

impl Reader {
    /// Before an answer. `to_head`: it answers a HEAD request.
    pub(crate) fn new(to_head: bool, body_max: u64) -> Self {
        Reader {
            state: State::Head,
            to_head,
            keep_alive: false,
            interim: 0,
            status: 0,
            body_left: body_max,
            partial: Vec::new(),
        }
    }

    /// The status of the final answer; 0 until its head is complete.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Whether the connection can be used again; known when the answer is complete.
    pub(crate) fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether any byte of an answer has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.state != State::Head || !self.partial.is_empty() || self.interim > 0
    }

    /// Takes the next bytes; whether the answer is complete. Not to be called again after that.
    pub(crate) fn feed(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<bool, Malformed> {
        if self.state != State::Head {
            return self.body(input, sink);
        }
        if self.partial.is_empty() {
            return self.heads(input, sink);
        }
        self.partial.extend_from_slice(input);
        if memchr::memchr(b'\n', input).is_none() {
            return self.check_partial().map(|()| false);
        }
        let bytes = std::mem::take(&mut self.partial);
        self.heads(&bytes, sink)
    }

    /// The peer closed the connection; whether that completes the answer.
    pub(crate) fn end(&mut self) -> bool {
        let complete = self.state == State::Close;
        if complete {
            self.state = State::Done;
        }
        complete
    }

    /// Reads heads until the final one, then its body.
    fn heads(&mut self, mut input: &[u8], sink: &mut impl Sink) -> Result<bool, Malformed> {
        loop {
            let mut room = head::fields();
            let Some(head) = Head::parse(input, &mut room)? else {
                self.partial = input.to_vec();
                return self.check_partial().map(|()| false);
            };
            let rest = &input[head.length..];
            if matches!(head.status, 100..=199) && head.status != 101 {
                self.interim += 1;
                if self.interim > INTERIM_MAX {
                    return Err(Malformed::Interim);
                }
                input = rest;
                continue;
            }
            let meaning = head.meaning(self.to_head)?;
            self.status = head.status;
            self.keep_alive = meaning.keep_alive;
            sink.head(&head);
            self.state = match meaning.framing {
                Framing::Length(length) if length > self.body_left => return Err(Malformed::BodyLength),
                Framing::Length(length) => State::Length(length),
                Framing::Chunked => State::Chunked(Chunked::new()),
                Framing::Close => State::Close,
            };
            // What follows a switch of protocols is not HTTP and nobody reads it.
            return if head.status == 101 { self.done(&[]) } else { self.body(rest, sink) };
        }
    }

    fn body(&mut self, mut input: &[u8], sink: &mut impl Sink) -> Result<bool, Malformed> {
        match &mut self.state {
            State::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                let complete = *left == 0;
                if taken > 0 {
                    sink.body(&input[..taken]);
                }
                if complete { self.done(&input[taken..]) } else { Ok(false) }
            }
            State::Chunked(chunked) => loop {
                match chunked.next(input)? {
                    Item::More => return Ok(false),
                    Item::End(rest) => return self.done(rest),
                    Item::Data(data, rest) => {
                        self.body_left = shrink(self.body_left, data)?;
                        sink.body(data);
                        input = rest;
                    }
                }
            },
            State::Close => {
                self.body_left = shrink(self.body_left, input)?;
                if !input.is_empty() {
                    sink.body(input);
                }
                Ok(false)
            }
            State::Head | State::Done => Ok(self.state == State::Done),
        }
    }

    fn done(&mut self, rest: &[u8]) -> Result<bool, Malformed> {
        self.state = State::Done;
        if rest.is_empty() { Ok(true) } else { Err(Malformed::Surplus) }
    }

    fn check_partial(&self) -> Result<(), Malformed> {
        if self.partial.len() > RESPONSE_HEAD_MAX { Err(Malformed::HeadLength) } else { Ok(()) }
    }
}

fn shrink(left: u64, data: &[u8]) -> Result<u64, Malformed> {
    left.checked_sub(data.len() as u64).ok_or(Malformed::BodyLength)
}

#[cfg(test)]
mod tests;
