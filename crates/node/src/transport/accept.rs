//! Takes in connections of others, as many as strangers are allowed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_wire::limit::HandshakeSlot;
use hyperscale_wire::limit::rates::Source;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::dial::{secured, tune};
use super::link::Link;
use super::settle::settle;
use super::{Inner, lock};
use crate::clock;
use crate::shutdown::Shutdown;

/// Pause after the system refused to accept, mostly for want of file descriptors: without it the loop would spin.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// Serves a connection that the system accepted, unless there are too many.
pub(super) async fn accepted(
    inner: &Arc<Inner>,
    accepted: io::Result<(TcpStream, SocketAddr)>,
    shutdown: &Shutdown,
    links: &mut JoinSet<()>,
) {
    let (stream, address) = match accepted {
        Ok(accepted) => accepted,
        Err(error) => {
            tracing::warn!(%error, "cannot accept connections");
            return tokio::time::sleep(REFUSED_PAUSE).await;
        }
    };
    let Some(slot) = admit(inner, address) else { return };
    inner.counters().accepted += 1;
    links.spawn(serve(Arc::clone(inner), stream, address, slot, shutdown.clone()));
}

/// A slot for the handshake; none if the node, or this source, has too many or comes too often.
fn admit(inner: &Inner, address: SocketAddr) -> Option<HandshakeSlot> {
    if inner.table().is_full() {
        inner.counters().links_refused += 1;
        return None;
    }
    let (now, source) = (clock::now(), Source::from(address.ip()));
    let mut counters = inner.counters();
    let mut strangers = lock(&inner.strangers);
    strangers.sources.take(now, source, &mut counters.wire).ok()?;
    strangers.handshakes.begin(now, source, &mut counters.wire).ok()
}

async fn serve(
    inner: Arc<Inner>,
    stream: TcpStream,
    address: SocketAddr,
    slot: HandshakeSlot,
    mut shutdown: Shutdown,
) {
    tune(&stream, inner.options.timing.silence_max);
    let mut link = Link::accepted(&inner, address, slot);
    let end = match inner.options.certificates {
        Some(_) => secured(&mut link, stream, &mut shutdown).await,
        None => link.drive(stream.into_split(), &mut shutdown).await,
    };
    settle(link, end, shutdown).await;
}
