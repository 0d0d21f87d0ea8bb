//! What `h2` reports, as error kinds.

use std::io;

use hyperscale_types::ErrorKind;
use thiserror::Error;

use crate::lease::LeaseOver;

/// Why an exchange failed. Unless [`H2Error::kind`] is `Reset` by the peer's choice, the connection is gone too.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct H2Error {
    /// `reset`, `closed` or `protocol`; `cancelled` after the lease.
    pub kind: ErrorKind,
    /// What happened, for people. Few distinct texts: they are counted.
    pub message: Box<str>,
}

impl H2Error {
    /// The connection has ended.
    pub(super) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the peer closed the connection")
    }

    fn new(kind: ErrorKind, message: impl Into<Box<str>>) -> Self {
        H2Error { kind, message: message.into() }
    }
}

impl From<::h2::Error> for H2Error {
    fn from(error: ::h2::Error) -> Self {
        if let Some(io) = error.get_io() {
            return from_io(io);
        }
        match error.reason() {
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
        }
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
