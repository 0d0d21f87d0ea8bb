//! Trouble of the disks of voters: syncs that take long, power that fails meanwhile, no room.

use super::{Draw, Fault};
use crate::process::Crash;

impl Draw<'_> {
    pub(super) fn sync_stalls(&mut self) {
        for _ in 0..self.rng.usize(1..=6) {
            let (at, node, span) = (self.moment(), self.any_voter(), self.seconds(0.05, 8.0));
            let span = self.within(at, span);
            self.add(at, Fault::Stall { node, span });
        }
    }

    /// A disk is slow, and then the power fails: what waits for the disk is lost, or half of it is.
    pub(super) fn power_fails_while_writing(&mut self) {
        for _ in 0..self.rng.usize(1..=4) {
            let (at, node, span) = (self.moment(), self.any_voter(), self.seconds(0.01, 1.0));
            self.add(at, Fault::Stall { node, span });
            let fails = at.plus(span.mul_f64(self.rng.f64()));
            self.add(fails, Fault::Crash { node, how: Crash::Machine });
            let back = fails.plus(self.seconds(0.2, 10.0));
            self.add(back, Fault::Restart { node });
        }
    }

    pub(super) fn full_disk(&mut self) {
        for _ in 0..self.rng.usize(1..=3) {
            let (at, node, span) = (self.moment(), self.any_voter(), self.seconds(1.0, 30.0));
            let span = self.within(at, span);
            self.add(at, Fault::Fill { node, span });
        }
    }

    fn any_voter(&mut self) -> usize {
        let voters: Vec<usize> = self.voter_sets().into_iter().flatten().collect();
        voters[self.rng.usize(..voters.len())]
    }
}
