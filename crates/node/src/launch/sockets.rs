//! The sockets of a node: one port for datagrams and streams.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// Tries to find a port that is free for both.
const TRIES: usize = 64;

/// Bound sockets.
#[derive(Debug)]
pub struct Sockets {
    pub(crate) tcp: TcpListener,
    pub(crate) udp: UdpSocket,
    address: SocketAddr,
}

impl Sockets {
    /// Binds both to an address; port 0 picks a port that is free for both.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            tries += 1;
            let tcp = TcpListener::bind(address)?;
            let bound = tcp.local_addr()?;
            match UdpSocket::bind(bound) {
                Ok(udp) => return Ok(Self { tcp, udp, address: bound }),
                // Somebody else may have the same port for datagrams.
                Err(error) if address.port() == 0 && tries < TRIES => drop(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Where they are bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
