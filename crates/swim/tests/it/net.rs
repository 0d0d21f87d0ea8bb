//! A virtual network of cores: one thread, one heap of events, one seed.
//!
//! Small on purpose: enough to see cores converge, detect and refute. Disks, clocks and the other cores belong to the
//! simulator.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use fastrand::Rng;
use hyperscale_swim::{Action, Command, Config, Event, Input, LocalNode, Peer, Status, Swim, Timer};
use hyperscale_types::{BootEpoch, NodeId, Now, Role};

/// The side of nodes that hear everybody.
pub(crate) const BRIDGE: u8 = u8::MAX;

/// How the network behaves.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    /// Share of datagrams lost.
    pub(crate) loss: f64,
    /// Share of stream messages lost with their connection. Real streams repeat what is lost: this is worse.
    pub(crate) stream_loss: f64,
    /// One-way delay of datagrams; streams take three times that.
    pub(crate) delay: std::ops::Range<Duration>,
}

impl Weather {
    pub(crate) fn fair() -> Self {
        Self { loss: 0.0, stream_loss: 0.0, delay: Duration::from_micros(200)..Duration::from_millis(2) }
    }

    pub(crate) fn lossy(loss: f64) -> Self {
        Self { loss, stream_loss: loss, ..Self::fair() }
    }
}

/// What happened at one node.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Now,
    pub(crate) observer: usize,
    pub(crate) event: Event,
}

struct Node {
    swim: Swim,
    up: bool,
    boot: u64,
    frozen_until: Now,
    /// Nodes of different sides do not hear each other.
    side: u8,
}

struct Scheduled {
    at: Now,
    order: u64,
    node: usize,
    boot: u64,
    input: Input,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

pub(crate) struct Net {
    nodes: Vec<Node>,
    queue: BinaryHeap<Reverse<Scheduled>>,
    order: u64,
    rng: Rng,
    now: Now,
    config: Config,
    pub(crate) weather: Weather,
    pub(crate) seen: Vec<Seen>,
    /// Whether embedded state changes are kept in `seen`.
    pub(crate) keep_state_changes: bool,
    trace: u64,
    actions: Vec<Action>,
}

pub(crate) fn node_id(index: usize) -> NodeId {
    NodeId::new(index as u64 + 1).expect("one more than an index is not zero")
}

pub(crate) fn index_of(node: NodeId) -> usize {
    node.get() as usize - 1
}

fn addr(index: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from(0x0a00_0000 + index as u32), 7000))
}

impl Net {
    /// `managers` managers, the rest workers; all started at once, joining through the first three.
    pub(crate) fn start(seed: u64, managers: usize, count: usize, config: &Config, weather: Weather) -> Self {
        let mut net = Self {
            nodes: Vec::new(),
            queue: BinaryHeap::new(),
            order: 0,
            rng: Rng::with_seed(seed),
            now: Now::after_start(Duration::from_secs(1)),
            config: config.clone(),
            weather,
            seen: Vec::new(),
            keep_state_changes: false,
            trace: 0,
            actions: Vec::new(),
        };
        for index in 0..count {
            let role = if index < managers { Role::Manager } else { Role::Worker };
            net.add(role);
        }
        net
    }

    /// Adds and starts a node.
    pub(crate) fn add(&mut self, role: Role) -> usize {
        let index = self.nodes.len();
        let swim = self.core(index, role, 1);
        self.nodes.push(Node { swim, up: true, boot: 1, frozen_until: Now::ZERO, side: 0 });
        self.join(index);
        index
    }

    fn core(&mut self, index: usize, role: Role, boot: u64) -> Swim {
        let peer = Peer { node: node_id(index), addr: addr(index), role };
        let identity = LocalNode { peer, boot: BootEpoch(boot) };
        Swim::new(self.config.clone(), identity, self.rng.u64(..)).expect("tests use a good configuration")
    }

    fn join(&mut self, index: usize) {
        let contacts = (0..3).filter(|contact| *contact != index).map(addr).collect();
        self.command(index, Command::Join { contacts });
    }

    pub(crate) fn command(&mut self, index: usize, command: Command) {
        self.deliver(index, Input::Command(command));
    }

    /// Stops a node without a word.
    pub(crate) fn crash(&mut self, index: usize) {
        self.nodes[index].up = false;
    }

    /// Starts it again with a larger boot and no memory.
    pub(crate) fn restart(&mut self, index: usize) {
        let (boot, role) = (self.nodes[index].boot + 1, self.nodes[index].swim.peer().role);
        let swim = self.core(index, role, boot);
        let node = &mut self.nodes[index];
        (node.swim, node.boot, node.up) = (swim, boot, true);
        self.join(index);
    }

    /// Nothing happens at the node for a while; then everything that waited.
    pub(crate) fn freeze(&mut self, index: usize, span: Duration) {
        self.nodes[index].frozen_until = self.now.plus(span);
    }

    /// Puts nodes on sides that do not hear each other; those on [`BRIDGE`] hear everybody.
    pub(crate) fn partition(&mut self, side: impl Fn(usize) -> u8) {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            node.side = side(index);
        }
    }

    pub(crate) fn swim(&self, index: usize) -> &Swim {
        &self.nodes[index].swim
    }

    pub(crate) fn now(&self) -> Now {
        self.now
    }

    pub(crate) fn trace(&self) -> u64 {
        self.trace
    }

    pub(crate) fn up(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|index| self.nodes[*index].up)
    }

    pub(crate) fn run(&mut self, span: Duration) {
        let until = self.now.plus(span);
        while self.queue.peek().is_some_and(|Reverse(next)| next.at <= until) {
            let Some(Reverse(mut next)) = self.queue.pop() else { break };
            let node = &self.nodes[next.node];
            if !node.up || node.boot != next.boot {
                continue;
            }
            self.now = next.at;
            if node.frozen_until > next.at {
                next.at = node.frozen_until;
                self.queue.push(Reverse(next));
                continue;
            }
            self.deliver(next.node, next.input);
        }
        self.now = until;
    }

    /// Runs until the condition holds, checking every 100 ms; how long that took, or `None` if it never did.
    pub(crate) fn run_until(
        &mut self,
        limit: Duration,
        mut holds: impl FnMut(&Self) -> bool,
    ) -> Option<Duration> {
        let start = self.now;
        while !holds(self) {
            if self.now.since(start) >= limit {
                return None;
            }
            self.run(Duration::from_millis(100));
        }
        Some(self.now.since(start))
    }

    /// Whether every node that is up has exactly those that are up for alive.
    pub(crate) fn converged(&self) -> bool {
        let up = self.up().count();
        self.up().all(|observer| {
            let swim = &self.nodes[observer].swim;
            let alive = swim
                .members()
                .filter(|member| member.claim.status == Status::Alive)
                .map(|member| member.node);
            let mut count = 1;
            let all_up = alive.into_iter().all(|node| {
                count += 1;
                self.nodes[index_of(node)].up
            });
            all_up && count == up
        })
    }

    /// Deaths declared about nodes that were up at that time.
    pub(crate) fn deaths(&self) -> BTreeMap<usize, usize> {
        let mut deaths = BTreeMap::new();
        for seen in &self.seen {
            if let Event::Died { node, .. } = seen.event {
                *deaths.entry(index_of(node)).or_default() += 1;
            }
        }
        deaths
    }

    fn deliver(&mut self, index: usize, input: Input) {
        self.mix(&[self.now.0, index as u64, kind(&input)]);
        let mut actions = std::mem::take(&mut self.actions);
        self.nodes[index].swim.handle(self.now, input, &mut actions);
        for action in actions.drain(..) {
            self.perform(index, action);
        }
        self.actions = actions;
    }

    fn perform(&mut self, from: usize, action: Action) {
        match action {
            Action::SetTimer { at, timer } => self.schedule(at, from, Input::Timer(timer)),
            Action::SendDatagram { to, datagram } => {
                let to = index_of(to.node);
                if self.connected(from, to) && self.rng.f64() >= self.weather.loss {
                    let at = self.now.plus(self.delay());
                    self.schedule(at, to, Input::Datagram(datagram));
                }
            }
            Action::SendStream { to, message } => {
                let SocketAddr::V4(addr) = to.addr else { return };
                let to = (u32::from(*addr.ip()) - 0x0a00_0000) as usize;
                let known = to < self.nodes.len();
                if known && self.connected(from, to) && self.rng.f64() >= self.weather.stream_loss {
                    let at = self.now.plus(self.delay() * 3);
                    self.schedule(at, to, Input::Stream(message));
                }
            }
            Action::Event(Event::StateChanged { .. }) if !self.keep_state_changes => {}
            Action::Event(event) => self.seen.push(Seen { at: self.now, observer: from, event }),
        }
    }

    fn connected(&self, from: usize, to: usize) -> bool {
        let (one, other) = (self.nodes[from].side, self.nodes[to].side);
        self.nodes[to].up && (one == other || one == BRIDGE || other == BRIDGE)
    }

    fn delay(&mut self) -> Duration {
        let range = &self.weather.delay;
        Duration::from_nanos(self.rng.u64(range.start.as_nanos() as u64..range.end.as_nanos() as u64))
    }

    fn schedule(&mut self, at: Now, node: usize, input: Input) {
        self.order += 1;
        let boot = self.nodes.get(node).map_or(1, |node| node.boot);
        self.queue.push(Reverse(Scheduled { at, order: self.order, node, boot, input }));
    }

    fn mix(&mut self, parts: &[u64]) {
        for part in parts {
            self.trace = (self.trace.rotate_left(5) ^ part).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

fn kind(input: &Input) -> u64 {
    match input {
        Input::Datagram(datagram) => 1000 + datagram.members.len() as u64,
        Input::Stream(_) => 1,
        Input::Timer(Timer::Period(number)) => 10_000 + u64::from(*number),
        Input::Timer(_) => 2,
        Input::Command(_) => 3,
    }
}
