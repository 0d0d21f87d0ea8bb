//! The membership core: one node's view of its cluster, as a deterministic state machine.
//!
//! [`Swim::handle`] takes the time and one input and appends what is to be done. It must be called for every datagram,
//! stream message and timer, in the order they happen on the node; the time must not go back. Equal calls give equal
//! actions: there is no clock, no socket and no randomness but the seed.
//!
//! Each kind of input has one arm here and one file beside this one.

mod command;
mod datagram;
mod deadline;
mod helping;
mod merge;
mod myself;
mod probing;
mod reach;
mod spread;
mod stream;
mod sync;
mod view;
mod worker;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use hyperscale_types::{NodeId, Now};

pub use myself::LocalNode;
pub use view::{MemberView, Sizes};

use crate::alarm::Alarm;
use crate::audit::AuditRing;
use crate::awareness::Awareness;
use crate::config::{Config, ConfigError};
use crate::contacts::Contacts;
use crate::counters::Counters;
use crate::deadlines::Deadlines;
use crate::gossip::MemberQueue;
use crate::io::{Action, Destination, Endpoint, Event, Input, Timer};
use crate::message::{StreamBody, StreamMessage};
use crate::probe::{Astray, Relays, Round};
use crate::suspicion::Suspicion;
use crate::table::{Members, ProbeOrder, Slot, Tombs};
use crate::workers::WorkerBook;

use myself::Myself;

/// The membership core of one node.
#[derive(Clone, Debug)]
pub struct Swim {
    config: Config,
    rng: Rng,
    me: Myself,
    members: Members,
    tombs: Tombs,
    /// Of the suspected members.
    suspicions: BTreeMap<Slot, Suspicion>,
    deadlines: Deadlines,
    prober: Prober,
    awareness: Awareness,
    queue: MemberQueue,
    contacts: Contacts,
    workers: WorkerBook,
    alarms: Alarms,
    audit: AuditRing,
    counters: Counters,
}

/// What this node is probing.
#[derive(Clone, Debug)]
struct Prober {
    order: ProbeOrder,
    round: Round,
    /// Rounds started or skipped.
    rounds: u64,
    /// Last number given to a probe.
    seq: u32,
    /// When anybody was last heard.
    heard: Now,
    /// Helpers of the last failed round that did not nack: if they turn out to be well, the nacks were missing.
    debtors: Vec<NodeId>,
    /// Subjects that were told their accusation in this period.
    told: BTreeSet<NodeId>,
    /// When one of the dead last came back, and one of those who did: views are compared at the end of the period.
    revived: Option<Now>,
    met: Option<NodeId>,
    /// Those given up as never reached.
    astray: Astray,
    relays: Relays,
    /// For drawing members without allocating.
    picks: Vec<Slot>,
}

/// One pending timer per kind.
#[derive(Clone, Debug, Default)]
struct Alarms {
    period: Alarm,
    gossip: Alarm,
    deadline: Alarm,
    sync: Alarm,
    contact: Alarm,
    depart: Alarm,
}

/// One call of [`Swim::handle`]: its time, and the actions it makes.
struct Turn<'a> {
    now: Now,
    out: &'a mut Vec<Action>,
}

impl Turn<'_> {
    fn event(&mut self, event: Event) {
        self.out.push(Action::Event(event));
    }

    fn timer(&mut self, at: Now, timer: Timer) {
        self.out.push(Action::SetTimer { at, timer });
    }
}

impl Swim {
    /// A node that knows nobody yet. Until it is told to join it hears nobody and says nothing.
    pub fn new(config: Config, identity: LocalNode, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let (member_updates, worker_updates) = config.updates_max();
        let prober = Prober {
            order: ProbeOrder::default(),
            round: Round::Idle,
            rounds: 0,
            seq: 0,
            heard: Now::ZERO,
            debtors: Vec::new(),
            told: BTreeSet::new(),
            revived: None,
            met: None,
            astray: Astray::default(),
            relays: Relays::default(),
            picks: Vec::new(),
        };
        Ok(Self {
            rng: Rng::with_seed(seed),
            me: Myself::new(identity),
            members: Members::new(),
            tombs: Tombs::default(),
            suspicions: BTreeMap::new(),
            deadlines: Deadlines::default(),
            prober,
            awareness: Awareness::new(config.lifeguard, config.lag_tick),
            queue: MemberQueue::new(member_updates),
            contacts: Contacts::default(),
            workers: WorkerBook::new(config.limits.workers, worker_updates),
            alarms: Alarms::default(),
            audit: AuditRing::new(config.limits.audit),
            counters: Counters::default(),
            config,
        })
    }

    /// Deals with one input; what is to be done is appended to `out`.
    pub fn handle(&mut self, now: Now, input: Input, out: &mut Vec<Action>) {
        let from_others = matches!(input, Input::Datagram(_) | Input::Stream(_));
        if self.me.is_gone() || self.me.is_idle() && from_others {
            return;
        }
        let turn = &mut Turn { now, out };
        match input {
            Input::Datagram(datagram) => self.datagram(turn, datagram),
            Input::Stream(message) => self.stream(turn, message),
            Input::Timer(timer) => self.timer(turn, timer),
            Input::Command(command) => self.command(turn, command),
        }
        self.finish_intake(turn);
        self.set_alarms(turn);
    }

    fn timer(&mut self, turn: &mut Turn<'_>, timer: Timer) {
        match timer {
            Timer::Period(number) => self.period(turn, number),
            Timer::ProbeTimeout(seq) => self.probe_timeout(turn, seq),
            Timer::Relay(seq) => self.relay_timeout(turn, seq),
            Timer::Gossip(number) => self.gossip_tick(turn, number),
            Timer::Deadline(number) => self.deadlines(turn, number),
            Timer::Sync(number) => self.sync_tick(turn, number),
            Timer::Contact(number) => self.try_contacts(turn, number),
            Timer::Depart(number) => self.depart(turn, number),
        }
    }

    /// Timers that follow from state: set in one place, after every input.
    fn set_alarms(&mut self, turn: &mut Turn<'_>) {
        if let Some(at) = self.deadlines.next()
            && let Some(number) = self.alarms.deadline.set(at)
        {
            turn.timer(at, Timer::Deadline(number));
        }
        if !self.alarms.gossip.is_set() && self.has_news() {
            let interval = self.awareness.stretch_gossip(self.config.gossip.interval);
            let at = turn.now.plus(interval.mul_f64(self.rng.f64()));
            if let Some(number) = self.alarms.gossip.set(at) {
                turn.timer(at, Timer::Gossip(number));
            }
        }
        // Only a member tries its contacts: one that goes would be woken for them again and again.
        if self.me.is_active()
            && let Some(at) = self.contacts.next()
            && let Some(number) = self.alarms.contact.set(at)
        {
            turn.timer(at, Timer::Contact(number));
        }
    }

    /// n: everyone who is alive or suspected, and this node.
    fn cluster_size(&self) -> usize {
        self.members.live().len() + 1
    }

    fn destination(&self, slot: Slot) -> Destination {
        let peer = &self.members.get(slot).peer;
        Destination { node: peer.node, addr: peer.addr }
    }

    fn send_stream(&mut self, turn: &mut Turn<'_>, to: Endpoint, body: StreamBody) {
        self.counters.streams_sent += 1;
        let message = StreamMessage { from: self.me.sender(), body };
        turn.out.push(Action::SendStream { to, message });
    }

    fn next_seq(&mut self) -> u32 {
        self.prober.seq = self.prober.seq.wrapping_add(1);
        self.prober.seq
    }
}

impl From<Destination> for Endpoint {
    fn from(to: Destination) -> Self {
        Endpoint { node: Some(to.node), addr: to.addr }
    }
}

#[cfg(test)]
mod tests;
