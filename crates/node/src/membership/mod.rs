//! The failure detector of a node: the membership core on a thread, a socket and timers of its own, so that nothing else
//! that the node does delays it.
//!
//! ```text
//! UDP ──► open ──► decode ──┐                    ┌─► encode ──► seal ──► UDP
//! orders ───────────────────┼─► Swim::handle ────┼─► transport   (streams)
//! timers ───────────────────┘                    ├─► events      (never waits for the host)
//!                                                └─► view        (at most every 50 ms)
//! ```
//!
//! Messages of streams come in through the host, which hears them from the transport. Probes between clusters are opened
//! and sealed here too and passed on: the federation core is not this thread's.
//!
//! It must never wait for anybody: not for a slow host, a slow peer or a full socket.

mod thread;
mod timers;
mod view;

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use hyperscale_codec::Versions;
use hyperscale_swim::federation::CrossMessage;
use hyperscale_swim::{Command, Config, ConfigError, Destination, LocalNode, Swim};
use hyperscale_types::{NodeId, Role};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::messages;
use hyperscale_wire::secret::Secrets;
use tokio::sync::{mpsc, watch};

pub use view::{MemberEntry, Suspicions, View, WorkerEntry};

use crate::transport::TransportHandle;

/// Orders that the thread has not taken yet. It takes them at once; one that finds no room is refused.
pub const ORDERS_MAX: usize = 4_096;
/// Events that the host has not taken yet. The thread keeps as many again, then drops and counts them: the view still
/// shows where everybody stands.
pub const EVENTS_MAX: usize = 4_096;

/// What the failure detector is made from.
#[derive(Clone, Debug)]
pub struct Options {
    /// Settings of the core.
    pub config: Config,
    /// This node, with the address that others reach it at, and its life.
    pub identity: LocalNode,
    /// Where it belongs.
    pub domain: Domain,
    /// What its datagrams are sealed with.
    pub secrets: Secrets,
    /// Versions of the protocol that it reads, and the one it writes.
    pub versions: Versions,
    /// Seed of the core's draws.
    pub seed: u64,
}

/// Why the failure detector did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings do not fit each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system refused the thread or the socket.
    #[error("the failure detector could not be started: {0}")]
    Io(#[from] io::Error),
}

/// What the thread tells its host.
#[derive(Debug)]
pub enum Event {
    /// An event of the core.
    Swim(hyperscale_swim::Event),
    /// A probe between clusters, or its answer, and the role of its sender.
    Cross(Box<CrossMessage>, Role),
    /// The socket failed and the thread has ended: the process has to end.
    Failed(io::Error),
}

/// An order was not taken: the thread has too many, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the failure detector is behind or has stopped")]
pub struct NotTaken;

/// Something for the thread to do.
#[derive(Debug)]
enum Order {
    Command(Command),
    Stream { from: NodeId, message: Box<messages::Membership> },
    Cross { to: Destination, message: Box<CrossMessage> },
    Stop,
}

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Membership {
    handle: MembershipHandle,
    thread: Option<JoinHandle<()>>,
}

/// Cheap handle to order something and to look at the view. All of it returns at once.
#[derive(Clone, Debug)]
pub struct MembershipHandle {
    orders: SyncSender<Order>,
    waker: Arc<mio::Waker>,
    view: watch::Receiver<Arc<View>>,
}

impl Membership {
    /// Starts the thread on a bound socket.
    pub fn start(
        socket: UdpSocket,
        options: Options,
        transport: TransportHandle,
    ) -> Result<(Self, mpsc::Receiver<Event>), StartError> {
        let swim = Swim::new(options.config.clone(), options.identity, options.seed)?;
        let (orders, waiting) = sync_channel(ORDERS_MAX);
        let (events, receiver) = mpsc::channel(EVENTS_MAX);
        let (sender, view) = watch::channel(Arc::new(View::of(&swim)));
        let detector = thread::Detector::new(socket, swim, options, transport, (waiting, events, sender))?;
        let waker = Arc::new(detector.waker()?);
        let thread =
            std::thread::Builder::new().name("membership".to_owned()).spawn(move || detector.run())?;
        let handle = MembershipHandle { orders, waker, view };
        Ok((Self { handle, thread: Some(thread) }, receiver))
    }

    /// A handle to it.
    pub fn handle(&self) -> MembershipHandle {
        self.handle.clone()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // A full queue is taken soon; one that has ended needs no order.
        while self.handle.orders.try_send(Order::Stop).is_err_and(|it| matches!(it, TrySendError::Full(_))) {
            let _ = self.handle.waker.wake();
            std::thread::yield_now();
        }
        let _ = self.handle.waker.wake();
        if let Some(thread) = self.thread.take() {
            // It has reported what was wrong with it.
            let _ = thread.join();
        }
    }
}

impl MembershipHandle {
    /// Gives the core a command: join, leave, what this node says about itself, evidence.
    pub fn command(&self, command: Command) -> Result<(), NotTaken> {
        self.order(Order::Command(command))
    }

    /// Hands over a message of membership that a node sent on a stream.
    pub fn stream(&self, from: NodeId, message: messages::Membership) -> Result<(), NotTaken> {
        self.order(Order::Stream { from, message: Box::new(message) })
    }

    /// Sends a probe between clusters, or its answer, as a datagram.
    pub fn send_cross(&self, to: Destination, message: CrossMessage) -> Result<(), NotTaken> {
        self.order(Order::Cross { to, message: Box::new(message) })
    }

    /// The view as it was a moment ago.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.borrow())
    }

    /// Waits for the next view.
    pub async fn changed(&mut self) -> Result<(), NotTaken> {
        self.view.changed().await.map_err(|_| NotTaken)
    }

    fn order(&self, order: Order) -> Result<(), NotTaken> {
        self.orders.try_send(order).map_err(|_| NotTaken)?;
        self.waker.wake().map_err(|_| NotTaken)
    }
}
