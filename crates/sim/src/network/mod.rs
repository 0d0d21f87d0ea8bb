//! The network between nodes: what becomes of a datagram or of a message on a stream.
//!
//! Datagrams are lost, doubled, delayed and overtaken. Messages on a stream arrive in order and are repeated by the
//! kernel when lost, so loss makes them late; a cut link loses them, as the connection breaks. Both wait for the sender's
//! line when bandwidth is limited. Nodes of different sites are far from each other. A node that replaces another one is
//! connected in its place: on the same side of every cut.

mod delay;
mod line;
mod partition;
mod weather;

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;

pub(crate) use delay::draw as log_normal;
pub use partition::{Flapping, Partition};
pub use weather::Weather;

use crate::moment::Moment;
use line::Line;

/// First pause before a lost segment of a stream is sent again; doubled each time.
const RETRANSMIT_AFTER: Duration = Duration::from_millis(200);
/// Repetitions after which a connection is given up.
const RETRANSMITS_MAX: u32 = 6;
/// A connection that was not used for so long has to be opened anew: two more delays.
const CONNECTION_IDLE: Duration = Duration::from_mins(1);
/// The number of the cut around those who stay away.
const CUT_OFF: u32 = u32::MAX;
/// Places that are on the larger side of that cut though nobody is there yet.
const NEWCOMERS: usize = 64;
/// What separates sites: one way, beside the delay within a site.
const SITE_DELAY: Duration = Duration::from_millis(30);

/// Connections between two nodes: each keeps an order of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Connection {
    /// Of the membership core.
    Gossip,
    /// Of everything small above it.
    Control,
    /// Of everything large.
    Bulk,
}

/// The network.
#[derive(Debug)]
pub struct Network {
    rng: Rng,
    weather: Weather,
    partitions: BTreeMap<u32, Partition>,
    /// Until then every delay has this much on top.
    spike: (Moment, Duration),
    lines: Vec<Line>,
    sites: Vec<u8>,
    /// Where each node is: in a place of its own, or in that of the first one it goes back to.
    places: Vec<usize>,
    /// When the last message between two nodes arrives, for the order on streams.
    streams: BTreeMap<(u32, u32, Connection), Moment>,
}

impl Network {
    /// A network in fair weather without nodes.
    pub fn new(seed: u64, weather: Weather) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            weather,
            partitions: BTreeMap::new(),
            spike: (Moment::ZERO, Duration::ZERO),
            lines: Vec::new(),
            sites: Vec::new(),
            places: Vec::new(),
            streams: BTreeMap::new(),
        }
    }

    /// Connects the next node, in the place of an earlier one if it replaces that.
    pub fn connect(&mut self, site: u8, instead_of: Option<usize>) {
        let place = instead_of.map_or(self.places.len(), |node| self.places[node]);
        self.places.push(place);
        self.sites.push(site);
        self.lines.push(Line::default());
    }

    /// When a datagram arrives: not at all, once or twice.
    pub fn datagram(&mut self, now: Moment, from: usize, to: usize, bytes: usize) -> [Option<Moment>; 2] {
        let sent = self.lines[from].send(now, bytes, self.weather.bytes_per_second, line::LineKind::Datagram);
        let Some(sent) = sent else { return [None; 2] };
        if !self.reaches(now, from, to) || self.rng.f64() < self.weather.loss {
            return [None; 2];
        }
        let mut copy = || sent.plus(self.one_way(now, from, to));
        let first = copy();
        let second = copy();
        let doubled = self.weather.duplicate > 0.0 && self.rng.f64() < self.weather.duplicate;
        [Some(first), doubled.then_some(second)]
    }

    /// When a message on a stream arrives, if the connection holds.
    pub fn stream(
        &mut self,
        now: Moment,
        connection: Connection,
        from: usize,
        to: usize,
        bytes: usize,
    ) -> Option<Moment> {
        let sent =
            self.lines[from].send(now, bytes, self.weather.bytes_per_second, line::LineKind::Stream)?;
        if !self.reaches(now, from, to) || !self.reaches(now, to, from) {
            return None;
        }
        let delay = self.one_way(now, from, to);
        let key = (from as u32, to as u32, connection);
        let last = self.streams.get(&key).copied();
        let is_open = last.is_some_and(|last| now.since(last) < CONNECTION_IDLE);
        let arrives = self.repeated(sent.plus(if is_open { delay } else { delay * 3 }), last);
        match arrives {
            Some(at) => self.streams.insert(key, at),
            None => self.streams.remove(&key),
        };
        arrives
    }

    /// The machine of a node closes all its connections, as its process ended: who sees that, and when.
    pub fn hang_up(&mut self, now: Moment, node: usize) -> Vec<(usize, Moment)> {
        let me = node as u32;
        let mut peers: BTreeMap<u32, Option<Moment>> = BTreeMap::new();
        for (&(from, to, _), &last) in &self.streams {
            if (from == me || to == me) && now.since(last) < CONNECTION_IDLE {
                let sent = (from == me).then_some(last);
                let latest = peers.entry(if from == me { to } else { from }).or_default();
                *latest = sent.max(*latest);
            }
        }
        self.streams.retain(|(from, to, _), _| *from != me && *to != me);
        let mut seen = Vec::new();
        for (peer, last) in peers.into_iter().map(|(peer, last)| (peer as usize, last)) {
            if self.reaches(now, node, peer) {
                let arrives = now.plus(self.one_way(now, node, peer));
                seen.extend(self.repeated(arrives, last).map(|at| (peer, at)));
            }
        }
        seen
    }

    /// When a segment of a stream arrives that is repeated while it gets lost, and comes after the one before it.
    fn repeated(&mut self, mut arrives: Moment, last: Option<Moment>) -> Option<Moment> {
        let mut pause = RETRANSMIT_AFTER;
        for _ in 0..RETRANSMITS_MAX {
            if self.rng.f64() >= self.weather.loss {
                return Some(last.map_or(arrives, |last| arrives.max(Moment(last.0 + 1))));
            }
            arrives = arrives.plus(pause);
            pause *= 2;
        }
        None
    }

    /// Who is in the place of that node now: itself, unless it was replaced.
    pub fn present(&self, node: usize) -> usize {
        let place = self.places[node];
        self.places.iter().rposition(|it| *it == place).expect("every place has had somebody")
    }

    /// The place of a node, which it may have taken over from others.
    pub fn place_of(&self, node: usize) -> usize {
        self.places[node]
    }

    /// Whether anything from one node reaches the other now.
    pub fn reaches(&self, now: Moment, from: usize, to: usize) -> bool {
        let (from, to) = (self.places[from], self.places[to]);
        !self.partitions.values().any(|cut| cut.blocks(now, from, to))
    }

    /// Cuts links.
    pub fn cut(&mut self, number: u32, partition: Partition) {
        self.partitions.insert(number, partition);
    }

    /// Cuts these nodes off from all others, but not from each other.
    pub fn cut_off(&mut self, nodes: &[usize]) {
        let places = self.places.len();
        let one: Vec<usize> = nodes.iter().map(|node| self.places[*node]).collect();
        let other: Vec<usize> = (0..places + NEWCOMERS).filter(|place| !one.contains(place)).collect();
        self.cut(CUT_OFF, Partition::between(&one, &other, places + NEWCOMERS));
    }

    /// Mends what was cut under that number.
    pub fn mend(&mut self, number: u32) {
        self.partitions.remove(&number);
    }

    /// Whether nothing is cut.
    pub fn is_whole(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Every delay has this much on top until then.
    pub fn spike(&mut self, until: Moment, extra: Duration) {
        self.spike = (until, extra);
    }

    /// How the network is.
    pub fn weather(&self) -> &Weather {
        &self.weather
    }

    /// Changes how the network is.
    pub fn set_weather(&mut self, weather: Weather) {
        self.weather = weather;
    }

    /// Ends all trouble.
    pub fn heal(&mut self) {
        self.partitions.clear();
        self.spike = (Moment::ZERO, Duration::ZERO);
        self.weather = Weather::fair();
    }

    fn one_way(&mut self, now: Moment, from: usize, to: usize) -> Duration {
        let mut delay = delay::draw(&mut self.rng, self.weather.delay, self.weather.delay_sigma);
        if self.weather.reorder > 0.0 && self.rng.f64() < self.weather.reorder {
            delay += self.weather.delay * self.rng.u32(1..50);
        }
        if self.spike.0 > now {
            delay += self.spike.1.mul_f64(self.rng.f64());
        }
        if self.sites[from] != self.sites[to] {
            delay += SITE_DELAY;
        }
        delay
    }
}

#[cfg(test)]
mod tests;
