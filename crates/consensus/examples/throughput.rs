//! How many entries per second a group of three decides: `throughput ENTRIES [FOLDER]`.
//!
//! Three replicas with the register as their machine, in one thread, without a network in between, on disks in memory or,
//! with a folder, on `redb` files that are synced before anything leaves. Entries are proposed in batches, as a leader
//! gathers them while its disk is busy. Prints one number: entries applied by all three per second.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for measurements: the clock is its own, not the log's"
)]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use hyperscale_consensus::register::{
    Accept, Body, Command, Elapsed, End, JobId, JobOptions, LoadChange, Register, RequestId,
};
use hyperscale_consensus::storage::{DirectoryOwner, LogStorage, MemoryDisk, RedbStorage};
use hyperscale_consensus::{
    Action, Addresses, BlobId, Config, DirectoryId, Founder, LogGroup, Message, ProposalId, RaftGroup,
    RaftId, founding,
};
use hyperscale_types::{NodeId, Now, Token};

/// Entries that a leader gathers while its disk is busy.
const BATCH: u64 = 200;
/// Commands per job, as jobs have on average.
const PER_JOB: u64 = 15;

struct Replica {
    group: RaftGroup<Register>,
    disk: Box<dyn LogStorage>,
}

struct Trio {
    replicas: BTreeMap<RaftId, Replica>,
    messages: VecDeque<Message>,
    now: Now,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let entries: u64 = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(20_000);
    let folder = arguments.next();
    let mut trio = Trio::new(folder.as_deref().map(Path::new));
    let leader = trio.elect();
    let base = trio.replicas[&leader].group.applied().0;
    let start = Instant::now();
    let mut proposed = 0;
    while proposed < entries {
        for number in proposed..(proposed + BATCH).min(entries) {
            let (now, command) = (trio.now, command(base, number));
            trio.replicas.get_mut(&leader).unwrap().group.propose(now, ProposalId(number), command).unwrap();
        }
        proposed += BATCH;
        trio.work(leader);
        trio.deliver();
    }
    trio.pass();
    let applied: Vec<u64> = trio.replicas.values().map(|replica| replica.group.applied().0).collect();
    assert!(applied.iter().all(|index| *index >= entries), "{applied:?} of {entries}");
    println!("{:.0}", entries as f64 / start.elapsed().as_secs_f64());
}

/// A job is accepted, led, changed a few times, ended and forgotten. The entry has the index `base + 1 + number`.
fn command(base: u64, number: u64) -> Bytes {
    let (job, place) = (number / PER_JOB, number % PER_JOB);
    let id = JobId(u128::from(job).to_be_bytes());
    let body = match place {
        0 => {
            let (key, plan) = (format!("key {job}"), BlobId::of(b"plan"));
            let (options, caller) = (JobOptions::default(), String::new());
            Body::JobAccept(Box::new(Accept {
                job: id,
                key,
                plan,
                options,
                origin: None,
                caller,
                name: String::new(),
                submitted_at_ms: 0,
            }))
        }
        1 => {
            let (leader, elapsed) = (NodeId::new(1).unwrap(), Elapsed::default());
            Body::JobLeader { job: id, leader, elapsed, reason: String::new() }
        }
        13 => {
            let status = hyperscale_consensus::register::EndStatus::Completed;
            Body::JobEnd { job: id, end: End::new(status, None), elapsed_ms: 0 }
        }
        // The job ended with the entry before.
        14 => Body::JobForget { first: base + number, last: base + number },
        _ => Body::Control {
            job: id,
            workflow: "load".to_owned(),
            change: LoadChange::Vus(number as u32),
            request: RequestId(u128::from(number).to_be_bytes()),
        },
    };
    // Of the second entry of its job, which grants leadership.
    let token = if place > 1 { Token(base + 1 + job * PER_JOB + 1) } else { Token(0) };
    Command { token, body }.encode()
}

impl Trio {
    fn new(folder: Option<&Path>) -> Self {
        let founder = |number: u8| Founder {
            directory: DirectoryId([number; 16]),
            addresses: Addresses { peer: SocketAddr::from(([127, 0, 0, 1], 7100)), api: None },
        };
        let founders: BTreeMap<NodeId, Founder> =
            (1..=3).map(|number| (NodeId::new(number).unwrap(), founder(number as u8))).collect();
        let replicas = founders.keys().map(|node| {
            let id = RaftId::new(node.get()).unwrap();
            let mut disk = disk(folder, *node);
            disk.write(&founding(&founders)).unwrap();
            disk.sync().unwrap();
            let loaded = disk.load().unwrap();
            let group = RaftGroup::open(Now::ZERO, Config::lan(), id, loaded, Register::default()).unwrap();
            (id, Replica { group, disk })
        });
        Self { replicas: replicas.collect(), messages: VecDeque::new(), now: Now::ZERO }
    }

    fn elect(&mut self) -> RaftId {
        loop {
            self.pass();
            let leads = |(id, replica): (&RaftId, &Replica)| replica.group.is_established().then_some(*id);
            if let Some(leader) = self.replicas.iter().find_map(leads) {
                return leader;
            }
        }
    }

    /// A heartbeat passes.
    fn pass(&mut self) {
        self.now = self.now.plus(Config::lan().heartbeat);
        for id in self.replicas.keys().copied().collect::<Vec<_>>() {
            self.replicas.get_mut(&id).unwrap().group.tick(self.now);
            self.work(id);
        }
        self.deliver();
    }

    fn deliver(&mut self) {
        while let Some(message) = self.messages.pop_front() {
            let to = message.to;
            let group = &mut self.replicas.get_mut(&to).unwrap().group;
            let sender = group.roster().member(message.from).unwrap().node;
            group.step(self.now, sender, message).unwrap();
            self.work(to);
        }
    }

    fn work(&mut self, id: RaftId) {
        let replica = self.replicas.get_mut(&id).unwrap();
        loop {
            let mut actions = Vec::new();
            replica.group.ready(self.now, &mut actions);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Persist(batch) => {
                        replica.disk.write(&batch).unwrap();
                        replica.disk.sync().unwrap();
                        replica.group.persisted(batch.ticket);
                    }
                    Action::MakeSnapshot(job) => replica.group.snapshot_made(job.run()),
                    Action::Send(message) => self.messages.push_back(message),
                    _ => {}
                }
            }
        }
    }
}

fn disk(folder: Option<&Path>, node: NodeId) -> Box<dyn LogStorage> {
    let Some(folder) = folder else { return Box::new(MemoryDisk::default()) };
    let identity = DirectoryOwner { cluster: "bench".to_owned(), group: "dc".to_owned(), node };
    let path = folder.join(format!("{}.redb", node.get()));
    Box::new(RedbStorage::open(&path, &identity, DirectoryId([node.get() as u8; 16])).unwrap())
}
