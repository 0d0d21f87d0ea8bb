//! Trouble between nodes: weather of the whole network, spikes, cuts.

use std::time::Duration;

use fastrand::Rng;

use super::{Draw, Fault, FaultKind, FaultKinds};
use crate::moment::Moment;
use crate::network::{Partition, Weather};
use crate::process::Crash;

/// Cuts of a seed that has any.
const CUTS: usize = 3;
/// Who is stopped for so long is accused, and has time to contradict: less than the shortest suspicion.
const ACCUSED_AFTER: Duration = Duration::from_secs(4);
/// Who died was declared dead after this time, mostly.
const DECLARED_DEAD_AFTER: Duration = Duration::from_secs(13);

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
            if self.rng.bool() {
                self.death_behind_cut(at, span);
            }
        }
    }

    /// Stops a node during a partition long enough to be suspected, lets it refute the suspicion, and kills it early enough that
    /// its own side declares it dead before the partition heals. The other side has declared an older incarnation dead.
    fn death_behind_cut(&mut self, cut: Moment, span: Duration) {
        let (node, back) = (self.any_node(), self.seconds(5.0, 20.0));
        let accused = cut.plus(span.mul_f64(0.1));
        let dies = accused.plus(ACCUSED_AFTER * 2);
        if dies.plus(DECLARED_DEAD_AFTER) > cut.plus(span) {
            return;
        }
        self.add(accused, Fault::Pause { node, span: ACCUSED_AFTER });
        self.add(dies, Fault::Crash { node, how: Crash::Process });
        self.add(cut.plus(span + back), Fault::Restart { node });
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
