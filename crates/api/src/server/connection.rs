//! One connection: TLS if the listener has it, then requests until the peer leaves or the server stops.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::limits::HEAD_MAX;
use super::timed::TimedStream;
use super::{Backend, Shared, Source, route, stopped};

/// Serves a TCP connection, inside of TLS if there is a configuration.
pub(super) async fn serve_tcp<B: Backend>(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
    shared: Arc<Shared<B>>,
) {
    // Events are small and shall not wait for each other.
    let _ = stream.set_nodelay(true);
    let source = Source::Peer(peer);
    let Some(tls) = tls else { return serve(stream, source, shared).await };
    let handshake = timeout(shared.limits.read_timeout, TlsAcceptor::from(tls).accept(stream));
    // One that fails concerns its peer, who sees it too.
    if let Ok(Ok(stream)) = handshake.await {
        serve(stream, source, shared).await;
    }
}

/// Serves requests until the peer leaves or the server stops.
pub(super) async fn serve<B: Backend>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    source: Source,
    shared: Arc<Shared<B>>,
) {
    let mut stop = shared.stop.clone();
    let limits = shared.limits;
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(route::respond(request, source, &shared).await) }
    });
    let stream = TimedStream::new(stream, limits.write_timeout);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.read_timeout)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopped(&mut stop) => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}
