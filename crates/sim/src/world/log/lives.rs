//! Replicas start, find out what they are, crash and come back.

use std::time::Duration;

use hyperscale_consensus::register::{Group, VERSION};
use hyperscale_consensus::replica::{Input, Options, Replica};
use hyperscale_types::{BootEpoch, Role};

use super::{Happening, World};
use crate::jobs::{Voter, VoterOptions, WorkerHost};
use crate::log::journal::NEWER;
use crate::log::{Host, Journal, Stage};
use crate::paths::Path;
use crate::process::{Crash, Version};
use crate::world::Fact;
use crate::world::node::{addresses_of, id_of};

/// How long blobs are kept that nothing names: short, so that it ends within a seed, and longer than anybody takes to name one.
const BLOB_GRACE: Duration = Duration::from_secs(30);
/// How long an operator takes to update a node that has stopped because it is too old.
const UPDATE_AFTER: Duration = Duration::from_secs(2);
/// How often gates look at what is to be done.
pub(super) const DUTY: Duration = Duration::from_millis(200);

impl World {
    /// What a node keeps of the log before it first starts.
    pub(in crate::world) fn new_host(&mut self, role: Role) -> Option<Box<Host>> {
        let log = self.log.as_mut()?;
        (role != Role::Worker).then(|| Box::new(Host::new(log.new_directory())))
    }

    /// The disk of a node that is down breaks.
    pub(in crate::world) fn lose_disk(&mut self, index: usize) {
        let (Some(log), Some(host)) = (&mut self.log, &mut self.nodes[index].host) else { return };
        host.lose_disk(log.new_directory());
        self.disturb_founding(index);
        self.recorder.note(self.kernel.now(), index, || "loses its disk".to_owned());
        self.note_lost_disk(index);
    }

    /// A node's life begins.
    pub(in crate::world) fn start_log(&mut self, index: usize, boot: BootEpoch) {
        self.forget_waiting(index);
        let Some(log) = &mut self.log else { return };
        if self.truth.nodes[index].role == Role::Worker {
            let (seed, bugs) = (log.rng.u64(..), log.setup.bugs.clone());
            self.nodes[index].worker = Some(Box::new(WorkerHost::new(boot, seed, bugs)));
            return self.reach_managers(index);
        }
        let founders = self.founders(index);
        let now = self.nodes[index].clock.read(self.kernel.now());
        let Fact { role, process, .. } = self.truth.nodes[index];
        let log = self.log.as_mut().expect("just looked");
        let config = log.setup.config_of(role);
        let (bugs, seed) = (log.setup.bugs.clone(), log.rng.u64(..));
        let host = self.nodes[index].host.as_mut().expect("every manager and gate has one");
        let options = Options {
            node: id_of(index),
            directory: host.directory,
            addresses: addresses_of(index),
            peers: founders.len() + usize::from(!founders.contains(&index)),
            boot,
            first_number: boot.0 << 32,
            version: log_version(process.version),
            blobs: host.blobs.keys().copied().collect(),
            blob_grace: BLOB_GRACE,
            config,
        };
        let group = if role == Role::Gate { Group::Gates } else { Group::Managers };
        let machine = Journal::new(group, options.version, bugs.consensus.clone());
        let mut outputs = Vec::new();
        let replica = Replica::start(now, options, host.disk.open(), machine, &mut outputs);
        let options = VoterOptions { me: id_of(index), first_number: boot.0 << 32, seed, bugs };
        host.stage = Stage::Running(Box::new(Voter::new(now, group, options, replica, outputs)));
        host.timer = None;
        if role == Role::Gate {
            self.kernel.after(DUTY, Happening::Duty { node: index, boot });
        }
        self.at_work(index, |manager, now| {
            for peer in founders.into_iter().filter(|peer| *peer != index) {
                manager.input(now, Input::PeerReached(id_of(peer)));
            }
        });
    }

    /// A process ended, or its machine did.
    pub(in crate::world) fn crash_log(&mut self, index: usize, how: Crash) {
        self.nodes[index].worker = None;
        let (Some(log), Some(host)) = (&mut self.log, &mut self.nodes[index].host) else { return };
        host.stage = Stage::Off;
        match how {
            Crash::Process => host.disk.abandon(),
            Crash::Machine => host.disk.crash(log.setup.frailty, &mut log.rng),
        }
        if self.hosts_of(self.truth.nodes[index].cluster).is_empty() {
            self.paths.take(Path::WholeGroupDown);
        }
    }

    /// Who was configured to found the group with this node: the first nodes of its cluster.
    pub(super) fn founders(&self, index: usize) -> Vec<usize> {
        let (role, cluster) = (self.truth.nodes[index].role, self.truth.nodes[index].cluster);
        let shape = &self.setup.shape;
        let count = if role == Role::Gate { shape.gates } else { shape.managers };
        let facts = self.truth.nodes.iter().enumerate();
        let peers = facts.filter(|(_, fact)| fact.cluster == cluster && fact.role == role);
        peers.map(|(index, _)| index).take(count).collect()
    }

    /// A build that is too old for what the group has agreed on is replaced by the present one.
    pub(super) fn update_build(&mut self, index: usize) {
        if self.truth.nodes[index].process.version == Version::Old {
            self.truth.nodes[index].process.version = Version::New;
            self.recorder.note(self.kernel.now(), index, || "is too old and is updated".to_owned());
            let boot = self.truth.nodes[index].process.boot;
            self.kernel.after(UPDATE_AFTER, Happening::Update { node: index, boot });
        }
    }

    /// The present build is there: the process starts anew with it.
    pub(in crate::world) fn updated(&mut self, index: usize, boot: BootEpoch) {
        if self.is_life(index, boot) {
            self.crash(index, Crash::Process);
            self.start(index);
        }
    }
}

/// The newest version of commands that a build understands.
pub(super) fn log_version(build: Version) -> u32 {
    match build {
        Version::Old => VERSION,
        Version::New => NEWER,
    }
}
