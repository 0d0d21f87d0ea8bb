//! A cluster in one thread: managers on disks in memory, workers on a model of the engine, messages that take a millisecond.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_cluster::bundle::Bundle;
use hyperscale_cluster::manager::{self, Manager, Request, RequestNumber, Response};
use hyperscale_cluster::message::{JobAttempt, ToManager};
use hyperscale_cluster::worker::{self, Worker};
use hyperscale_consensus::register::{Group, JobEnd, JobId, JobOptions, Register, VERSION};
use hyperscale_consensus::replica::{self, Replica};
use hyperscale_consensus::storage::{LogStorage, Loss, MemoryDisk};
use hyperscale_consensus::{Addresses, BlobId, Config, DirectoryId, RaftGroup};
use hyperscale_job::Report;
use hyperscale_stats::event::Event;
use hyperscale_stats::result::RunResult;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::engine::{Attempt, Step, WINDOW};

/// How long a message takes.
const DELAY: Duration = Duration::from_millis(1);
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
    numbers: u64,
    managers: BTreeMap<NodeId, ManagerNode>,
    workers: BTreeMap<NodeId, WorkerNode>,
    disks: BTreeMap<NodeId, MemoryDisk>,
    blobs: BTreeMap<NodeId, BTreeMap<BlobId, Bytes>>,
    responses: BTreeMap<RequestNumber, Response>,
    pub(crate) events: Vec<(NodeId, JobId, Event)>,
    /// Requests that the target has seen, by job.
    pub(crate) seen: BTreeMap<JobId, u64>,
    /// Attempts that were started.
    pub(crate) started: Vec<(NodeId, JobAttempt)>,
    /// Nodes that nobody reaches and that reach nobody.
    cut: BTreeSet<NodeId>,
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
    pub(crate) fn new(cores: &[u32]) -> Self {
        let mut cluster = Self {
            now: Now::after_start(Duration::from_secs(1_000)),
            queue: BTreeMap::new(),
            numbers: 0,
            managers: BTreeMap::new(),
            workers: BTreeMap::new(),
            disks: BTreeMap::new(),
            blobs: BTreeMap::new(),
            responses: BTreeMap::new(),
            events: Vec::new(),
            seen: BTreeMap::new(),
            started: Vec::new(),
            cut: BTreeSet::new(),
        };
        (1..=3).for_each(|number| cluster.start_manager(manager(number)));
        for (number, cores) in (1..).zip(cores) {
            cluster.start_worker(worker(number), *cores);
        }
        cluster
    }

    /// The same, once every worker is owned.
    pub(crate) fn ready(cores: &[u32]) -> Self {
        let mut cluster = Self::new(cores);
        let is_ready = |cluster: &Cluster| {
            let register = cluster.managers.values().next().and_then(|it| it.core.register());
            register.is_some_and(|register| {
                register.workers().filter(|(_, worker)| worker.owner.is_some()).count() == cores.len()
            })
        };
        cluster.wait("workers are owned", Duration::from_secs(20), is_ready);
        cluster
    }

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
        let register = Register::new(Group::Managers);
        let replica = Replica::start(self.now, options, loaded, register, &mut outputs);
        let options = manager::Options {
            node,
            first_number: life << 32,
            seed: life,
            worker_lease: WORKER_LEASE,
            job_lease: Duration::from_secs(3),
        };
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
        self.numbers += 1;
        let life = self.numbers;
        let options =
            worker::Options { boot: BootEpoch(life), cores, capabilities: BTreeSet::new(), seed: life };
        let core = Worker::new(options);
        self.workers.insert(node, WorkerNode { core, life, attempts: BTreeMap::new(), lease: Now::ZERO });
        let managers: Vec<NodeId> = self.managers.keys().copied().collect();
        for manager in managers {
            self.soon_worker(node, worker::Input::ManagerSeen(manager));
        }
    }

    /// A manager's process is gone; membership notices at once.
    pub(crate) fn kill_manager(&mut self, node: NodeId) {
        self.managers.remove(&node);
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

    pub(crate) fn submit(&mut self, to: NodeId, key: &str, text: &str) -> RequestNumber {
        self.submit_with(to, key, text, JobOptions::default())
    }

    pub(crate) fn submit_with(
        &mut self,
        to: NodeId,
        key: &str,
        text: &str,
        options: JobOptions,
    ) -> RequestNumber {
        let (key, caller) = (key.to_owned(), "test".to_owned());
        let (bundle, options) = (Box::new(bundle(text)), Box::new(options));
        self.ask(to, Request::Submit { key, bundle, options, caller })
    }

    pub(crate) fn ask(&mut self, to: NodeId, what: Request) -> RequestNumber {
        self.numbers += 1;
        let request = RequestNumber(self.numbers);
        self.soon_manager(to, manager::Input::Request { request, what });
        request
    }

    pub(crate) fn response(&mut self, request: RequestNumber) -> Response {
        self.wait("a response", Duration::from_secs(20), |it| it.responses.contains_key(&request));
        self.responses.remove(&request).unwrap()
    }

    /// Submits and waits for the acceptance.
    pub(crate) fn accepted(&mut self, to: NodeId, key: &str, text: &str) -> (JobId, NodeId) {
        let request = self.submit(to, key, text);
        match self.response(request) {
            Response::Accepted { job, leader: Some((leader, _)), .. } => (job, leader),
            other => panic!("{other:?}"),
        }
    }

    /// How a job ended, once all managers that run say so.
    pub(crate) fn end_of(&mut self, job: JobId, within: Duration) -> JobEnd {
        let end = |it: &ManagerNode| it.core.register()?.job(job)?.end.clone();
        self.wait("the job ends", within, |it| it.managers.values().all(|it| end(it).is_some()));
        let ends: Vec<JobEnd> = self.managers.values().filter_map(end).collect();
        assert!(ends.iter().all(|it| it.how == ends[0].how));
        ends[0].clone()
    }

    /// The result of a job that has ended.
    pub(crate) fn result(&mut self, end: &JobEnd) -> RunResult {
        let blob = end.how.result.unwrap();
        let bytes = self.blobs.values().find_map(|blobs| blobs.get(&blob)).unwrap();
        serde_json::from_slice(bytes).unwrap()
    }

    pub(crate) fn leader_of(&self, job: JobId) -> Option<(NodeId, Token)> {
        self.managers.values().find_map(|it| it.core.register()?.job(job)?.leader)
    }

    pub(crate) fn cluster_leader(&self) -> Option<NodeId> {
        let leads = |it: &ManagerNode| it.core.replica().group().is_some_and(RaftGroup::is_established);
        self.managers.iter().find(|(_, it)| leads(it)).map(|(node, _)| *node)
    }

    pub(crate) fn register(&self, node: NodeId) -> &Register {
        self.managers[&node].core.register().unwrap()
    }

    /// Attempts that run now, on workers that run.
    pub(crate) fn running(&self) -> Vec<JobAttempt> {
        self.workers.values().flat_map(|it| it.attempts.keys().copied()).collect()
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
            self.later(DELAY, Happening::Manager(node, life, input));
        }
    }

    fn soon_worker(&mut self, node: NodeId, input: worker::Input) {
        if let Some(life) = self.workers.get(&node).map(|it| it.life) {
            self.later(DELAY, Happening::Worker(node, life, input));
        }
    }

    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        !self.cut.contains(&from) && !self.cut.contains(&to)
    }

    fn manager_input(&mut self, node: NodeId, life: u64, input: manager::Input) {
        let now = self.now;
        let Some(it) = self.managers.get_mut(&node).filter(|it| it.life == life) else { return };
        let mut out = Vec::new();
        it.core.handle(now, input, &mut out);
        self.manager_outputs(node, out);
    }

    fn manager_outputs(&mut self, node: NodeId, out: Vec<manager::Output>) {
        let life = self.managers[&node].life;
        for output in out {
            match output {
                manager::Output::Replica(output) => self.replica_output(node, output),
                manager::Output::SendPeer { to, message } => {
                    if self.reaches(node, to) {
                        self.soon_manager(to, manager::Input::Peer { from: node, message });
                    }
                }
                manager::Output::SendWorker { to, message } => {
                    if self.reaches(node, to) {
                        self.soon_worker(to, worker::Input::Message { from: node, message });
                    }
                }
                manager::Output::ReadBlob { read, blob } => {
                    let bytes = self.blobs[&node].get(&blob).cloned();
                    self.soon_manager(node, manager::Input::BlobRead { read, bytes });
                }
                manager::Output::Respond { request, response } => {
                    assert!(self.responses.insert(request, response).is_none(), "answered twice");
                }
                manager::Output::Emit { job, event, .. } => self.events.push((node, job, *event)),
                manager::Output::Timer(at) => {
                    self.managers.get_mut(&node).unwrap().timer = at;
                    let after = at.since(self.now);
                    self.later(after, Happening::ManagerTimer(node, life, at));
                }
            }
        }
    }

    fn replica_output(
        &mut self,
        node: NodeId,
        output: replica::Output<hyperscale_consensus::register::Outcome>,
    ) {
        let life = self.managers[&node].life;
        let back = |input| Happening::Manager(node, life, manager::Input::Replica(input));
        match output {
            replica::Output::Persist(batch) => {
                let disk = self.disks.get_mut(&node).unwrap();
                disk.write(&batch).unwrap();
                disk.sync().unwrap();
                self.later(WRITE, back(replica::Input::Persisted(batch.ticket)));
            }
            replica::Output::Send { to, lane, message } => {
                if self.reaches(node, to) && self.managers.contains_key(&to) {
                    self.tell(to, replica::Input::Message { from: node, message });
                } else {
                    self.later(DELAY, back(replica::Input::Undelivered { to, lane }));
                }
            }
            replica::Output::PutBlob { blob, bytes } => {
                self.blobs.get_mut(&node).unwrap().insert(blob, bytes);
                self.later(WRITE, back(replica::Input::BlobStored(blob)));
            }
            replica::Output::ReadBlob { blob, to } => {
                let bytes = self.blobs[&node].get(&blob).cloned();
                self.later(WRITE, back(replica::Input::BlobRead { blob, to, bytes }));
            }
            replica::Output::RemoveBlob(blob) => {
                self.blobs.get_mut(&node).unwrap().remove(&blob);
            }
            replica::Output::MakeSnapshot(job) => {
                self.later(WRITE, back(replica::Input::SnapshotMade(job.run())));
            }
            replica::Output::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }

    fn worker_input(&mut self, node: NodeId, life: u64, input: worker::Input) {
        let now = self.now;
        let Some(it) = self.workers.get_mut(&node).filter(|it| it.life == life) else { return };
        let mut out = Vec::new();
        it.core.handle(now, input, &mut out);
        for output in out {
            self.worker_output(node, life, output);
        }
    }

    fn worker_output(&mut self, node: NodeId, life: u64, output: worker::Output) {
        match output {
            worker::Output::Send { to, message } => self.worker_sends(node, to, message),
            worker::Output::Start(start) => {
                let bundle = self.blobs.values().find_map(|blobs| blobs.get(&start.plan)).unwrap().clone();
                let attempt = Attempt::new(self.now, *start, &bundle);
                let id = attempt.id();
                self.started.push((node, id));
                self.workers.get_mut(&node).unwrap().attempts.insert(id, attempt);
                let prepared = worker::Input::Report { attempt: id, report: Report::Prepared };
                self.later(Duration::from_millis(20), Happening::Worker(node, life, prepared));
                self.later(WINDOW, Happening::Step(node, life, id));
            }
            worker::Output::Direct { attempt, directive } => {
                if let Some(attempt) = self.workers.get_mut(&node).unwrap().attempts.get_mut(&attempt) {
                    attempt.direct(directive);
                }
            }
            worker::Output::CutOff { attempt } => {
                if let Some(attempt) = self.workers.get_mut(&node).unwrap().attempts.get_mut(&attempt) {
                    attempt.cut_off();
                }
            }
            worker::Output::Lease { until } => self.workers.get_mut(&node).unwrap().lease = until,
            worker::Output::Timer(at) => {
                let after = at.since(self.now);
                self.later(after, Happening::Worker(node, life, worker::Input::Timer));
            }
            worker::Output::Offline => {
                self.workers.remove(&node);
            }
        }
    }

    fn worker_sends(&mut self, from: NodeId, to: NodeId, message: ToManager) {
        if self.reaches(from, to) {
            self.soon_manager(to, manager::Input::Worker { from, message });
        }
    }

    fn step(&mut self, node: NodeId, life: u64, id: JobAttempt) {
        let now = self.now;
        let Some(it) = self.workers.get_mut(&node).filter(|it| it.life == life) else { return };
        let lease = it.lease;
        let Some(attempt) = it.attempts.get_mut(&id) else { return };
        match attempt.step(now) {
            Step::Waits => {}
            Step::Ran(windows, requests) => {
                assert!(now < lease, "load after the lease");
                *self.seen.entry(id.job).or_default() += requests;
                for window in windows {
                    self.worker_input(node, life, worker::Input::Window { attempt: id, window });
                }
            }
            Step::Ended(left) => {
                it.attempts.remove(&id);
                return self.worker_input(node, life, worker::Input::Ended { attempt: id, left });
            }
        }
        self.later(WINDOW, Happening::Step(node, life, id));
    }
}
