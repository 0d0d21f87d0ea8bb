//! The loop of the failure detector.

mod send;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use hyperscale_codec::gossip::{self, Heard, SealedBy};
use hyperscale_codec::stream;
use hyperscale_swim::{Action, Command, Input, Swim};
use hyperscale_types::Now;
use hyperscale_wire::class::Class;
use hyperscale_wire::datagram::{BootId, Datagrams, Received};
use hyperscale_wire::limit::rates::Source;
use hyperscale_wire::limit::{PeerRates, Rate, SourceRates};
use hyperscale_wire::limits::DATAGRAM_MAX;
use hyperscale_wire::messages::Membership;
use mio::net::UdpSocket;
use mio::{Interest, Poll, Token, Waker};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use super::timers::Timers;
use super::view::{Suspicions, View};
use super::{EVENTS_MAX, Event, Options, Order};
use crate::clock;
use crate::entropy::OsEntropy;
use crate::transport::TransportHandle;

/// Niceness of the thread, where the system allows it: it needs little, and needs it at once.
#[cfg(target_os = "linux")]
const NICENESS: i32 = -10;
const SOCKET: Token = Token(0);
const WAKER: Token = Token(1);
/// Orders and datagrams taken before timers are looked at again.
const BATCH_MAX: usize = 256;
/// The view is copied at most this often; a large one takes a millisecond.
const VIEW_EVERY: Duration = Duration::from_millis(50);
/// The view is copied at least this often, for its counters.
const VIEW_AT_LEAST: Duration = Duration::from_secs(1);
/// Datagrams of one source address per second, whoever they say they are from: opening one takes microseconds, so that a
/// flood takes a fraction of a core. A thousand workers behind one address stay well below.
const SOURCE_RATE: Rate = Rate { per_second: 20_000, burst: 40_000 };
/// Bytes kept by the kernel until the thread reads them: a round of answers from every member of a large cluster.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Everything that the thread owns.
pub(super) struct Detector {
    poll: Poll,
    socket: UdpSocket,
    swim: Swim,
    datagrams: Datagrams,
    options: Options,
    transport: TransportHandle,
    orders: Receiver<Order>,
    events: mpsc::Sender<Event>,
    /// Events that the channel had no room for; as many as it holds.
    unsent: VecDeque<Event>,
    timers: Timers,
    sources: SourceRates,
    peers: PeerRates,
    view: watch::Sender<Arc<View>>,
    /// When the view was last copied, and whether it has changed since.
    viewed: (Now, bool),
    lag: Duration,
    suspicions: Suspicions,
    events_dropped: u64,
    datagrams_dropped: u64,
    actions: Vec<Action>,
    is_stopped: bool,
}

type Channels = (Receiver<Order>, mpsc::Sender<Event>, watch::Sender<Arc<View>>);

impl Detector {
    pub(super) fn new(
        socket: std::net::UdpSocket,
        swim: Swim,
        options: Options,
        transport: TransportHandle,
        (orders, events, view): Channels,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // A system that allows less gives what it allows.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER);
        let mut socket = UdpSocket::from_std(socket);
        let poll = Poll::new()?;
        poll.registry().register(&mut socket, SOCKET, Interest::READABLE)?;
        let (me, boot) = (options.identity.peer.node, BootId::draw(&mut OsEntropy));
        let datagrams = Datagrams::new(me, boot, options.domain.clone(), options.secrets.clone());
        Ok(Self {
            poll,
            socket,
            swim,
            datagrams,
            options,
            transport,
            orders,
            events,
            unsent: VecDeque::new(),
            timers: Timers::default(),
            sources: SourceRates::new(SOURCE_RATE),
            peers: PeerRates::default(),
            view,
            viewed: (Now::ZERO, true),
            lag: Duration::ZERO,
            suspicions: Suspicions::default(),
            events_dropped: 0,
            datagrams_dropped: 0,
            actions: Vec::new(),
            is_stopped: false,
        })
    }

    pub(super) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKER)
    }

    pub(super) fn run(mut self) {
        raise_priority();
        if let Err(error) = self.serve() {
            self.report(Event::Failed(error));
            self.flush_events();
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut ready = mio::Events::with_capacity(4);
        let mut has_more = false;
        while !self.is_stopped {
            let wait = if has_more { Duration::ZERO } else { self.wait() };
            match self.poll.poll(&mut ready, Some(wait)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            self.fire_timers();
            has_more = self.take_orders() | self.take_datagrams()?;
            self.flush_events();
            self.publish();
        }
        Ok(())
    }

    /// How long nothing is due.
    fn wait(&self) -> Duration {
        let timer = self.timers.next().map_or(VIEW_AT_LEAST, clock::wait_for);
        let is_waited_for = self.viewed.1 || !self.unsent.is_empty();
        if is_waited_for { timer.min(VIEW_EVERY) } else { timer.min(VIEW_AT_LEAST) }
    }

    fn fire_timers(&mut self) {
        let now = clock::now();
        while let Some((at, timer)) = self.timers.due(now) {
            self.lag = now.since(at);
            if self.lag * 2 >= self.options.config.lag_tick {
                self.handle(Input::Command(Command::RuntimeLag(self.lag)));
            }
            self.handle(Input::Timer(timer));
        }
    }

    /// Takes what was ordered; whether there may be more.
    fn take_orders(&mut self) -> bool {
        for _ in 0..BATCH_MAX {
            let Ok(order) = self.orders.try_recv() else { return false };
            match order {
                Order::Command(command) => self.handle(Input::Command(command)),
                Order::Stream { from, message } => self.take_stream(from, *message),
                Order::Cross { to, message } => {
                    let (role, versions) = (self.options.identity.peer.role, self.options.versions);
                    self.send(to, &gossip::encode_cross(&message, role, versions));
                }
                Order::Stop => {
                    self.is_stopped = true;
                    return false;
                }
            }
        }
        true
    }

    fn take_stream(&mut self, from: hyperscale_types::NodeId, message: Membership) {
        match stream::from_message(message, from) {
            Ok(Heard::Member(message)) => self.handle(Input::Stream(message)),
            Ok(Heard::Cross(message, role)) => self.report(Event::Cross(Box::new(message), role)),
            Err(error) => self.datagrams.counters_mut().refuse(error.refusal()),
        }
    }

    /// Takes what arrived; whether there may be more.
    fn take_datagrams(&mut self) -> io::Result<bool> {
        // One byte more, so that a longer one is recognised.
        let mut buffer = [0; DATAGRAM_MAX + 1];
        for _ in 0..BATCH_MAX {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, source)) => self.take_datagram(&buffer[..length], source),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // What was sent before was refused; that says nothing about what arrives.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn take_datagram(&mut self, bytes: &[u8], source: SocketAddr) {
        let now = clock::now();
        let counters = self.datagrams.counters_mut();
        if self.sources.take(now, Source::from(source.ip()), counters).is_err() {
            return;
        }
        match self.datagrams.open(now, bytes, &mut OsEntropy) {
            Ok(
                Received::Payload { from: node, proven, data, .. }
                | Received::Confirmed { from: node, proven, held: Some(data), .. },
            ) => self.read(now, SealedBy { node, proven }, &data),
            Ok(Received::Reply { datagram, .. }) => self.transmit(&datagram, source),
            // What was refused was counted.
            Ok(Received::Confirmed { held: None, .. } | Received::Held) | Err(_) => {}
        }
    }

    fn read(&mut self, now: Now, sealed_by: SealedBy, payload: &[u8]) {
        let counters = self.datagrams.counters_mut();
        if self.peers.take(now, sealed_by.node, Class::Control, counters).is_err() {
            return;
        }
        let (role, versions) = (self.options.identity.peer.role, self.options.versions);
        match gossip::decode(payload, sealed_by, role, versions, counters) {
            Ok(Heard::Member(datagram)) => self.handle(Input::Datagram(datagram)),
            Ok(Heard::Cross(message, role)) => self.report(Event::Cross(Box::new(message), role)),
            // Counted.
            Err(_) => {}
        }
    }

    fn handle(&mut self, input: Input) {
        let mut actions = std::mem::take(&mut self.actions);
        self.swim.handle(clock::now(), input, &mut actions);
        for action in actions.drain(..) {
            self.perform(action);
        }
        self.actions = actions;
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::SetTimer { at, timer } => self.timers.set(at, timer),
            Action::SendDatagram { to, datagram } => self.send_datagram(to, &datagram),
            Action::SendStream { to, message } => self.send_stream(to, &message),
            Action::Event(event) => {
                self.viewed.1 = true;
                self.report(Event::Swim(event));
            }
        }
    }

    /// The host may be slow; the detector is not.
    fn report(&mut self, event: Event) {
        if let Event::Swim(event) = &event {
            self.suspicions.count(event);
        }
        if self.unsent.len() < EVENTS_MAX {
            self.unsent.push_back(event);
        } else {
            self.events_dropped += 1;
        }
    }

    fn flush_events(&mut self) {
        while let Some(event) = self.unsent.pop_front() {
            match self.events.try_send(event) {
                Ok(()) => {}
                Err(TrySendError::Full(event)) => return self.unsent.push_front(event),
                Err(TrySendError::Closed(_)) => return self.unsent.clear(),
            }
        }
    }

    fn publish(&mut self) {
        let (now, (at, is_changed)) = (clock::now(), self.viewed);
        let age = now.since(at);
        if age < VIEW_EVERY || (age < VIEW_AT_LEAST && !is_changed) {
            return;
        }
        self.viewed = (now, false);
        let view = View {
            refused: self.datagrams.counters().clone(),
            lag: self.lag,
            events_dropped: self.events_dropped,
            datagrams_dropped: self.datagrams_dropped,
            ..View::of(&self.swim)
        };
        self.view.send_replace(Arc::new(view));
    }
}

/// Only a process with the right to do so may; without it the thread still waits for nobody but the scheduler.
fn raise_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS) {
        tracing::debug!(%error, "the priority of the failure detector stays as it is");
    }
}
