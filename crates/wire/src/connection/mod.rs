//! One connection between two nodes, from its handshake to whole messages: [`Link`], hello, and the table of who may say
//! what, joined in the one right order. Node and simulator drive this same object.
//!
//! | state    | event                                  | next     | and                                          |
//! | -------- | -------------------------------------- | -------- | -------------------------------------------- |
//! | greeting | connected                              | greeting | our hello is queued; messages may follow it  |
//! | greeting | accepted, the peer's hello fits        | admitted | our hello, event `Admitted`                  |
//! | greeting | connected, the peer's hello fits       | admitted | event `Admitted`                             |
//! | admitted | message that the peer's role may say   | admitted | event `Control`, `Bulk` or `Transfer`        |
//! | any      | hello or message that must not be said | closed   | the peer is told why, if it can be           |
//! | any      | bytes that are no frames of ours       | closed   |                                              |
//!
//! A transfer is handed over when it is complete. At most [`TRANSFERS_MAX`] of them, of [`TRANSFER_MAX`] bytes each, are put
//! together at a time; the peer is told to stop one more. What is received is released at once: the buffers of a
//! connection are bounded by those transfers and by the credit of its lane.
//!
//! It must never see a socket or a clock, nor know what a message means.

mod receive;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use hyperscale_types::{NodeId, Now};

use crate::class::Lane;
use crate::counters::Counters;
use crate::entropy::Entropy;
use crate::hello::{Admission, HelloError, Local, Peer};
use crate::identity::CertificateIdentity;
use crate::limits::TRANSFER_MAX;
use crate::link::{Keys, Link, LinkError};
use crate::messages::{Bulk, Control, bulk, control};
use crate::mux::{SendError, Sending};
use crate::noise::HandshakeError;
use crate::secret::SecretChoice;

/// Transfers that are received at a time, and those that wait to be sent.
pub const TRANSFERS_MAX: usize = 4;

/// What all connections of a node share.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    /// Domain and secrets.
    pub keys: &'a Keys,
    /// What this node says of itself.
    pub local: &'a Local,
}

/// Something to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Outgoing {
    /// A message of the control lane.
    Control(Control),
    /// A message of the bulk lane.
    Bulk(Bulk),
    /// A transfer of the bulk lane: what is at its head, and its bytes.
    Transfer(Bulk, Bytes),
}

impl Outgoing {
    /// The lane that it takes.
    pub fn lane(&self) -> Lane {
        match self {
            Outgoing::Control(_) => Lane::Control,
            Outgoing::Bulk(_) | Outgoing::Transfer(..) => Lane::Bulk,
        }
    }
}

/// Something that arrived.
#[derive(Debug)]
pub enum Incoming {
    /// The peer is who it should be; what it says counts from now on.
    Admitted(Peer),
    /// A message of the control lane.
    Control(Control),
    /// A message of the bulk lane.
    Bulk(Bulk),
    /// A complete transfer.
    Transfer(Bulk, Bytes),
}

/// Why a connection ended. It must be closed, after what waits was written.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// Frames, handshake, seal or streams are broken.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The peer is not one to talk to, or said what it must not.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// The peer said that it will not talk to us.
    #[error("refused by the peer: {0}")]
    Refused(String),
    /// The connection was closed before.
    #[error("closed")]
    Closed,
}

/// One end of one connection.
#[derive(Debug)]
pub struct Connection {
    link: Link,
    /// The side that connected greets first.
    is_connector: bool,
    /// Set once the lane is known.
    admission: Option<Admission>,
    proven: Option<CertificateIdentity>,
    receiving: BTreeMap<u64, Receiving>,
    sending: VecDeque<(Sending, Bytes)>,
    is_closed: bool,
}

#[derive(Debug)]
struct Receiving {
    head: Bulk,
    data: BytesMut,
}

impl Connection {
    /// The side that connects, to the node with this id if it is known.
    pub fn connect(
        shared: Shared<'_>,
        lane: Lane,
        receiver: Option<NodeId>,
        choice: SecretChoice,
        entropy: &mut dyn Entropy,
    ) -> Result<Self, HandshakeError> {
        let link = Link::connect(shared.keys, lane, choice, entropy)?;
        let mut connection = Self::new(link, true);
        connection.enter_lane(None);
        connection.greet(shared.local, receiver);
        Ok(connection)
    }

    /// The side that was connected to.
    pub fn accept() -> Self {
        Self::new(Link::accept(), false)
    }

    /// Either side over mutual TLS, with what the peer's certificate proves.
    pub fn over_tls(shared: Shared<'_>, lane: Lane, proven: CertificateIdentity, is_connector: bool) -> Self {
        let receiver = proven.node;
        let mut connection = Self::new(Link::over_tls(lane), is_connector);
        connection.enter_lane(Some(proven));
        if is_connector {
            connection.greet(shared.local, Some(receiver));
        }
        connection
    }

    fn new(link: Link, is_connector: bool) -> Self {
        Self {
            link,
            is_connector,
            admission: None,
            proven: None,
            receiving: BTreeMap::new(),
            sending: VecDeque::new(),
            is_closed: false,
        }
    }

    /// The peer, once it was admitted.
    pub fn peer(&self) -> Option<&Peer> {
        self.admission.as_ref()?.peer()
    }

    /// What the connection is for. `None`: the peer has not said it yet, or the connection is closed.
    pub fn lane(&self) -> Option<Lane> {
        self.link.lane()
    }

    /// Whether the peer has shown the secret (or TLS did).
    pub fn is_open(&self) -> bool {
        self.link.is_open()
    }

    /// Which secret both sides have shown, for the log of the host. `None`: the connection is not open, or over TLS.
    pub fn secret(&self) -> Option<SecretChoice> {
        self.link.secret()
    }

    /// Says that the socket will give no more bytes. In the middle of a frame that is a refusal, which is counted.
    pub fn finish(&mut self) -> Result<(), ConnectionError> {
        self.is_closed = true;
        self.link.finish().map_err(ConnectionError::from)
    }

    /// Whether nothing can be said or heard any more.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// What was refused on this connection.
    pub fn counters(&self) -> &Counters {
        self.link.counters()
    }

    /// Queues something to say. Before the peer was admitted it waits behind our hello.
    pub fn send(&mut self, outgoing: &Outgoing) -> Result<(), SendError> {
        if self.is_closed {
            return Err(SendError::NoLane);
        }
        match outgoing {
            Outgoing::Control(message) => self.link.send(message).map(|_| ()),
            Outgoing::Bulk(message) => self.link.send(message).map(|_| ()),
            Outgoing::Transfer(..) if self.sending.len() >= TRANSFERS_MAX => Err(SendError::Full),
            Outgoing::Transfer(_, data) if data.len() as u64 > TRANSFER_MAX => Err(SendError::TooLarge),
            Outgoing::Transfer(head, data) => {
                let sending = self.link.begin(head)?;
                self.sending.push_back((sending, data.clone()));
                Ok(())
            }
        }
    }

    /// Appends the next bytes for the socket, about one chunk; `false`: there are none now.
    pub fn transmit(&mut self, now: Now, out: &mut Vec<u8>) -> bool {
        self.feed_transfers();
        self.link.transmit(now, out)
    }

    fn enter_lane(&mut self, proven: Option<CertificateIdentity>) {
        self.proven.clone_from(&proven);
        self.admission = self.link.lane().map(|lane| Admission::new(lane, proven));
    }

    fn greet(&mut self, local: &Local, receiver: Option<NodeId>) {
        let Some(admission) = &self.admission else { return };
        let hello = admission.greet(local, receiver);
        // Nothing was queued before it.
        let _ = match self.link.lane() {
            Some(Lane::Bulk) => {
                self.link.send(&Bulk { body: Some(bulk::Body::Hello(hello)), ..Bulk::default() })
            }
            _ => self.link.send(&Control { body: Some(control::Body::Hello(hello)), ..Control::default() }),
        };
    }

    /// Gives the streams as much of the transfers as they take.
    fn feed_transfers(&mut self) {
        let Some(mux) = self.link.mux() else { return };
        self.sending.retain_mut(|(sending, data)| {
            let room = mux.room(*sending).min(data.len());
            if room > 0 && mux.push(*sending, data.split_to(room)).is_err() {
                return false;
            }
            let is_whole = data.is_empty();
            if is_whole {
                // It can only be gone already: then there is nothing to finish.
                let _ = mux.finish(*sending);
            }
            !is_whole
        });
    }
}
