//! Several replicas that talk to each other, driven by hand.

use std::collections::VecDeque;

use super::*;

pub(super) struct Net {
    pub(super) now: Now,
    pub(super) replicas: BTreeMap<u64, (Replica<Counter>, MemoryDisk, Option<Now>)>,
    pub(super) in_flight: VecDeque<(u64, NodeId, ReplicaMessage)>,
    pub(super) replies: Vec<(u64, CallId, Reply<u64>)>,
    pub(super) events: Vec<(u64, Event)>,
    pub(super) sent: Vec<(u64, u64, Lane)>,
    pub(super) blobs: BTreeMap<(u64, BlobId), Bytes>,
    pub(super) is_cut: Option<u64>,
    /// Starts at another address from now on.
    pub(super) has_moved: Option<u64>,
    /// Blobs that are written take longer than the test.
    pub(super) is_stalled: bool,
    /// Snapshots that are to be made are kept here.
    pub(super) holds_snapshots: bool,
    pub(super) snapshots: Vec<(u64, SnapshotJob)>,
}

impl Net {
    pub(super) fn founded(count: u64) -> Self {
        let mut net = Self {
            now: Now::ZERO,
            replicas: BTreeMap::new(),
            in_flight: VecDeque::new(),
            replies: Vec::new(),
            events: Vec::new(),
            sent: Vec::new(),
            blobs: BTreeMap::new(),
            is_cut: None,
            has_moved: None,
            is_stalled: false,
            holds_snapshots: false,
            snapshots: Vec::new(),
        };
        for number in 1..=count {
            net.start(number, count as usize);
        }
        for (number, peer) in (1..=count).flat_map(|a| (1..=count).map(move |b| (a, b))) {
            if number != peer {
                net.input(number, Input::PeerReached(node(peer)));
            }
        }
        net.run_until(|net| net.leader().is_some());
        net
    }

    pub(super) fn start(&mut self, number: u64, peers: usize) {
        let mut disk = self.replicas.remove(&number).map_or_else(MemoryDisk::default, |(_, disk, _)| disk);
        let mut out = Vec::new();
        let loaded = disk.load().unwrap();
        let mut options = options(number, peers);
        if self.has_moved == Some(number) {
            options.addresses = Addresses::example(200);
        }
        let own = self.blobs.keys().filter(|(whose, _)| *whose == number);
        options.blobs = own.map(|(_, blob)| *blob).collect();
        let replica = Replica::start(self.now, options, loaded, Counter::default(), &mut out);
        self.replicas.insert(number, (replica, disk, None));
        self.perform(number, out);
    }

    pub(super) fn input(&mut self, number: u64, input: Input) {
        let mut out = Vec::new();
        self.replicas.get_mut(&number).unwrap().0.handle(self.now, input, &mut out);
        self.perform(number, out);
    }

    pub(super) fn perform(&mut self, number: u64, out: Out) {
        let mut durable = None;
        for output in out {
            let (_, disk, timer) = self.replicas.get_mut(&number).unwrap();
            match output {
                Output::Persist(batch) => {
                    disk.write(&batch).unwrap();
                    disk.sync().unwrap();
                    durable = Some(batch.ticket);
                }
                Output::Send { to, lane, message } => {
                    assert_eq!(lane, message.lane());
                    self.sent.push((number, to.get(), lane));
                    if self.is_cut == Some(to.get()) || self.is_cut == Some(number) {
                        continue;
                    }
                    self.in_flight.push_back((to.get(), node(number), message));
                }
                Output::Timer(at) => *timer = Some(at),
                Output::Reply { call, reply } => self.replies.push((number, call, reply)),
                Output::Event(event) => self.events.push((number, event)),
                Output::MakeSnapshot(job) if self.holds_snapshots => self.snapshots.push((number, job)),
                Output::MakeSnapshot(job) => self.input(number, Input::SnapshotMade(job.run())),
                Output::PutBlob { .. } if self.is_stalled => {}
                Output::PutBlob { blob, bytes } => {
                    self.blobs.insert((number, blob), bytes);
                    self.input(number, Input::BlobStored(blob));
                }
                Output::ReadBlob { blob, to } => {
                    let bytes = self.blobs.get(&(number, blob)).cloned();
                    self.input(number, Input::BlobRead { blob, to, bytes });
                }
                Output::RemoveBlob(blob) => {
                    self.blobs.remove(&(number, blob));
                }
                Output::Applied(_) | Output::Opened(_) | Output::Waiting { .. } => {}
                Output::Failed(error) => panic!("{number}: {error}"),
            }
        }
        if let Some(ticket) = durable {
            self.input(number, Input::Persisted(ticket));
        }
    }

    pub(super) fn step(&mut self) {
        if let Some((to, from, message)) = self.in_flight.pop_front() {
            if self.replicas.contains_key(&to) {
                self.input(to, Input::Message { from, message });
            }
            return;
        }
        let next = self.replicas.iter().filter_map(|(number, it)| Some((it.2?, *number))).min();
        let (at, number) = next.expect("somebody has a timer");
        self.now = self.now.max(at);
        self.replicas.get_mut(&number).unwrap().2 = None;
        self.input(number, Input::Timer);
    }

    pub(super) fn run_until(&mut self, holds: impl Fn(&Self) -> bool) {
        let end = self.now.plus(Duration::from_secs(30));
        while !holds(self) {
            assert!(self.now < end, "within 30 s: {:?}", self.events);
            self.step();
        }
    }

    pub(super) fn leader(&self) -> Option<u64> {
        let leads = |replica: &Replica<Counter>| replica.group().is_some_and(RaftGroup::is_established);
        self.replicas.iter().find(|(_, it)| leads(&it.0)).map(|(number, _)| *number)
    }

    pub(super) fn follower(&self) -> u64 {
        let leader = self.leader();
        *self.replicas.keys().find(|number| Some(**number) != leader).unwrap()
    }

    pub(super) fn reply(&mut self, number: u64, call: u64, request: Request) -> Reply<u64> {
        let call = CallId(call);
        self.input(number, Input::Call { call, request });
        self.run_until(|net| net.replies.iter().any(|(who, it, _)| (*who, *it) == (number, call)));
        let place = self.replies.iter().position(|(who, it, _)| (*who, *it) == (number, call)).unwrap();
        self.replies.remove(place).2
    }
}

pub(super) fn command() -> Request {
    Request::Propose(Bytes::from_static(b"x"))
}
