//! How connections are opened: the seam between the clients and the operating system.
//!
//! [`Network`] is one type with static dispatch, so that neither clients nor engine carry a type parameter for it: the
//! system's sockets, the same with what happened noted, and a model in memory (tests, counting instructions). The next
//! transport is one more variant of [`Network`] and [`Stream`].

mod memory;
mod observe;
mod stream;
mod tcp;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use tokio::net::{UnixStream, lookup_host};

pub use memory::{MemoryNetwork, MemoryStream};
pub use observe::{Handshake, Observation, Observer};
pub use stream::Stream;
pub(crate) use tcp::{Begun, Dialed, opened};

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
#[derive(Clone, Debug, Default)]
pub enum Network {
    /// The operating system's sockets through tokio.
    #[default]
    System,
    /// The same, and an observer is told what happens on them.
    Observed(Observer),
    /// A model without sockets.
    Memory(MemoryNetwork),
}

impl From<MemoryNetwork> for Network {
    fn from(memory: MemoryNetwork) -> Self {
        Network::Memory(memory)
    }
}

impl Network {
    /// Opens a connection. Time-outs are the caller's business: it drops the future.
    pub async fn connect(&self, to: Endpoint<'_>) -> io::Result<Stream> {
        match self {
            Network::System => connect(to).await,
            Network::Observed(observer) => {
                let stream = connect(to).await?;
                observer.connected(to);
                Ok(stream)
            }
            Network::Memory(memory) => Ok(Stream::Memory(Box::new(memory.connect(to)?))),
        }
    }

    /// Begins to open a connection to an address, where that takes nobody but the kernel.
    pub(crate) fn dial(&self, peer: SocketAddr, source: Option<IpAddr>) -> Option<io::Result<Dialed>> {
        matches!(self, Network::System).then(|| tcp::dial(peer, source))
    }

    /// All addresses of a host name.
    pub async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        match self {
            Network::System => resolve(host).await,
            Network::Observed(observer) => observer.time_resolving(resolve(host)).await,
            Network::Memory(memory) => Ok(memory.resolve(host)),
        }
    }

    /// Tells an observer that a TLS handshake succeeded; nobody else wants to know.
    pub(crate) fn secured(&self, session: &rustls::ClientConnection) {
        if let Network::Observed(observer) = self {
            observer.secured(session);
        }
    }
}

async fn connect(to: Endpoint<'_>) -> io::Result<Stream> {
    match to {
        Endpoint::Unix(path) => Ok(Stream::Unix(UnixStream::connect(path).await?)),
        Endpoint::Tcp { peer, source } => Ok(Stream::Tcp(tcp::dial(peer, source)?.open().await?)),
    }
}

async fn resolve(host: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in lookup_host((host, 0)).await? {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    Ok(addresses)
}
