//! A connection's byte stream, encrypted or not.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use crate::network::Stream;

/// A byte stream, encrypted or not. TLS state is large and boxed: an idle plain connection stays small.
pub(crate) enum Io {
    /// As it is.
    Plain(Stream),
    /// Through TLS.
    Tls(Box<TlsStream<Stream>>),
}

impl Io {
    /// Whether an idle connection is still good: if there is anything to read, the peer has closed it or spoken unasked.
    /// What TLS holds back has to be looked at.
    #[inline]
    pub(crate) fn is_alive(&mut self) -> bool {
        match self {
            Io::Plain(stream) if stream.is_quiet() => true,
            Io::Plain(_) | Io::Tls(_) => self.has_nothing(),
        }
    }

    /// Bytes that were written and that the peer's system has not acknowledged; with TLS a few more than were given to
    /// it. 0 where that is not known.
    pub(crate) fn unacknowledged(&self) -> usize {
        match self {
            Io::Plain(stream) => stream.unacknowledged(),
            Io::Tls(stream) => stream.get_ref().0.unacknowledged(),
        }
    }

    #[cold]
    fn has_nothing(&mut self) -> bool {
        let mut byte = [0];
        // No task needs to be woken: the one that reads the answer will ask again.
        let mut nobody = Context::from_waker(Waker::noop());
        Pin::new(self).poll_read(&mut nobody, &mut ReadBuf::new(&mut byte)).is_pending()
    }
}

impl AsyncRead for Io {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Io::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Io::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Io {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Io::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Io::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Io::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Io::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Io::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Io::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
