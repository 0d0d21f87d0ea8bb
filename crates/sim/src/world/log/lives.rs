//! Replicas start, find out what they are, crash and come back.

use std::time::Duration;

use hyperscale_consensus::register::Group;
use hyperscale_consensus::{Bootstrap, Decision, LogGroup, Member, RaftGroup, RaftId, Report, founding};
use hyperscale_types::{BootEpoch, NodeId, Role};

use super::{Happening, World};
use crate::jobs::{Office, Staff, Worker};
use crate::log::{Host, Journal, Letter, Stage};
use crate::process::Crash;
use crate::world::node::id_of;

/// How often a node that starts asks its peers again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How often managers and workers look at what is to be done.
pub(super) const DUTY: Duration = Duration::from_millis(200);

impl World {
    /// What a node keeps of the log before it first starts.
    pub(in crate::world) fn new_host(&mut self, role: Role) -> Option<Box<Host>> {
        let log = self.log.as_mut()?;
        (role != Role::Worker).then(|| Box::new(Host::new(log.new_directory())))
    }

    /// The disk of a node that is down breaks. Founders that are about to write down each other's directories are spared.
    pub(in crate::world) fn lose_disk(&mut self, index: usize) {
        let cluster = self.truth.nodes[index].cluster;
        let (Some(log), Some(host)) = (&mut self.log, &mut self.nodes[index].host) else { return };
        if log.frontier.contains_key(&cluster) {
            host.lose_disk(log.new_directory());
            self.recorder.note(self.kernel.now(), index, || "loses its disk".to_owned());
        }
    }

    /// A node's life begins.
    pub(in crate::world) fn start_log(&mut self, index: usize, boot: BootEpoch) {
        let Some(log) = &mut self.log else { return };
        if self.truth.nodes[index].role == Role::Worker {
            let bugs = log.setup.bugs().clone();
            let worker = Worker::new(id_of(index), boot, log.rng.usize(..64), bugs);
            self.nodes[index].worker = Some(Box::new(worker));
            return self.kernel.after(DUTY, Happening::Duty { node: index, boot });
        }
        let founders = self.founders(index);
        let host = self.nodes[index].host.as_mut().expect("every manager and gate has one");
        let loaded = host.disk.open();
        let peers = founders.len() + usize::from(!founders.contains(&index));
        let bootstrap = Bootstrap::new(id_of(index), host.directory, &loaded, peers)
            .expect("shapes have fewer than 9 founders");
        host.stage = Stage::Asking(Box::new(bootstrap));
        self.decide(index);
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
    }

    /// Who was configured to found the group with this node: the first nodes of its cluster.
    fn founders(&self, index: usize) -> Vec<usize> {
        let (role, cluster) = (self.truth.nodes[index].role, self.truth.nodes[index].cluster);
        let shape = &self.setup.shape;
        let count = if role == Role::Gate { shape.gates } else { shape.managers };
        let facts = self.truth.nodes.iter().enumerate();
        let peers = facts.filter(|(_, fact)| fact.cluster == cluster && fact.role == role);
        peers.map(|(index, _)| index).take(count).collect()
    }

    /// What a node that starts does with what it knows by now.
    fn decide(&mut self, index: usize) {
        let host = self.nodes[index].host.as_mut().expect("only hosts decide");
        let Stage::Asking(bootstrap) = &host.stage else { return };
        match bootstrap.decide() {
            Decision::Resume => {
                let id = host.raft_id.expect("whoever has a log has an id");
                self.open(index, id);
            }
            Decision::Found { founders, raft_id } => {
                host.disk.write_through(&founding(&founders));
                host.raft_id = Some(raft_id);
                self.open(index, raft_id);
            }
            // Added before its first message came: it goes on under the id it was given.
            Decision::Ask { .. } | Decision::Wait { .. } if host.raft_id.is_some() => {
                let id = host.raft_id.expect("just looked");
                self.open(index, id);
            }
            Decision::Ask { .. } | Decision::Wait { .. } => self.ask_peers(index),
        }
    }

    fn ask_peers(&mut self, index: usize) {
        for peer in self.founders(index) {
            if peer != index {
                self.post(index, id_of(peer), Letter::Ask);
            }
        }
        let boot = self.truth.nodes[index].process.boot;
        self.kernel.after(ASK_AGAIN, Happening::Asking { node: index, boot });
    }

    pub(in crate::world) fn asking(&mut self, index: usize, boot: BootEpoch) {
        let is_asking = |host: &Host| matches!(host.stage, Stage::Asking(_));
        if self.is_life(index, boot) && self.nodes[index].host.as_deref().is_some_and(is_asking) {
            self.ask_peers(index);
        }
    }

    /// Somebody asks what this node is.
    pub(super) fn asked(&mut self, index: usize, from: NodeId) {
        let Some(host) = &self.nodes[index].host else { return };
        let group = host.office().map(|office| &office.group);
        let members = group.map(|group| group.roster().members().copied().collect());
        let has_learners = group.is_some_and(|group| !group.configuration().learners.is_empty());
        let report = Report { node: id_of(index), directory: host.directory, members, has_learners };
        self.post(index, from, Letter::Report(report));
    }

    /// A peer says what it is.
    pub(super) fn reported(&mut self, index: usize, report: Report) {
        let Some(host) = &mut self.nodes[index].host else { return };
        let directory = host.directory;
        let Stage::Asking(bootstrap) = &mut host.stage else { return };
        let own = |member: &&Member| member.directory == directory;
        let added = report.members.iter().flatten().find(own).map(|member| member.raft_id);
        let heard = bootstrap.heard(report);
        let is_settled = matches!(bootstrap.decide(), Decision::Found { .. });
        debug_assert!(heard.is_ok(), "founders are different nodes");
        if is_settled {
            self.decide(index);
        } else if let Some(id) = added {
            self.nodes[index].host.as_mut().expect("it asks").raft_id = Some(id);
            self.open(index, id);
        }
    }

    /// The replica begins to take part.
    fn open(&mut self, index: usize, id: RaftId) {
        let (boot, role) = (self.truth.nodes[index].process.boot, self.truth.nodes[index].role);
        let now = self.nodes[index].clock.read(self.kernel.now());
        let Some(log) = &mut self.log else { return };
        let config = log.setup.config_of(role);
        let bugs = config.bugs.clone();
        let host = self.nodes[index].host.as_mut().expect("only hosts open");
        let loaded = host.disk.open();
        let kind = if role == Role::Gate { Group::Gates } else { Group::Managers };
        let machine = Journal::new(kind, bugs.clone());
        let group = match RaftGroup::open(now, config, id, loaded, machine) {
            Ok(group) => group,
            Err(error) => {
                let what = format!("cannot start from its disk: {error}");
                return self.judges.object("log_opens", self.kernel.now(), Some(index), what);
            }
        };
        let tick = group.next_tick();
        let staff = Staff { me: id_of(index), first_number: boot.0 << 32, seed: log.rng.u64(..), bugs };
        host.stage = Stage::Running(Box::new(Office::new(now, staff, group)));
        self.recorder.note(self.kernel.now(), index, || format!("takes part in the log as {id}"));
        let at = self.nodes[index].clock.moment_of(tick);
        self.kernel.at(at, Happening::Tick { node: index, boot });
        self.kernel.after(DUTY, Happening::Duty { node: index, boot });
        self.at_work(index, |_, _, _| {});
    }
}
