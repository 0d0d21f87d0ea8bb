//! What arrives on a link: the hello once, pings for the link itself, everything else for the host.

use std::sync::Arc;
use std::time::Instant;

use hyperscale_wire::class::Class;
use hyperscale_wire::connection::{Incoming, Outgoing};
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::hello::Peer;
use hyperscale_wire::kind::Envelope as _;
use hyperscale_wire::messages::{Control, Pong, control};
use hyperscale_wire::secret::SecretChoice;
use hyperscale_wire::speak::class_of;

use super::super::event::{Destination, Event};
use super::super::lock;
use super::super::table::Origin;
use super::{End, Link};
use crate::clock;
use crate::entropy::OsEntropy;

impl Link {
    /// Takes bytes of the socket.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), End> {
        (self.heard, self.is_pinged) = (Instant::now(), false);
        self.carried(bytes.len());
        let inner = Arc::clone(&self.inner);
        let mut heard = Vec::new();
        let taken = self.connection.receive(clock::now(), inner.shared(), bytes, &mut OsEntropy, &mut heard);
        for incoming in heard {
            self.hear(incoming)?;
        }
        taken.map_err(End::Refused)
    }

    /// The peer will say nothing more.
    pub(super) fn finished(&mut self) -> End {
        // In the middle of a frame it is counted; the link has ended either way.
        let _ = self.connection.finish();
        End::Closed
    }

    fn hear(&mut self, incoming: Incoming) -> Result<(), End> {
        match incoming {
            Incoming::Admitted(peer) => self.admit(peer),
            Incoming::Control(Control { body: Some(control::Body::Ping(ping)), .. }) => {
                let body = Some(control::Body::Pong(Pong { sequence: ping.sequence }));
                // A queue that is full of other messages is a sign of life too.
                let _ = self.connection.send(&Outgoing::Control(Control { body, ..Control::default() }));
                Ok(())
            }
            Incoming::Control(Control { body: Some(control::Body::Pong(_)), .. }) => Ok(()),
            message => {
                self.pass_on(message);
                Ok(())
            }
        }
    }

    fn pass_on(&mut self, message: Incoming) {
        // Nothing comes before the hello.
        let Some((from, role)) = self.peer.as_ref().map(|peer| (peer.node, peer.role)) else { return };
        self.used = Instant::now();
        // A peer beyond its rate is read more slowly. Nothing of it is dropped: it was authenticated, and waits.
        if let Err(limited) = self.inner.charge(clock::now(), from, class(&message)) {
            self.paused_until = Some(Instant::now() + limited.retry_after);
        }
        self.pending.push_back(Event::Incoming { from, role, message });
    }

    /// The peer's hello fits; whether the link does is said by the table.
    fn admit(&mut self, peer: Peer) -> Result<(), End> {
        let lane = self.connection.lane().ok_or(End::Misplaced)?;
        if self.expected().is_some_and(|expected| expected != peer.node) {
            self.inner.refuse(Refusal::HelloMisdirected);
            return Err(End::Misplaced);
        }
        let is_dialled = matches!(self.origin, Origin::Dialled(_));
        if is_dialled {
            let id = self.id.ok_or(End::Evicted)?;
            if !self.inner.table().admit_dialled(id, &peer) {
                return Err(End::Misplaced);
            }
        } else {
            let admitted = self.inner.table().admit_accepted(&peer, lane);
            let (id, messages) = admitted.ok_or(End::Misplaced)?;
            (self.id, self.messages) = (Some(id), Some(messages));
        }
        if let Some(slot) = self.slot.take() {
            lock(&self.inner.strangers).handshakes.end(slot);
        }
        if self.connection.secret() == Some(SecretChoice::Previous) {
            tracing::info!(node = %peer.node, "connected with the previous secret");
        }
        tracing::debug!(node = %peer.node, boot = %peer.boot, ?lane, is_dialled, "connected");
        (self.lane, self.to) = (lane, Some(Destination::Node(peer.node)));
        let address = self.address;
        self.pending.push_back(Event::PeerUp {
            peer: peer.clone(),
            lane,
            address,
            is_dialled,
            exported: self.exported.take(),
        });
        self.peer = Some(peer);
        Ok(())
    }
}

fn class(message: &Incoming) -> Class {
    let kind = match message {
        Incoming::Admitted(_) => None,
        Incoming::Control(message) => message.kind(),
        Incoming::Bulk(message) | Incoming::Transfer(message, _) => message.kind(),
    };
    kind.map_or(Class::Telemetry, class_of)
}
