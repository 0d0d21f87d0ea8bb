//! Opens a link to another node, once, and drives it to its end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::{Connection, Outgoing};
use hyperscale_wire::counters::{Counters, Refusal};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::Inner;
use super::event::Destination;
use super::link::{End, Link};
use super::settle::settle;
use super::table::{LinkId, Origin};
use super::tls::TlsError;
use crate::entropy::OsEntropy;
use crate::shutdown::Shutdown;

/// A link to be opened.
#[derive(Debug)]
pub(super) struct Dial {
    pub(super) id: LinkId,
    pub(super) to: Destination,
    pub(super) address: SocketAddr,
    pub(super) lane: Lane,
    pub(super) messages: mpsc::Receiver<Outgoing>,
    /// To be waited for before.
    pub(super) pause: Duration,
}

/// Dials, and serves the link until it ends.
pub(super) async fn run(inner: Arc<Inner>, dial: Dial, mut shutdown: Shutdown) {
    let Dial { id, to, address, lane, messages, pause } = dial;
    let mut link = Link::dialled(&inner, id, to, address, lane, messages);
    let mut end = tokio::select! {
        () = tokio::time::sleep(pause) => attempt(&mut link, &mut shutdown).await,
        () = shutdown.stopped() => End::Stopped,
    };
    if end.is_refused_secret() && !link.was_open() && inner.has_two_secrets() {
        // While keys rotate the peer may know the other secret only. Nothing was taken out of the queue yet.
        inner.table().tries.change_choice(address);
        link.begin_again();
        end = attempt(&mut link, &mut shutdown).await;
    }
    settle(link, end, shutdown).await;
}

async fn attempt(link: &mut Link, shutdown: &mut Shutdown) -> End {
    let inner = Arc::clone(link.inner());
    let Origin::Dialled(address) = link.origin() else { return End::Stopped };
    let choice = inner.table().tries.choice(address);
    let connected = tokio::select! {
        connected = tokio::time::timeout(inner.options.timing.connect, TcpStream::connect(address)) => connected,
        () = shutdown.stopped() => return End::Stopped,
    };
    let stream = match connected {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return End::NotConnected(error.kind()),
        Err(_) => return End::NotConnected(io::ErrorKind::TimedOut),
    };
    inner.counters().dialled += 1;
    tune(&stream, inner.options.timing.silence_max);
    if inner.options.certificates.is_some() {
        return secured(link, stream, shutdown).await;
    }
    let receiver = link.expected();
    match Connection::connect(inner.shared(), link.lane(), receiver, choice, &mut OsEntropy) {
        Ok(connection) => link.set_connection(connection),
        // There is no such secret.
        Err(_) => return End::NotConnected(io::ErrorKind::Unsupported),
    }
    link.drive(stream.into_split(), shutdown).await
}

/// Serves a link over TLS, whoever opened it.
pub(super) async fn secured(link: &mut Link, stream: TcpStream, shutdown: &mut Shutdown) -> End {
    let inner = Arc::clone(link.inner());
    let Some(certificates) = &inner.options.certificates else { return End::Untrusted };
    let mut counters = Counters::default();
    let handshake = async {
        match link.origin() {
            Origin::Dialled(address) => {
                certificates.connect(address, link.lane(), stream, &mut counters).await
            }
            Origin::Accepted => certificates.accept(stream, &mut counters).await,
        }
    };
    let secured = tokio::select! {
        secured = tokio::time::timeout(inner.options.timing.handshake, handshake) => secured,
        () = shutdown.stopped() => return End::Stopped,
    };
    inner.counters().wire.merge(&counters);
    let (stream, proof) = match secured {
        Ok(Ok(secured)) => secured,
        Ok(Err(error)) => {
            tracing::debug!(%error, "TLS proves nothing about a peer");
            if !matches!(error, TlsError::Identity(_)) {
                inner.refuse(Refusal::HandshakeForged);
            }
            return End::Untrusted;
        }
        Err(_) => return End::Late,
    };
    let is_dialled = matches!(link.origin(), Origin::Dialled(_));
    link.set_connection(Connection::over_tls(inner.shared(), proof.lane, proof.identity, is_dialled));
    link.exported = Some(proof.exported);
    link.drive(tokio::io::split(stream), shutdown).await
}

/// Small messages leave at once, and a peer that is gone is noticed by the kernel on the lane that has no pings.
pub(super) fn tune(stream: &TcpStream, silence_max: Duration) {
    let second = Duration::from_secs(1);
    let keepalive =
        TcpKeepalive::new().with_time(silence_max.max(second)).with_interval((silence_max / 3).max(second));
    let tuned = stream.set_nodelay(true).and_then(|()| SockRef::from(stream).set_tcp_keepalive(&keepalive));
    if let Err(error) = tuned {
        tracing::debug!(%error, "socket options were refused");
    }
}
