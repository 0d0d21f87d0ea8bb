//! Faults that wait for a moment in the life of a leader.

use std::time::Duration;

use super::{Happening, World};
use crate::faults::{Fault, LeaderMoment, LeaderTrouble};
use crate::moment::Moment;
use crate::network::Partition;
use crate::paths::Path;

/// A leader is hit within this time after the moment.
const HIT_WITHIN: Duration = Duration::from_millis(20);

/// A fault that waits for its moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct ArmedFault {
    pub(in crate::world) cluster: u8,
    pub(in crate::world) when: LeaderMoment,
    pub(in crate::world) trouble: LeaderTrouble,
    /// The end of the phase in which faults come.
    pub(in crate::world) until: Moment,
}

impl World {
    /// A fault for a leader comes: it hits now, or waits for its moment.
    pub(in crate::world) fn hit_leader(&mut self, fault: ArmedFault) {
        if fault.when != LeaderMoment::Any {
            if let Some(log) = &mut self.log {
                log.armed.push(fault);
            }
            return;
        }
        let hosts = self.hosts_of(fault.cluster).into_iter();
        let leads = |host: &crate::log::Host| host.manager().is_some_and(|it| it.group().is_leader());
        let leader = hosts.filter(|(_, host)| leads(host)).map(|(index, _)| index).next();
        if let Some(leader) = leader {
            self.trouble(leader, self.kernel.now(), fault);
        }
    }

    /// The moment has come at this leader.
    pub(super) fn leader_moment(&mut self, index: usize, when: LeaderMoment) {
        let (now, cluster) = (self.kernel.now(), self.truth.nodes[index].cluster);
        let Some(log) = &mut self.log else { return };
        let fits = |it: &ArmedFault| it.cluster == cluster && it.when == when;
        let Some(at) = log.armed.iter().position(fits) else { return };
        let (fault, delay) = (log.armed.remove(at), HIT_WITHIN.mul_f64(log.rng.f64()));
        self.paths.take(match when {
            LeaderMoment::Any | LeaderMoment::Elected => Path::LeaderHitWhenElected,
            LeaderMoment::JointChange => Path::LeaderHitInJointChange,
            LeaderMoment::Snapshot => Path::LeaderHitWhileSendingSnapshot,
        });
        self.trouble(index, now.plus(delay), fault);
    }

    fn trouble(&mut self, node: usize, at: Moment, ArmedFault { trouble, until, .. }: ArmedFault) {
        let rest = |span: Duration| span.min(until.since(at));
        if at >= until {
            return;
        }
        match trouble {
            LeaderTrouble::Crash { how, back } => {
                self.plan(at, Fault::Crash { node, how });
                self.plan(at.plus(rest(back)), Fault::Restart { node });
            }
            LeaderTrouble::Pause(span) => self.plan(at, Fault::Pause { node, span: rest(span) }),
            LeaderTrouble::Stall(span) => self.plan(at, Fault::Stall { node, span: rest(span) }),
            LeaderTrouble::CutOff { number, span } => {
                let links = Partition::around(self.network.place_of(node), self.nodes.len());
                self.plan(at, Fault::Cut { number, links, span: rest(span) });
                self.kernel.at(at.plus(rest(span)), Happening::Fault(Fault::Mend { number }));
            }
        }
    }
}
