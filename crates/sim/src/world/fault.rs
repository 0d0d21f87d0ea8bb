//! Faults become true.

use std::time::Duration;

use hyperscale_swim::Command;

use super::{Happening, World};
use crate::faults::Fault;
use crate::moment::Moment;
use crate::process::{Crash, Version};

/// When a replacement starts after the node it replaces has ended.
const REPLACED_AFTER: Duration = Duration::from_secs(2);

impl World {
    /// Lets it happen at that moment.
    pub fn plan(&mut self, at: Moment, fault: Fault) {
        self.kernel.at(at, Happening::Fault(fault));
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        let now = self.kernel.now();
        match fault {
            Fault::Crash { node, how } => self.crash(node, how),
            Fault::Restart { node } => self.start(node),
            Fault::Upgrade { node } => {
                self.truth.nodes[node].process.version = Version::New;
                self.start(node);
            }
            Fault::Replace { node } => {
                let (role, cluster) = (self.truth.nodes[node].role, self.truth.nodes[node].cluster);
                self.end(node, Crash::Machine);
                self.add(role, cluster, REPLACED_AFTER);
            }
            Fault::Kill { node } => self.end(node, Crash::Machine),
            Fault::Leave { node } => self.tell(node, Command::Leave),
            Fault::Pause { node, span } => {
                self.nodes[node].cpu.freeze(now.plus(span));
                self.truth.disturbed_until(now.plus(span));
            }
            Fault::Sleep { node, span } => {
                self.nodes[node].cpu.sleep(now.plus(span));
                self.truth.disturbed_until(now.plus(span));
            }
            Fault::Slow { node, factor, span } => {
                self.nodes[node].cpu.slow_down(factor, now.plus(span));
                self.truth.disturbed_until(now.plus(span));
            }
            Fault::Jump { node, by } => {
                self.nodes[node].clock.jump(now, by);
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
            Fault::Heal => self.heal(),
        }
    }

    fn heal(&mut self) {
        let now = self.kernel.now();
        self.network.heal();
        self.registry.is_silent = true;
        (self.truth.calm_from, self.truth.still_from) = (now, now);
        for node in 0..self.nodes.len() {
            self.start(node);
        }
    }
}
