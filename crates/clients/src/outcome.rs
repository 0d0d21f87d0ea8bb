//! What a call reports: progress while it runs, an outcome when it ends.

use std::cell::Cell;

use hyperscale_plan::model::http::Unprocessed;
use hyperscale_types::{ErrorKind, Now, Phases};

use crate::http::response::stream::StreamStats;
use crate::response::Response;

/// What has happened so far. Owned by the caller, so that it can still be read when the call's future is dropped.
///
/// Bytes are those of the HTTP messages, before encryption.
#[derive(Debug, Default)]
pub struct Progress {
    started: Cell<Option<Now>>,
    requests: Cell<u32>,
    retries: Cell<u32>,
    bytes_sent: Cell<u64>,
    bytes_received: Cell<u64>,
}

impl Progress {
    /// When the call began; `None` before its first poll.
    pub fn started(&self) -> Option<Now> {
        self.started.get()
    }

    /// The call begins.
    pub(crate) fn start(&self, now: Now) {
        self.started.set(Some(now));
    }

    /// Requests whose last byte was handed to the kernel; redirect hops, authentication round trips and retries included.
    pub fn requests(&self) -> u32 {
        self.requests.get()
    }

    /// Requests that were sent again because the server had not processed them.
    #[inline]
    pub fn retries(&self) -> u32 {
        self.retries.get()
    }

    /// Bytes of requests handed to the kernel.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent.get()
    }

    /// Bytes of answers received.
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received.get()
    }

    /// One more request left completely.
    pub(crate) fn count_request(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    /// A request is sent again.
    pub(crate) fn count_retry(&self) {
        self.retries.set(self.retries.get() + 1);
    }

    /// More bytes left.
    pub(crate) fn count_sent(&self, bytes: usize) {
        self.bytes_sent.set(self.bytes_sent.get() + bytes as u64);
    }

    /// More bytes came.
    pub(crate) fn count_received(&self, bytes: usize) {
        self.bytes_received.set(self.bytes_received.get() + bytes as u64);
    }
}

/// How a call ended.
#[derive(Debug)]
pub struct Outcome {
    /// When it began.
    pub started: Now,
    /// When the last byte of the answer was there, or the call failed.
    pub ended: Now,
    /// Whether the peer answered at all, with whatever: a fact of its own, for not every protocol has a status.
    pub answered: bool,
    /// The protocol's status of the last response; `None` if there was none, or if the protocol has no such thing.
    pub status: Option<u16>,
    /// Why it failed, if it did.
    pub error: Option<CallError>,
    /// Where the time went. Connecting includes resolving the name, writing includes filling the request; the hops of
    /// one call are summed up.
    pub phases: Phases,
    /// The answer, as far as it is needed.
    pub response: Option<Box<Response>>,
    /// What a streamed answer looked like.
    pub stream: Option<Box<StreamStats>>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct CallError {
    /// The kind, from the closed list.
    pub kind: ErrorKind,
    /// What happened, for people. Few distinct texts per kind: they are counted.
    pub message: Box<str>,
    /// How it is known that the server has not processed the request, if it is.
    pub unprocessed: Option<Unprocessed>,
}

impl CallError {
    /// An error of this kind.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Box<str>>) -> Self {
        CallError { kind, message: message.into(), unprocessed: None }
    }

    /// The answer was not the protocol.
    pub(crate) fn protocol(message: impl Into<Box<str>>) -> Self {
        Self::new(ErrorKind::Protocol, message)
    }
}
