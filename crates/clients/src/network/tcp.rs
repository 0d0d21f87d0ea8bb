//! TCP connections, and a short way to open them where the kernel is done at once.
//!
//! On one machine – loopback, containers – the handshake is over when `connect` returns, but the runtime only learns of it
//! from its next round of events. A kernel that takes the first bytes right away says the same: that saves a round trip
//! through the event queue, one poll of the task and a timer for every such connection. On a network it costs one system
//! call that says "not yet".

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// A connection whose peer may not have answered yet.
#[derive(Debug)]
pub(crate) struct Dialed(Socket);

/// What became of the first bytes of a connection.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is open, and the kernel has taken so many of them.
    Open(TcpStream, usize),
    /// The peer has not answered yet: it has taken none.
    Pending(TcpStream),
}

/// Begins to open a connection.
pub(super) fn dial(peer: SocketAddr, source: Option<IpAddr>) -> io::Result<Dialed> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(peer), kind, Some(Protocol::TCP))?;
    if let Some(source) = source {
        bind_source(&socket, source)?;
    }
    match socket.connect(&peer.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        Ok(()) | Err(_) => Ok(Dialed(socket)),
    }
}

impl Dialed {
    /// Waits until the connection is open.
    pub(super) async fn open(self) -> io::Result<TcpStream> {
        opened(self.into_stream()?).await
    }

    /// Offers the first bytes to the kernel. A connection that takes all of them still holds small writes back
    /// (`TCP_NODELAY` is off): the second one would be the first to wait.
    pub(crate) fn begin(self, bytes: &[u8]) -> io::Result<Begun> {
        let Some(written) = self.write(bytes)? else { return Ok(Begun::Pending(self.into_stream()?)) };
        let stream =
            if written < bytes.len() { self.into_stream() } else { TcpStream::from_std(self.0.into()) };
        Ok(Begun::Open(stream?, written))
    }

    /// Writes to a connection that is open; `None` if it is not yet.
    #[cfg(target_os = "linux")]
    fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        // A closed connection is an error and not a signal, as with all writes of the standard library.
        match self.0.send_with_flags(bytes, libc::MSG_NOSIGNAL) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            written => written.map(Some),
        }
    }

    /// Elsewhere the error of a connection would be lost.
    #[cfg(not(target_os = "linux"))]
    fn write(&self, _: &[u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn into_stream(self) -> io::Result<TcpStream> {
        self.0.set_tcp_nodelay(true)?;
        TcpStream::from_std(self.0.into())
    }
}

/// Waits until a connection is open. tokio's own `connect` asks every socket for its error; here only one that was closed
/// is asked.
pub(crate) async fn opened(stream: TcpStream) -> io::Result<TcpStream> {
    let ready = stream.ready(Interest::WRITABLE).await?;
    match ready.is_write_closed().then(|| stream.take_error()).transpose()?.flatten() {
        Some(error) => Err(error),
        None => Ok(stream),
    }
}

/// Binds the local address and leaves the port to `connect`, where one port can serve several peers.
fn bind_source(socket: &Socket, source: IpAddr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true)?;
    socket.bind(&SocketAddr::new(source, 0).into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    use tokio::io::AsyncWriteExt;

    use super::*;

    /// The kernel may put off a handshake of this machine, but not a hundred of them.
    const ATTEMPTS: usize = 100;

    /// A connection that took its first bytes at once, and how many.
    fn begin(peer: SocketAddr, bytes: &[u8]) -> (TcpStream, usize) {
        for _ in 0..ATTEMPTS {
            if let Begun::Open(stream, written) =
                dial(peer, None).and_then(|dialed| dialed.begin(bytes)).expect("it listens")
            {
                return (stream, written);
            }
        }
        panic!("the kernel was never done");
    }

    /// Reads the last connection that has bytes to its end.
    fn read_all(listener: TcpListener) -> thread::JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let mut all = Vec::new();
            while all.is_empty() {
                let (mut stream, _) = listener.accept().expect("a connection");
                stream.read_to_end(&mut all).expect("the client closes it");
            }
            all
        })
    }

    #[tokio::test]
    async fn a_connection_of_this_machine_takes_its_first_bytes_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (stream, written) = begin(listener.local_addr().unwrap(), b"hello");
        assert_eq!((written, stream.nodelay().unwrap()), (5, false));
        drop(stream);
        assert_eq!(read_all(listener).join().unwrap(), b"hello");
    }

    #[tokio::test]
    async fn what_the_kernel_does_not_take_at_once_follows_in_order() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sent: Vec<u8> = (0..16 << 20).map(|at: u32| (at / 7) as u8).collect();
        let (mut stream, written) = begin(listener.local_addr().unwrap(), &sent);
        assert!(written < sent.len() && stream.nodelay().unwrap());
        let reader = read_all(listener);
        stream.write_all(&sent[written..]).await.unwrap();
        drop(stream);
        assert!(reader.join().unwrap() == sent);
    }

    #[tokio::test]
    async fn a_refused_connection_says_so_whether_bytes_are_offered_or_not() {
        let peer = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let waited = dial(peer, None).unwrap().open().await.unwrap_err();
        assert_eq!(waited.kind(), io::ErrorKind::ConnectionRefused);
        let offered = match dial(peer, None).unwrap().begin(b"hello") {
            Ok(Begun::Pending(stream)) => opened(stream).await.map(drop),
            Ok(Begun::Open(..)) => panic!("nobody listens"),
            Err(error) => Err(error),
        };
        assert_eq!(offered.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
