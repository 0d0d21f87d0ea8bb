//! Hot: sees every answer. Keeps what is needed; allocates only for that.

use hyperscale_plan::model::step::Needs;
use hyperscale_types::{ErrorKind, Now};

use crate::clock;
use crate::http::h1::head::{is_named, unfolded};
use crate::http::h1::memo::Known;
use crate::http::h1::reader::{Flow, Sink};
use crate::http::request::prepare::Prepared;
use crate::http::response::decode::CODINGS_MAX;
use crate::http::response::stream::{self, StreamReader, StreamStats};
use crate::outcome::CallError;
use crate::response::Response;

/// Cookies taken from one answer; more are ignored.
const SET_COOKIES_MAX: usize = 64;
/// Challenges taken from one answer; more are ignored.
const CHALLENGES_MAX: usize = 8;

/// Keeps the parts of an answer that are needed.
pub(crate) struct Collector<'a> {
    prepared: &'a Prepared,
    response: Option<Box<Response>>,
    found: Option<Box<Found>>,
    stream: Option<Box<Streaming<'a>>>,
}

/// What in an answer asks the client to do something.
#[derive(Default)]
pub(crate) struct Found {
    /// Where a redirect leads.
    pub(crate) location: Option<Box<[u8]>>,
    /// Cookies to keep.
    pub(crate) set_cookies: Vec<Box<[u8]>>,
    /// What a server wants to know before it answers.
    pub(crate) challenges: Vec<Box<[u8]>>,
    /// How the body is coded.
    pub(crate) encodings: Vec<Box<[u8]>>,
}

impl Found {
    /// Whether another request follows: the body of this answer is not the one that the plan wants.
    fn asks_for_another(&self) -> bool {
        self.location.is_some() || !self.challenges.is_empty()
    }
}

/// An answer that is read as a stream.
struct Streaming<'a> {
    reader: StreamReader<'a>,
    started: Now,
    /// Why its events cannot be read on.
    error: Option<CallError>,
}

impl<'a> Collector<'a> {
    /// Keeps what this request needs. `started` is the start of the call.
    pub(crate) fn new(prepared: &'a Prepared, started: Now) -> Self {
        let stream = prepared
            .stream
            .as_ref()
            .map(|stream| Box::new(Streaming { reader: StreamReader::new(stream), started, error: None }));
        Collector { prepared, response: None, found: None, stream }
    }

    /// Forgets the answer so far: another one follows.
    pub(crate) fn reset(&mut self) {
        self.response = None;
        self.found = None;
        if let Some(stream) = &mut self.stream {
            stream.error = None; // it was about the answer before
        }
    }

    /// What asks the client to do something, if anything does.
    pub(crate) fn take_found(&mut self) -> Option<Box<Found>> {
        self.found.take()
    }

    /// Whether anything asks the client to do something.
    pub(crate) fn has_found(&self) -> bool {
        self.found.is_some()
    }

    /// What went wrong with the stream's events, if anything.
    pub(crate) fn take_error(&mut self) -> Option<CallError> {
        self.stream.as_mut().and_then(|stream| stream.error.take())
    }

    /// The kept body, to be decoded in place.
    pub(crate) fn body_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.response.as_mut().map(|response| &mut response.body)
    }

    /// What was kept. `complete`: the stream came to its own end.
    #[inline]
    pub(crate) fn finish(
        self,
        ended: Now,
        complete: bool,
    ) -> (Option<Box<Response>>, Option<Box<StreamStats>>) {
        let stats = self.stream.map(|stream| {
            let at_ns = ended.nanos_since(stream.started);
            Box::new(if complete { stream.reader.finish(at_ns) } else { stream.reader.into_stats() })
        });
        (self.response, stats)
    }

    fn found(&mut self) -> &mut Found {
        self.found.get_or_insert_default()
    }

    /// The body is coded. Events of a stream are read as they come and are not decoded: counting what is left of them
    /// would be a lie.
    #[cold]
    fn encoded(&mut self, coding: &[u8]) {
        push_bounded(&mut self.found().encodings, coding, CODINGS_MAX);
        if let Some(stream) = &mut self.stream
            && !coding.eq_ignore_ascii_case(b"identity")
        {
            let coding = String::from_utf8_lossy(coding);
            let message = format!("the answer is compressed ({coding}), so that its events cannot be read");
            stream.error = Some(CallError::new(ErrorKind::Protocol, message));
        }
    }

    /// An answer begins; it is kept if anybody needs it.
    #[inline]
    fn begin(&mut self) {
        if self.prepared.needs != Needs::default() {
            self.response = Some(Box::default());
        }
    }
}

impl Sink for Collector<'_> {
    fn head<'b>(&mut self, status: u16, fields: impl Iterator<Item = (&'b str, &'b [u8])>) {
        self.begin();
        let Prepared { needs, cookie_jar, .. } = *self.prepared;
        let redirect = self.prepared.limits.redirects > 0 && matches!(status, 301 | 302 | 303 | 307 | 308);
        let challenged = self.prepared.digest.is_some() && status == 401;
        for (name, value) in fields {
            if cookie_jar && is_named(name, b"set-cookie") {
                push_bounded(&mut self.found().set_cookies, &unfolded(value), SET_COOKIES_MAX);
            } else if redirect && is_named(name, b"location") {
                self.found().location = Some(unfolded(value).into());
            } else if challenged && is_named(name, b"www-authenticate") {
                push_bounded(&mut self.found().challenges, &unfolded(value), CHALLENGES_MAX);
            } else if (needs.body || self.stream.is_some()) && is_named(name, b"content-encoding") {
                self.encoded(&unfolded(value));
            }
            if needs.headers
                && let Some(response) = &mut self.response
            {
                response.push(name, &unfolded(value));
            }
        }
    }

    fn body(&mut self, bytes: &[u8]) -> Flow {
        if self.prepared.needs.body
            && let Some(response) = &mut self.response
        {
            response.body.extend_from_slice(bytes);
        }
        match &mut self.stream {
            None => Flow::Read,
            Some(_) if self.found.as_ref().is_some_and(|found| found.asks_for_another()) => Flow::Read,
            Some(stream) if stream.error.is_some() => Flow::Stop,
            Some(stream) => stream.feed(bytes),
        }
    }

    #[inline]
    fn recall(&mut self, input: &[u8], to_head: bool) -> Option<Known> {
        let known = self.prepared.memo.borrow().recall(input, to_head)?;
        self.begin();
        Some(known)
    }

    fn remember(&mut self, head: &[u8], known: Known) {
        // Only what would be ignored again.
        if self.found.is_none() && !self.prepared.needs.headers {
            self.prepared.memo.borrow_mut().remember(head, known);
        }
    }
}

impl Streaming<'_> {
    fn feed(&mut self, bytes: &[u8]) -> Flow {
        match self.reader.feed(bytes, clock::now().nanos_since(self.started)) {
            Ok(stream::Flow::Continue) => Flow::Read,
            Ok(stream::Flow::Stop) => Flow::Stop,
            Err(error) => {
                self.error = Some(CallError::new(ErrorKind::TooLarge, error.to_string()));
                Flow::Stop
            }
        }
    }
}

fn push_bounded(list: &mut Vec<Box<[u8]>>, value: &[u8], max: usize) {
    if list.len() < max {
        list.push(value.into());
    }
}
