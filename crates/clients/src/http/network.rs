//! How connections are opened: the seam between the client and the operating system.
//!
//! Everything above this trait is statically dispatched over it, so that the same code runs on sockets, in memory
//! (tests, counting instructions) and on whatever transport comes next.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, UnixStream, lookup_host};

/// Where a connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint<'a> {
    /// An address, and the local address to connect from.
    Tcp {
        /// The peer.
        peer: SocketAddr,
        /// The local address; the system chooses the port.
        source: Option<IpAddr>,
    },
    /// A unix socket.
    Unix(&'a Path),
}

/// Opens connections and resolves names.
pub trait Network: 'static {
    /// A byte stream.
    type Stream: AsyncRead + AsyncWrite + Unpin + 'static;

    /// Whether nothing is known to have come on this stream. Must not make a system call, nor take anything from it.
    fn is_quiet(stream: &Self::Stream) -> bool;

    /// Opens a connection. Time-outs are the caller's business: it drops the future.
    fn connect(&self, to: Endpoint<'_>) -> impl Future<Output = io::Result<Self::Stream>>;

    /// All addresses of a host name.
    fn resolve(&self, host: &str) -> impl Future<Output = io::Result<Vec<IpAddr>>>;

    /// A TLS handshake on one of its streams succeeded. For those who want to describe connections; most do not.
    fn secured(&self, _: Secured<'_>) {}
}

/// What a TLS handshake agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Secured<'a> {
    /// The protocol version, as rustls calls it.
    pub version: Option<&'a str>,
    /// The cipher suite, as rustls calls it.
    pub cipher: Option<&'a str>,
    /// Whether HTTP/2 was chosen.
    pub is_http2: bool,
    /// The peer's own certificate, DER.
    pub certificate: Option<&'a [u8]>,
}

/// The operating system's sockets through tokio.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioNetwork;

impl Network for TokioNetwork {
    type Stream = TokioStream;

    #[inline]
    fn is_quiet(stream: &TokioStream) -> bool {
        // Runs only if the runtime has seen something to read.
        let seen = || Ok(());
        match stream {
            TokioStream::Tcp(stream) => stream.try_io(Interest::READABLE, seen).is_err(),
            TokioStream::Unix(stream) => stream.try_io(Interest::READABLE, seen).is_err(),
        }
    }

    async fn connect(&self, to: Endpoint<'_>) -> io::Result<TokioStream> {
        match to {
            Endpoint::Unix(path) => Ok(TokioStream::Unix(UnixStream::connect(path).await?)),
            Endpoint::Tcp { peer, source } => {
                let socket = if peer.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
                socket.set_nodelay(true)?;
                if let Some(source) = source {
                    bind_source(&socket, source)?;
                }
                Ok(TokioStream::Tcp(socket.connect(peer).await?))
            }
        }
    }

    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in lookup_host((host, 0)).await? {
            if !addresses.contains(&address.ip()) {
                addresses.push(address.ip());
            }
        }
        Ok(addresses)
    }
}

/// Binds the local address and leaves the port to `connect`, where one port can serve several peers.
fn bind_source(socket: &TcpSocket, source: IpAddr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true)?;
    socket.bind(SocketAddr::new(source, 0))
}

/// A connection through tokio.
#[derive(Debug)]
pub enum TokioStream {
    /// TCP.
    Tcp(TcpStream),
    /// A unix socket.
    Unix(UnixStream),
}

impl AsyncRead for TokioStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            TokioStream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            TokioStream::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for TokioStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            TokioStream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            TokioStream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            TokioStream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            TokioStream::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            TokioStream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            TokioStream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
