//! The byte streams a connection can run over.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// A stream whose end can be made abrupt.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Makes the coming close a reset, where the transport knows such a thing.
    fn reset_on_close(&self);
}

impl Socket for TcpStream {
    fn reset_on_close(&self) {
        reset_when_dropped(self);
    }
}

impl Socket for TlsStream<TcpStream> {
    fn reset_on_close(&self) {
        self.get_ref().0.reset_on_close();
    }
}

impl Socket for UnixStream {
    /// Unix sockets have no reset; the close has to do.
    fn reset_on_close(&self) {}
}

/// A linger time of zero lets close send RST and forget what was not sent (tcp(7), socket(7)).
pub(crate) fn reset_when_dropped(stream: &TcpStream) {
    // Fails only if the socket is gone already, and then there is nothing left to reset.
    let _ = SockRef::from(stream).set_linger(Some(std::time::Duration::ZERO));
}

/// A stream whose first bytes were read already and are handed out again.
#[derive(Debug)]
pub(crate) struct Rewound<S> {
    pub(crate) start: BytesMut,
    pub(crate) rest: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewound<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.start.is_empty() {
            return Pin::new(&mut self.rest).poll_read(cx, buf);
        }
        let count = self.start.len().min(buf.remaining());
        buf.put_slice(&self.start[..count]);
        self.start.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.rest).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.rest).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.rest).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.rest).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.rest.is_write_vectored()
    }
}
