//! Where a server listens, and who may use it there.
//!
//! | listener | who may |
//! | --- | --- |
//! | unix socket | processes of one user |
//! | TCP, [`Access::Probes`] | everybody, but only `/healthz`, `/readyz` and `/metrics` |
//! | TCP, [`Access::Open`] | everybody on this machine: loopback addresses only |
//! | TCP, [`Access::Token`] | whoever knows the token; the three probes need none |
//!
//! A server that others could reach and that asks for no token cannot be made.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::net::{TcpListener, UnixListener};

use crate::tls::ServerTls;
use crate::token::ApiToken;

/// The environment variable that sets the token.
pub const TOKEN_VARIABLE: &str = "HYPERSCALE_API_TOKEN";

/// A bound socket with the rule who may use it.
#[derive(Debug)]
pub struct Listener(pub(super) Bound);

#[derive(Debug)]
pub(super) enum Bound {
    Unix { listener: UnixListener, user: u32 },
    Tcp { listener: TcpListener, access: Access, tls: Option<Arc<ServerConfig>> },
}

/// Who may use a TCP listener for what.
#[derive(Clone, Debug)]
pub enum Access {
    /// Everybody, but only `/healthz`, `/readyz` and `/metrics`: for workers.
    Probes,
    /// Everybody who can connect, which must be this machine only.
    Open,
    /// Whoever knows the token.
    Token(ApiToken),
}

/// Why a server cannot listen. Nothing is bound.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Others could reach it and no token is set.
    #[error(
        "the API would be reachable by others at {0} without a token; set {TOKEN_VARIABLE} or listen on a loopback address"
    )]
    TokenRequired(SocketAddr),
    /// The system refused.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address that it would have listened on.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

impl Listener {
    /// Serves processes of this user on a unix socket.
    pub fn unix(listener: UnixListener, user: u32) -> Self {
        Self(Bound::Unix { listener, user })
    }

    /// Binds a TCP address; port 0 picks a free one.
    pub async fn tcp(
        address: SocketAddr,
        access: Access,
        tls: Option<ServerTls>,
    ) -> Result<Self, ListenError> {
        if matches!(access, Access::Open) && !address.ip().to_canonical().is_loopback() {
            return Err(ListenError::TokenRequired(address));
        }
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| ListenError::Bind { address, source })?;
        Ok(Self(Bound::Tcp { listener, access, tls: tls.map(|tls| tls.0) }))
    }

    /// Where it listens; `None` for a unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.0 {
            Bound::Unix { .. } => None,
            Bound::Tcp { listener, .. } => listener.local_addr().ok(),
        }
    }
}
