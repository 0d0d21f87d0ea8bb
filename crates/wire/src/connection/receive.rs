//! What arrives on a connection: hello first, then messages and transfers that the peer may send.

use bytes::BytesMut;
use hyperscale_types::Now;

use super::{Connection, ConnectionError, Incoming, Receiving, Shared, TRANSFERS_MAX};
use crate::class::Lane;
use crate::entropy::Entropy;
use crate::hello::{HelloError, Local};
use crate::kind::{Kind, MessageError};
use crate::messages::{Bulk, Control, Hello, bulk, control};
use crate::mux::Event;

impl Connection {
    /// Takes bytes from the socket. After an error what waits may still be written, and then the connection is closed.
    pub fn receive(
        &mut self,
        now: Now,
        shared: Shared<'_>,
        input: &[u8],
        entropy: &mut dyn Entropy,
        out: &mut Vec<Incoming>,
    ) -> Result<(), ConnectionError> {
        if self.is_closed {
            return Err(ConnectionError::Closed);
        }
        let taken = self.take(now, shared, input, entropy, out);
        self.is_closed = taken.is_err();
        taken
    }

    fn take(
        &mut self,
        now: Now,
        shared: Shared<'_>,
        input: &[u8],
        entropy: &mut dyn Entropy,
        out: &mut Vec<Incoming>,
    ) -> Result<(), ConnectionError> {
        let mut events = Vec::new();
        let received = self.link.receive(now, shared.keys, input, entropy, &mut events);
        for event in events {
            self.event(shared, event, out)?;
        }
        received.map_err(ConnectionError::from)
    }

    fn event(
        &mut self,
        shared: Shared<'_>,
        event: Event,
        out: &mut Vec<Incoming>,
    ) -> Result<(), ConnectionError> {
        if self.admission.is_none() {
            self.enter_lane(self.proven.clone());
        }
        match event {
            Event::Message { data, credit, .. } => {
                let lane = self.link.lane();
                let taken = match lane {
                    Some(Lane::Bulk) => self.link.decode(&data).map(|(kind, it)| (kind, Envelopes::Bulk(it))),
                    _ => self.link.decode(&data).map(|(kind, it)| (kind, Envelopes::Control(it))),
                };
                self.link.release(credit);
                self.message(shared, taken, out)
            }
            Event::Begin { stream, head, credit } => {
                let head = self.link.decode::<Bulk>(&head);
                self.link.release(credit);
                self.begin(stream, head)
            }
            Event::Data { stream, data, credit } => {
                self.link.release(credit);
                if let Some(receiving) = self.receiving.get_mut(&stream) {
                    receiving.data.extend_from_slice(&data);
                }
                Ok(())
            }
            Event::End { stream } => {
                let whole = self.receiving.remove(&stream);
                out.extend(whole.map(|it| Incoming::Transfer(it.head, it.data.freeze())));
                Ok(())
            }
            Event::Aborted { stream } => {
                self.receiving.remove(&stream);
                Ok(())
            }
            Event::Stopped { sending } => {
                self.sending.retain(|(other, _)| *other != sending);
                Ok(())
            }
        }
    }

    fn message(
        &mut self,
        shared: Shared<'_>,
        decoded: Result<(Kind, Envelopes), MessageError>,
        out: &mut Vec<Incoming>,
    ) -> Result<(), ConnectionError> {
        // A message of a newer version is left out; its sender gets no answer and asks otherwise.
        let Ok((kind, message)) = decoded else { return Ok(()) };
        if let Some(refused) = message.refusal() {
            return Err(ConnectionError::Refused(refused));
        }
        if let Some(hello) = message.hello() {
            let hello = hello.clone();
            return self.admit(shared.local, &hello, out);
        }
        self.check(kind)?;
        out.push(match message {
            Envelopes::Control(message) => Incoming::Control(message),
            Envelopes::Bulk(message) => Incoming::Bulk(message),
        });
        Ok(())
    }

    fn admit(
        &mut self,
        local: &Local,
        hello: &Hello,
        out: &mut Vec<Incoming>,
    ) -> Result<(), ConnectionError> {
        let Some(admission) = &mut self.admission else { return Err(HelloError::OutOfOrder.into()) };
        match admission.admit(local, hello, self.link.counters_mut()) {
            Ok(peer) => {
                let peer = peer.clone();
                if !self.is_connector {
                    self.greet(local, Some(peer.node));
                }
                out.push(Incoming::Admitted(peer));
                Ok(())
            }
            Err(error) => {
                self.tell(&error);
                Err(error.into())
            }
        }
    }

    fn begin(
        &mut self,
        stream: u64,
        head: Result<(Kind, Bulk), MessageError>,
    ) -> Result<(), ConnectionError> {
        let (kind, head) = match head {
            Ok(head) if self.receiving.len() < TRANSFERS_MAX => head,
            _ => {
                if let Some(mux) = self.link.mux() {
                    mux.stop(stream);
                }
                return Ok(());
            }
        };
        self.check(kind)?;
        self.receiving.insert(stream, Receiving { head, data: BytesMut::new() });
        Ok(())
    }

    /// Whether the peer may say this, and said hello before.
    fn check(&mut self, kind: Kind) -> Result<(), ConnectionError> {
        let Some(admission) = &self.admission else { return Err(HelloError::OutOfOrder.into()) };
        let permitted = admission.check(kind, self.link.counters_mut());
        if let Err(error) = &permitted {
            self.tell(error);
        }
        permitted.map_err(ConnectionError::from)
    }

    /// The peer is told why it is not talked to. If that cannot be said either, the connection just ends.
    fn tell(&mut self, error: &HelloError) {
        let error = error.to_message();
        let _ = match self.link.lane() {
            Some(Lane::Bulk) => {
                self.link.send(&Bulk { body: Some(bulk::Body::Error(error)), ..Bulk::default() })
            }
            _ => self.link.send(&Control { body: Some(control::Body::Error(error)), ..Control::default() }),
        };
    }
}

/// A message of either plane.
enum Envelopes {
    Control(Control),
    Bulk(Bulk),
}

impl Envelopes {
    fn hello(&self) -> Option<&Hello> {
        match self {
            Self::Control(Control { body: Some(control::Body::Hello(hello)), .. })
            | Self::Bulk(Bulk { body: Some(bulk::Body::Hello(hello)), .. }) => Some(hello),
            _ => None,
        }
    }

    /// An error that answers nothing ends the connection.
    fn refusal(&self) -> Option<String> {
        match self {
            Self::Control(Control { body: Some(control::Body::Error(error)), answer: false, .. })
            | Self::Bulk(Bulk { body: Some(bulk::Body::Error(error)), answer: false, .. }) => {
                Some(error.message.clone())
            }
            _ => None,
        }
    }
}
