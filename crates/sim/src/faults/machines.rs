//! Trouble of single machines: clocks that jump, processes that are stopped, processors that are slow.

use std::time::Duration;

use super::{Draw, Fault};

/// Farthest jump of a clock: less than what leases leave between holder and granter.
const JUMP_MAX_S: f64 = 0.5;
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_mins(1);

impl Draw<'_> {
    pub(super) fn clock_jumps(&mut self) {
        for _ in 0..self.rng.usize(1..=4) {
            let (at, node, by) = (self.moment(), self.any_node(), self.seconds(0.01, JUMP_MAX_S));
            self.add(at, Fault::Jump { node, by });
        }
    }

    /// Mostly short, sometimes up to a minute.
    pub(super) fn pauses(&mut self) {
        for _ in 0..self.rng.usize(1..=8) {
            let longest = if self.rng.u8(0..4) == 0 { PAUSE_MAX } else { PAUSE_MAX / 6 };
            let (at, node) = (self.moment(), self.any_node());
            let span = longest.mul_f64(self.rng.f64());
            let span = self.within(at, span);
            self.add(at, Fault::Pause { node, span });
        }
    }

    pub(super) fn sleeps(&mut self) {
        for _ in 0..self.rng.usize(1..=3) {
            let (at, node) = (self.moment(), self.any_node());
            let span = PAUSE_MAX.mul_f64(self.rng.f64());
            let span = self.within(at, span);
            self.add(at, Fault::Sleep { node, span });
        }
    }

    pub(super) fn slow_cpu(&mut self) {
        for _ in 0..self.rng.usize(1..=4) {
            let (at, node, span) = (self.moment(), self.any_node(), self.seconds(5.0, 60.0));
            let factor = self.rng.u32(50..5000);
            let span = self.within(at, span);
            self.add(at, Fault::Slow { node, factor, span });
        }
    }
}
