//! One link: a socket, the connection of the wire on it, and the queue of what is to be said.
//!
//! One task drives both directions. It reads only while the host has taken everything before, and writes all the same:
//! a host that is behind slows those who send to it, and nobody else.

mod hear;
mod keep;
mod waiting;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use hyperscale_types::NodeId;
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::{Connection, ConnectionError, Outgoing};
use hyperscale_wire::hello::Peer;
use hyperscale_wire::limit::HandshakeSlot;
use hyperscale_wire::link::LinkError;
use hyperscale_wire::mux::SendError;
use hyperscale_wire::secret::Secret;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::event::{Destination, Event};
use super::table::{LinkId, Origin};
use super::{FLUSH_MAX, Inner};
use crate::clock;
use crate::shutdown::Shutdown;
use waiting::Waiting;

/// Bytes read at a time: one frame of the largest size.
const READ_BYTES: usize = 64 << 10;
/// Messages taken from the queue before the socket is looked at again.
const TAKE_MAX: usize = 64;

/// Why a link ended.
#[derive(Debug)]
pub(super) enum End {
    /// No connection came about.
    NotConnected(io::ErrorKind),
    /// Handshake and hello took too long.
    Late,
    /// The wire refused what the peer said, or the peer refused us.
    Refused(ConnectionError),
    /// The peer is not the node that was dialled, or an earlier life of it.
    Misplaced,
    /// The peer closed it.
    Closed,
    /// It was reset.
    Reset,
    /// TLS proves nothing about the peer.
    Untrusted,
    /// The peer does not answer.
    Silent,
    /// It was not used.
    Idle,
    /// It is not in the table any more.
    Evicted,
    /// The transport stops.
    Stopped,
}

impl End {
    /// Why the peer that was dialled does not talk with this node, in words for its operator. Nothing: it was not reached, and may be
    /// later.
    pub(super) fn why_refused(&self) -> Option<String> {
        match self {
            End::Refused(ConnectionError::Link(LinkError::Handshake(_))) | End::Closed | End::Reset => Some(
                "it ended the handshake; most likely it has another secret, see HYPERSCALE_AUTH_SECRET"
                    .to_owned(),
            ),
            End::Refused(error) => Some(error.to_string()),
            End::Misplaced => Some("another node is at this address, or an earlier life of it".to_owned()),
            End::Untrusted => Some("its certificate is not trusted, or does not name it".to_owned()),
            _ => None,
        }
    }

    /// Whether it ended the way a peer ends that does not understand the secret.
    pub(super) fn is_refused_secret(&self) -> bool {
        matches!(
            self,
            End::Closed | End::Reset | End::Refused(ConnectionError::Link(LinkError::Handshake(_)))
        )
    }
}

/// A link over its whole life.
pub(super) struct Link {
    inner: Arc<Inner>,
    pub(super) connection: Connection,
    origin: Origin,
    /// The destination that was dialled; the peer once it is known.
    pub(super) to: Option<Destination>,
    /// The other end.
    address: SocketAddr,
    lane: Lane,
    pub(super) id: Option<LinkId>,
    pub(super) messages: Option<mpsc::Receiver<Outgoing>>,
    pub(super) peer: Option<Peer>,
    pub(super) slot: Option<HandshakeSlot>,
    /// What both ends exported from TLS.
    pub(super) exported: Option<Secret>,
    /// Events that the host has not taken; filled by one read at most.
    pending: VecDeque<Event>,
    /// What the connection does not take yet.
    waiting: Waiting,
    started: Instant,
    /// When the peer was last heard.
    heard: Instant,
    /// When the link last carried anything but pings.
    used: Instant,
    is_pinged: bool,
    /// Until the peer may send more.
    paused_until: Option<Instant>,
    pub(super) has_sent: bool,
}

impl Link {
    pub(super) fn dialled(
        inner: &Arc<Inner>,
        id: LinkId,
        to: Destination,
        address: SocketAddr,
        lane: Lane,
        messages: mpsc::Receiver<Outgoing>,
    ) -> Self {
        let origin = Origin::Dialled(address);
        let (id, to, messages) = (Some(id), Some(to), Some(messages));
        Self { to, lane, id, messages, ..Self::new(inner, origin, address) }
    }

    pub(super) fn accepted(inner: &Arc<Inner>, address: SocketAddr, slot: HandshakeSlot) -> Self {
        Self { slot: Some(slot), ..Self::new(inner, Origin::Accepted, address) }
    }

    fn new(inner: &Arc<Inner>, origin: Origin, address: SocketAddr) -> Self {
        let now = Instant::now();
        Self {
            inner: Arc::clone(inner),
            connection: Connection::accept(),
            origin,
            to: None,
            address,
            lane: Lane::Control,
            id: None,
            messages: None,
            peer: None,
            slot: None,
            exported: None,
            pending: VecDeque::new(),
            waiting: Waiting::default(),
            started: now,
            heard: now,
            used: now,
            is_pinged: false,
            paused_until: None,
            has_sent: false,
        }
    }

    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    pub(super) fn lane(&self) -> Lane {
        self.lane
    }

    /// The node that is to be at the other end, if it is known.
    pub(super) fn expected(&self) -> Option<NodeId> {
        match self.to {
            Some(Destination::Node(node)) => Some(node),
            Some(Destination::Address(_)) | None => None,
        }
    }

    pub(super) fn was_open(&self) -> bool {
        self.connection.is_open() || self.peer.is_some()
    }

    pub(super) fn set_connection(&mut self, connection: Connection) {
        self.connection = connection;
        self.begin_again();
    }

    pub(super) fn begin_again(&mut self) {
        let now = Instant::now();
        (self.started, self.heard, self.used) = (now, now, now);
    }

    /// Messages that did not leave when it has ended.
    pub(super) fn unsent(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Events that the host has not taken when it has ended.
    pub(super) fn take_pending(&mut self) -> VecDeque<Event> {
        std::mem::take(&mut self.pending)
    }

    /// Serves the socket until the link ends.
    pub(super) async fn drive(
        &mut self,
        (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
        shutdown: &mut Shutdown,
    ) -> End {
        let inner = Arc::clone(&self.inner);
        let (mut input, mut output, mut written) = (vec![0; READ_BYTES], Vec::new(), 0);
        let mut is_flushed = true;
        let end = loop {
            if let Some(end) = self.overdue() {
                break end;
            }
            self.refill(&mut output, &mut written);
            let (is_taken, look) = (self.pending.is_empty(), self.next_look());
            let (may_read, may_take) = (self.is_reading(), self.peer.is_some());
            tokio::select! {
                permit = inner.events.reserve(), if !is_taken => match (permit, self.pending.pop_front()) {
                    (Ok(permit), Some(event)) => {
                        permit.send(event);
                        self.reads_again();
                    }
                    _ => break End::Stopped,
                },
                read = reader.read(&mut input), if may_read => match read {
                    Ok(0) => break self.finished(),
                    Ok(count) => if let Err(end) = self.receive(&input[..count]) { break end },
                    Err(error) => break end_of(&error),
                },
                wrote = push(&mut writer, &output[written..]), if written < output.len() || !is_flushed => match wrote {
                    Ok(count) => {
                        written += count;
                        is_flushed = count == 0;
                        self.carried(count);
                    }
                    Err(error) => break end_of(&error),
                },
                message = next(&mut self.messages), if may_take => match message {
                    Some(message) => self.say_all(message),
                    None => break End::Evicted,
                },
                () = tokio::time::sleep_until(look.into()) => {}
                () = shutdown.stopped() => break End::Stopped,
            }
        };
        let flushed = async {
            self.take_rest(&end);
            loop {
                writer.write_all(&output[written..]).await?;
                written = output.len();
                self.refill(&mut output, &mut written);
                if output.is_empty() {
                    break writer.shutdown().await;
                }
            }
        };
        // Whoever does not read by then is not waited for.
        let _ = tokio::time::timeout(FLUSH_MAX, flushed).await;
        end
    }

    /// A transport that stops still says what it was given.
    fn take_rest(&mut self, end: &End) {
        if !matches!(end, End::Stopped) || self.peer.is_none() {
            return;
        }
        while let Some(message) = self.messages.as_mut().and_then(|messages| messages.try_recv().ok()) {
            self.say(message);
        }
    }

    fn say_all(&mut self, first: Outgoing) {
        self.say(first);
        for _ in 1..TAKE_MAX {
            let Some(next) = self.messages.as_mut().and_then(|messages| messages.try_recv().ok()) else {
                return;
            };
            self.say(next);
        }
    }

    fn say(&mut self, message: Outgoing) {
        self.used = Instant::now();
        let sent = if self.waiting.is_behind(&message) {
            Err(SendError::Full)
        } else {
            self.connection.send(&message)
        };
        match sent {
            Ok(()) => self.has_sent = true,
            Err(SendError::Full) if self.waiting.push(message) => {}
            Err(error) => {
                tracing::debug!(to = ?self.to, %error, "a message was not sent");
                self.lose();
            }
        }
    }

    /// Something did not leave: the host is told once for all that it has not heard of yet.
    fn lose(&mut self) {
        self.inner.counters().undelivered += 1;
        let is_told = matches!(self.pending.back(), Some(Event::Undelivered { .. }));
        if let Some(to) = self.to.filter(|_| !is_told) {
            self.pending.push_back(Event::Undelivered { to, lane: self.lane });
        }
    }

    /// The next bytes to write, when all before are written: what leaves is chosen as late as possible.
    fn refill(&mut self, output: &mut Vec<u8>, written: &mut usize) {
        if *written < output.len() {
            return;
        }
        output.clear();
        *written = 0;
        self.has_sent |= self.waiting.offer(&mut self.connection);
        let now = clock::now();
        while output.len() < READ_BYTES && self.connection.transmit(now, output) {}
    }
}

/// Writes some of the bytes; without any, what the writer itself has kept back.
async fn push(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() { writer.flush().await.map(|()| 0) } else { writer.write(bytes).await }
}

/// The next message; never one before the link has a queue.
async fn next(messages: &mut Option<mpsc::Receiver<Outgoing>>) -> Option<Outgoing> {
    match messages {
        Some(messages) => messages.recv().await,
        None => std::future::pending().await,
    }
}

fn end_of(error: &io::Error) -> End {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => End::Reset,
        _ => End::Closed,
    }
}
