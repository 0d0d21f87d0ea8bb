mod blobs;
mod sealed;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_types::{NodeId, Now};
use hyperscale_wire::class::Lane;

use super::*;
use crate::action::Event;
use crate::apply::{Effects, Outdated, RestoreError};
use crate::blob::BlobId;
use crate::group::Change;
use crate::id::Ticket;
use crate::message::Member;
use crate::quorum::QuorumError;
use crate::roster::Roster;
use crate::storage::{Batch, LogStorage, MemoryDisk};

/// A machine that counts commands, names the blobs whose ids are commands, and seals [`PART`] when it is told to.
#[derive(Default)]
struct Counter(u64, BTreeSet<BlobId>, Sealing);

/// The sealed part, on its way to the host, and not read yet.
#[derive(Default)]
struct Sealing {
    fresh: Vec<(BlobId, Bytes)>,
    unread: BTreeSet<BlobId>,
}

const PART: &[u8] = b"part1";

impl Machine for Counter {
    type Outcome = u64;

    fn apply(&mut self, _index: u64, command: &Bytes, effects: &mut Effects) -> u64 {
        self.0 += 1;
        if let Some(hash) = command.strip_prefix(b"blob").and_then(|hash| hash.try_into().ok()) {
            self.1.insert(BlobId { hash, length: 5 });
        } else if command == "forget" {
            self.1.clear();
        } else if command == "seal" {
            self.1.insert(BlobId::of(PART));
            self.2.fresh.push((BlobId::of(PART), Bytes::from_static(PART)));
        }
        effects.number(self.0);
        self.0
    }

    fn snapshot(&self) -> Bytes {
        let hashes = self.1.iter().flat_map(|blob| blob.hash);
        self.0.to_be_bytes().into_iter().chain(hashes).collect()
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        let (number, hashes) = state.split_first_chunk().unwrap_or((&[0; 8], &[]));
        self.0 = u64::from_be_bytes(*number);
        let hashes = hashes.chunks(32).filter_map(|hash| hash.try_into().ok());
        self.1 = hashes.map(|hash| BlobId { hash, length: 5 }).collect();
        self.2.unread = self.1.iter().filter(|blob| **blob == BlobId::of(PART)).copied().collect();
        Ok(())
    }

    fn blobs(&self) -> BTreeSet<BlobId> {
        self.1.clone()
    }

    fn outdated(&self) -> Option<Outdated> {
        None
    }

    fn take_sealed(&mut self) -> Vec<(BlobId, Bytes)> {
        std::mem::take(&mut self.2.fresh)
    }

    fn missing(&self) -> Vec<BlobId> {
        self.2.unread.iter().copied().collect()
    }

    fn supply(&mut self, blob: BlobId, bytes: &Bytes) -> Result<(), RestoreError> {
        assert!(blob.matches(bytes));
        self.2.unread.remove(&blob);
        Ok(())
    }
}

impl WireOutcome for u64 {
    fn to_bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.to_be_bytes())
    }

    fn from_bytes(bytes: &Bytes) -> Option<Self> {
        bytes[..].try_into().ok().map(u64::from_be_bytes)
    }
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn directory(number: u64) -> DirectoryId {
    DirectoryId([number as u8; 16])
}

fn options(number: u64, peers: usize) -> Options {
    Options {
        node: node(number),
        directory: directory(number),
        peers,
        first_number: number << 32,
        version: 1,
        blobs: BTreeSet::new(),
        blob_grace: Duration::from_secs(20),
        config: Config { snapshot_entries: 20, trailing_entries: 5, ..Config::lan() },
    }
}

type Out = Vec<Output<u64>>;

fn started(number: u64, peers: usize, loaded: Loaded) -> (Replica<Counter>, Out) {
    let mut out = Vec::new();
    let replica = Replica::start(Now::ZERO, options(number, peers), loaded, Counter::default(), &mut out);
    (replica, out)
}

fn handle(replica: &mut Replica<Counter>, input: Input) -> Out {
    let mut out = Vec::new();
    replica.handle(Now::ZERO, input, &mut out);
    out
}

fn report(number: u64, members: Option<Vec<Member>>) -> Input {
    let report = Report { node: node(number), directory: directory(number), members, learners: Vec::new() };
    Input::Message { from: node(number), message: ReplicaMessage::BootstrapReport(report) }
}

fn queries(out: &Out) -> Vec<u64> {
    let query = |it: &Output<u64>| match it {
        Output::Send { to, message: ReplicaMessage::BootstrapQuery { .. }, .. } => Some(to.get()),
        _ => None,
    };
    out.iter().filter_map(query).collect()
}

fn written(out: &Out) -> Vec<&Batch> {
    out.iter().filter_map(|it| if let Output::Persist(batch) = it { Some(batch) } else { None }).collect()
}

fn is_opened(out: &Out) -> bool {
    out.iter().any(|it| matches!(it, Output::Opened(_)))
}

#[test]
fn empty_replica_asks_every_peer_it_reached_until_all_have_reported_and_founds() {
    let (mut replica, out) = started(1, 3, Loaded::default());
    assert!(matches!(out[..], [Output::Timer(_)]), "{out:?}");
    assert_eq!(queries(&handle(&mut replica, Input::PeerReached(node(2)))), [2]);
    assert_eq!(queries(&handle(&mut replica, Input::PeerReached(node(3)))), [3]);
    assert_eq!(queries(&handle(&mut replica, Input::Timer)), [2, 3]);
    assert!(handle(&mut replica, report(2, None)).is_empty(), "one is missing");
    let out = handle(&mut replica, report(3, None));
    let [batch] = written(&out)[..] else { panic!("{out:?}") };
    assert_eq!(batch.raft_id, Some(RaftId::FIRST));
    assert!(!is_opened(&out) && replica.group().is_none(), "not before it is on disk");
    let ticket = batch.ticket;
    let out = handle(&mut replica, Input::Persisted(ticket));
    assert!(is_opened(&out) && out.iter().any(|it| matches!(it, Output::Timer(_))), "{out:?}");
    assert_eq!(replica.group().unwrap().configuration().voters.len(), 3);
}

#[test]
fn report_of_somebody_who_was_not_asked_or_in_anothers_name_is_ignored() {
    let (mut replica, _) = started(1, 2, Loaded::default());
    assert!(handle(&mut replica, report(2, None)).is_empty());
    handle(&mut replica, Input::PeerReached(node(2)));
    let Input::Message { message, .. } = report(2, None) else { unreachable!() };
    assert!(handle(&mut replica, Input::Message { from: node(3), message }).is_empty());
    assert_eq!(written(&handle(&mut replica, report(2, None))).len(), 1);
}

#[test]
fn replica_that_was_added_begins_with_its_raft_id_alone() {
    let (mut replica, _) = started(4, 4, Loaded::default());
    handle(&mut replica, Input::PeerReached(node(1)));
    let founders: BTreeMap<_, _> = (1..=3).map(|number| (node(number), directory(number))).collect();
    let mut members: Vec<Member> = Roster::founding(&founders).members().copied().collect();
    assert!(handle(&mut replica, report(1, Some(members.clone()))).is_empty(), "nobody has added it yet");
    let raft_id = RaftId::new(4).unwrap();
    members.push(Member { raft_id, node: node(4), directory: directory(4) });
    let mut added = report(1, Some(members));
    if let Input::Message { message: ReplicaMessage::BootstrapReport(report), .. } = &mut added {
        report.learners = vec![raft_id];
    }
    let out = handle(&mut replica, added);
    let [batch] = written(&out)[..] else { panic!("{out:?}") };
    assert_eq!((batch.raft_id, &batch.snapshot), (Some(raft_id), &None));
    let ticket = batch.ticket;
    assert!(is_opened(&handle(&mut replica, Input::Persisted(ticket))));
    let bound = Loaded { raft_id: Some(raft_id), ..Loaded::default() };
    assert!(is_opened(&started(4, 4, bound).1), "and goes on so after a restart");
}

#[test]
fn log_without_raft_id_and_impossible_peers_are_refused() {
    let hard_state = crate::message::HardState { term: 1, ..Default::default() };
    let (mut replica, out) = started(1, 3, Loaded { hard_state, ..Loaded::default() });
    assert!(matches!(out[..], [Output::Failed(StartError::Unbound)]), "{out:?}");
    assert!(handle(&mut replica, Input::Timer).is_empty());
    assert!(matches!(started(1, 0, Loaded::default()).1[..], [Output::Failed(StartError::Bootstrap(_))]));
    let (mut replica, _) = started(1, 3, Loaded::default());
    let out = handle(&mut replica, Input::PeerReached(node(1)));
    assert!(matches!(out[..], [Output::Failed(StartError::Bootstrap(_))]), "its own address twice: {out:?}");
}

#[test]
fn call_before_it_takes_part_fails_and_a_query_is_answered() {
    let (mut replica, _) = started(1, 3, Loaded::default());
    let out = handle(&mut replica, Input::Call { call: CallId(5), request: Request::Read });
    assert!(matches!(out[..], [Output::Reply { call: CallId(5), reply: Reply::Failed(_) }]), "{out:?}");
    let message = ReplicaMessage::BootstrapQuery { directory: directory(2) };
    let out = handle(&mut replica, Input::Message { from: node(2), message });
    let [Output::Send { message: ReplicaMessage::BootstrapReport(report), .. }] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((report.node, &report.members), (node(1), &None));
}

/// Replicas that write at once and send everything.
struct Net {
    now: Now,
    replicas: BTreeMap<u64, (Replica<Counter>, MemoryDisk, Option<Now>)>,
    in_flight: VecDeque<(u64, NodeId, ReplicaMessage)>,
    replies: Vec<(u64, CallId, Reply<u64>)>,
    events: Vec<(u64, Event)>,
    sent: Vec<(u64, u64, Lane)>,
    blobs: BTreeMap<(u64, BlobId), Bytes>,
    is_cut: Option<u64>,
    /// Blobs that are written take longer than the test.
    is_stalled: bool,
}

impl Net {
    fn founded(count: u64) -> Self {
        let mut net = Self {
            now: Now::ZERO,
            replicas: BTreeMap::new(),
            in_flight: VecDeque::new(),
            replies: Vec::new(),
            events: Vec::new(),
            sent: Vec::new(),
            blobs: BTreeMap::new(),
            is_cut: None,
            is_stalled: false,
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

    fn start(&mut self, number: u64, peers: usize) {
        let mut disk = self.replicas.remove(&number).map_or_else(MemoryDisk::default, |(_, disk, _)| disk);
        let mut out = Vec::new();
        let loaded = disk.load().unwrap();
        let mut options = options(number, peers);
        let own = self.blobs.keys().filter(|(whose, _)| *whose == number);
        options.blobs = own.map(|(_, blob)| *blob).collect();
        let replica = Replica::start(self.now, options, loaded, Counter::default(), &mut out);
        self.replicas.insert(number, (replica, disk, None));
        self.perform(number, out);
    }

    fn input(&mut self, number: u64, input: Input) {
        let mut out = Vec::new();
        self.replicas.get_mut(&number).unwrap().0.handle(self.now, input, &mut out);
        self.perform(number, out);
    }

    fn perform(&mut self, number: u64, out: Out) {
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
                Output::Applied(_) | Output::Opened(_) => {}
                Output::Failed(error) => panic!("{number}: {error}"),
            }
        }
        if let Some(ticket) = durable {
            self.input(number, Input::Persisted(ticket));
        }
    }

    fn step(&mut self) {
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

    fn run_until(&mut self, holds: impl Fn(&Self) -> bool) {
        let end = self.now.plus(Duration::from_secs(30));
        while !holds(self) {
            assert!(self.now < end, "within 30 s: {:?}", self.events);
            self.step();
        }
    }

    fn leader(&self) -> Option<u64> {
        let leads = |replica: &Replica<Counter>| replica.group().is_some_and(RaftGroup::is_established);
        self.replicas.iter().find(|(_, it)| leads(&it.0)).map(|(number, _)| *number)
    }

    fn follower(&self) -> u64 {
        let leader = self.leader();
        *self.replicas.keys().find(|number| Some(**number) != leader).unwrap()
    }

    fn reply(&mut self, number: u64, call: u64, request: Request) -> Reply<u64> {
        let call = CallId(call);
        self.input(number, Input::Call { call, request });
        self.run_until(|net| net.replies.iter().any(|(who, it, _)| (*who, *it) == (number, call)));
        let place = self.replies.iter().position(|(who, it, _)| (*who, *it) == (number, call)).unwrap();
        self.replies.remove(place).2
    }
}

fn command() -> Request {
    Request::Propose(Bytes::from_static(b"x"))
}

#[test]
fn proposals_of_leader_and_follower_are_applied_and_replied_to_with_their_outcome() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let Reply::Applied { index: first, outcome: Some(1) } = net.reply(leader, 1, command()) else { panic!() };
    let Reply::Applied { index, outcome: Some(2) } = net.reply(follower, 1, command()) else { panic!() };
    assert!(index > first);
    assert!(net.replies.is_empty(), "one reply each");
}

#[test]
fn read_of_a_follower_waits_until_its_own_state_is_fresh() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    let Reply::Applied { index, .. } = net.reply(leader, 1, command()) else { panic!() };
    let behind = net.replicas[&follower].0.group().unwrap().applied().0;
    assert!(behind < index, "the commit has not reached it yet");
    let Reply::Readable { index: read } = net.reply(follower, 2, Request::Read) else { panic!() };
    let applied = net.replicas[&follower].0.group().unwrap().applied().0;
    assert!(read >= index && applied >= read, "{read} {applied} {index}");
    assert!(matches!(net.reply(leader, 3, Request::ReadAsLeader), Reply::Readable { .. }));
    let refused = net.reply(follower, 4, Request::ReadAsLeader);
    assert!(matches!(refused, Reply::Failed(ProposeError::NotLeader { .. })), "{refused:?}");
}

#[test]
fn question_that_the_leader_never_answers_fails_after_a_while() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(leader);
    let asked = net.now;
    let reply = net.reply(follower, 1, command());
    assert!(matches!(reply, Reply::Failed(ProposeError::Quorum(QuorumError::Timeout(_)))), "{reply:?}");
    assert!(net.now.since(asked) >= Config::lan().quorum_timeout);
}

#[test]
fn strangers_may_not_propose_or_read() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let last = net.replicas[&leader].0.group().unwrap().last_index();
    for message in [
        ReplicaMessage::Propose { number: 1, command: Bytes::from_static(b"x") },
        ReplicaMessage::ReadIndex { number: 2 },
    ] {
        net.input(leader, Input::Message { from: node(9), message });
    }
    assert_eq!(net.replicas[&leader].0.group().unwrap().last_index(), last);
    assert!(net.sent.iter().all(|(_, to, _)| *to != 9), "nor are they answered");
}

#[test]
fn member_that_joins_is_answered_before_the_log_names_those_it_answers() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    let change = Change::Add { node: node(4), directory: directory(4) };
    assert!(matches!(net.reply(leader, 1, Request::Change(change)), Reply::Applied { outcome: None, .. }));
    net.start(4, 4);
    net.input(4, Input::PeerReached(node(leader)));
    net.run_until(|net| {
        let applied = |number: &u64| net.replicas[number].0.group().map(RaftGroup::applied);
        applied(&4).is_some() && applied(&4) == applied(&leader)
    });
    assert!(matches!(net.reply(4, 1, command()), Reply::Applied { .. }));
    assert!(net.replicas[&4].0.leader_node().is_some());
}

#[test]
fn undelivered_snapshot_is_sent_again_at_once() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.is_cut = Some(follower);
    for number in 0..80 {
        net.reply(leader, number, command());
    }
    let snapshots =
        |net: &Net| net.sent.iter().filter(|sent| **sent == (leader, follower, Lane::Bulk)).count();
    // Heard of again, it is too far behind for the entries that are kept; the snapshot itself is lost.
    net.is_cut = None;
    while snapshots(&net) == 0 {
        net.step();
    }
    net.in_flight.retain(|(_, _, message)| message.lane() == Lane::Control);
    let (before, lost) = (snapshots(&net), net.now);
    net.input(leader, Input::Undelivered { to: node(follower), lane: Lane::Bulk });
    net.run_until(|net| snapshots(net) > before);
    assert!(net.now.since(lost) < Duration::from_secs(1), "not only after the time of a lost one");
}

#[test]
fn peer_that_closed_its_connections_is_doubted_and_somebody_else_leads_soon() {
    let mut net = Net::founded(3);
    let leader = net.leader().unwrap();
    net.replicas.remove(&leader);
    net.in_flight.clear();
    let from = net.now;
    for number in net.replicas.keys().copied().collect::<Vec<_>>() {
        net.input(number, Input::PeerGone(node(leader)));
    }
    net.run_until(|net| net.leader().is_some());
    assert!(net.now.since(from) < Config::lan().election_min, "{:?}", net.now.since(from));
}

#[test]
fn restarted_replica_resumes_with_what_its_disk_holds() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    net.reply(leader, 1, command());
    net.start(follower, 3);
    assert!(net.replicas[&follower].0.group().is_some(), "without asking anybody");
    assert!(matches!(net.reply(follower, 2, Request::Read), Reply::Readable { .. } | Reply::Failed(_)));
}

#[test]
fn leadership_is_handed_over_where_the_leader_is() {
    let mut net = Net::founded(3);
    let (leader, follower) = (net.leader().unwrap(), net.follower());
    assert!(matches!(net.reply(follower, 1, Request::Transfer(None)), Reply::NotTransferred(_)));
    let Reply::Transferring(to) = net.reply(leader, 1, Request::Transfer(None)) else { panic!() };
    net.run_until(|net| net.leader().is_some_and(|number| number != leader));
    assert_eq!(net.leader(), Some(to.get()));
}

#[test]
fn version_of_a_member_is_known_once_it_said_so() {
    let mut net = Net::founded(3);
    let [one, two] = [1, 2].map(|number| RaftId::new(number).unwrap());
    net.input(1, Input::PeerVersion { node: node(2), version: 7 });
    let replica = &net.replicas[&1].0;
    assert_eq!([replica.understood(one), replica.understood(two)], [Some(1), Some(7)]);
    assert_eq!(replica.understood(RaftId::new(3).unwrap()), None);
}

#[test]
fn timer_is_asked_for_once_and_replaced_when_it_changes() {
    let (mut replica, _) = started(1, 1, Loaded::default());
    let out = handle(&mut replica, Input::Persisted(Ticket(0)));
    let timers = |out: &Out| out.iter().filter(|it| matches!(it, Output::Timer(_))).count();
    assert_eq!(timers(&out), 1);
    assert_eq!(timers(&handle(&mut replica, Input::Health(1))), 0, "it is the same");
    assert_eq!(timers(&handle(&mut replica, Input::Timer)), 1, "it has passed");
}
