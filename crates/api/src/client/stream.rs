//! Following a job: one stream of events over many connections.
//!
//! ```text
//! closed ── a server accepts ──► open ── end, error, silence ──► closed
//!    └── no server accepts for `orphaned` ──► orphaned         final event ──► over
//! ```
//! The greatest id that was seen decides: what is not greater is a duplicate, or comes from a leader that was replaced.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::Client;
use super::endpoint::Endpoint;
use super::error::CallError;
use super::exchange::Exchange;
use crate::error::{ErrorCode, Retry, RpcError};
use crate::event::{EventId, JobEvent, TaskEvent};
use crate::sse::{Parser, RawEvent};

/// Leaders that are followed before servers are asked again.
const MOVES_MAX: u32 = 4;

/// Something that a stream brings.
pub trait StreamEvent: Sized {
    /// Reads it from what was sent; nothing if it is no event of this version.
    fn read(raw: &RawEvent) -> Option<Self>;

    /// Its place in the stream.
    fn id(&self) -> EventId;

    /// Whether it is the last one.
    fn is_final(&self) -> bool;
}

impl StreamEvent for JobEvent {
    fn read(raw: &RawEvent) -> Option<Self> {
        serde_json::from_str(&raw.data).ok()
    }

    fn id(&self) -> EventId {
        self.id()
    }

    fn is_final(&self) -> bool {
        self.is_final
    }
}

impl StreamEvent for TaskEvent {
    fn read(raw: &RawEvent) -> Option<Self> {
        let (id, data) = (raw.id.parse().ok()?, serde_json::from_str(&raw.data).ok()?);
        Some(Self { id, kind: raw.event.clone(), data })
    }

    fn id(&self) -> EventId {
        self.id
    }

    fn is_final(&self) -> bool {
        self.data["final"] == true
    }
}

/// The events of a job or of tasks, each once and in order, from whichever server has them.
#[derive(Debug)]
pub struct EventStream<E = JobEvent> {
    client: Client,
    job: String,
    last: Option<EventId>,
    open: Option<Open>,
    /// When a server last served the stream.
    served_at: Option<Instant>,
    pause: Duration,
    discarded: Discarded,
    is_over: bool,
    event: PhantomData<fn() -> E>,
}

/// Events that were not passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// Seen before.
    pub duplicates: u64,
    /// From a job leader that was replaced.
    pub stale: u64,
    /// Not events of this version.
    pub malformed: u64,
}

/// A connection that serves the stream.
#[derive(Debug)]
struct Open {
    exchange: Exchange,
    parser: Parser,
    /// Read and not yet passed on.
    events: VecDeque<RawEvent>,
}

impl<E: StreamEvent> EventStream<E> {
    pub(super) fn new(client: Client, job: String, after: Option<EventId>) -> Self {
        let pause = client.timing().pause_min;
        let discarded = Discarded::default();
        let (open, served_at, event) = (None, None, PhantomData);
        Self { client, job, last: after, open, served_at, pause, discarded, is_over: false, event }
    }

    /// The next event; `None` after the final one. May be dropped and called again without losing an event.
    pub async fn next(&mut self) -> Result<Option<E>, CallError> {
        while !self.is_over {
            let Some(open) = &mut self.open else {
                self.connect().await?;
                continue;
            };
            match open.next(self.client.timing().silence).await {
                Ok(Some(raw)) => {
                    self.served_at = Some(Instant::now());
                    if let Some(event) = self.accept(&raw) {
                        self.pause = self.client.timing().pause_min;
                        self.is_over = event.is_final();
                        return Ok(Some(event));
                    }
                }
                // Another connection would bring the same.
                Err(error @ CallError::Malformed(_)) => return Err(error),
                Ok(None) | Err(_) => {
                    self.served_at = Some(Instant::now());
                    self.open = None;
                    // A server that ends the stream at once must not be asked at once again.
                    self.wait().await;
                }
            }
        }
        Ok(None)
    }

    /// The last event that was passed on: where another stream could resume.
    pub fn last(&self) -> Option<EventId> {
        self.last
    }

    /// Events that were not passed on.
    pub fn discarded(&self) -> Discarded {
        self.discarded
    }

    /// Whether a server is serving the stream now.
    pub fn is_connected(&self) -> bool {
        self.open.is_some()
    }

    fn accept(&mut self, raw: &RawEvent) -> Option<E> {
        let Some(event) = E::read(raw) else {
            self.discarded.malformed += 1;
            return None;
        };
        let id = event.id();
        match self.last {
            Some(last) if id.token < last.token => self.discarded.stale += 1,
            Some(last) if id <= last => {
                self.discarded.duplicates += 1;
                // Where the last event was seen before, there is nothing more to come.
                self.is_over = event.is_final() && id == last;
            }
            _ => {
                self.last = Some(id);
                self.client.leaders().saw(&self.job, id.token);
                return Some(event);
            }
        }
        None
    }

    /// Asks every server, and leaders that they name, for the stream; waits if none serves it.
    async fn connect(&mut self) -> Result<(), CallError> {
        let began = *self.served_at.get_or_insert_with(Instant::now);
        let mut servers = self.client.order(Some(&self.job));
        let mut failures = Failures::default();
        let mut moves = 0;
        while let Some(endpoint) = servers.pop_front() {
            match self.client.attempt_events(&endpoint, &self.job, self.last).await {
                Ok(exchange) => {
                    self.client.responded(&endpoint);
                    self.open = Some(Open::new(exchange));
                    return Ok(());
                }
                Err(CallError::Refused(error)) => {
                    if let Some(leader) = self.moved(&endpoint, &error).filter(|_| moves < MOVES_MAX) {
                        moves += 1;
                        servers.push_front(leader);
                    }
                    failures.refused(error)?;
                }
                Err(error) => {
                    self.client.forget(Some(&self.job), &endpoint);
                    failures.other(&error);
                }
            }
        }
        let timing = self.client.timing();
        if began.elapsed() >= timing.orphaned {
            let (job, last) = (self.job.clone(), self.last);
            return Err(CallError::Orphaned { job, after: timing.orphaned, last, why: failures.why() });
        }
        failures.end()?;
        self.wait().await;
        Ok(())
    }

    fn moved(&self, from: &Endpoint, error: &RpcError) -> Option<Endpoint> {
        let leader = error.details().leader.filter(|_| error.is(ErrorCode::Moved))?;
        self.client.learn(Some(&self.job), from, leader.http.as_deref()?, leader.token)
    }

    async fn wait(&mut self) {
        let timing = *self.client.timing();
        let pause = self.client.jittered(self.pause);
        self.pause = (self.pause * 2).min(timing.pause_max);
        let orphaned_in =
            self.served_at.map_or(timing.orphaned, |at| timing.orphaned.saturating_sub(at.elapsed()));
        sleep(pause.min(orphaned_in)).await;
    }
}

/// Why no server serves the stream.
#[derive(Debug, Default)]
struct Failures {
    /// A server does not know the job; others may.
    unknown: Option<RpcError>,
    /// Not all servers could be asked.
    is_partial: bool,
    last: Option<String>,
}

impl Failures {
    fn refused(&mut self, error: RpcError) -> Result<(), CallError> {
        let retry = error.kind().map_or(Retry::Never, ErrorCode::retry);
        self.last = Some(error.to_string());
        if error.is(ErrorCode::UnknownJob) || error.is(ErrorCode::UnknownTask) {
            self.unknown = Some(error);
        } else if retry == Retry::Never {
            return Err(error.into());
        } else {
            self.is_partial = true;
        }
        Ok(())
    }

    fn other(&mut self, error: &CallError) {
        self.last = Some(error.to_string());
        self.is_partial = true;
    }

    /// A job that every server was asked for and none knows does not exist.
    fn end(self) -> Result<(), CallError> {
        match self.unknown {
            Some(error) if !self.is_partial => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn why(&self) -> String {
        self.last.clone().unwrap_or_else(|| "there is no server to ask".to_owned())
    }
}

impl Open {
    fn new(exchange: Exchange) -> Self {
        Self { exchange, parser: Parser::default(), events: VecDeque::new() }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self, silence: Duration) -> Result<Option<RawEvent>, CallError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let silent = |_| CallError::Lost("the stream was silent for too long".to_owned());
            let Some(part) = timeout(silence, self.exchange.part()).await.map_err(silent)?? else {
                return Ok(None);
            };
            let mut events = Vec::new();
            let read = self.parser.push(&part, &mut events);
            self.events.extend(events);
            read.map_err(|error| CallError::Malformed(error.to_string()))?;
        }
    }
}
