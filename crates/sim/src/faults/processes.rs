//! Trouble of processes: crashes of minorities and of everybody, restarts in turn, deaths, replacements, upgrades.

use std::time::Duration;

use hyperscale_cluster::worker::Readings;
use hyperscale_types::Role;

use super::{Draw, Fault, FaultKind, FounderMoment};
use crate::moment::Moment;
use crate::process::Crash;

/// Longest pause between two restarts of a rolling one.
const ROLLING_PAUSE: Duration = Duration::from_secs(3);
/// Share of workers that are killed.
const KILLED: f64 = 0.3;

impl Draw<'_> {
    /// Some minority of each voter set dies at once and comes back.
    pub(super) fn minority_crash(&mut self) {
        for set in self.voter_sets() {
            let at = self.moment();
            let most = (set.len() - 1) / 2;
            let count = self.rng.usize(1..=most.max(1));
            for node in self.some_of(set, count) {
                let back = at.plus(self.seconds(1.0, 60.0));
                let how = self.how();
                self.add(at, Fault::Crash { node, how });
                self.add(back, Fault::Restart { node });
            }
        }
    }

    /// Every node is restarted once, one after the other.
    pub(super) fn rolling_restart(&mut self) {
        let from = self.early_moment();
        self.one_after_the_other(from, |node| Fault::Restart { node });
    }

    /// The shared secret changes: everybody is restarted once to learn the new one and accepts the old one too. When all
    /// have, the old one is retired: whoever starts from then on does not accept it any more.
    pub(super) fn key_rotation(&mut self) {
        let from = self.early_moment();
        self.add(from, Fault::Rotate);
        let done = self.one_after_the_other(from, |node| Fault::Restart { node });
        self.add(done, Fault::Rotate);
    }

    /// Ends every node and brings it back in turn, all of them within the phase; when the last one is back.
    fn one_after_the_other(&mut self, from: Moment, back: impl Fn(usize) -> Fault) -> Moment {
        let room = Moment::ZERO.plus(self.until).since(from);
        let pause = ROLLING_PAUSE.min(room / (self.roles.len() as u32 + 1));
        let (mut at, mut last) = (from, from);
        for node in 0..self.roles.len() {
            self.add(at, Fault::Crash { node, how: Crash::Process });
            let returns = at.plus(self.seconds(0.1, 2.0).min(pause));
            self.add(returns, back(node));
            at = at.plus(pause);
            last = last.max(returns);
        }
        last
    }

    /// A whole voter set loses its power and keeps its disks.
    pub(super) fn power_loss(&mut self) {
        let sets = self.voter_sets();
        let set = sets[self.rng.usize(..sets.len())].clone();
        let at = self.moment();
        for node in set {
            self.add(at, Fault::Crash { node, how: Crash::Machine });
            let back = at.plus(self.seconds(1.0, 20.0));
            self.add(back, Fault::Restart { node });
        }
    }

    /// Three of ten workers die, half of them for ever.
    pub(super) fn killed_workers(&mut self) {
        let workers = self.workers();
        let count = (workers.len() as f64 * KILLED).ceil() as usize;
        for node in self.some_of(workers, count) {
            let at = self.moment();
            if self.rng.bool() {
                self.add(at, Fault::Kill { node });
            } else {
                let how = self.how();
                self.add(at, Fault::Crash { node, how });
                let back = at.plus(self.seconds(1.0, 40.0));
                self.add(back, Fault::Restart { node });
            }
        }
    }

    /// One node of each voter set is replaced by a new one, or loses its disk. A group has to take that in before the next one:
    /// of three voters two must have their disks.
    pub(super) fn replacement(&mut self) {
        // Founders that lose their disks are the ones to be replaced then.
        if self.kinds.has(FaultKind::FounderFaults) {
            return;
        }
        for set in self.voter_sets() {
            let (at, node) = (self.moment(), set[self.rng.usize(..set.len())]);
            // Sometimes the new machine takes its time.
            let after = if self.rng.bool() { self.seconds(1.0, 3.0) } else { self.seconds(3.0, 40.0) };
            let is_new = self.rng.bool();
            self.add(
                at,
                if is_new { Fault::Replace { node, after } } else { Fault::LoseDisk { node, after } },
            );
        }
    }

    /// One founder of each voter set loses its disk while the group is founded, or soon after; or it dies while the others
    /// found the group with it, often right after it acknowledged or before, and comes back when they have decided something.
    pub(super) fn founder_faults(&mut self) {
        for set in self.voter_sets() {
            let node = set[self.rng.usize(..set.len())];
            if self.rng.bool() {
                let is_own = self.rng.bool();
                let when =
                    if is_own { FounderMoment::Acknowledged } else { FounderMoment::OtherAcknowledged };
                let back = self.seconds(4.0, 10.0);
                self.add(Moment::ZERO, Fault::HitFounder { node, when, back });
                continue;
            }
            if self.rng.bool() {
                let at = Moment::ZERO.plus(self.seconds(1.0, 2.6));
                self.add(at, Fault::Crash { node, how: Crash::Process });
                let back = at.plus(self.seconds(4.0, 10.0));
                self.add(back, Fault::Restart { node });
                continue;
            }
            let early = self.rng.bool();
            let at = if early { self.seconds(0.1, 3.5) } else { self.seconds(3.5, 14.0) };
            let after = self.seconds(0.1, 8.0);
            self.add(Moment::ZERO.plus(at), Fault::LoseDisk { node, after });
        }
    }

    /// Everybody gets the new version, one after the other, while both are in use.
    pub(super) fn upgrade(&mut self) {
        let from = self.early_moment();
        self.one_after_the_other(from, |node| Fault::Upgrade { node });
    }

    /// A few workers are started a second time while their first process runs on.
    pub(super) fn second_process(&mut self) {
        let (workers, count) = (self.workers(), self.rng.usize(1..=4));
        for node in self.some_of(workers, count) {
            let at = self.moment();
            self.add(at, Fault::StartBeside { node });
        }
    }

    /// Some workers go and say so.
    pub(super) fn leave(&mut self) {
        let (workers, count) = (self.workers(), self.rng.usize(1..=3));
        for node in self.some_of(workers, count) {
            let at = self.moment();
            self.add(at, Fault::Leave { node });
        }
    }

    /// An operator has some workers drained.
    pub(super) fn drains(&mut self) {
        let (workers, count) = (self.workers(), self.rng.usize(1..=4));
        for node in self.some_of(workers, count) {
            let at = self.moment();
            self.add(at, Fault::Drain { node });
        }
    }

    /// Machines of some workers are busy with other things, or short of memory, for a while.
    pub(super) fn worker_pressure(&mut self) {
        let (workers, count) = (self.workers(), self.rng.usize(1..=6));
        for node in self.some_of(workers, count) {
            let at = self.moment();
            let (cpu_percent, memory_percent) = (self.rng.u8(50..=100), self.rng.u8(70..=100));
            let readings = Readings { cpu_percent, memory_percent, lhm: self.rng.u8(..8) };
            self.add(at, Fault::Press { node, readings });
            let span = self.seconds(1.0, 40.0);
            let end = at.plus(self.within(at, span));
            self.add(end, Fault::Press { node, readings: Readings::default() });
        }
    }

    fn workers(&self) -> Vec<usize> {
        let is_worker = |index: &usize| self.roles[*index].0 == Role::Worker;
        (0..self.roles.len()).filter(is_worker).collect()
    }

    fn how(&mut self) -> Crash {
        if self.rng.bool() { Crash::Process } else { Crash::Machine }
    }
}
