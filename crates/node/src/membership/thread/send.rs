//! What the core says leaves: datagrams sealed here, stream messages through the transport.

use std::net::SocketAddr;

use hyperscale_codec::{gossip, stream};
use hyperscale_swim::{Datagram, Destination, Endpoint, StreamMessage};
use hyperscale_wire::connection::Outgoing;
use hyperscale_wire::limits::DATAGRAM_MAX;
use hyperscale_wire::messages::{Control, control};

use super::Detector;

impl Detector {
    pub(super) fn send_datagram(&mut self, to: Destination, datagram: &Datagram) {
        self.send(to, &gossip::encode(datagram, self.options.versions));
    }

    pub(super) fn send(&mut self, to: Destination, payload: &[u8]) {
        let mut bytes = Vec::with_capacity(DATAGRAM_MAX);
        match self.datagrams.seal(to.node, payload, &mut bytes) {
            Ok(()) => self.transmit(&bytes, to.addr),
            Err(error) => {
                tracing::error!(%error, "a datagram of the failure detector does not fit");
                self.datagrams_dropped += 1;
            }
        }
    }

    /// A datagram that the socket does not take is lost, as datagrams may be.
    pub(super) fn transmit(&mut self, bytes: &[u8], to: SocketAddr) {
        if self.socket.send_to(bytes, to).is_err() {
            self.datagrams_dropped += 1;
        }
    }

    /// What the transport cannot deliver, it reports to the host, and the core does without.
    pub(super) fn send_stream(&mut self, to: Endpoint, message: &StreamMessage) {
        let body = Some(control::Body::Membership(stream::to_message(message)));
        let outgoing = Outgoing::Control(Control { body, ..Control::default() });
        let sent = match to.node {
            Some(node) => {
                self.transport.know(node, to.addr);
                self.transport.send(node, outgoing)
            }
            None => self.transport.send_to_addr(to.addr, outgoing),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, to = %to.addr, "a message of the failure detector was not sent");
        }
    }
}
