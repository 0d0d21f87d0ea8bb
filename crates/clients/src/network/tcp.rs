//! TCP connections that do without the runtime where the kernel is already done.
//!
//! On one machine – loopback, containers – the handshake is over when `connect` returns, but the runtime only learns of it
//! from its next round of events. Asking the kernel once, and handing it the first bytes directly, saves a round trip
//! through the event queue, one poll of the task and a timer for every such connection. On a network it costs one system
//! call that says "not yet".

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;

/// Where a second `connect` tells what became of the first (connect(2)); other systems forget the error.
const TELLS_TWICE: bool = cfg!(target_os = "linux");

/// A TCP connection.
#[derive(Debug)]
pub struct Tcp {
    pub(super) stream: TcpStream,
    /// The connection is open, and the runtime does not know yet that it can be written to.
    is_ahead: bool,
}

/// What became of a connection right after it was begun.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is open.
    Open(Tcp),
    /// The peer has not answered yet.
    Pending(TcpStream),
    /// It cannot be opened.
    Failed(io::Error),
}

impl Begun {
    /// Waits until the connection is open.
    pub(crate) async fn open(self) -> io::Result<Tcp> {
        match self {
            Begun::Open(tcp) => Ok(tcp),
            // tokio's own `connect` asks every socket for its error; here only one that was closed is asked.
            Begun::Pending(stream) => {
                let ready = stream.ready(Interest::WRITABLE).await?;
                match ready.is_write_closed().then(|| stream.take_error()).transpose()?.flatten() {
                    Some(error) => Err(error),
                    None => Ok(Tcp { stream, is_ahead: false }),
                }
            }
            // Calls that fail at once would keep everything else on the core from running.
            Begun::Failed(error) => {
                tokio::task::yield_now().await;
                Err(error)
            }
        }
    }
}

impl Tcp {
    /// Begins to open a connection.
    pub(super) fn begin(peer: SocketAddr, source: Option<IpAddr>) -> Begun {
        Self::try_begin(peer, source).unwrap_or_else(Begun::Failed)
    }

    fn try_begin(peer: SocketAddr, source: Option<IpAddr>) -> io::Result<Begun> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(peer), kind, Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            bind_source(&socket, source)?;
        }
        let peer = SockAddr::from(peer);
        let is_ahead = is_open(socket.connect(&peer))? || (TELLS_TWICE && is_open(socket.connect(&peer))?);
        let stream = TcpStream::from_std(socket.into())?;
        Ok(if is_ahead { Begun::Open(Tcp { stream, is_ahead }) } else { Begun::Pending(stream) })
    }

    /// Writes the first bytes of a connection. If the kernel does not take them the runtime says when it will.
    #[cold]
    fn poll_first_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.is_ahead = false;
        match SockRef::from(&self.stream).send_with_flags(bytes, NO_SIGNAL) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Pin::new(&mut self.stream).poll_write(cx, bytes)
            }
            written => Poll::Ready(written),
        }
    }

    #[inline]
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_ahead {
            self.poll_first_write(cx, bytes)
        } else {
            Pin::new(&mut self.stream).poll_write(cx, bytes)
        }
    }
}

/// A closed connection is an error and not a signal, as with all writes of the standard library.
#[cfg(target_os = "linux")]
const NO_SIGNAL: libc::c_int = libc::MSG_NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: libc::c_int = 0;

/// Whether a connection is open, by what `connect` said; not yet is no error.
fn is_open(told: io::Result<()>) -> io::Result<bool> {
    match told {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EALREADY)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Binds the local address and leaves the port to `connect`, where one port can serve several peers.
fn bind_source(socket: &Socket, source: IpAddr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true)?;
    socket.bind(&SocketAddr::new(source, 0).into())
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Read;
    use std::net::TcpListener;
    use std::pin::pin;
    use std::thread;

    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::network::Stream;

    /// The kernel may put off a handshake of this machine, but not a hundred of them.
    const ATTEMPTS: usize = 100;

    async fn poll_once<F: Future>(work: F) -> Poll<F::Output> {
        let mut work = pin!(work);
        poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_of_this_machine_is_open_and_takes_its_first_bytes_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        for _ in 0..ATTEMPTS {
            let Poll::Ready(connected) = poll_once(Tcp::begin(peer, None).open()).await else { continue };
            let mut tcp = connected.unwrap();
            let written = poll_once(poll_fn(|cx| tcp.poll_write(cx, b"hello"))).await;
            assert!(matches!(written, Poll::Ready(Ok(5))), "{written:?}");
            let mut text = [0; 5];
            listener.accept().unwrap().0.read_exact(&mut text).unwrap();
            assert_eq!(&text, b"hello");
            return;
        }
        panic!("the runtime was asked every time");
    }

    #[tokio::test]
    async fn all_bytes_arrive_in_order_though_the_kernel_does_not_take_them_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
            all
        });
        let sent: Vec<u8> = (0..16 << 20).map(|at: u32| (at / 7) as u8).collect();
        let mut stream = Stream::Tcp(Tcp::begin(peer, None).open().await.unwrap());
        stream.write_all(&sent).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(reader.join().unwrap() == sent);
    }

    #[tokio::test]
    async fn a_refused_connection_says_so_and_lets_others_run_first() {
        let peer = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(poll_once(Tcp::begin(peer, None).open()).await.is_pending());
        let refused = Tcp::begin(peer, None).open().await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
