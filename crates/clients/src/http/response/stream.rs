//! Answers read as streams: body bytes are split into events, events are counted and timed, and the stream is left
//! when the plan says so.
//!
//! Bytes come in any pieces; the events are the same for every split (except [`StreamEvents::Chunks`], where the
//! pieces are the events). Nothing but an unfinished event is kept, and that is bounded. Times are handed in.

mod lines;
mod sse;

use hyperscale_plan::model::http::{Stream, StreamEvents};
use memchr::memmem;
use thiserror::Error;

use lines::Lines;
use sse::Sse;

/// Bytes of one event; a longer one fails the call with `too_large`.
pub const EVENT_BYTES_MAX: usize = 1 << 20;
/// Gaps between events that are kept one by one; later ones only go into sum and maximum.
pub const GAPS_MAX: usize = 4096;

/// An event is longer than allowed. The stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("stream event longer than {EVENT_BYTES_MAX} bytes")]
pub struct EventTooLong;

/// Whether to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// There may be more events.
    Continue,
    /// The plan's count or text was reached: the stream is done, and that is a success.
    Stop,
}

/// What a stream looked like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// How many events came.
    pub events: u64,
    /// From the start of the call to the first event.
    pub first_event_ns: Option<u64>,
    /// Times between events, the first [`GAPS_MAX`] of them.
    pub gaps_ns: Vec<u64>,
    /// The sum of all times between events, kept or not.
    pub gaps_sum_ns: u64,
    /// The longest time between events, kept or not.
    pub gap_max_ns: u64,
    last_ns: u64,
}

impl StreamStats {
    fn record(&mut self, at_ns: u64) {
        self.events += 1;
        if self.first_event_ns.is_none() {
            self.first_event_ns = Some(at_ns);
        } else {
            let gap_ns = at_ns.saturating_sub(self.last_ns);
            self.gaps_sum_ns = self.gaps_sum_ns.saturating_add(gap_ns);
            self.gap_max_ns = self.gap_max_ns.max(gap_ns);
            if self.gaps_ns.len() < GAPS_MAX {
                self.gaps_ns.push(gap_ns);
            }
        }
        self.last_ns = at_ns;
    }
}

/// Reads one streamed body.
#[derive(Debug)]
pub struct StreamReader<'a> {
    splitter: Splitter,
    counter: Counter<'a>,
}

impl<'a> StreamReader<'a> {
    /// A reader at the start of a body. `max_time` is the caller's to watch.
    pub fn new(stream: &'a Stream) -> Self {
        let across = stream.events == StreamEvents::Chunks;
        let counter = Counter {
            until: stream.until.as_deref().map(|text| Until::new(text, across)),
            events_max: stream.max_events.unwrap_or(u64::MAX),
            stats: StreamStats::default(),
        };
        StreamReader { splitter: Splitter::new(stream.events, EVENT_BYTES_MAX), counter }
    }

    /// Takes the next bytes of the body, which came `at_ns` after the start of the call. After [`Flow::Stop`] nothing
    /// more is counted.
    pub fn feed(&mut self, bytes: &[u8], at_ns: u64) -> Result<Flow, EventTooLong> {
        match self.counter.flow() {
            Flow::Stop => Ok(Flow::Stop),
            Flow::Continue => self.splitter.split(bytes, &mut |data| self.counter.event(data, at_ns)),
        }
    }

    /// The body is complete, and this is what it was. What an unfinished event is worth is up to its kind.
    pub fn finish(mut self, at_ns: u64) -> StreamStats {
        if let Some(line) = self.splitter.finish()
            && self.counter.flow() == Flow::Continue
        {
            self.counter.event(&line, at_ns);
        }
        self.counter.stats
    }

    /// What was seen so far, for a stream that is left before its end.
    pub fn into_stats(self) -> StreamStats {
        self.counter.stats
    }
}

/// Counts events and knows when there are enough.
#[derive(Debug)]
struct Counter<'a> {
    until: Option<Until<'a>>,
    /// Lowered to the number of events when the text was found.
    events_max: u64,
    stats: StreamStats,
}

impl Counter<'_> {
    fn event(&mut self, data: &[u8], at_ns: u64) -> Flow {
        self.stats.record(at_ns);
        if self.until.as_mut().is_some_and(|until| until.is_in(data)) {
            self.events_max = self.stats.events;
        }
        self.flow()
    }

    fn flow(&self) -> Flow {
        if self.stats.events >= self.events_max { Flow::Stop } else { Flow::Continue }
    }
}

/// Called with the data of each event; says whether to go on.
type OnEvent<'c> = dyn FnMut(&[u8]) -> Flow + 'c;

/// Splits bytes into events.
#[derive(Debug)]
enum Splitter {
    Sse(Sse),
    Lines(Lines),
    Chunks,
}

impl Splitter {
    fn new(events: StreamEvents, bytes_max: usize) -> Self {
        match events {
            StreamEvents::Sse => Splitter::Sse(Sse::new(bytes_max)),
            StreamEvents::Lines => Splitter::Lines(Lines::new(bytes_max)),
            StreamEvents::Chunks => Splitter::Chunks,
        }
    }

    fn split(&mut self, bytes: &[u8], on_event: &mut OnEvent<'_>) -> Result<Flow, EventTooLong> {
        match self {
            Splitter::Sse(sse) => sse.split(bytes, on_event),
            Splitter::Lines(lines) => lines.split(bytes, &mut |line| match line {
                // Empty lines keep connections alive; they are not events.
                [] => Ok(Flow::Continue),
                _ => Ok(on_event(line)),
            }),
            Splitter::Chunks if bytes.is_empty() => Ok(Flow::Continue),
            Splitter::Chunks => Ok(on_event(bytes)),
        }
    }

    /// A last line without its end counts; an unfinished server-sent event does not (HTML standard, 9.2.6).
    fn finish(&mut self) -> Option<Vec<u8>> {
        match self {
            Splitter::Lines(lines) => Some(lines.take_partial()).filter(|line| !line.is_empty()),
            Splitter::Sse(_) | Splitter::Chunks => None,
        }
    }
}

/// A text that ends the stream.
#[derive(Debug)]
struct Until<'a> {
    finder: memmem::Finder<'a>,
    /// With chunks the text may begin in one and end in the next: the end of what came before, and `None` where every
    /// event stands for itself.
    tail: Option<Vec<u8>>,
}

impl<'a> Until<'a> {
    fn new(text: &'a str, across: bool) -> Self {
        Until { finder: memmem::Finder::new(text), tail: across.then(Vec::new) }
    }

    fn is_in(&mut self, data: &[u8]) -> bool {
        let Some(tail) = &mut self.tail else {
            return self.finder.find(data).is_some();
        };
        tail.extend_from_slice(data);
        let found = self.finder.find(tail).is_some();
        let kept = self.finder.needle().len().saturating_sub(1);
        tail.drain(..tail.len().saturating_sub(kept));
        found
    }
}

#[cfg(test)]
mod tests;
