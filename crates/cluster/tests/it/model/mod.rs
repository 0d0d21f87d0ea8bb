//! A cluster in one thread: managers on disks in memory, workers on a model of the engine, a network that may lose, double, delay
//! and reorder messages.

mod client;
mod network;
mod nodes;
mod outputs;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_cluster::bundle::Bundle;
use hyperscale_cluster::manager::{self, Manager, RequestNumber, Response};
use hyperscale_cluster::message::{JobAttempt, ToManager};
use hyperscale_cluster::model::Attempt;
use hyperscale_cluster::worker::{self, Worker};
use hyperscale_consensus::register::{Clocks, JobId, Register, Sizes};
use hyperscale_consensus::storage::MemoryDisk;
use hyperscale_consensus::{Addresses, BlobId, replica};
use hyperscale_stats::event::Event;
use hyperscale_types::{NodeId, Now};

pub(crate) use network::Network;

/// Between something that happens inside of a node and its consequences.
const SOON: Duration = Duration::from_millis(1);
/// How long a write takes.
const WRITE: Duration = Duration::from_millis(1);
pub(crate) const WORKER_LEASE: Duration = Duration::from_secs(15);

struct ManagerNode {
    core: Manager<Register>,
    life: u64,
    timer: Now,
}

struct WorkerNode {
    core: Worker,
    life: u64,
    attempts: BTreeMap<JobAttempt, Attempt>,
    lease: Now,
}

enum Happening {
    Manager(NodeId, u64, manager::Input),
    ManagerTimer(NodeId, u64, Now),
    Worker(NodeId, u64, worker::Input),
    Step(NodeId, u64, JobAttempt),
}

/// Everything.
pub(crate) struct Cluster {
    pub(crate) now: Now,
    queue: BTreeMap<(Now, u64), Happening>,
    network: Network,
    sizes: Sizes,
    numbers: u64,
    managers: BTreeMap<NodeId, ManagerNode>,
    workers: BTreeMap<NodeId, WorkerNode>,
    disks: BTreeMap<NodeId, MemoryDisk>,
    /// What the clocks of managers showed when their processes ended: hosts keep it.
    clocks: BTreeMap<NodeId, Clocks>,
    blobs: BTreeMap<NodeId, BTreeMap<BlobId, Bytes>>,
    responses: BTreeMap<RequestNumber, Response>,
    pub(crate) events: Vec<(NodeId, JobId, Event)>,
    /// Requests that the target has seen, by job.
    pub(crate) seen: BTreeMap<JobId, u64>,
    /// The same by attempt.
    pub(crate) seen_of: BTreeMap<JobAttempt, u64>,
    /// The last end of an attempt that a worker told, whether anybody heard it or not.
    pub(crate) told: Option<ToManager>,
    /// The last windows that each worker told, whether anybody heard them or not.
    pub(crate) progress: BTreeMap<NodeId, ToManager>,
    /// Attempts that workers were told to forget.
    pub(crate) confirmed: Vec<JobAttempt>,
    /// Attempts that were started.
    pub(crate) started: Vec<(NodeId, JobAttempt)>,
    /// Messages about progress that workers sent.
    pub(crate) progress_sent: u64,
    /// Managers that left the group.
    pub(crate) left: Vec<NodeId>,
    /// Nodes that nobody reaches and that reach nobody.
    cut: BTreeSet<NodeId>,
    /// Pairs of nodes that do not reach each other.
    cut_links: BTreeSet<(NodeId, NodeId)>,
    /// Real time, for who measures what managers cost; it stands still otherwise.
    pub(crate) clock: fn() -> Duration,
    /// Real time that the core of each manager has taken.
    pub(crate) spent: BTreeMap<NodeId, Duration>,
}

pub(crate) fn manager(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

pub(crate) fn worker(number: u64) -> NodeId {
    NodeId::new(100 + number).unwrap()
}

fn addresses(node: NodeId) -> Addresses {
    Addresses { peer: SocketAddr::from(([10, 0, 0, node.get() as u8], 7101)), api: None }
}

pub(crate) fn bundle(text: &str) -> Bundle {
    Bundle { name: "t.yaml".to_owned(), text: text.to_owned().into(), ..Bundle::default() }
}

impl Cluster {
    /// Three managers and workers with these cores. Nobody has done anything yet.
    fn new(cores: &[u32], network: Network, chunk_bytes: Option<usize>) -> Self {
        let mut cluster = Self {
            now: Now::after_start(Duration::from_secs(1_000)),
            queue: BTreeMap::new(),
            network,
            sizes: Sizes::default(),
            numbers: 0,
            managers: BTreeMap::new(),
            workers: BTreeMap::new(),
            disks: BTreeMap::new(),
            clocks: BTreeMap::new(),
            blobs: BTreeMap::new(),
            responses: BTreeMap::new(),
            events: Vec::new(),
            seen: BTreeMap::new(),
            seen_of: BTreeMap::new(),
            progress: BTreeMap::new(),
            told: None,
            confirmed: Vec::new(),
            started: Vec::new(),
            progress_sent: 0,
            left: Vec::new(),
            cut: BTreeSet::new(),
            cut_links: BTreeSet::new(),
            clock: || Duration::ZERO,
            spent: BTreeMap::new(),
        };
        if let Some(chunk_bytes) = chunk_bytes {
            cluster.sizes.chunk_bytes = chunk_bytes;
        }
        (1..=3).for_each(|number| cluster.start_manager(manager(number)));
        for (number, cores) in (1..).zip(cores) {
            cluster.start_worker(worker(number), *cores);
        }
        cluster
    }

    /// The same on a network without faults, once every worker is owned.
    pub(crate) fn ready(cores: &[u32]) -> Self {
        Self::ready_on(cores, Network::steady())
    }

    pub(crate) fn ready_on(cores: &[u32], network: Network) -> Self {
        Self::new(cores, network, None).owned(cores)
    }

    /// The same where ended jobs are sealed in chunks of this size.
    pub(crate) fn ready_with_chunks(cores: &[u32], chunk_bytes: usize) -> Self {
        Self::new(cores, Network::steady(), Some(chunk_bytes)).owned(cores)
    }

    fn owned(self, cores: &[u32]) -> Self {
        let mut cluster = self;
        let is_ready = |cluster: &Cluster| {
            let register = cluster.managers.values().next().and_then(|it| it.core.register());
            let are_usable = cluster.workers.values().all(|it| it.core.is_usable(cluster.now));
            are_usable
                && register.is_some_and(|register| {
                    register.workers().filter(|(_, worker)| worker.owner.is_some()).count() == cores.len()
                })
        };
        cluster.wait("workers are owned", Duration::from_mins(1), is_ready);
        cluster
    }

    pub(crate) fn run(&mut self, by: Duration) {
        let end = self.now.plus(by);
        while self.next(end) {}
        self.now = end;
    }

    pub(crate) fn wait(&mut self, what: &str, within: Duration, holds: impl Fn(&Cluster) -> bool) {
        let end = self.now.plus(within);
        while !holds(self) {
            assert!(self.next(end), "{what}: not within {within:?}");
        }
    }

    /// The next thing that happens before that time.
    fn next(&mut self, end: Now) -> bool {
        let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= end) else { return false };
        let ((at, _), happening) = entry.remove_entry();
        self.now = self.now.max(at);
        match happening {
            Happening::Manager(node, life, input) => self.manager_input(node, life, input),
            Happening::ManagerTimer(node, life, at) => {
                if self.managers.get(&node).is_some_and(|it| it.life == life && it.timer == at) {
                    self.manager_input(node, life, manager::Input::Timer);
                }
            }
            Happening::Worker(node, life, input) => self.worker_input(node, life, input),
            Happening::Step(node, life, attempt) => self.step(node, life, attempt),
        }
        true
    }

    fn later(&mut self, after: Duration, happening: Happening) {
        self.numbers += 1;
        self.queue.insert((self.now.plus(after), self.numbers), happening);
    }

    fn tell(&mut self, node: NodeId, input: replica::Input) {
        self.soon_manager(node, manager::Input::Replica(input));
    }

    fn soon_manager(&mut self, node: NodeId, input: manager::Input) {
        if let Some(life) = self.managers.get(&node).map(|it| it.life) {
            self.later(SOON, Happening::Manager(node, life, input));
        }
    }

    fn soon_worker(&mut self, node: NodeId, input: worker::Input) {
        if let Some(life) = self.workers.get(&node).map(|it| it.life) {
            self.later(SOON, Happening::Worker(node, life, input));
        }
    }

    /// Sends something over the network.
    fn send(&mut self, from: NodeId, to: NodeId, arrives: impl Fn(u64) -> Happening) {
        let lives = (self.managers.get(&to).map(|it| it.life), self.workers.get(&to).map(|it| it.life));
        let Some(life) = lives.0.or(lives.1).filter(|_| self.reaches(from, to)) else { return };
        for after in self.network.copies() {
            self.later(after, arrives(life));
        }
    }

    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        let is_cut = |one, two| self.cut_links.contains(&(one, two));
        !self.cut.contains(&from) && !self.cut.contains(&to) && !is_cut(from, to) && !is_cut(to, from)
    }
}
