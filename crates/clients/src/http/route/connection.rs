//! Opening connections: the cold part of a call. Resolves, dials, passes the proxy, shakes hands.
//!
//! All virtual users may connect at the same time, so what a plain connection does not need – proxy, TLS, HTTP/2 – is
//! boxed apart: it would take kilobytes of every one of them.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hyperscale_plan::model::http::HttpVersion;
use hyperscale_types::rule::Phase;
use hyperscale_types::{ErrorKind, Phases};
use tokio::time::timeout_at;
use tokio_rustls::TlsConnector;

use crate::clock;
use crate::errors;
use crate::http::client::HttpClient;
use crate::http::h2::H2Connection;
use crate::http::h2::multiplex::h2_error;
use crate::http::route::Route;
use crate::http::route::proxy;
use crate::http::session::Session;
use crate::network::{Endpoint, Stream};
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

/// Opens a connection within `connect_timeout` and the call's own deadline.
pub(crate) async fn open(
    client: &HttpClient,
    session: &Session,
    route: &Route,
    connect_timeout: Duration,
    deadline: tokio::time::Instant,
    phases: &mut Phases,
) -> Result<Connection, CallError> {
    let limit = tokio::time::Instant::now() + connect_timeout;
    // Nothing of a handshake is sent either after the lease.
    let dial = client.shared.lease.guard(dial(client, session, route, phases));
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
    phases: &mut Phases,
) -> Result<Connection, CallError> {
    let begin = clock::now();
    let stream = match (&route.link.settings.unix, &route.link.proxy) {
        (Some(path), _) => client
            .shared
            .network
            .connect(Endpoint::Unix(path))
            .await
            .map_err(|error| errors::connect(&error, &path.to_string_lossy()))?,
        (None, None) => dial_host(client, route, &route.origin.host, route.origin.port).await?,
        (None, Some(proxy)) => {
            let mut stream = dial_host(client, route, &proxy.host, proxy.port).await?;
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

/// Tries the addresses of a host, beginning with the next one in turn, until one answers.
async fn dial_host(client: &HttpClient, route: &Route, host: &str, port: u16) -> Result<Stream, CallError> {
    let link = &route.link;
    let addresses = client.shared.addresses(host, link.settings.dns).await?;
    let begin = route.next_address(addresses.len());
    let mut failed = None;
    for at in 0..addresses.len() {
        let address = addresses[(begin + at) % addresses.len()];
        let peer = SocketAddr::new(address, port);
        match client.shared.network.connect(Endpoint::Tcp { peer, source: link.source(address) }).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = Some(errors::connect(&error, &peer.to_string())),
        }
    }
    Err(failed.unwrap_or_else(|| errors::dns_empty(host)))
}
