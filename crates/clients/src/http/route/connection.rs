//! Opening connections: the cold part of a call. Resolves, dials, passes the proxy, shakes hands.
//!
//! All virtual users may connect at the same time, so what a plain connection does not need – proxy, TLS, HTTP/2 – is
//! boxed apart: it would take kilobytes of every one of them.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hyperscale_plan::model::http::HttpVersion;
use hyperscale_types::rule::Phase;
use hyperscale_types::{ErrorKind, Now, Phases};
use tokio::net::TcpStream;
use tokio::time::timeout_at;
use tokio_rustls::TlsConnector;

use crate::clock;
use crate::deadline::Deadline;
use crate::errors;
use crate::http::client::HttpClient;
use crate::http::h1::exchange::Meter;
use crate::http::h2::H2Connection;
use crate::http::h2::multiplex::h2_error;
use crate::http::route::{Peer, Route, proxy};
use crate::http::session::Session;
use crate::network::{Begun, Endpoint, Stream, opened};
use crate::outcome::CallError;
use crate::tls;
use crate::tls::io::Io;

/// An open connection and the protocol spoken on it.
pub(crate) enum Connection {
    /// HTTP/1.1: one exchange at a time.
    H1(Io),
    /// HTTP/2: exchanges side by side.
    H2(Rc<H2Connection>),
}

/// How far a connection is before anything was waited for.
pub(crate) enum Attempt {
    /// It is open, and so many bytes of the request were written.
    Open(Connection, usize),
    /// It is not; nothing was begun where opening it takes more than the kernel: names, proxies, handshakes.
    NotOpen(Option<UnderWay>),
}

/// A connection that was begun.
pub(crate) struct UnderWay {
    stream: io::Result<TcpStream>,
    since: Now,
}

impl UnderWay {
    async fn opened(self) -> io::Result<Stream> {
        match self.stream {
            Ok(stream) => Ok(Stream::Tcp(opened(stream).await?)),
            // Calls that fail at once would keep everything else on the core from running.
            Err(error) => {
                tokio::task::yield_now().await;
                Err(error)
            }
        }
    }
}

/// Opens a plain connection to an address, and writes a request to it, as far as that goes without waiting: peers on the
/// same machine are reached without a future and without a timer.
#[inline(never)]
pub(crate) fn attempt(
    client: &HttpClient,
    route: &Route,
    request: &[u8],
    meter: &mut Meter<'_>,
) -> Result<Attempt, CallError> {
    let Some(peer) = route.bare_peer() else { return Ok(Attempt::NotOpen(None)) };
    let since = clock::now();
    client.shared.lease.check(since)?;
    let Some(dialed) = client.shared.network.dial(peer, route.link.source(peer.ip())) else {
        return Ok(Attempt::NotOpen(None));
    };
    let connected = clock::now();
    client.shared.lease.check(connected)?;
    let stream = match dialed.and_then(|dialed| dialed.begin(request)) {
        Ok(Begun::Open(stream, written)) => {
            meter.phases.add(Phase::Connect, connected.nanos_since(since));
            meter.since = connected;
            meter.progress.count_sent(written);
            return Ok(Attempt::Open(Connection::H1(Io::Plain(Stream::Tcp(stream))), written));
        }
        Ok(Begun::Pending(stream)) => Ok(stream),
        Err(error) => Err(error),
    };
    Ok(Attempt::NotOpen(Some(UnderWay { stream, since })))
}

impl Connection {
    /// It will be written to more than once: small writes are not to wait for each other.
    #[cold]
    pub(crate) fn prepare_to_keep(&self) {
        if let Connection::H1(Io::Plain(Stream::Tcp(stream))) = self {
            // A peer that has gone already is found when the connection is used.
            let _gone = stream.set_nodelay(true);
        }
    }
}

/// Opens a connection within `connect_timeout` and the call's own deadline.
pub(crate) async fn open(
    client: &HttpClient,
    session: &Session,
    route: &Route,
    under_way: Option<UnderWay>,
    connect_timeout: Duration,
    deadline: &Deadline,
    phases: &mut Phases,
) -> Result<Connection, CallError> {
    let limit = tokio::time::Instant::now() + connect_timeout;
    let deadline = deadline.instant(clock::now());
    // Nothing of a handshake is sent either after the lease.
    let dial = client.shared.lease.guard(dial(client, session, route, under_way, phases));
    match timeout_at(limit.min(deadline), dial).await {
        Ok(result) => result?,
        Err(_) if limit < deadline => Err(errors::connect_timeout(&route.origin.to_string())),
        Err(_) => Err(errors::timeout()),
    }
}

async fn dial(
    client: &HttpClient,
    session: &Session,
    route: &Route,
    under_way: Option<UnderWay>,
    phases: &mut Phases,
) -> Result<Connection, CallError> {
    let begin = under_way.as_ref().map_or_else(clock::now, |under_way| under_way.since);
    let stream = match (&route.link.settings.unix, &route.link.proxy) {
        (Some(path), _) => client
            .shared
            .network
            .connect(Endpoint::Unix(path))
            .await
            .map_err(|error| errors::connect(&error, &path.to_string_lossy()))?,
        (None, None) => dial_peer(client, route, under_way).await?,
        (None, Some(proxy)) => {
            let mut stream = dial_peer(client, route, under_way).await?;
            if route.is_tls() {
                Box::pin(proxy::tunnel(&mut stream, proxy, &route.origin)).await?;
            }
            stream
        }
    };
    phases.add(Phase::Connect, clock::now().nanos_since(begin));
    match (route.is_tls(), route.link.settings.version) {
        (true, _) => Box::pin(secure(client, session, route, stream, phases)).await,
        (false, HttpVersion::Http2) => Box::pin(speak_h2(client, Io::Plain(stream))).await,
        (false, _) => Ok(Connection::H1(Io::Plain(stream))),
    }
}

/// Shakes hands over TLS and begins to speak what was agreed on.
async fn secure(
    client: &HttpClient,
    session: &Session,
    route: &Route,
    stream: Stream,
    phases: &mut Phases,
) -> Result<Connection, CallError> {
    let begin = clock::now();
    let config =
        session.tls(&route.link).map_err(|error| CallError::new(ErrorKind::Tls, error.to_string()))?;
    let name = tls::server_name(&route.link.settings.tls, &route.origin.host)
        .map_err(|error| CallError::new(ErrorKind::Tls, error.to_string()))?;
    let stream =
        TlsConnector::from(config).connect(name, stream).await.map_err(|error| errors::handshake(&error))?;
    phases.add(Phase::Tls, clock::now().nanos_since(begin));
    let session = stream.get_ref().1;
    let h2 = session.alpn_protocol() == Some(b"h2");
    client.shared.network.secured(session);
    if !h2 && route.link.settings.version == HttpVersion::Http2 {
        return Err(CallError::new(ErrorKind::Tls, "the peer does not speak HTTP/2 (ALPN)"));
    }
    let io = Io::Tls(Box::new(stream));
    if h2 { speak_h2(client, io).await } else { Ok(Connection::H1(io)) }
}

async fn speak_h2(client: &HttpClient, io: Io) -> Result<Connection, CallError> {
    let handshake = H2Connection::handshake(io, client.shared.lease.clone(), client.spare.clone());
    let connection = handshake.await.map_err(h2_error)?;
    Ok(Connection::H2(Rc::new(connection)))
}

/// Connects to the peer of a route; a connection that was begun is waited for.
async fn dial_peer(
    client: &HttpClient,
    route: &Route,
    under_way: Option<UnderWay>,
) -> Result<Stream, CallError> {
    match (&route.peer, under_way) {
        (Peer::Address(peer), Some(under_way)) => {
            under_way.opened().await.map_err(|error| errors::connect(&error, &peer.to_string()))
        }
        (Peer::Address(peer), None) => dial_address(client, route, *peer).await,
        (Peer::Name { host, port }, _) => Box::pin(dial_name(client, route, host, *port)).await,
    }
}

/// Tries the addresses of a name, beginning with the next one in turn, until one answers.
async fn dial_name(client: &HttpClient, route: &Route, host: &str, port: u16) -> Result<Stream, CallError> {
    let addresses = client.shared.addresses(host, route.link.settings.dns).await?;
    let begin = route.next_address(addresses.len());
    let mut failed = None;
    for at in 0..addresses.len() {
        let address = addresses[(begin + at) % addresses.len()];
        match dial_address(client, route, SocketAddr::new(address, port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| errors::dns_empty(host)))
}

async fn dial_address(client: &HttpClient, route: &Route, peer: SocketAddr) -> Result<Stream, CallError> {
    let to = Endpoint::Tcp { peer, source: route.link.source(peer.ip()) };
    client.shared.network.connect(to).await.map_err(|error| errors::connect(&error, &peer.to_string()))
}
