//! Does what a replica asks for, in the order it asks.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyperscale_consensus::register::{Body, Command, Outcome};
use hyperscale_consensus::replica::{CallId, Input, Output, ReplicaMessage, Reply, Request, StartError};
use hyperscale_consensus::{Applied, BlobId, Event, Halt, OpenError, RaftId, ReadId, Role};
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::lives::DUTY;
use super::{Happening, World};
use crate::invariants::{Logged, What};
use crate::jobs::{Answer, ManagerAction, ManagerDriver};
use crate::log::disk::Progress;
use crate::log::{Disk, Host, Letter, Stage, Written};
use crate::paths::Path;
use crate::process::Version;

impl World {
    pub(in crate::world) fn log_tick(&mut self, index: usize, boot: BootEpoch, at: Now) {
        let host = self.nodes[index].host.as_mut().filter(|host| host.timer == Some(at));
        let Some(host) = host.filter(|_| self.truth.nodes[index].process.boot == boot) else { return };
        if !self.truth.nodes[index].process.is_up() {
            return;
        }
        host.timer = None;
        let lhm = self.nodes[index].swim.lhm();
        self.at_work(index, |manager, now, _| {
            manager.input(now, Input::Health(lhm));
            manager.input(now, Input::Timer);
        });
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
        self.with_group(index, |manager, now, orders| manager.duty(now, at, orders));
    }

    /// Lets a leader propose a command that changes nothing; the place of its entry.
    pub fn propose_nothing(&mut self, index: usize) -> Option<u64> {
        let command = Command { token: Token(0), body: Body::JobForget { first: 0, last: 0 } };
        let call = CallId(self.kernel.happened());
        let mut place = None;
        self.with_group(index, |manager, now, _| {
            let before = manager.group().last_index();
            manager.input(now, Input::Call { call, request: Request::Propose(command.encode()) });
            place = Some(manager.group().last_index()).filter(|last| *last > before);
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
                    self.at_work(index, |manager, now, _| manager.input(now, Input::Persisted(ticket)));
                }
                self.look_after_disk(index, boot);
            }
        }
    }

    fn look_after_disk(&mut self, index: usize, boot: BootEpoch) {
        let now = self.kernel.now();
        let (Some(log), Some(host)) = (&mut self.log, &mut self.nodes[index].host) else { return };
        let progress = host.disk.begin(now, &mut log.rng);
        if host.disk.is_refusing(now) {
            self.paths.take(Path::DiskFull);
        }
        if let Progress::Again(after) = progress {
            self.kernel.after(after, Happening::Disk { node: index, boot });
        }
    }

    /// A blob has had the time it needs; unless its disk is stalled or full, it is there.
    pub(in crate::world) fn blob_synced(
        &mut self,
        index: usize,
        boot: BootEpoch,
        blob: BlobId,
        bytes: Bytes,
    ) {
        if !self.is_life(index, boot) {
            return;
        }
        let now = self.kernel.now();
        let (Some(log), Some(host)) = (&mut self.log, &mut self.nodes[index].host) else { return };
        if host.disk.is_troubled(now) {
            let again = host.disk.delay(now, &mut log.rng);
            return self.kernel.after(again, Happening::BlobSynced { node: index, boot, blob, bytes });
        }
        host.blobs.insert(blob, bytes);
        self.at_work(index, |manager, now, _| manager.input(now, Input::BlobStored(blob)));
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
        self.with_group(index, |manager, now, _| manager.gossip(now, node, is_dead));
    }

    /// A member says how well it is; workers have no voice.
    fn peer_health(&mut self, index: usize, node: NodeId, state: &hyperscale_swim::EmbeddedState) {
        if matches!(state, hyperscale_swim::EmbeddedState::Worker(_)) {
            return;
        }
        let lhm = state.lhm();
        self.at_work(index, |manager, now, _| manager.input(now, Input::PeerHealth { node, lhm }));
    }

    /// Lets a manager whose replica takes part do something, and does what follows from it.
    pub(super) fn with_group(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut ManagerDriver, Now, &mut Vec<ManagerAction>),
    ) {
        if self.nodes[index].host.as_ref().is_some_and(|host| host.manager().is_some()) {
            self.at_work(index, work);
        }
    }

    /// Lets a process with a replica do something, and does what follows from it.
    pub(super) fn at_work(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut ManagerDriver, Now, &mut Vec<ManagerAction>),
    ) {
        let Some(mut host) = self.nodes[index].host.take() else { return };
        let Host { disk, timer, blobs, stage, .. } = &mut *host;
        if let Stage::Running(manager) = stage {
            let now = self.nodes[index].clock.read(self.kernel.now());
            let mut orders = Vec::new();
            work(manager, now, &mut orders);
            self.follow_through(index, now, manager, (disk, timer, blobs), orders);
        }
        self.nodes[index].host = Some(host);
        let boot = self.truth.nodes[index].process.boot;
        self.look_after_disk(index, boot);
    }

    fn follow_through(
        &mut self,
        index: usize,
        now: Now,
        manager: &mut ManagerDriver,
        (disk, timer, blobs): (&mut Disk, &mut Option<Now>, &mut BTreeMap<BlobId, Bytes>),
        mut orders: Vec<ManagerAction>,
    ) {
        self.show_backlog(index, manager);
        loop {
            for order in orders.drain(..) {
                self.follow_order(index, order);
            }
            let outputs = std::mem::take(&mut manager.outputs);
            if outputs.is_empty() {
                break;
            }
            let written = manager.replica.group().map(|group| group.machine().take()).unwrap_or_default();
            for output in outputs {
                let entry = entry_of(&output, &written);
                self.show_output(index, manager, disk, &output, entry);
                self.note_output(index, manager, disk, &output);
                manager.output(now, &output, entry, &mut orders);
                match output {
                    Output::Persist(batch) => disk.take(batch),
                    Output::Send { to, lane, message } => {
                        let is_sent = self.send(index, to, Letter::Replica(message));
                        if !is_sent {
                            manager.input(now, Input::Undelivered { to, lane });
                        }
                    }
                    Output::PutBlob { blob, bytes } => self.put_blob(index, disk, blob, bytes),
                    Output::ReadBlob { blob, to } => {
                        let bytes = blobs.get(&blob).cloned();
                        manager.input(now, Input::BlobRead { blob, to, bytes });
                    }
                    Output::RemoveBlob(blob) => {
                        blobs.remove(&blob);
                    }
                    Output::Timer(at) => self.set_replica_timer(index, timer, at),
                    _ => {}
                }
            }
        }
        if let Some(group) = manager.replica.group() {
            let (applied, hash) = group.applied();
            self.kernel.trace.mix(&[applied, hash.0]);
            self.show_log(index, Logged::State { index: applied, hash });
        }
    }

    fn put_blob(&mut self, index: usize, disk: &Disk, blob: BlobId, bytes: Bytes) {
        let (now, boot) = (self.kernel.now(), self.truth.nodes[index].process.boot);
        let Some(log) = &mut self.log else { return };
        let after = disk.delay(now, &mut log.rng);
        self.kernel.after(after, Happening::BlobSynced { node: index, boot, blob, bytes });
    }

    fn set_replica_timer(&mut self, index: usize, timer: &mut Option<Now>, at: Now) {
        *timer = Some(at);
        let (boot, moment) = (self.truth.nodes[index].process.boot, self.nodes[index].clock.moment_of(at));
        self.kernel.at(moment, Happening::Tick { node: index, boot, at });
    }

    /// Before anything is answered, when most of it waits.
    fn show_backlog(&mut self, index: usize, manager: &ManagerDriver) {
        let Some(group) = manager.replica.group() else { return };
        let (waiting, allowed) = (group.backlog(), group.config().backlog_max);
        if waiting.proposals + waiting.reads > 0 {
            self.show_log(index, Logged::Waiting { waiting, allowed });
        }
    }

    fn follow_order(&mut self, index: usize, order: ManagerAction) {
        match order {
            ManagerAction::Send { to, letter } => self.post(index, to, letter),
            ManagerAction::Answer { client_job, answer } => self.answer_client(client_job, answer),
            ManagerAction::ReadAsked(read) => self.show_log(index, Logged::ReadAsked(read)),
        }
    }

    fn show_output(
        &mut self,
        index: usize,
        manager: &ManagerDriver,
        disk: &Disk,
        output: &Output<Outcome>,
        entry: Option<&Written>,
    ) {
        match output {
            Output::Persist(batch) => {
                self.show_log(index, Logged::Persists { batch, durable: disk.durable() });
            }
            Output::Send { message: ReplicaMessage::Raft(message), .. } => {
                self.show_log(index, Logged::Sends { message, durable: disk.durable() });
            }
            Output::Applied(it) => self.show_applied(index, manager, disk, it, entry),
            Output::Reply { call, reply: Reply::Readable { .. } } => {
                let applied = manager.group().applied().0;
                self.show_log(index, Logged::ReadReady { read: ReadId(call.0), applied });
            }
            Output::Event(event) => self.show_event(index, manager, event),
            Output::Opened(id) => {
                self.recorder.note(self.kernel.now(), index, || format!("takes part in the log as {id}"));
            }
            Output::Failed(StartError::Open(OpenError::Outdated(_))) => self.update_build(index),
            Output::Failed(error) => {
                let what = format!("cannot start from its disk: {error}");
                self.judges.object("log_opens", self.kernel.now(), Some(index), what);
            }
            Output::Send { .. }
            | Output::Reply { .. }
            | Output::PutBlob { .. }
            | Output::ReadBlob { .. }
            | Output::RemoveBlob(_)
            | Output::Timer(_) => {}
        }
    }

    fn show_applied(
        &mut self,
        index: usize,
        manager: &ManagerDriver,
        disk: &Disk,
        it: &Applied<Outcome>,
        entry: Option<&Written>,
    ) {
        let outcome = it.outcome.as_ref();
        self.show_log(index, Logged::Applied { index: it.index, term: it.term, outcome });
        if self.is_news(index, it.index) {
            let replicas = self.standings(index, manager, disk, (it.index, it.term));
            self.show_log(index, Logged::Committed { index: it.index, replicas: &replicas });
            self.note_news(index, manager, disk, it, entry);
            if let Some(entry) = entry {
                self.show_log(index, Logged::Decided(entry));
            }
        }
    }

    fn show_event(&mut self, index: usize, manager: &ManagerDriver, event: &Event) {
        self.recorder.note(self.kernel.now(), index, || format!("► {event:?}"));
        match event {
            Event::LeaderChanged { term, role: Role::Leader, .. } => {
                self.show_log(index, Logged::Leads { term: *term, id: manager.group().id() });
            }
            Event::Promoting { id, index: entry } => {
                let (entry, last) = (*entry, self.last_on_disk(index, manager, *id));
                let allowed = self.log.as_ref().map_or(0, |log| log.setup.config.learner_lag_max);
                self.show_log(index, Logged::Promotes { id: *id, entry, last, allowed });
            }
            // Nothing is wrong with a build that stops because it is too old.
            Event::Halted(Halt::Outdated { .. })
                if self.truth.nodes[index].process.version == Version::Old =>
            {
                self.update_build(index);
            }
            Event::Halted(halt) => self.show_log(index, Logged::Halted(halt)),
            _ => {}
        }
    }

    /// The last entry that a member's disk holds.
    fn last_on_disk(&self, index: usize, manager: &ManagerDriver, id: RaftId) -> u64 {
        let directory = manager.group().roster().member(id).map(|member| member.directory);
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

    pub(super) fn show_log(&mut self, index: usize, what: Logged<'_>) {
        self.show(index, What::Log(what));
    }

    fn answer_client(&mut self, client_job: usize, answer: Answer) {
        if let Some(at) = self.client_delay() {
            self.kernel.at(at, Happening::Answered { client_job, answer });
        }
    }
}

/// The command of an applied entry.
fn entry_of<'a>(output: &Output<Outcome>, written: &'a [Written]) -> Option<&'a Written> {
    let Output::Applied(applied) = output else { return None };
    written.iter().rev().find(|it| it.index == applied.index)
}
