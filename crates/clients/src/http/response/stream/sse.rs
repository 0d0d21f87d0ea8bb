//! Server-sent events (HTML standard, section 9.2.6): lines into fields, fields into events.
//!
//! Only the data of an event is of interest here; its type, its id and `retry` are read over. Bytes stay bytes: text
//! is searched in them, never shown.

use super::lines::Lines;
use super::{EventTooLong, Flow, OnEvent};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A stream of server-sent events.
#[derive(Debug)]
pub(super) struct Sse {
    lines: Lines,
    event: Event,
}

/// The event being read.
#[derive(Debug)]
struct Event {
    /// Its data lines, each with a line feed behind it, as in the standard.
    data: Vec<u8>,
    /// No line has been read: a byte order mark may stand in front.
    at_start: bool,
    bytes_max: usize,
}

impl Sse {
    pub(super) fn new(bytes_max: usize) -> Self {
        let event = Event { data: Vec::new(), at_start: true, bytes_max };
        // A line is longer than its data by at most the field's name and the mark in front.
        Sse { lines: Lines::new(bytes_max + "data: ".len() + BOM.len()), event }
    }

    pub(super) fn split(&mut self, bytes: &[u8], on_event: &mut OnEvent<'_>) -> Result<Flow, EventTooLong> {
        let Sse { lines, event } = self;
        lines.split(bytes, &mut |line| event.line(line, on_event))
    }
}

impl Event {
    fn line(&mut self, line: &[u8], on_event: &mut OnEvent<'_>) -> Result<Flow, EventTooLong> {
        let first = std::mem::take(&mut self.at_start);
        let line = if first { line.strip_prefix(BOM).unwrap_or(line) } else { line };
        if line.is_empty() {
            return Ok(self.dispatch(on_event));
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        if field == b"data" {
            self.append(value.strip_prefix(b" ").unwrap_or(value))?;
        }
        Ok(Flow::Continue)
    }

    /// An event without any data line is none.
    fn dispatch(&mut self, on_event: &mut OnEvent<'_>) -> Flow {
        let Some((_, data)) = self.data.split_last() else {
            return Flow::Continue;
        };
        let flow = on_event(data);
        self.data.clear();
        flow
    }

    fn append(&mut self, value: &[u8]) -> Result<(), EventTooLong> {
        if self.data.len() + value.len() > self.bytes_max {
            return Err(EventTooLong);
        }
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
        Ok(())
    }
}
