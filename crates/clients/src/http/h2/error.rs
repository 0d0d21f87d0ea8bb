//! What `h2` reports, as error kinds.

use std::io;

use hyperscale_plan::model::http::Unprocessed;
use hyperscale_types::ErrorKind;
use thiserror::Error;

use super::Traffic;
use crate::lease::LeaseOver;

/// Why an exchange failed. Unless [`H2Error::kind`] is `Reset` by the peer's choice, the connection is gone too.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct H2Error {
    /// `reset`, `closed` or `protocol`; `cancelled` after the lease.
    pub kind: ErrorKind,
    /// What happened, for people. Few distinct texts: they are counted.
    pub message: Box<str>,
    /// How it is known that the peer has not processed the request, if it is.
    pub unprocessed: Option<Unprocessed>,
}

impl H2Error {
    /// The connection has ended.
    pub(super) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the peer closed the connection")
    }

    /// Whether all that is known is that the connection is gone.
    pub(super) fn is_closed(&self) -> bool {
        let closed = Self::closed();
        (self.kind, &self.message) == (closed.kind, &closed.message)
    }

    /// The error of an exchange of which so much was on the wire. What was answered was processed, whatever the peer says;
    /// what no whole frame left of was not.
    pub(super) fn after(self, traffic: &Traffic, is_going_away: bool) -> Self {
        let is_lost = matches!(self.kind, ErrorKind::Closed | ErrorKind::Reset);
        let unprocessed = match self.unprocessed {
            _ if traffic.first.is_some() => None,
            None if is_lost && traffic.bytes_sent == 0 => Some(Self::unsent(is_going_away)),
            known => known,
        };
        H2Error { unprocessed, ..self }
    }

    /// The error of an exchange that found no stream on a connection that has ended.
    pub(super) fn before(self, is_going_away: bool) -> Self {
        self.after(&Traffic::default(), is_going_away)
    }

    fn unsent(is_going_away: bool) -> Unprocessed {
        if is_going_away { Unprocessed::GoAway } else { Unprocessed::Stale }
    }

    fn new(kind: ErrorKind, message: impl Into<Box<str>>) -> Self {
        H2Error { kind, message: message.into(), unprocessed: None }
    }
}

impl From<::h2::Error> for H2Error {
    fn from(error: ::h2::Error) -> Self {
        if let Some(io) = error.get_io() {
            return from_io(io);
        }
        let unprocessed = match error.reason() {
            // `h2` gives this error to the streams after the last one that the peer names, and to new ones.
            Some(_) if error.is_remote() && error.is_go_away() => Some(Unprocessed::GoAway),
            Some(::h2::Reason::REFUSED_STREAM) if error.is_remote() && error.is_reset() => {
                Some(Unprocessed::RefusedStream)
            }
            _ => None,
        };
        let error = match error.reason() {
            None => Self::new(ErrorKind::Protocol, format!("cannot be sent over HTTP/2: {error}")),
            Some(reason) if !error.is_remote() => Self::new(
                ErrorKind::Protocol,
                format!("the peer broke the protocol: {}", reason.description()),
            ),
            Some(::h2::Reason::NO_ERROR) if error.is_go_away() => {
                Self::new(ErrorKind::Closed, "the peer is going away")
            }
            Some(reason) if error.is_go_away() => Self::new(
                ErrorKind::Closed,
                format!("the peer gave the connection up: {}", reason.description()),
            ),
            Some(reason) => {
                Self::new(ErrorKind::Reset, format!("the peer reset the stream: {}", reason.description()))
            }
        };
        H2Error { unprocessed, ..error }
    }
}

impl From<LeaseOver> for H2Error {
    fn from(over: LeaseOver) -> Self {
        Self::new(ErrorKind::Cancelled, over.to_string())
    }
}

fn from_io(error: &io::Error) -> H2Error {
    match error.kind() {
        // `h2` hands an error of the byte stream to its streams as a kind and a text.
        io::ErrorKind::Other if error.to_string() == LeaseOver.to_string() => LeaseOver.into(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            H2Error::new(ErrorKind::Reset, "the peer reset the connection")
        }
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::NotConnected
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::WriteZero => H2Error::closed(),
        io::ErrorKind::TimedOut => H2Error::new(ErrorKind::Timeout, "the peer stopped acknowledging"),
        _ => H2Error::new(ErrorKind::Reset, error.to_string()),
    }
}
