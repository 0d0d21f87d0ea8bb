//! Trouble between nodes: weather of the whole network, spikes, cuts.

use std::time::Duration;

use fastrand::Rng;

use super::{Draw, Fault, FaultKind, FaultKinds};
use crate::network::{Partition, Weather};

/// Cuts of a seed that has any.
const CUTS: usize = 3;

/// The network of a seed.
pub(super) fn weather(rng: &mut Rng, kinds: &FaultKinds) -> Weather {
    let mut weather = Weather::fair();
    let mut draw = |kind, most: f64| if kinds.has(kind) { most * rng.f64() } else { 0.0 };
    weather.loss = draw(FaultKind::Loss, 0.2);
    weather.duplicate = draw(FaultKind::Duplication, 0.05);
    weather.reorder = draw(FaultKind::Reordering, 0.2);
    weather.delay += Duration::from_millis(20).mul_f64(draw(FaultKind::Delay, 1.0));
    if kinds.has(FaultKind::Bandwidth) {
        weather.bytes_per_second = Some(rng.u64(20_000..200_000));
    }
    weather
}

impl Draw<'_> {
    /// Everything takes up to 5 s longer.
    pub(super) fn spikes(&mut self) {
        for _ in 0..self.rng.usize(1..=3) {
            let (at, extra, span) = (self.moment(), self.seconds(0.5, 5.0), self.seconds(1.0, 10.0));
            self.add(at, Fault::Spike { extra, span });
        }
    }

    /// Three cuts of 5–60 s: halves, one way, around a bridge, or coming and going.
    pub(super) fn partitions(&mut self) {
        for _ in 0..CUTS {
            let (at, span) = (self.moment(), self.seconds(5.0, 60.0));
            let links = self.cut();
            self.cuts += 1;
            let number = self.cuts;
            self.add(at, Fault::Cut { number, links, span });
            self.add(at.plus(span), Fault::Mend { number });
        }
    }

    /// Somebody is on each side, and with a bridge one is on neither.
    fn cut(&mut self) -> Partition {
        let nodes = self.roles.len();
        let mut sides: Vec<usize> = (0..nodes).collect();
        self.rng.shuffle(&mut sides);
        let form = self.rng.u8(0..4);
        if form == 1 {
            sides.pop();
        }
        let split = self.rng.usize(1..sides.len());
        let (one, other) = sides.split_at(split);
        let links = match form {
            0 => Partition::one_way(one, other, nodes),
            _ => Partition::between(one, other, nodes),
        };
        if self.rng.u8(0..4) == 0 { links.flapping(self.seconds(0.5, 8.0)) } else { links }
    }
}
