//! Does what a replica asks for, in the order it asks.

use hyperscale_consensus::register::{Body, Command, Outcome};
use hyperscale_consensus::{Action, BlobId, Configuration, Event, LogGroup, ProposalId, RaftId, Role};
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use std::time::Duration;

use bytes::Bytes;

use super::lives::DUTY;
use super::{Happening, World};
use crate::invariants::{Logged, What};
use crate::jobs::{Answer, Office, Order};
use crate::log::disk::Progress;
use crate::log::{Disk, Letter, Stage, Written};

/// How long it takes at most to get a blob from another member.
const FETCH_WITHIN: Duration = Duration::from_secs(2);

impl World {
    pub(in crate::world) fn log_tick(&mut self, index: usize, boot: BootEpoch) {
        if !self.is_life(index, boot) {
            return;
        }
        let lhm = self.nodes[index].swim.lhm();
        let mut next = Now::ZERO;
        self.at_work(index, |office, now, _| {
            office.group.set_health(now, lhm);
            office.group.tick(now);
            next = office.group.next_tick();
        });
        let at = self.nodes[index].clock.moment_of(next);
        debug_assert!(next > Now::ZERO, "only replicas that take part tick");
        self.kernel.at(at, Happening::Tick { node: index, boot });
    }

    pub(in crate::world) fn duty(&mut self, index: usize, boot: BootEpoch) {
        if !self.is_life(index, boot) {
            return self.outlived_duty(index, boot);
        }
        self.kernel.after(DUTY, Happening::Duty { node: index, boot });
        if self.nodes[index].worker.is_some() {
            return self.worker_duty(index);
        }
        let at = self.kernel.now();
        self.at_work(index, |office, now, orders| office.duty(now, at, orders));
    }

    /// Lets a leader propose a command that changes nothing; the place of its entry.
    pub fn propose_nothing(&mut self, index: usize) -> Option<u64> {
        let command = Command { token: Token(0), body: Body::JobForget { first: 0, last: 0 } };
        let proposal = ProposalId(self.kernel.happened());
        let mut place = None;
        self.at_work(index, |office, now, _| {
            let is_made = office.group.propose(now, proposal, command.encode()).is_ok();
            place = is_made.then(|| office.group.last_index());
        });
        place
    }

    /// A disk has had the time it needs.
    pub(in crate::world) fn disk(&mut self, index: usize, boot: BootEpoch) {
        if !self.is_life(index, boot) {
            return;
        }
        let now = self.kernel.now();
        let Some(host) = &mut self.nodes[index].host else { return };
        match host.disk.finish(now) {
            Err(longer) => self.kernel.after(longer, Happening::Disk { node: index, boot }),
            Ok(ticket) => {
                if let Some(ticket) = ticket {
                    self.at_work(index, |office, _, _| office.group.persisted(ticket));
                }
                self.look_after_disk(index, boot);
            }
        }
    }

    fn look_after_disk(&mut self, index: usize, boot: BootEpoch) {
        let now = self.kernel.now();
        let (Some(log), Some(host)) = (&mut self.log, &mut self.nodes[index].host) else { return };
        if let Progress::Again(after) = host.disk.begin(now, &mut log.rng) {
            self.kernel.after(after, Happening::Disk { node: index, boot });
        }
    }

    /// What SWIM says to the layers above.
    pub(in crate::world) fn gossip(&mut self, index: usize, event: &hyperscale_swim::Event) {
        use hyperscale_swim::Event as Swim;
        let (node, is_dead) = match event {
            Swim::Died { node, .. } => (*node, true),
            Swim::Joined { peer, .. } => (peer.node, false),
            Swim::Refuted { node } => (*node, false),
            Swim::StateChanged { node, state } => return self.peer_health(index, *node, &state.state),
            _ => return,
        };
        self.at_work(index, |office, now, _| office.gossip(now, node, is_dead));
    }

    /// A member says how well it is; workers have no voice.
    fn peer_health(&mut self, index: usize, node: NodeId, state: &hyperscale_swim::EmbeddedState) {
        if matches!(state, hyperscale_swim::EmbeddedState::Worker(_)) {
            return;
        }
        let lhm = state.lhm();
        self.at_work(index, |office, _, _| {
            let peer = office.group.roster().members().find(|member| member.node == node);
            let peer = peer.map(|member| member.raft_id);
            if let Some(peer) = peer {
                office.group.set_peer_health(peer, lhm);
            }
        });
    }

    /// Lets a replica that takes part do something, and does what follows from it.
    pub(super) fn at_work(&mut self, index: usize, work: impl FnOnce(&mut Office, Now, &mut Vec<Order>)) {
        let Some(mut host) = self.nodes[index].host.take() else { return };
        if let Stage::Running(office) = &mut host.stage {
            let now = self.nodes[index].clock.read(self.kernel.now());
            let mut orders = Vec::new();
            work(office, now, &mut orders);
            self.follow_through(index, now, office, &mut host.disk, &mut orders);
        }
        self.nodes[index].host = Some(host);
        let boot = self.truth.nodes[index].process.boot;
        self.look_after_disk(index, boot);
    }

    fn follow_through(
        &mut self,
        index: usize,
        now: Now,
        office: &mut Office,
        disk: &mut Disk,
        orders: &mut Vec<Order>,
    ) {
        self.show_backlog(index, office);
        loop {
            for order in orders.drain(..) {
                self.follow_order(index, order);
            }
            let before = office.group.configuration().clone();
            let mut actions = Vec::new();
            office.group.ready(now, &mut actions);
            if actions.is_empty() {
                break;
            }
            let written = office.group.machine().take();
            for action in actions {
                let entry = entry_of(&action, &written);
                self.show_action(index, office, disk, &before, &action, entry);
                office.action(now, &action, entry, orders);
                match action {
                    Action::Persist(batch) => disk.take(batch),
                    Action::Store { blob, bytes } => self.store_blob(blob, bytes),
                    Action::Fetch(blob) => self.fetch_blob(index, blob),
                    Action::Send(message) => self.send_raft(index, office, message),
                    _ => {}
                }
            }
        }
        let (applied, hash) = office.group.applied();
        self.kernel.trace.mix(&[applied, hash.0]);
        self.show_log(index, Logged::State { index: applied, hash });
    }

    fn store_blob(&mut self, blob: BlobId, bytes: Bytes) {
        if let Some(log) = &mut self.log {
            log.blobs.insert(blob, bytes);
        }
    }

    /// A replica gets a blob that its state lists, after a while.
    fn fetch_blob(&mut self, index: usize, blob: BlobId) {
        let Some(log) = &mut self.log else { return };
        let (after, boot) = (FETCH_WITHIN.mul_f64(log.rng.f64()), self.truth.nodes[index].process.boot);
        self.kernel.after(after, Happening::Fetched { node: index, boot, blob });
    }

    pub(in crate::world) fn fetched(&mut self, index: usize, boot: BootEpoch, blob: BlobId) {
        if !self.is_life(index, boot) {
            return;
        }
        let bytes = self.log.as_ref().and_then(|log| log.blobs.get(&blob).cloned());
        let Some(bytes) = bytes else {
            let what = format!("{blob:?} is listed by a snapshot and was never stored");
            return self.judges.object("chunks_kept", self.kernel.now(), Some(index), what);
        };
        let mut read = Ok(());
        self.at_work(index, |office, _, _| read = office.group.supply(blob, &bytes));
        if let Err(error) = read {
            self.judges.object("chunks_kept", self.kernel.now(), Some(index), error.to_string());
        }
    }

    /// Before anything is answered, when most of it waits.
    fn show_backlog(&mut self, index: usize, office: &Office) {
        let (waiting, allowed) = (office.group.backlog(), office.group.config().backlog_max);
        if waiting.proposals + waiting.reads > 0 {
            self.show_log(index, Logged::Waiting { waiting, allowed });
        }
    }

    fn follow_order(&mut self, index: usize, order: Order) {
        match order {
            Order::Send { to, letter } => self.post(index, to, letter),
            Order::Answer { errand, answer } => self.answer_client(errand, answer),
            Order::ReadAsked(read) => self.show_log(index, Logged::ReadAsked(read)),
        }
    }

    fn send_raft(&mut self, index: usize, office: &mut Office, message: hyperscale_consensus::Message) {
        // A member that this replica has not heard of yet cannot be written to.
        let Some(to) = office.node_of(message.to) else { return };
        let (peer, is_bulk) = (message.to, message.kind == hyperscale_consensus::MessageKind::Snapshot);
        if self.send(index, to, Letter::Raft(message)) {
            return;
        }
        let now = self.nodes[index].clock.read(self.kernel.now());
        office.group.unreachable(now, peer);
        if is_bulk {
            office.group.snapshot_sent(now, peer, false);
        }
    }

    fn show_action(
        &mut self,
        index: usize,
        office: &Office,
        disk: &Disk,
        before: &Configuration,
        action: &Action<Outcome>,
        entry: Option<&Written>,
    ) {
        let group = &office.group;
        match action {
            Action::Persist(batch) => {
                self.show_log(index, Logged::Persists { batch, durable: disk.durable() });
            }
            Action::Send(message) => self.show_log(index, Logged::Sends { message, durable: disk.durable() }),
            Action::Applied(it) => {
                let outcome = it.outcome.as_ref();
                self.show_log(index, Logged::Applied { index: it.index, term: it.term, outcome });
                if self.is_news(index, it.index) {
                    let holders = self.holders(index, group.id(), disk, it.index, it.term);
                    let configurations = [before, group.configuration()];
                    let news = Logged::Committed { index: it.index, holders: &holders, configurations };
                    self.show_log(index, news);
                    if let Some(entry) = entry {
                        self.show_log(index, Logged::Decided(entry));
                    }
                }
            }
            Action::ReadReady { read, .. } => {
                let applied = group.applied().0;
                self.show_log(index, Logged::ReadReady { read: *read, applied });
            }
            Action::Event(event) => self.show_event(index, office, event),
            Action::Failed { .. } | Action::ReadFailed { .. } | Action::Store { .. } | Action::Fetch(_) => {}
        }
    }

    fn show_event(&mut self, index: usize, office: &Office, event: &Event) {
        self.recorder.note(self.kernel.now(), index, || format!("► {event:?}"));
        match event {
            Event::LeaderChanged { term, role: Role::Leader, .. } => {
                self.show_log(index, Logged::Leads { term: *term, id: office.group.id() });
            }
            Event::Promoting(id) => {
                let behind = office.group.last_index().saturating_sub(self.last_on_disk(index, office, *id));
                let allowed = self.log.as_ref().map_or(0, |log| log.setup.config.learner_lag_max);
                self.show_log(index, Logged::Promotes { id: *id, behind, allowed });
            }
            Event::Halted(halt) => self.show_log(index, Logged::Halted(halt)),
            _ => {}
        }
    }

    /// The last entry that a member's disk holds.
    fn last_on_disk(&self, index: usize, office: &Office, id: RaftId) -> u64 {
        let directory = office.group.roster().member(id).map(|member| member.directory);
        let cluster = self.truth.nodes[index].cluster;
        let host = self.all_hosts_of(cluster).find(|(_, host)| Some(host.directory) == directory);
        host.map_or(0, |(_, host)| {
            let durable = host.disk.durable();
            durable.entries.last().map_or(0, |entry| entry.index).max(durable.snapshot.index)
        })
    }

    /// Whether nobody had applied that entry.
    fn is_news(&mut self, index: usize, entry: u64) -> bool {
        let Some(log) = &mut self.log else { return false };
        let frontier = log.frontier.entry(self.truth.nodes[index].cluster).or_default();
        let is_news = entry > *frontier;
        *frontier = entry.max(*frontier);
        is_news
    }

    /// Whose disks hold an entry or held it when they were lost, whether they run or not. The own one is not in its place
    /// now.
    fn holders(&self, index: usize, own: RaftId, disk: &Disk, entry: u64, term: u64) -> Vec<RaftId> {
        let holds = |disk: &Disk| {
            let durable = disk.durable();
            let first = durable.entries.first().map_or(u64::MAX, |first| first.index);
            let found = entry.checked_sub(first).and_then(|at| durable.entries.get(at as usize));
            entry <= durable.snapshot.index || found.is_some_and(|found| found.term == term)
        };
        let others = self.all_hosts_of(self.truth.nodes[index].cluster).flat_map(|(_, host)| host.disks());
        let mut holders: Vec<RaftId> = others.filter(|(_, disk)| holds(disk)).map(|(id, _)| id).collect();
        holders.extend(holds(disk).then_some(own));
        holders
    }

    pub(super) fn show_log(&mut self, index: usize, what: Logged<'_>) {
        self.show(index, What::Log(what));
    }

    fn answer_client(&mut self, errand: usize, answer: Answer) {
        if let Some(at) = self.client_delay() {
            self.kernel.at(at, Happening::Answered { errand, answer });
        }
    }
}

/// The command of an applied entry.
fn entry_of<'a>(action: &Action<Outcome>, written: &'a [Written]) -> Option<&'a Written> {
    let Action::Applied(applied) = action else { return None };
    written.iter().rev().find(|it| it.index == applied.index)
}
