//! The end of a link: the books are closed and the host is told.

use std::io;

use hyperscale_wire::counters::Refusal;

use super::event::{Destination, Event};
use super::link::{End, Link};
use super::lock;
use super::table::{Offered, Origin};
use crate::shutdown::Shutdown;

/// Forgets a link and reports what is to be known about its end.
pub(super) async fn settle(mut link: Link, end: End, mut shutdown: Shutdown) {
    let has_other = link.id.is_some_and(|id| link.inner().table().remove(id));
    let is_broken = link.has_sent && !matches!(end, End::Idle | End::Stopped);
    let lost = hand_on(&mut link, &end) + link.unsent() + u64::from(is_broken);
    count(&link, &end, lost);
    tracing::debug!(to = ?link.to, ?end, lost, "link ended");
    let pending = link.take_pending();
    for event in pending.into_iter().chain(events(&link, &end, lost > 0, has_other)) {
        tokio::select! {
            sent = link.inner().events.send(event) => if sent.is_err() { return },
            () = shutdown.stopped() => return,
        }
    }
}

/// Messages that the link did not take find another one. A link that was not used, or that made room, is replaced. Returns
/// how many are lost.
fn hand_on(link: &mut Link, end: &End) -> u64 {
    let (Some(mut messages), Some(to)) = (link.messages.take(), link.to) else { return 0 };
    messages.close();
    let inner = link.inner();
    let mut lost = 0;
    while let Ok(message) = messages.try_recv() {
        let is_taken = match end {
            End::Idle | End::Evicted => inner.send(to, message).is_ok(),
            End::Stopped => false,
            _ => matches!(inner.table().offer(to, link.lane(), message), Offered::Taken),
        };
        lost += u64::from(!is_taken);
    }
    lost
}

fn count(link: &Link, end: &End, lost: u64) {
    let inner = link.inner();
    if let Some(slot) = link.slot {
        lock(&inner.strangers).handshakes.end(slot);
    }
    let is_failed_dial = link.peer.is_none() && !matches!(end, End::Stopped | End::Evicted);
    if let Origin::Dialled(address) = link.origin()
        && is_failed_dial
    {
        let failed = inner.table().tries.failed(address);
        inner.counters().dials_failed += 1;
        // The first of them, and then ever fewer.
        if let Some(why) = end.why_refused().filter(|_| failed.is_power_of_two()) {
            tracing::warn!(%address, failed, "not let in by a node: {why}");
        }
    }
    let mut counters = inner.counters();
    counters.wire.merge(link.connection.counters());
    counters.undelivered += lost;
    match end {
        End::Late => counters.wire.refuse(Refusal::HandshakeTimeout),
        End::Misplaced => counters.links_refused += 1,
        _ => {}
    }
}

fn events(link: &Link, end: &End, has_lost: bool, has_other: bool) -> Vec<Event> {
    let (lane, mut events) = (link.lane(), Vec::new());
    if let Some(to) = link.to.filter(|_| has_lost) {
        events.push(Event::Undelivered { to, lane });
    }
    match (&link.peer, end) {
        (Some(peer), End::Reset) => {
            events.push(Event::ConnectionFailed { node: peer.node, boot: Some(peer.boot) });
        }
        (None, End::NotConnected(io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset)) => {
            if let Some(Destination::Node(node)) = link.to {
                events.push(Event::ConnectionFailed { node, boot: None });
            }
        }
        _ => {}
    }
    if let Some(peer) = &link.peer {
        let (node, boot) = (peer.node, peer.boot);
        events.push(Event::PeerDown { node, lane, boot, is_last: !has_other });
    }
    events
}
