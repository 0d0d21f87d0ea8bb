//! Connections to other nodes: TCP, one connection per peer and lane for what this node has to say, opened on demand.
//!
//! ```text
//! send ──► table ──► queue of a link ──► Connection ──► socket         (link: one task per connection)
//!            │ none
//!            └──► dial, after the back-off ──► link
//! socket ──► Connection ──► events ──► host      (a link stops reading while the host is behind)
//! ```
//!
//! | state of a link | event                                        | next     | told to the host                          |
//! | --------------- | -------------------------------------------- | -------- | ----------------------------------------- |
//! | dialling        | refused, no route, time is over              | ended    | `Undelivered`, `ConnectionFailed`         |
//! | dialling        | connected                                    | greeting |                                           |
//! | greeting        | closed by the peer, there is another secret  | dialling | nothing: tried with the other secret      |
//! | greeting        | hello fits                                   | open     | `PeerUp`                                  |
//! | greeting        | hello does not fit, time is over             | ended    | `Undelivered`                             |
//! | open            | message                                      | open     | `Incoming`                                |
//! | open            | idle, and dialled by this node               | ended    | `PeerDown`                                |
//! | open            | closed, reset, silent, refused, older life   | ended    | `PeerDown`, `Undelivered`; reset: `ConnectionFailed` |
//!
//! What is to be said takes a link that this node dialled, else one that the peer dialled, else a new one: responses reach
//! a peer whose address is not known, and two nodes that dial each other at the same time use both connections. Nothing is
//! repeated: what was handed to a link that broke is reported as undelivered, whether it arrived or not.
//!
//! It must never look into a message beyond pings, nor block a caller.

mod accept;
mod certificates;
mod dial;
mod event;
mod link;
mod options;
mod settle;
mod table;
mod tls;
mod tries;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyperscale_types::{NodeId, Now};
use hyperscale_wire::class::{Class, Lane};
use hyperscale_wire::connection::{Outgoing, Shared};
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::limit::{Handshakes, PeerRates, RateLimited, SourceRates};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use certificates::{CertificateError, CertificateFiles, ForeignCertificate};
pub use event::{Counters, Destination, Event, NotSent};
pub use options::{Options, Timing};
pub use tls::Certificates;

use crate::shutdown::Shutdown;
use dial::Dial;
use table::{Offered, Table};

/// Events that the host has not taken yet. A link that has one more stops reading until there is room.
pub const EVENTS_MAX: usize = 1_024;
/// Links that wait to be dialled. Beyond it senders are told: whoever dials that many at once has lost its network.
const DIALS_MAX: usize = 4_096;
/// How long ending links may take to write what waits.
const FLUSH_MAX: std::time::Duration = std::time::Duration::from_secs(1);

/// The service: accepts, dials, and owns the tasks of all links.
#[derive(Debug)]
pub struct Transport {
    listener: TcpListener,
    inner: Arc<Inner>,
    dials: mpsc::Receiver<Dial>,
}

/// Cheap handle to say something. All of it returns at once.
#[derive(Clone, Debug)]
pub struct TransportHandle {
    inner: Arc<Inner>,
}

/// What handle, service and links share. Locks are held for a lookup, never across an `await`.
#[derive(Debug)]
struct Inner {
    options: Options,
    table: Mutex<Table>,
    strangers: Mutex<Strangers>,
    rates: Mutex<PeerRates>,
    counters: Mutex<Counters>,
    dials: mpsc::Sender<Dial>,
    events: mpsc::Sender<Event>,
}

/// What is allowed to those who have not shown the secret.
#[derive(Debug, Default)]
struct Strangers {
    handshakes: Handshakes,
    sources: SourceRates,
}

impl Transport {
    /// Makes the service on a listening socket.
    pub fn new(listener: TcpListener, options: Options) -> (Self, TransportHandle, mpsc::Receiver<Event>) {
        let (dials, wanted) = mpsc::channel(DIALS_MAX);
        let (events, receiver) = mpsc::channel(EVENTS_MAX);
        let inner = Arc::new(Inner {
            table: Mutex::new(Table::new(options.timing, crate::entropy::seed())),
            options,
            strangers: Mutex::default(),
            rates: Mutex::default(),
            counters: Mutex::default(),
            dials,
            events,
        });
        let handle = TransportHandle { inner: Arc::clone(&inner) };
        (Self { listener, inner, dials: wanted }, handle, receiver)
    }

    /// Serves until it is told to stop; links then get a moment to write what waits.
    pub async fn run(mut self, mut shutdown: Shutdown) -> io::Result<()> {
        self.listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let mut links = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    accept::accepted(&self.inner, accepted, &shutdown, &mut links).await;
                }
                Some(dial) = self.dials.recv() => {
                    links.spawn(dial::run(Arc::clone(&self.inner), dial, shutdown.clone()));
                }
                Some(_) = links.join_next(), if !links.is_empty() => {}
                () = shutdown.stopped() => break,
            }
        }
        let all = async { while links.join_next().await.is_some() {} };
        // Those that have not finished by then are dropped with the set.
        let _ = tokio::time::timeout(2 * FLUSH_MAX, all).await;
        Ok(())
    }
}

impl TransportHandle {
    /// Sends to a node, on the lane of the message. What fails later is reported as [`Event::Undelivered`].
    pub fn send(&self, to: NodeId, outgoing: Outgoing) -> Result<(), NotSent> {
        self.inner.send(Destination::Node(to), outgoing)
    }

    /// Sends to the node at an address, whichever that is; its hello says it.
    pub fn send_to_addr(&self, to: SocketAddr, outgoing: Outgoing) -> Result<(), NotSent> {
        self.inner.send(Destination::Address(to), outgoing)
    }

    /// Opens a connection to the node at an address, so that its hello says which node that is.
    pub fn connect(&self, to: SocketAddr) -> Result<(), NotSent> {
        self.inner.connect(Destination::Address(to), Lane::Control)
    }

    /// Remembers where a node listens.
    pub fn know(&self, node: NodeId, address: SocketAddr) {
        self.inner.table().know(node, address);
    }

    /// Remembers where a node may listen, unless it has been heard since or somebody knows better.
    pub fn suggest(&self, node: NodeId, address: SocketAddr) {
        self.inner.table().suggest(node, address);
    }

    /// Whether there is an open connection to a node.
    pub fn is_connected(&self, node: NodeId, lane: Lane) -> bool {
        self.inner.table().is_connected(node, lane)
    }

    /// Closes every connection to a node, for example because it was removed from the cluster.
    pub fn disconnect(&self, node: NodeId) {
        self.inner.table().evict(node);
    }

    /// What was refused and lost so far; of links that are open, what they counted comes when they end.
    pub fn counters(&self) -> Counters {
        self.inner.counters().clone()
    }
}

impl Inner {
    fn send(&self, to: Destination, outgoing: Outgoing) -> Result<(), NotSent> {
        let lane = outgoing.lane();
        let mut table = self.table();
        let sent = match table.offer(to, lane, outgoing) {
            Offered::Taken => Ok(()),
            Offered::Full => Err(NotSent::Full),
            Offered::NoLink(outgoing) => self.dial(&mut table, to, lane, Some(outgoing)),
        };
        drop(table);
        if sent.is_err() {
            self.counters().not_sent += 1;
        }
        sent
    }

    fn connect(&self, to: Destination, lane: Lane) -> Result<(), NotSent> {
        let mut table = self.table();
        if table.has_link(to, lane) { Ok(()) } else { self.dial(&mut table, to, lane, None) }
    }

    /// Begins a link to a destination that has none; the first message waits in its queue.
    fn dial(
        &self,
        table: &mut Table,
        to: Destination,
        lane: Lane,
        first: Option<Outgoing>,
    ) -> Result<(), NotSent> {
        let dial = table.begin(to, lane, first)?;
        let id = dial.id;
        self.dials.try_send(dial).map_err(|error| {
            table.remove(id);
            match error {
                mpsc::error::TrySendError::Full(_) => NotSent::TooManyLinks,
                mpsc::error::TrySendError::Closed(_) => NotSent::Stopped,
            }
        })
    }

    fn shared(&self) -> Shared<'_> {
        Shared { keys: &self.options.keys, local: &self.options.local }
    }

    /// Whether a peer may know the other secret only.
    fn has_two_secrets(&self) -> bool {
        self.options.certificates.is_none() && self.options.keys.secrets.previous.is_some()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        lock(&self.counters)
    }

    fn refuse(&self, refusal: Refusal) {
        self.counters().wire.refuse(refusal);
    }

    /// Charges a message to its peer.
    fn charge(&self, now: Now, peer: NodeId, class: Class) -> Result<(), RateLimited> {
        let mut counters = self.counters();
        lock(&self.rates).take(now, peer, class, &mut counters.wire)
    }
}

/// No holder of these locks leaves anything half done: after a panic the state is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
