//! Nodes of the model: they start, die, and are cut off.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_cluster::manager::{self, Manager};
use hyperscale_cluster::worker::{self, Worker};
use hyperscale_consensus::register::{Clocks, Group, Register, VERSION};
use hyperscale_consensus::replica::{self, Replica};
use hyperscale_consensus::storage::{LogStorage, Loss};
use hyperscale_consensus::{Config, DirectoryId};
use hyperscale_types::{BootEpoch, NodeId, Now};

use super::{Cluster, ManagerNode, WorkerNode, addresses};

impl Cluster {
    pub(crate) fn start_manager(&mut self, node: NodeId) {
        self.numbers += 1;
        let life = self.numbers;
        let disk = self.disks.entry(node).or_default();
        disk.crash(Loss::All);
        let loaded = disk.load().unwrap();
        let blobs = self.blobs.entry(node).or_default().keys().copied().collect();
        let config = Config { seed: node.get() * 31 + life, ..Config::lan() };
        let options = replica::Options {
            node,
            directory: DirectoryId([node.get() as u8; 16]),
            addresses: addresses(node),
            boot: BootEpoch(life),
            peers: 3,
            first_number: life << 32,
            version: VERSION,
            blobs,
            blob_grace: Duration::from_mins(1),
            config,
        };
        let (mut outputs, mut out) = (Vec::new(), Vec::new());
        let register = Register::new(Group::Managers).with_sizes(self.sizes);
        let replica = Replica::start(self.now, options, loaded, register, &mut outputs);
        let clocks = self.clocks.remove(&node).unwrap_or_default();
        let options = manager::Options { clocks, ..manager::Options::lan(node, life << 32, life) };
        let core = Manager::start(self.now, options, replica, outputs, &mut out);
        self.managers.insert(node, ManagerNode { core, life, timer: Now::ZERO });
        self.manager_outputs(node, out);
        let others: Vec<NodeId> = self.managers.keys().filter(|it| **it != node).copied().collect();
        for other in others {
            for (one, two) in [(node, other), (other, node)] {
                self.tell(one, replica::Input::PeerReached(two));
                self.tell(one, replica::Input::PeerVersion { node: two, version: VERSION });
                self.soon_manager(one, manager::Input::Alive(two));
            }
        }
        let workers: Vec<NodeId> = self.workers.keys().copied().collect();
        for it in workers {
            self.soon_worker(it, worker::Input::ManagerSeen(node));
        }
    }

    pub(crate) fn start_worker(&mut self, node: NodeId, cores: u32) {
        self.start_worker_with(node, cores, &[]);
    }

    /// A worker that can something beyond what every worker can.
    pub(crate) fn start_worker_with(&mut self, node: NodeId, cores: u32, capabilities: &[&str]) {
        self.numbers += 1;
        let life = self.numbers;
        let capabilities = capabilities.iter().map(|it| (*it).to_owned()).collect();
        let options = worker::Options { capabilities, ..worker::Options::new(BootEpoch(life), cores, life) };
        let core = Worker::new(options);
        self.workers.insert(node, WorkerNode { core, life, attempts: BTreeMap::new(), lease: Now::ZERO });
        let managers: Vec<NodeId> = self.managers.keys().copied().collect();
        for manager in managers {
            self.soon_worker(node, worker::Input::ManagerSeen(manager));
        }
    }

    /// A manager's process is gone; membership notices at once.
    pub(crate) fn kill_manager(&mut self, node: NodeId) {
        if let Some(it) = self.managers.remove(&node) {
            self.clocks.insert(node, Clocks::kept_at(self.now, it.core.clocks().keep(self.now)));
        }
        let (managers, workers): (Vec<_>, Vec<_>) =
            (self.managers.keys().copied().collect(), self.workers.keys().copied().collect());
        for it in managers {
            self.soon_manager(it, manager::Input::Died(node));
        }
        for it in workers {
            self.soon_worker(it, worker::Input::ManagerGone(node));
        }
    }

    /// A worker's process is gone, and its load with it.
    pub(crate) fn kill_worker(&mut self, node: NodeId) {
        self.workers.remove(&node);
    }

    /// Nobody reaches the node any more; nobody notices anything else.
    pub(crate) fn cut(&mut self, node: NodeId) {
        self.cut.insert(node);
    }

    /// Two nodes do not reach each other, until the link is healed.
    pub(crate) fn cut_link(&mut self, one: NodeId, two: NodeId) {
        self.cut_links.insert((one, two));
    }

    pub(crate) fn heal_link(&mut self, one: NodeId, two: NodeId) {
        self.cut_links.remove(&(one, two));
    }

    /// The machine of a worker is under this pressure from now on.
    pub(crate) fn press_worker(&mut self, node: NodeId, readings: worker::Readings) {
        self.soon_worker(node, worker::Input::Readings(readings));
    }

    /// A manager is this busy from now on.
    pub(crate) fn press_manager(&mut self, node: NodeId, busy: manager::Busy) {
        self.soon_manager(node, manager::Input::Busy(busy));
    }

    /// A worker is asked to take nothing new.
    pub(crate) fn drain_worker(&mut self, node: NodeId) {
        self.soon_worker(node, worker::Input::Drain);
    }
}
