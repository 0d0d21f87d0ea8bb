//! Does what a replica asks for, in the order it asks.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyperscale_consensus::register::{Body, Command, Outcome};
use hyperscale_consensus::replica::{CallId, Input, Output, Request};
use hyperscale_consensus::{BlobId, Event, Snapshot, SnapshotJob};
use hyperscale_types::{BootEpoch, NodeId, Now, Role, Token};

use super::lives::DUTY;
use super::{Happening, World};
use crate::invariants::Logged;
use crate::jobs::{Answer, Deed, Voter};
use crate::log::disk::Progress;
use crate::log::{Disk, Host, Letter, Stage, Written};
use crate::paths::Path;

impl World {
    /// The timer of a voter or a worker is due.
    pub(in crate::world) fn log_tick(&mut self, index: usize, boot: BootEpoch, at: Now) {
        if self.truth.nodes[index].role == Role::Worker {
            return self.worker_timer(index, boot);
        }
        let host = self.nodes[index].host.as_mut().filter(|host| host.timer == Some(at));
        let Some(host) = host.filter(|_| self.truth.nodes[index].process.boot == boot) else { return };
        if !self.truth.nodes[index].process.is_up() {
            return;
        }
        host.timer = None;
        let lhm = self.nodes[index].swim.lhm();
        self.at_work(index, |manager, now| {
            manager.input(now, Input::Health(lhm));
            manager.timer(now);
        });
    }

    pub(in crate::world) fn duty(&mut self, index: usize, boot: BootEpoch) {
        if self.is_life(index, boot) {
            self.kernel.after(DUTY, Happening::Duty { node: index, boot });
            self.with_group(index, Voter::duty);
        }
    }

    /// Lets a leader propose a command that changes nothing; the place of its entry.
    pub fn propose_nothing(&mut self, index: usize) -> Option<u64> {
        let command = Command { token: Token(0), body: Body::JobForget { first: 0, last: 0 } };
        let call = CallId(self.kernel.happened());
        let mut place = None;
        self.with_group(index, |manager, now| {
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
                    self.at_work(index, |manager, now| manager.input(now, Input::Persisted(ticket)));
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
        self.at_work(index, |manager, now| manager.input(now, Input::BlobStored(blob)));
    }

    /// A snapshot has been encoded.
    pub(in crate::world) fn snapshot_made(&mut self, index: usize, boot: BootEpoch, snapshot: Snapshot) {
        if self.is_life(index, boot) {
            self.at_work(index, |manager, now| manager.input(now, Input::SnapshotMade(snapshot)));
        }
    }

    /// What SWIM says to the layers above.
    pub(in crate::world) fn gossip(&mut self, index: usize, event: &hyperscale_swim::Event) {
        use hyperscale_swim::Event as Swim;
        let (node, is_dead) = match event {
            Swim::Died { node, .. } | Swim::Left { node } => (*node, true),
            Swim::Joined { peer, .. } => (peer.node, false),
            Swim::Refuted { node } => (*node, false),
            Swim::StateChanged { node, state } => return self.peer_health(index, *node, &state.state),
            _ => return,
        };
        if self.nodes[index].worker.is_some() {
            return self.worker_gossip(index, node, is_dead);
        }
        self.at_work(index, |manager, now| manager.gossip(now, node, is_dead));
    }

    /// A member says how well it is; workers have no voice.
    fn peer_health(&mut self, index: usize, node: NodeId, state: &hyperscale_swim::EmbeddedState) {
        if matches!(state, hyperscale_swim::EmbeddedState::Worker(_)) {
            return;
        }
        let lhm = state.lhm();
        self.at_work(index, |manager, now| manager.input(now, Input::PeerHealth { node, lhm }));
    }

    /// Lets a voter whose replica takes part do something, and does what follows from it.
    pub(super) fn with_group(&mut self, index: usize, work: impl FnOnce(&mut Voter, Now)) {
        if self.nodes[index].host.as_ref().is_some_and(|host| host.manager().is_some()) {
            self.at_work(index, work);
        }
    }

    /// Lets a process with a replica do something, and does what follows from it.
    pub(super) fn at_work(&mut self, index: usize, work: impl FnOnce(&mut Voter, Now)) {
        let Some(mut host) = self.nodes[index].host.take() else { return };
        let Host { disk, timer, blobs, stage, .. } = &mut *host;
        if let Stage::Running(manager) = stage {
            let now = self.nodes[index].clock.read(self.kernel.now());
            work(manager, now);
            self.follow_through(index, now, manager, (disk, timer, blobs));
        }
        self.nodes[index].host = Some(host);
        let boot = self.truth.nodes[index].process.boot;
        self.look_after_disk(index, boot);
    }

    fn follow_through(
        &mut self,
        index: usize,
        now: Now,
        manager: &mut Voter,
        (disk, timer, blobs): (&mut Disk, &mut Option<Now>, &mut BTreeMap<BlobId, Bytes>),
    ) {
        self.show_backlog(index, manager);
        loop {
            let deeds = manager.take(now);
            if deeds.is_empty() {
                break;
            }
            let written = manager.replica().group().map(|group| group.machine().take()).unwrap_or_default();
            for deed in deeds {
                match deed {
                    Deed::Replica(output) => {
                        self.replica_output(index, now, manager, (&mut *disk, &mut *blobs), output, &written);
                    }
                    Deed::Send { to, letter } => self.post(index, to, letter),
                    Deed::ReadBlob { read, blob } => {
                        let bytes = blobs.get(&blob).cloned();
                        manager.blob_read(now, read, bytes);
                    }
                    Deed::Answer { client_job, answer } => self.answer_client(client_job, answer),
                    Deed::ReadAsked(read) => self.show_log(index, Logged::ReadAsked(read)),
                    Deed::Timer(at) => self.set_timer(index, timer, at),
                }
            }
        }
        if let Some(group) = manager.replica().group() {
            let (applied, hash) = group.applied();
            self.kernel.trace.mix(&[applied, hash.0]);
            self.show_log(index, Logged::State { index: applied, hash });
        }
    }

    fn replica_output(
        &mut self,
        index: usize,
        now: Now,
        manager: &mut Voter,
        (disk, blobs): (&mut Disk, &mut BTreeMap<BlobId, Bytes>),
        output: Output<Outcome>,
        written: &[Written],
    ) {
        let entry = entry_of(&output, written);
        self.show_output(index, manager, disk, &output, entry);
        self.note_output(index, manager, disk, &output);
        match output {
            Output::Persist(batch) => disk.take(batch),
            Output::Send { to, lane, message } => {
                let is_sent = self.send(index, to, Letter::Replica(message));
                if !is_sent {
                    manager.input(now, Input::Undelivered { to, lane });
                }
            }
            Output::MakeSnapshot(job) => self.make_snapshot(index, disk, job),
            Output::PutBlob { blob, bytes } => self.put_blob(index, disk, blob, bytes),
            Output::ReadBlob { blob, to } => {
                let bytes = blobs.get(&blob).cloned();
                manager.input(now, Input::BlobRead { blob, to, bytes });
            }
            Output::RemoveBlob(blob) => {
                blobs.remove(&blob);
            }
            Output::Opened(_)
            | Output::Event(Event::ConfigurationChanged(_) | Event::SnapshotRestored { .. }) => {
                self.join_members(index, manager);
            }
            _ => {}
        }
    }

    /// Membership learns where the members of the log are: the configured peers may be gone for ever, and be replaced by others
    /// that only the log names. The node's driver does the same at the same events.
    fn join_members(&mut self, index: usize, manager: &Voter) {
        let contacts = manager.group().roster().members().map(|member| member.addresses.peer).collect();
        let boot = self.truth.nodes[index].process.boot;
        let command = hyperscale_swim::Command::Join { contacts };
        self.kernel.at(self.kernel.now(), Happening::Command { node: index, boot, command });
    }

    /// Encoding takes a while, in which the replica goes on; as long as a write does, for want of a better guess.
    fn make_snapshot(&mut self, index: usize, disk: &Disk, job: SnapshotJob) {
        let (now, boot) = (self.kernel.now(), self.truth.nodes[index].process.boot);
        let Some(log) = &mut self.log else { return };
        let after = disk.delay(now, &mut log.rng);
        let snapshot = Box::new(job.run());
        self.kernel.after(after, Happening::SnapshotMade { node: index, boot, snapshot });
    }

    fn put_blob(&mut self, index: usize, disk: &Disk, blob: BlobId, bytes: Bytes) {
        let (now, boot) = (self.kernel.now(), self.truth.nodes[index].process.boot);
        let Some(log) = &mut self.log else { return };
        let after = disk.delay(now, &mut log.rng);
        self.kernel.after(after, Happening::BlobSynced { node: index, boot, blob, bytes });
    }

    pub(super) fn set_timer(&mut self, index: usize, timer: &mut Option<Now>, at: Now) {
        *timer = Some(at);
        let (boot, moment) = (self.truth.nodes[index].process.boot, self.nodes[index].clock.moment_of(at));
        self.kernel.at(moment, Happening::Tick { node: index, boot, at });
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

#[cfg(test)]
mod tests;
