//! One core among peers that the test plays: what goes in, what comes out. One file per concern.

mod accusing;
mod forgetting;
mod gossip;
mod helping;
mod leaving;
mod load;
mod merging;
mod pages;
mod probing;
mod reaching;
mod sync;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Now, Role};

use super::*;
use crate::claim::{Claim, Incarnation, Status};
use crate::io::Command;
use crate::message::{Datagram, MemberUpdate, Message, Peer, Sender};

/// Number of the core under test; managers are below 100, workers above.
const ME: u64 = 1;

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn peer(number: u64) -> Peer {
    let role = if number < 100 { Role::Manager } else { Role::Worker };
    Peer { node: node(number), addr: SocketAddr::from((Ipv4Addr::LOCALHOST, number as u16)), role }
}

fn sender(number: u64, boot: u64, incarnation: u32) -> Sender {
    Sender { peer: peer(number), boot: BootEpoch(boot), incarnation: Incarnation(incarnation) }
}

fn claim(boot: u64, incarnation: u32, status: Status) -> Claim {
    Claim { boot: BootEpoch(boot), incarnation: Incarnation(incarnation), status }
}

/// An update about `number` in its first life, told by `accuser`.
fn update(number: u64, incarnation: u32, status: Status, accuser: u64) -> MemberUpdate {
    MemberUpdate { peer: peer(number), claim: claim(1, incarnation, status), accuser: node(accuser) }
}

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// The core, its time, its timers, and peers that answer probes.
struct Rig {
    swim: Swim,
    now: Now,
    timers: BTreeMap<(Now, u64), Timer>,
    timers_set: u64,
    /// Peers that ack probes, and nack requests about anyone else.
    well: BTreeSet<NodeId>,
}

impl Rig {
    /// A core that was told to join, without contacts.
    fn new() -> Self {
        Self::with(Config::lan(), ME)
    }

    fn with(config: Config, number: u64) -> Self {
        let mut rig = Self::idle(config, number);
        rig.command(Command::Join { contacts: Vec::new() });
        rig
    }

    fn idle(config: Config, number: u64) -> Self {
        let identity = LocalNode { peer: peer(number), boot: BootEpoch(1) };
        let swim = Swim::new(config, identity, 42).unwrap();
        let now = Now::after_start(secs(1.0));
        Self { swim, now, timers: BTreeMap::new(), timers_set: 0, well: BTreeSet::new() }
    }

    /// A core with these members, all of them reached.
    fn among(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut rig = Self::new();
        rig.meet(numbers);
        rig
    }

    fn meet(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.hear(number, Message::Gossip, &[]);
        }
    }

    fn input(&mut self, input: Input) -> Vec<Action> {
        let mut out = Vec::new();
        self.swim.handle(self.now, input, &mut out);
        let mut actions = Vec::new();
        for action in out {
            match action {
                Action::SetTimer { at, timer } => {
                    self.timers_set += 1;
                    self.timers.insert((at, self.timers_set), timer);
                }
                Action::SendDatagram { to, datagram } => {
                    let answer = self.answer(to, &datagram);
                    actions.push(Action::SendDatagram { to, datagram });
                    actions.extend(answer.into_iter().flat_map(|answer| self.input(Input::Datagram(answer))));
                }
                Action::SendStream { .. } | Action::Event(_) => actions.push(action),
            }
        }
        actions
    }

    fn answer(&self, to: Destination, datagram: &Datagram) -> Option<Datagram> {
        if !self.well.contains(&to.node) {
            return None;
        }
        let message = match datagram.message {
            Message::Probe { seq, .. } => Message::Ack { seq },
            Message::PingReq { seq, target, .. } if self.well.contains(&target) => Message::Ack { seq },
            Message::PingReq { seq, .. } => Message::Nack { seq },
            Message::Ack { .. } | Message::Nack { .. } | Message::Gossip => return None,
        };
        let known = self.swim.member(to.node)?.claim;
        let from = sender(to.node.get(), known.boot.0, known.incarnation.0);
        Some(bare(from, message, &[]))
    }

    fn command(&mut self, command: Command) -> Vec<Action> {
        self.input(Input::Command(command))
    }

    /// A datagram of a peer in its first life and incarnation.
    fn hear(&mut self, from: u64, message: Message, members: &[MemberUpdate]) -> Vec<Action> {
        self.hear_as(sender(from, 1, 0), message, members)
    }

    fn hear_as(&mut self, from: Sender, message: Message, members: &[MemberUpdate]) -> Vec<Action> {
        self.input(Input::Datagram(bare(from, message, members)))
    }

    fn gossip(&mut self, from: u64, members: &[MemberUpdate]) -> Vec<Action> {
        self.hear(from, Message::Gossip, members)
    }

    fn stream(&mut self, from: u64, body: StreamBody) -> Vec<Action> {
        self.input(Input::Stream(StreamMessage { from: sender(from, 1, 0), body }))
    }

    /// Lets time pass, giving timers back when they are due.
    fn advance(&mut self, by: Duration) -> Vec<Action> {
        let until = self.now.plus(by);
        let mut actions = Vec::new();
        while let Some(((at, _), timer)) = self
            .timers
            .first_key_value()
            .map(|(key, timer)| (*key, *timer))
            .filter(|((at, _), _)| *at <= until)
        {
            self.timers.pop_first();
            self.now = self.now.max(at);
            actions.extend(self.input(Input::Timer(timer)));
        }
        self.now = until;
        actions
    }

    /// Lets time pass without giving any timer back: the node sleeps.
    fn sleep(&mut self, by: Duration) {
        self.now = self.now.plus(by);
    }

    fn status(&self, number: u64) -> Option<Status> {
        self.swim.status(node(number))
    }

    fn claim_of(&self, number: u64) -> Claim {
        self.swim.member(node(number)).unwrap().claim
    }
}

fn bare(from: Sender, message: Message, members: &[MemberUpdate]) -> Datagram {
    Datagram { from, message, embedded: None, members: members.to_vec(), workers: Vec::new() }
}

fn events(actions: &[Action]) -> Vec<Event> {
    let event = |action: &Action| match action {
        Action::Event(event) => Some(event.clone()),
        Action::SendDatagram { .. } | Action::SendStream { .. } | Action::SetTimer { .. } => None,
    };
    actions.iter().filter_map(event).collect()
}

fn datagrams(actions: &[Action]) -> Vec<(u64, &Datagram)> {
    let sent = |action| match action {
        &Action::SendDatagram { to, ref datagram } => Some((to.node.get(), datagram)),
        Action::SendStream { .. } | Action::Event(_) | Action::SetTimer { .. } => None,
    };
    actions.iter().filter_map(sent).collect()
}

fn datagrams_to(actions: &[Action], number: u64) -> Vec<&Datagram> {
    datagrams(actions).into_iter().filter(|(to, _)| *to == number).map(|(_, datagram)| datagram).collect()
}

fn streams(actions: &[Action]) -> Vec<(Endpoint, &StreamBody)> {
    let sent = |action| match action {
        &Action::SendStream { to, ref message } => Some((to, &message.body)),
        Action::SendDatagram { .. } | Action::Event(_) | Action::SetTimer { .. } => None,
    };
    actions.iter().filter_map(sent).collect()
}

/// Nodes that are asked for the workers they know.
fn asked_for_workers(actions: &[Action]) -> BTreeSet<NodeId> {
    let requests =
        streams(actions).into_iter().filter(|(_, body)| matches!(body, StreamBody::WorkerListRequest));
    requests.filter_map(|(to, _)| to.node).collect()
}

fn is_probe(datagram: &Datagram) -> bool {
    matches!(datagram.message, Message::Probe { .. })
}
