//! A cluster in memory: replicas, their disks, and the messages between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use std::net::SocketAddr;

use bytes::Bytes;
use hyperscale_consensus::storage::{LogStorage, MemoryDisk};
use hyperscale_consensus::{
    Action, Addresses, Applied, Config, DirectoryId, Effects, Event, Founder, LogGroup, Machine, Member,
    Message, MessageKind, MessageRefusal, Outdated, ProposalId, ProposeError, RaftGroup, RaftId, ReadId,
    RestoreError, founding,
};
use hyperscale_types::{NodeId, Now};

/// A machine that keeps what it was told, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) lines: Vec<Bytes>,
    /// Applies this index differently than everybody else.
    pub(crate) breaks_at: Option<u64>,
    /// Is of a build that does not understand what comes after the line [`NEWER`].
    pub(crate) is_old: bool,
}

/// The line by which a group agrees on a newer version.
pub(crate) const NEWER: &str = "newer";

impl Machine for Notes {
    type Outcome = usize;

    fn apply(&mut self, index: u64, command: &Bytes, effects: &mut Effects) -> usize {
        self.lines.push(command.clone());
        effects.number(self.lines.len() as u64);
        if self.breaks_at == Some(index) {
            effects.number(666);
        }
        self.lines.len()
    }

    fn snapshot(&self) -> Bytes {
        self.lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect::<Vec<u8>>().into()
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        if state.starts_with(b"broken") {
            return Err(RestoreError("it says so".to_owned()));
        }
        let lines = state.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        self.lines = lines.map(Bytes::copy_from_slice).collect();
        Ok(())
    }

    fn outdated(&self) -> Option<Outdated> {
        let is_newer = self.lines.iter().any(|line| line == NEWER);
        (self.is_old && is_newer).then_some(Outdated { agreed: 2, understood: 1 })
    }
}

/// One replica and its surroundings.
pub(crate) struct Node {
    pub(crate) group: Option<RaftGroup<Notes>>,
    pub(crate) disk: MemoryDisk,
    /// Writes are done but not synced, so nothing is reported durable.
    pub(crate) is_disk_slow: bool,
    pub(crate) events: Vec<Event>,
    pub(crate) applied: Vec<Applied<usize>>,
    pub(crate) failed: BTreeMap<ProposalId, ProposeError>,
    pub(crate) reads: BTreeMap<ReadId, Result<u64, ProposeError>>,
    unsynced: Vec<hyperscale_consensus::Ticket>,
}

/// The cluster.
pub(crate) struct Cluster {
    pub(crate) config: Config,
    pub(crate) now: Now,
    pub(crate) nodes: BTreeMap<RaftId, Node>,
    pub(crate) in_flight: VecDeque<Message>,
    /// Nothing goes from the first to the second.
    pub(crate) cut: BTreeSet<(RaftId, RaftId)>,
    /// Messages of this kind never arrive.
    pub(crate) lost: Option<MessageKind>,
    /// Everything that was sent, by kind.
    pub(crate) sent: Vec<Message>,
    proposals: u64,
}

pub(crate) fn id(number: u64) -> RaftId {
    RaftId::new(number).unwrap()
}

pub(crate) fn founders(count: u64) -> BTreeMap<NodeId, Founder> {
    let founder = |number| Founder { directory: directory(number), addresses: addresses(number) };
    (1..=count).map(|number| (NodeId::new(number).unwrap(), founder(number as u8))).collect()
}

pub(crate) fn addresses(number: u8) -> Addresses {
    Addresses { peer: SocketAddr::from(([10, 0, 0, number], 7101)), api: None }
}

pub(crate) fn directory(number: u8) -> DirectoryId {
    DirectoryId([number; 16])
}

impl Cluster {
    pub(crate) fn new(count: u64) -> Self {
        Self::with(count, Config { seed: 7, ..Config::lan() })
    }

    pub(crate) fn with(count: u64, config: Config) -> Self {
        let mut cluster = Self {
            config,
            now: Now::ZERO,
            nodes: BTreeMap::new(),
            in_flight: VecDeque::new(),
            cut: BTreeSet::new(),
            lost: None,
            sent: Vec::new(),
            proposals: 0,
        };
        for number in 1..=count {
            let mut disk = MemoryDisk::default();
            disk.write(&founding(&founders(count))).unwrap();
            disk.sync().unwrap();
            cluster.add(id(number), disk);
        }
        cluster
    }

    /// A node with this disk starts.
    pub(crate) fn add(&mut self, id: RaftId, disk: MemoryDisk) {
        let node = Node {
            group: None,
            disk,
            is_disk_slow: false,
            events: Vec::new(),
            applied: Vec::new(),
            failed: BTreeMap::new(),
            reads: BTreeMap::new(),
            unsynced: Vec::new(),
        };
        self.nodes.insert(id, node);
        self.start(id);
    }

    pub(crate) fn start(&mut self, id: RaftId) {
        self.start_with(id, Notes::default());
    }

    pub(crate) fn start_with(&mut self, id: RaftId, machine: Notes) {
        let (now, config) = (self.now, self.config.clone());
        let node = self.node(id);
        let loaded = node.disk.load().unwrap();
        node.group = Some(RaftGroup::open(now, config, id, loaded, machine).unwrap());
        node.unsynced.clear();
        node.applied.clear();
    }

    pub(crate) fn stop(&mut self, id: RaftId) {
        self.node(id).group = None;
    }

    pub(crate) fn node(&mut self, id: RaftId) -> &mut Node {
        self.nodes.get_mut(&id).unwrap()
    }

    pub(crate) fn group(&mut self, id: RaftId) -> &mut RaftGroup<Notes> {
        self.node(id).group.as_mut().unwrap()
    }

    pub(crate) fn isolate(&mut self, id: RaftId) {
        for other in self.nodes.keys().copied().filter(|other| *other != id) {
            self.cut.extend([(id, other), (other, id)]);
        }
    }

    pub(crate) fn heal(&mut self) {
        self.cut.clear();
    }

    /// Time passes; messages arrive within the tick they were sent in.
    pub(crate) fn run(&mut self, duration: Duration) {
        let end = self.now.plus(duration);
        while self.now < end {
            self.now = self.now.plus(self.config.tick);
            for id in self.ids() {
                self.tick(id);
            }
            self.deliver();
        }
    }

    pub(crate) fn run_seconds(&mut self, seconds: u64) {
        self.run(Duration::from_secs(seconds));
    }

    pub(crate) fn ids(&self) -> Vec<RaftId> {
        self.nodes.keys().copied().collect()
    }

    pub(crate) fn tick(&mut self, id: RaftId) {
        let now = self.now;
        if let Some(group) = self.node(id).group.as_mut() {
            group.tick(now);
            self.work(id);
        }
    }

    /// A member, by what anybody knows.
    pub(crate) fn member(&self, id: RaftId) -> Option<Member> {
        let mut groups = self.nodes.values().filter_map(|node| node.group.as_ref());
        groups.find_map(|group| group.roster().member(id)).copied()
    }

    /// The node of a member, by what anybody knows; of those nobody knows, one of the same number.
    pub(crate) fn node_of(&self, id: RaftId) -> NodeId {
        self.member(id).map_or_else(|| NodeId::new(id.get()).unwrap(), |member| member.node)
    }

    /// Lets a replica take a message as if it came from the node of whom it says it is from.
    pub(crate) fn step(&mut self, to: RaftId, message: Message) -> Result<(), MessageRefusal> {
        let (now, sender) = (self.now, self.node_of(message.from));
        self.group(to).step(now, sender, message)
    }

    pub(crate) fn deliver(&mut self) {
        while let Some(message) = self.in_flight.pop_front() {
            let (now, to) = (self.now, message.to);
            if self.cut.contains(&(message.from, to)) || self.lost == Some(message.kind) {
                continue;
            }
            let (sender, member) = (self.node_of(message.from), self.member(message.from));
            if let Some(group) = self.nodes.get_mut(&to).and_then(|node| node.group.as_mut()) {
                // A replica asks its members for those it does not know.
                group.vouch(member.as_slice());
                let _ = group.step(now, sender, message);
                self.work(to);
            }
        }
    }

    /// Does what the replica asks for.
    pub(crate) fn work(&mut self, id: RaftId) {
        let now = self.now;
        loop {
            let node = self.nodes.get_mut(&id).unwrap();
            let Some(group) = node.group.as_mut() else { return };
            let mut actions = Vec::new();
            group.ready(now, &mut actions);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Persist(batch) => {
                        node.disk.write(&batch).unwrap();
                        node.unsynced.push(batch.ticket);
                    }
                    Action::Send(message) => {
                        self.sent.push(message.clone());
                        self.in_flight.push_back(message);
                    }
                    Action::Applied(applied) => node.applied.push(applied),
                    Action::Failed { proposal, error } => drop(node.failed.insert(proposal, error)),
                    Action::ReadReady { read, index } => drop(node.reads.insert(read, Ok(index))),
                    Action::ReadFailed { read, error } => drop(node.reads.insert(read, Err(error))),
                    Action::Event(event) => node.events.push(event),
                    Action::MakeSnapshot(job) => group.snapshot_made(job.run()),
                    Action::Store { .. } | Action::Fetch(_) => unreachable!("this machine seals nothing"),
                }
            }
            if !node.is_disk_slow && !node.unsynced.is_empty() {
                node.disk.sync().unwrap();
                for ticket in node.unsynced.drain(..) {
                    group.persisted(ticket);
                }
            }
        }
    }

    /// The disk catches up.
    pub(crate) fn sync(&mut self, id: RaftId) {
        let node = self.node(id);
        node.disk.sync().unwrap();
        let tickets = std::mem::take(&mut node.unsynced);
        let group = node.group.as_mut().unwrap();
        for ticket in tickets {
            group.persisted(ticket);
        }
        self.work(id);
    }

    pub(crate) fn leaders(&self) -> Vec<RaftId> {
        let leads = |node: &Node| node.group.as_ref().is_some_and(RaftGroup::is_leader);
        self.nodes.iter().filter(|(_, node)| leads(node)).map(|(id, _)| *id).collect()
    }

    /// Runs until there is an established leader that is not `except`.
    pub(crate) fn elect_other(&mut self, except: Option<RaftId>) -> RaftId {
        for _ in 0..2000 {
            let is_established = |node: &Node| node.group.as_ref().is_some_and(RaftGroup::is_established);
            let found = self.nodes.iter().find(|(id, node)| Some(**id) != except && is_established(node));
            if let Some((id, _)) = found {
                return *id;
            }
            self.run(self.config.tick);
        }
        panic!("no leader after {} ticks", 2000);
    }

    /// All but one.
    pub(crate) fn others(&self, one: RaftId) -> Vec<RaftId> {
        self.ids().into_iter().filter(|id| *id != one).collect()
    }

    pub(crate) fn elect(&mut self) -> RaftId {
        self.elect_other(None)
    }

    pub(crate) fn propose(&mut self, id: RaftId, command: &'static str) -> Result<ProposalId, ProposeError> {
        self.propose_bytes(id, Bytes::from_static(command.as_bytes()))
    }

    pub(crate) fn propose_bytes(&mut self, id: RaftId, command: Bytes) -> Result<ProposalId, ProposeError> {
        self.proposals += 1;
        let (now, proposal) = (self.now, ProposalId(self.proposals));
        self.group(id).propose(now, proposal, command)?;
        self.work(id);
        Ok(proposal)
    }

    pub(crate) fn lines(&mut self, id: RaftId) -> Vec<Bytes> {
        self.group(id).machine().lines.clone()
    }

    pub(crate) fn has_event(&mut self, id: RaftId, is_it: impl Fn(&Event) -> bool) -> bool {
        self.node(id).events.iter().any(is_it)
    }

    pub(crate) fn sent_by(&self, id: RaftId, kind: MessageKind) -> usize {
        self.sent.iter().filter(|message| message.from == id && message.kind == kind).count()
    }
}
