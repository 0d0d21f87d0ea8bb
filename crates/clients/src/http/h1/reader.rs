//! Hot: fed with everything that is received. Allocates only for a head that comes in several pieces.
//!
//! Reads one answer from pieces of bytes, however they are cut: interim answers are skipped, the final head and the
//! body are handed to a [`Sink`]. Performs no I/O; it is what the fuzzer drives.

use hyperscale_types::limits::RESPONSE_HEAD_MAX;

use crate::http::h1::chunked::{Chunked, Item};
use crate::http::h1::head::{self, Framing, Head, Malformed, Meaning};
use crate::http::h1::memo::Known;

/// Interim (1xx) answers before the final one.
const INTERIM_MAX: u8 = 32;

/// Who wants the parts of an answer.
pub(crate) trait Sink {
    /// The final head.
    fn head<'b>(&mut self, status: u16, fields: impl Iterator<Item = (&'b str, &'b [u8])>);

    /// Bytes of the body, still content-coded.
    fn body(&mut self, bytes: &[u8]) -> Flow;

    /// What the head at the beginning of these bytes says, if the sink knows that from an earlier answer. It then takes
    /// it as the final head, without its fields.
    fn recall(&mut self, _input: &[u8], _to_head: bool) -> Option<Known> {
        None
    }

    /// The final head that was just handed over, to be recalled.
    fn remember(&mut self, _head: &[u8], _known: Known) {}
}

/// Whether the rest of a body is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// There may be more.
    Read,
    /// It is not wanted.
    Stop,
}

/// What became of bytes that were fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// The answer goes on.
    More,
    /// The answer is complete.
    Complete,
    /// The sink wants no more of it; the connection is of no use any more.
    Stopped,
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

    /// The connection cannot be used again, whatever the answer says.
    pub(crate) fn give_up_connection(&mut self) {
        self.keep_alive = false;
    }

    /// Takes over what another protocol read.
    pub(crate) fn set_answer(&mut self, status: u16, keep_alive: bool) {
        self.state = State::Done;
        self.status = status;
        self.keep_alive = keep_alive;
    }

    /// Whether any byte of an answer has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.state != State::Head || !self.partial.is_empty() || self.interim > 0
    }

    /// Takes the next bytes. Not to be called again unless there is more.
    pub(crate) fn feed(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Fed, Malformed> {
        if self.state != State::Head {
            return self.body(input, sink);
        }
        if self.partial.is_empty() {
            return self.heads(input, sink);
        }
        self.partial.extend_from_slice(input);
        if memchr::memchr(b'\n', input).is_none() {
            return self.check_partial();
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
    fn heads(&mut self, mut input: &[u8], sink: &mut impl Sink) -> Result<Fed, Malformed> {
        if let Some(known) = sink.recall(input, self.to_head) {
            self.begin_body(known.status, known.meaning)?;
            return self.body(&input[known.length..], sink);
        }
        loop {
            let mut room = head::fields();
            let Some(head) = Head::parse(input, &mut room)? else {
                self.partial = input.to_vec();
                return self.check_partial();
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
            let (length, status, meaning) = (head.length, head.status, head.meaning(self.to_head)?);
            sink.head(status, head.fields.iter().map(|field| (field.name, field.value)));
            self.begin_body(status, meaning)?;
            // What follows a switch of protocols is not HTTP and nobody reads it.
            if status == 101 {
                return self.done(&[]);
            }
            sink.remember(&input[..length], Known { length, status, to_head: self.to_head, meaning });
            return self.body(rest, sink);
        }
    }

    fn begin_body(&mut self, status: u16, meaning: Meaning) -> Result<(), Malformed> {
        self.status = status;
        self.keep_alive = meaning.keep_alive;
        self.state = match meaning.framing {
            Framing::Length(length) if length > self.body_left => return Err(Malformed::BodyLength),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::Close => State::Close,
        };
        Ok(())
    }

    fn body(&mut self, mut input: &[u8], sink: &mut impl Sink) -> Result<Fed, Malformed> {
        match &mut self.state {
            State::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                let complete = *left == 0;
                if taken > 0 && sink.body(&input[..taken]) == Flow::Stop && !complete {
                    return Ok(self.stop());
                }
                if complete { self.done(&input[taken..]) } else { Ok(Fed::More) }
            }
            State::Chunked(chunked) => loop {
                match chunked.next(input)? {
                    Item::More => return Ok(Fed::More),
                    Item::End(rest) => return self.done(rest),
                    Item::Data(data, rest) => {
                        self.body_left = shrink(self.body_left, data)?;
                        if sink.body(data) == Flow::Stop {
                            return Ok(self.stop());
                        }
                        input = rest;
                    }
                }
            },
            State::Close => {
                self.body_left = shrink(self.body_left, input)?;
                if !input.is_empty() && sink.body(input) == Flow::Stop {
                    return Ok(self.stop());
                }
                Ok(Fed::More)
            }
            State::Head | State::Done => Ok(Fed::More),
        }
    }

    fn stop(&mut self) -> Fed {
        self.state = State::Done;
        self.keep_alive = false;
        Fed::Stopped
    }

    fn done(&mut self, rest: &[u8]) -> Result<Fed, Malformed> {
        self.state = State::Done;
        if rest.is_empty() { Ok(Fed::Complete) } else { Err(Malformed::Surplus) }
    }

    fn check_partial(&self) -> Result<Fed, Malformed> {
        if self.partial.len() > RESPONSE_HEAD_MAX { Err(Malformed::HeadLength) } else { Ok(Fed::More) }
    }
}

fn shrink(left: u64, data: &[u8]) -> Result<u64, Malformed> {
    left.checked_sub(data.len() as u64).ok_or(Malformed::BodyLength)
}

#[cfg(test)]
mod tests;
