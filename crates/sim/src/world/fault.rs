//! Faults become true.

use std::time::Duration;

use hyperscale_cluster::worker::Readings;
use hyperscale_swim::Command;
use hyperscale_types::BootEpoch;

use super::log::ArmedFault;
use super::{Absence, Absent, Happening, World};
use crate::faults::Fault;
use crate::log::Disk;
use crate::moment::Moment;
use crate::process::{Crash, Version};

/// The thread above membership drains what waits in batches: an input costs it less when it is slow.
const CONTROL_SLOWDOWN_MAX: u32 = 400;

impl World {
    /// Lets it happen at that moment.
    pub fn plan(&mut self, at: Moment, fault: Fault) {
        self.kernel.at(at, Happening::Fault(fault));
    }

    pub(super) fn fault(&mut self, mut fault: Fault) {
        let now = self.kernel.now();
        if let Some(node) = fault.victim() {
            *node = self.network.present(*node);
        }
        match fault {
            Fault::Crash { node, how } => self.crash(node, how),
            Fault::Restart { node } => self.restart(node),
            Fault::StartBeside { node } => self.start_beside(node),
            Fault::Upgrade { node } => {
                // Another fault may have started it again meanwhile, with the old build.
                self.crash(node, Crash::Process);
                self.truth.nodes[node].process.version = Version::New;
                self.restart(node);
            }
            Fault::Replace { node, after } => {
                self.replace(node, after);
            }
            Fault::LoseDisk { node, after } => {
                self.crash(node, Crash::Machine);
                self.lose_disk(node);
                self.kernel.after(after, Happening::Start { node });
            }
            Fault::Kill { node } => self.end(node, Crash::Machine),
            Fault::Leave { node } => self.tell(node, Command::Leave),
            Fault::Drain { node } => self.ask_to_drain(node),
            Fault::Press { node, readings } => self.press_worker(node, readings),
            Fault::Pause { node, span } => {
                self.nodes[node].cpu.freeze(now.plus(span));
                self.nodes[node].control.freeze(now.plus(span));
                self.truth.disturbed_until(now.plus(span));
            }
            Fault::Sleep { node, span } => {
                self.nodes[node].cpu.sleep(now.plus(span));
                self.nodes[node].control.sleep(now.plus(span));
                self.truth.disturbed_until(now.plus(span));
            }
            Fault::Slow { node, factor, span } => {
                self.nodes[node].cpu.slow_down(factor, now.plus(span));
                self.nodes[node].control.slow_down(factor.min(CONTROL_SLOWDOWN_MAX), now.plus(span));
                self.truth.disturbed_until(now.plus(span));
            }
            Fault::Jump { node, by } => {
                self.jump(node, by);
                self.truth.disturbed_until(now);
            }
            Fault::Cut { number, links, span } => {
                self.network.cut(number, links);
                self.truth.disturbed_until(now.plus(span));
            }
            Fault::Mend { number } => self.network.mend(number),
            Fault::Spike { extra, span } => {
                self.network.spike(now.plus(span), extra);
                self.truth.disturbed_until(now.plus(span + extra));
            }
            Fault::Stall { node, span } => self.on_disk(node, |disk| disk.stall(now.plus(span))),
            Fault::Fill { node, span } => self.on_disk(node, |disk| disk.fill(now.plus(span))),
            Fault::HitLeader { cluster, when, trouble, until } => {
                self.hit_leader(ArmedFault { cluster, when, trouble, until });
            }
            Fault::HitFounder { node, when, back } => self.hit_founder(node, when, back),
            Fault::Rotate => self.rotate(),
            Fault::Heal { absent } => self.heal(&absent),
        }
    }

    /// Starts a node again. One that is still on its way starts when it is there.
    fn restart(&mut self, node: usize) {
        let stays_away = self.truth.absent.contains(&node);
        if self.truth.nodes[node].process.boot > BootEpoch(0) && !stays_away {
            self.start(node);
        }
    }

    /// A clock jumps, and the timers that wait for it with it: they are late now, not when they would have been due.
    fn jump(&mut self, node: usize, by: Duration) {
        self.nodes[node].clock.jump(self.kernel.now(), by);
        let clock = self.nodes[node].clock;
        self.kernel.reschedule(|happening| match happening {
            Happening::Timer { node: whose, at, .. } | Happening::CrossTimer { node: whose, at, .. }
                if *whose == node =>
            {
                Some(clock.moment_of(*at))
            }
            _ => None,
        });
    }

    fn on_disk(&mut self, node: usize, work: impl FnOnce(&mut Disk)) {
        if let Some(host) = &mut self.nodes[node].host {
            work(&mut host.disk);
        }
    }

    fn heal(&mut self, absent: &Absent) {
        let now = self.kernel.now();
        self.network.heal();
        self.registry.is_silent = true;
        (self.truth.calm_from, self.truth.still_from) = (now, now);
        self.truth.absent = absent.nodes.iter().copied().collect();
        self.note_absence(absent);
        if absent.how == Absence::CutOff {
            self.network.cut_off(&absent.nodes);
        }
        for node in 0..self.nodes.len() {
            self.on_disk(node, Disk::heal);
            self.press_worker(node, Readings::default());
            if absent.how == Absence::Dead && self.truth.absent.contains(&node) {
                self.crash(node, Crash::Machine);
            } else {
                self.start(node);
            }
        }
    }
}

#[cfg(test)]
mod tests;
