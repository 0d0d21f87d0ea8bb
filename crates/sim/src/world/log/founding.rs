//! Groups are founded: what is demanded of that, who is hit in the middle of it, and what the operator does when it fails.
//!
//! A founding is complete when all founders have acknowledged it (ADR 32). One of them that loses its disk before leaves the
//! others with a founding that nobody can complete. The operator is told so, looks at all directories of the group, and if none
//! of them ever took part empties all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_consensus::WaitReason;
use hyperscale_consensus::replica::ReplicaMessage;
use hyperscale_consensus::storage::{Batch, Loaded};

use super::World;
use crate::faults::{Fault, FounderMoment};
use crate::invariants::Logged;
use crate::log::Host;
use crate::paths::Path;
use crate::process::Crash;

/// A founder is hit within this time after it told the others that it acknowledges, or was told so: about as long as a
/// sync takes.
const HIT_WITHIN: Duration = Duration::from_millis(2);
/// Index of the state that a group begins with.
const FOUNDING: u64 = 1;

/// What the world knows of groups that are founded.
#[derive(Debug, Default)]
pub(super) struct Foundings {
    /// Replicas that wait for the operator, and why.
    waiting: BTreeMap<usize, WaitReason>,
    /// Groups in which a disk was lost or a member replaced.
    disturbed: BTreeSet<u8>,
    /// Founders that die at a moment of the founding, and for how long.
    armed: BTreeMap<usize, (FounderMoment, Duration)>,
}

impl World {
    /// From now on a founding of this node's group may fail.
    pub(in crate::world) fn disturb_founding(&mut self, index: usize) {
        let cluster = self.truth.nodes[index].cluster;
        if let Some(log) = &mut self.log {
            log.foundings.disturbed.insert(cluster);
        }
    }

    /// A life begins or ends: it waits for nothing.
    pub(super) fn forget_waiting(&mut self, index: usize) {
        if let Some(log) = &mut self.log {
            log.foundings.waiting.remove(&index);
        }
    }

    /// A replica waits for the operator. All nodes are started with the same peers, so that all founders acknowledge the same
    /// founding as long as they keep their directories: nobody has to be helped before one was lost or replaced.
    pub(super) fn waits(&mut self, index: usize, reason: WaitReason) {
        let cluster = self.truth.nodes[index].cluster;
        let Some(log) = &mut self.log else { return };
        log.foundings.waiting.insert(index, reason);
        self.recorder.note(self.kernel.now(), index, || format!("waits: {reason}"));
        if reason == WaitReason::OtherFounding && !log.foundings.disturbed.contains(&cluster) {
            let what = "founders acknowledged different foundings though all have their disks".to_owned();
            self.judges.object("founding", self.kernel.now(), Some(index), what);
        }
    }

    /// A founder writes down the founding that it acknowledges. It must name all peers that it was started with.
    pub(super) fn judge_founding(&mut self, index: usize, batch: &Batch) {
        let Some(written) = &batch.snapshot else { return };
        let is_acknowledgement =
            written.snapshot.index == FOUNDING && batch.hard_state.is_some_and(|state| state.commit == 0);
        let (founders, named) = (self.founders(index), written.snapshot.configuration.voters.len());
        if is_acknowledgement && founders.contains(&index) && named != founders.len() {
            let what = format!("founds with {named} of {} peers", founders.len());
            self.judges.object("founding", self.kernel.now(), Some(index), what);
        }
    }

    /// This founder dies when the moment comes.
    pub(in crate::world) fn hit_founder(&mut self, index: usize, when: FounderMoment, back: Duration) {
        if let Some(log) = &mut self.log {
            log.foundings.armed.insert(index, (when, back));
        }
    }

    /// A founder sends a report, or hears one.
    pub(super) fn founder_moment(&mut self, index: usize, when: FounderMoment, message: &ReplicaMessage) {
        let ReplicaMessage::BootstrapReport(report) = message else { return };
        let Some(log) = &mut self.log else { return };
        if report.state.members().is_empty() {
            return;
        }
        let armed = log.foundings.armed.get(&index).copied();
        let Some((_, back)) = armed.filter(|(armed, _)| *armed == when) else { return };
        log.foundings.armed.remove(&index);
        let at = self.kernel.now().plus(HIT_WITHIN.mul_f64(log.rng.f64()));
        if when == FounderMoment::OtherAcknowledged {
            return self.plan(at, Fault::LoseDisk { node: index, after: back });
        }
        self.plan(at, Fault::Crash { node: index, how: Crash::Process });
        self.plan(at.plus(back), Fault::Restart { node: index });
    }

    /// The operator helps founders that wait, if nothing was ever decided: the directories of all of them are emptied.
    pub(super) fn empty_founders(&mut self, cluster: u8) {
        let Some(log) = &self.log else { return };
        let hosts: Vec<(usize, &Host)> = self.all_hosts_of(cluster).collect();
        let is_stuck = |index: &usize| {
            log.foundings.waiting.get(index) == Some(&WaitReason::OtherFounding) && self.truth.runs(*index)
        };
        let took_part = |host: &Host| host.manager().is_some() || took_part(host.disk.durable());
        if !hosts.iter().any(|(index, _)| is_stuck(index)) || hosts.iter().any(|(_, host)| took_part(host)) {
            return;
        }
        let all: Vec<usize> = hosts.into_iter().map(|(index, _)| index).collect();
        self.paths.take(Path::FoundingAbandoned);
        if let Some(first) = all.first() {
            self.show_log(*first, Logged::FoundingAbandoned { cluster });
        }
        for index in all {
            let was_up = self.truth.nodes[index].process.is_up();
            self.crash(index, Crash::Process);
            self.empty_directory(index);
            if was_up {
                self.start(index);
            }
        }
    }

    fn empty_directory(&mut self, index: usize) {
        let (Some(log), Some(host)) = (&mut self.log, &mut self.nodes[index].host) else { return };
        host.lose_disk(log.new_directory());
        self.recorder
            .note(self.kernel.now(), index, || "its directory is emptied by the operator".to_owned());
    }
}

/// Whether a directory is that of a replica which took part in its group, and may have voted or decided something.
fn took_part(durable: &Loaded) -> bool {
    !durable.entries.is_empty()
        || durable.snapshot.index > FOUNDING
        || durable.hard_state.commit > 0
        || durable.hard_state.term > FOUNDING
}
