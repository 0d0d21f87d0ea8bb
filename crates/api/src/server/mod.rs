//! The server: HTTP/1.1 on a unix socket or on TCP with or without TLS.
//!
//! | route | does | needs the token |
//! | --- | --- | --- |
//! | `POST /rpc`, `POST /` | JSON-RPC 2.0, single and batch; A2A where the node is an agent | yes |
//! | `GET /events/{job}` | server-sent events after `Last-Event-ID` | yes |
//! | `PUT /blobs` | keeps a file of a plan | yes |
//! | `GET /.well-known/agent-card.json` | the card of an agent, where the node is one | no |
//! | `GET /`, `GET /ui/…` | the dashboard, where the node has it | no |
//! | `GET /healthz` | 200 as long as the server runs | no |
//! | `GET /readyz` | 200 or 503 with a reason | no |
//! | `GET /metrics` | the text format of Prometheus | no |
//!
//! Connections, heads, bodies, rates and waits have limits ([`Limits`]). The server decides nothing about a job: it hands
//! valid requests of authorized callers to its [`Backend`].

mod access;
mod agent;
mod backend;
mod body;
mod connection;
mod dashboard;
mod limits;
mod listener;
mod reply;
mod route;
mod rpc;
mod sources;
mod stream;
mod timed;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

pub use backend::{Backend, Caller, Readiness, Source, to_result};
pub use limits::{BLOB_MAX, BODY_MAX, Limits, RateLimit};
pub use listener::{Access, ListenError, Listener, TOKEN_VARIABLE};

use access::Gate;
use limits::{BLOBS_AT_A_TIME_MAX, CLOSE_TIMEOUT};
use listener::Bound;
use sources::Sources;

/// Pause after the system could not accept a connection, for example for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Responds to requests on one listener.
#[derive(Debug)]
pub struct Server<B> {
    /// Where it listens, and who may use it.
    pub listener: Listener,
    /// What carries out the requests.
    pub backend: Arc<B>,
    /// What peers may cost.
    pub limits: Limits,
}

/// What all connections of a server share.
struct Shared<B> {
    backend: Arc<B>,
    limits: Limits,
    gate: Gate,
    is_tls: bool,
    sources: Arc<Sources>,
    blobs: Semaphore,
    stop: watch::Receiver<bool>,
}

impl<B: Backend> Server<B> {
    /// Serves until `stop` is true or its sender is gone; then streams end, and responses under way get a moment.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let shared = Arc::new(Shared {
            backend: self.backend,
            limits: self.limits,
            gate: Gate::of(&self.listener.0),
            is_tls: matches!(self.listener.0, Bound::Tcp { tls: Some(_), .. }),
            sources: Arc::new(Sources::new(self.limits)),
            blobs: Semaphore::new(BLOBS_AT_A_TIME_MAX),
            stop: stop.clone(),
        });
        let connections_max = self.limits.connections_max;
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                Some(_) = connections.join_next(), if connections.len() >= connections_max => {}
                accepted = self.listener.0.accept(), if connections.len() < connections_max => match accepted {
                    Ok(accepted) => shared.open(accepted, &self.listener.0, &mut connections),
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
            }
        }
        drop(self.listener);
        let rest = async { while connections.join_next().await.is_some() {} };
        // What is still under way is cut off with the set.
        drop(timeout(CLOSE_TIMEOUT, rest).await);
    }
}

/// Waits for the word to stop, or for the end of its sender.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

/// A connection that the system has accepted.
enum Accepted {
    Unix(UnixStream),
    Tcp(TcpStream, SocketAddr),
}

impl Bound {
    async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Bound::Unix { listener, .. } => Ok(Accepted::Unix(listener.accept().await?.0)),
            Bound::Tcp { listener, .. } => {
                let (stream, peer) = listener.accept().await?;
                Ok(Accepted::Tcp(stream, peer))
            }
        }
    }
}

impl<B: Backend> Shared<B> {
    /// Serves a connection, or drops it if its peer may not have one.
    fn open(self: &Arc<Self>, accepted: Accepted, bound: &Bound, connections: &mut JoinSet<()>) {
        let shared = Arc::clone(self);
        match (accepted, bound) {
            (Accepted::Unix(stream), Bound::Unix { user, .. })
                if stream.peer_cred().is_ok_and(|peer| peer.uid() == *user) =>
            {
                connections.spawn(connection::serve(stream, Source::User(*user), shared));
            }
            (Accepted::Tcp(stream, peer), Bound::Tcp { tls, .. }) => {
                let Some(held) = self.sources.connect(peer.ip()) else { return };
                let tls = tls.clone();
                connections.spawn(async move {
                    connection::serve_tcp(stream, peer, tls, shared).await;
                    drop(held);
                });
            }
            _ => {}
        }
    }
}
