//! Hot: a byte stream of any transport.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::ioctl;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::memory::MemoryStream;

/// A connection of a [`super::Network`].
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A unix socket.
    Unix(UnixStream),
    /// In memory; boxed, so that a real connection is no larger for it.
    Memory(Box<MemoryStream>),
}

impl Stream {
    /// Whether nothing is known to have come on this stream. Makes no system call and takes nothing from it.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        // Runs only if the runtime has seen something to read.
        let seen = || Ok(());
        match self {
            Stream::Tcp(stream) => stream.try_io(Interest::READABLE, seen).is_err(),
            Stream::Unix(stream) => stream.try_io(Interest::READABLE, seen).is_err(),
            Stream::Memory(stream) => stream.is_quiet(),
        }
    }
}

impl Stream {
    /// Bytes that were written and that the peer's system has not acknowledged (tcp(7), `SIOCOUTQ`). 0 where that is not
    /// known.
    pub(crate) fn unacknowledged(&self) -> usize {
        let Stream::Tcp(stream) = self else { return 0 };
        #[expect(
            unsafe_code,
            reason = "the request writes one int, and that is what the getter has room for"
        )]
        let bytes = unsafe {
            ioctl::ioctl(stream, ioctl::Getter::<{ libc::TIOCOUTQ as ioctl::Opcode }, libc::c_int>::new())
        };
        bytes.ok().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0)
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Memory(stream) => Pin::new(&mut **stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Memory(stream) => Pin::new(&mut **stream).poll_write(cx, bytes),
        }
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Memory(stream) => Pin::new(&mut **stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Memory(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}
