//! One connection from its first byte to its last: frames, handshake, seal, chunks.
//!
//! [`Link`] joins the pieces of this crate in the one right order. Bytes of the socket go in, events come out; what is to
//! be written is asked for one chunk at a time, so that the choice of the next chunk is made as late as possible. Over
//! mutual TLS ([`Link::over_tls`]) there is no handshake and no seal of our own; the rest is the same.
//!
//! | state | event | next |
//! | --- | --- | --- |
//! | initiating | second frame opens | open |
//! | answering | first frame opens | unconfirmed: the answer is sent, nothing else |
//! | unconfirmed | first sealed frame opens | open |
//! | open | frames | open |
//! | any | a refusal | closed; it was counted, and nothing is read or written any more |
//!
//! Messages can be queued as soon as the lane is known, and wait until the link is open. While answering it is not, and
//! they are refused.

use std::fmt;

use bytes::Bytes;
use hyperscale_types::Now;

use crate::class::{Class, Lane};
use crate::compress::Packed;
use crate::counters::{Counters, Refusal};
use crate::domain::Domain;
use crate::entropy::Entropy;
use crate::frame::{FrameError, FrameReader, put_frame};
use crate::kind::{Envelope, Kind, MessageError};
use crate::mux::{Credit, Event, Mux, MuxError, SendError, Sending};
use crate::noise::{HandshakeError, Initiator, OpenError, Opened, Session, answer};
use crate::secret::{SecretChoice, Secrets};
use crate::speak::class_of;

/// Why a connection ended. It must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Not frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// No session.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// A frame that does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Chunks that make no sense.
    #[error(transparent)]
    Mux(#[from] MuxError),
}

impl LinkError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            LinkError::Frame(error) => error.refusal(),
            LinkError::Handshake(error) => error.refusal(),
            LinkError::Open(error) => error.refusal(),
            LinkError::Mux(error) => error.refusal(),
        }
    }
}

/// What all connections of a node share.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Where the node belongs.
    pub domain: Domain,
    /// What it has in common with its peers.
    pub secrets: Secrets,
}

/// One end of one connection.
pub struct Link {
    reader: FrameReader,
    state: State,
    /// The one the handshake was made with.
    secret: Option<SecretChoice>,
    /// Bytes of the handshake to be written; at most one frame.
    handshake: Vec<u8>,
    /// The chunk to be sealed; kept to save allocations.
    chunk: Vec<u8>,
    counters: Counters,
}

enum State {
    Initiating(Initiator, Box<Mux>),
    /// The peer says which lane it is: there are no streams yet.
    Answering,
    Sealed(Box<Session>, Box<Mux>),
    Plain(Box<Mux>),
    Closed(LinkError),
}

/// Buffers may hold secrets: only their sizes are shown.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (state, mux): (&dyn fmt::Debug, _) = match &self.state {
            State::Initiating(_, mux) => (&"initiating", Some(mux)),
            State::Answering => (&"answering", None),
            State::Sealed(session, mux) => (session, Some(mux)),
            State::Plain(mux) => (&"over TLS", Some(mux)),
            State::Closed(error) => (error, None),
        };
        f.debug_struct("Link")
            .field("state", state)
            .field("mux", &mux)
            .field("reader", &self.reader)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// The side that connected. `choice`: the current secret first, the previous one when the peer refused that.
    pub fn connect(
        keys: &Keys,
        lane: Lane,
        choice: SecretChoice,
        entropy: &mut dyn Entropy,
    ) -> Result<Self, HandshakeError> {
        let mut handshake = Vec::new();
        let initiator = Initiator::start(&keys.domain, lane, &keys.secrets, choice, entropy, &mut handshake)?;
        Ok(Self {
            handshake,
            secret: Some(choice),
            ..Self::new(State::Initiating(initiator, Box::new(Mux::new(lane))))
        })
    }

    /// The side that was connected to. The other one says which lane it is.
    pub fn accept() -> Self {
        Self::new(State::Answering)
    }

    /// Either side, over mutual TLS.
    pub fn over_tls(lane: Lane) -> Self {
        Self::new(State::Plain(Box::new(Mux::new(lane))))
    }

    fn new(state: State) -> Self {
        Self {
            reader: FrameReader::default(),
            state,
            secret: None,
            handshake: Vec::new(),
            chunk: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// What the connection is for. `None`: the peer has not said it yet, or the link is closed.
    pub fn lane(&self) -> Option<Lane> {
        match &self.state {
            State::Initiating(_, mux) | State::Sealed(_, mux) | State::Plain(mux) => Some(mux.lane()),
            State::Answering | State::Closed(_) => None,
        }
    }

    /// Whether the peer has shown the secret (or TLS did) and messages may go both ways.
    pub fn is_open(&self) -> bool {
        match &self.state {
            State::Sealed(session, _) => session.is_confirmed(),
            State::Plain(_) => true,
            State::Initiating(..) | State::Answering | State::Closed(_) => false,
        }
    }

    /// Which secret both sides have shown, for the log of the host. `None`: the link is not open, or over TLS.
    pub fn secret(&self) -> Option<SecretChoice> {
        self.secret.filter(|_| self.is_open())
    }

    /// What was refused on this connection.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) const fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Takes bytes from the socket.
    pub fn receive(
        &mut self,
        now: Now,
        keys: &Keys,
        mut input: &[u8],
        entropy: &mut dyn Entropy,
        events: &mut Vec<Event>,
    ) -> Result<(), LinkError> {
        while !input.is_empty() {
            let taken = self.take_frame(now, keys, &mut input, entropy, events);
            self.settle(taken)?;
        }
        Ok(())
    }

    /// Says that the socket will give no more bytes.
    pub fn finish(&mut self) -> Result<(), LinkError> {
        let ended = self.reader.finish().map_err(LinkError::from);
        self.settle(ended)
    }

    /// Appends the next bytes for the socket, about one chunk; `false`: there are none now.
    pub fn transmit(&mut self, now: Now, out: &mut Vec<u8>) -> bool {
        if !self.handshake.is_empty() {
            out.append(&mut self.handshake);
            return true;
        }
        self.chunk.clear();
        let (session, mux) = match &mut self.state {
            State::Sealed(session, mux) if session.is_confirmed() => (Some(session), mux),
            State::Plain(mux) => (None, mux),
            _ => return false,
        };
        if !mux.next_chunk(&mut self.chunk) {
            return false;
        }
        match session {
            Some(session) => session.seal(now, &self.chunk, out),
            None => put_frame(&self.chunk, out),
        }
        true
    }

    /// Queues a message, in the class of its kind.
    pub fn send<M: Envelope>(&mut self, message: &M) -> Result<Sending, SendError> {
        let (class, bytes) = written(message)?;
        self.mux().ok_or(SendError::NoLane)?.send(class, bytes)
    }

    /// Begins a transfer with the message at its head, in the class of its kind; the rest is for the [streams](Link::mux).
    pub fn begin<M: Envelope>(&mut self, head: &M) -> Result<Sending, SendError> {
        let (class, bytes) = written(head)?;
        self.mux().ok_or(SendError::NoLane)?.begin(class, bytes)
    }

    /// Decodes a message that arrived here. The peer is told of a refusal; the connection may go on.
    pub fn decode<M: Envelope>(&mut self, data: &Packed) -> Result<(Kind, M), MessageError> {
        let plain = data.open(&mut self.counters)?;
        let (kind, message) = M::decode_known(plain, &mut self.counters)?;
        if data.class() != class_of(kind) {
            self.counters.refuse(Refusal::WrongClass);
            return Err(MessageError::WrongClass(kind));
        }
        Ok((kind, message))
    }

    /// Gives back the credit of something that was dealt with.
    pub fn release(&mut self, credit: Credit) {
        if let Some(mux) = self.mux() {
            mux.release(credit);
        }
    }

    /// The streams, for transfers. `None`: there are none [before the lane is known](Link::lane), nor after the end.
    pub fn mux(&mut self) -> Option<&mut Mux> {
        match &mut self.state {
            State::Initiating(_, mux) | State::Sealed(_, mux) | State::Plain(mux) => Some(mux),
            State::Answering | State::Closed(_) => None,
        }
    }

    fn take_frame(
        &mut self,
        now: Now,
        keys: &Keys,
        input: &mut &[u8],
        entropy: &mut dyn Entropy,
        events: &mut Vec<Event>,
    ) -> Result<(), LinkError> {
        if let State::Closed(error) = self.state {
            return Err(error);
        }
        let Some(frame) = self.reader.next(input)? else { return Ok(()) };
        match std::mem::replace(&mut self.state, State::Answering) {
            State::Initiating(initiator, mux) => {
                self.state = State::Sealed(Box::new(initiator.finish(now, &frame)?), mux);
                self.count_secret();
            }
            State::Answering => self.answer(now, keys, &frame, entropy)?,
            State::Sealed(mut session, mut mux) => {
                let was_confirmed = session.is_confirmed();
                let opened = session.open(now, &frame)?;
                if !was_confirmed {
                    self.count_secret();
                }
                if let Opened::Chunk(chunk) = opened {
                    mux.handle(chunk, events)?;
                }
                self.state = State::Sealed(session, mux);
            }
            State::Plain(mut mux) => {
                mux.handle(&frame, events)?;
                self.state = State::Plain(mux);
            }
            State::Closed(error) => return Err(error),
        }
        Ok(())
    }

    fn answer(
        &mut self,
        now: Now,
        keys: &Keys,
        frame: &[u8],
        entropy: &mut dyn Entropy,
    ) -> Result<(), HandshakeError> {
        let answer = answer(&keys.domain, &keys.secrets, now, frame, entropy, &mut self.handshake)?;
        self.secret = Some(answer.choice);
        self.state = State::Sealed(Box::new(answer.session), Box::new(Mux::new(answer.lane)));
        Ok(())
    }

    /// Once per link, when the peer has shown the secret: a first frame alone may be a replay.
    fn count_secret(&mut self) {
        if self.secret == Some(SecretChoice::Previous) {
            self.counters.use_previous_secret();
        }
    }

    /// Counts a refusal once and closes.
    fn settle(&mut self, outcome: Result<(), LinkError>) -> Result<(), LinkError> {
        let Err(error) = outcome else { return Ok(()) };
        if !matches!(self.state, State::Closed(_)) {
            self.counters.refuse(error.refusal());
            self.handshake.clear();
            self.state = State::Closed(error);
        }
        Err(error)
    }
}

fn written<M: Envelope>(message: &M) -> Result<(Class, Bytes), SendError> {
    let kind = message.kind().ok_or(SendError::NoBody)?;
    Ok((class_of(kind), message.encode_to_vec().into()))
}
