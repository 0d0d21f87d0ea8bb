//! Recognises rare paths, from what replicas do and what is decided. Nothing here changes anything, and nothing depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_consensus::register::{Body, CommandRefusal, EndStatus, Job, JobId, Outcome};
use hyperscale_consensus::replica::{Output, ReplicaMessage, Reply, StartError};
use hyperscale_consensus::{
    Applied, BlobId, ConfigurationStep, EntryBody, Event, Halt, Machine, MessageKind, OpenError,
    ProposeError, QuorumError, RaftRole, TransferCause,
};
use hyperscale_job::entry::{Change, Entry};
use hyperscale_types::{BootEpoch, NodeId, Token};

use super::World;
use crate::faults::{FounderMoment, LeaderMoment};
use crate::jobs::Voter;
use crate::log::journal::NEWER;
use crate::log::{Disk, Written};
use crate::paths::Path;
use crate::world::node::index_of;
use crate::world::{Absence, Absent};

/// A worker that has run for so long had its lease in this life.
const RUNS_FOR: Duration = Duration::from_secs(20);

/// What was seen earlier of paths that take several steps.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The term of the entry that entered a group's joint configuration.
    joint: BTreeMap<u8, u64>,
    leading: BTreeSet<(usize, BootEpoch)>,
    snapshots: BTreeSet<(usize, NodeId, u64)>,
    /// Whom a replica asked first for a blob.
    asked: BTreeMap<(usize, BlobId), NodeId>,
    waiting: BTreeSet<(u8, JobId)>,
    led: BTreeSet<(u8, JobId)>,
    ended: BTreeSet<(u8, JobId)>,
}

impl World {
    /// A replica wants something done.
    pub(super) fn note_output(
        &mut self,
        index: usize,
        manager: &Voter,
        disk: &Disk,
        output: &Output<Outcome>,
    ) {
        match output {
            Output::Event(event) => self.note_event(index, manager, event),
            Output::Send { to, message: ReplicaMessage::Raft(message), .. }
                if message.kind == MessageKind::Snapshot =>
            {
                let key = (index, *to, message.term);
                if self.log.as_mut().is_some_and(|log| !log.rare.snapshots.insert(key)) {
                    self.paths.take(Path::SnapshotSentAgain);
                }
                self.leader_moment(index, LeaderMoment::Snapshot);
            }
            Output::Send { message: message @ ReplicaMessage::BootstrapReport(_), .. } => {
                self.founder_moment(index, FounderMoment::Acknowledged, message);
            }
            Output::Send { to, message: ReplicaMessage::BlobGet { blob }, .. } => {
                if let Some(log) = &mut self.log {
                    log.rare.asked.entry((index, *blob)).or_insert(*to);
                }
            }
            Output::PutBlob { blob, .. } => {
                let register = manager.replica().group().map(|group| group.machine().register());
                if register.is_some_and(|register| register.chunks().any(|chunk| chunk.blob == *blob)) {
                    self.paths.take(Path::JobSealed);
                }
            }
            Output::Reply { reply: Reply::Failed(error), .. } => self.note_failure(error),
            Output::Opened(_) if self.is_late_founder(index, disk) => self.paths.take(Path::FounderMissing),
            Output::Failed(StartError::Open(OpenError::Outdated(_))) => self.paths.take(Path::BuildOutdated),
            _ => {}
        }
    }

    fn note_event(&mut self, index: usize, manager: &Voter, event: &Event) {
        let life = (index, self.truth.nodes[index].process.boot);
        match event {
            Event::LeaderChanged { role: RaftRole::Leader, .. } => {
                if let Some(log) = &mut self.log {
                    log.rare.leading.insert(life);
                }
                self.leader_moment(index, LeaderMoment::Elected);
            }
            Event::LeaderChanged { .. }
                if self.log.as_mut().is_some_and(|log| log.rare.leading.remove(&life)) =>
            {
                self.paths.take(Path::LeaderSteppedDown);
            }
            Event::ConfigurationChanged(it) if it.is_joint() && manager.group().is_leader() => {
                self.leader_moment(index, LeaderMoment::JointChange);
            }
            Event::Transferring { cause: TransferCause::Ill, .. } => self.paths.take(Path::LeaderTransferred),
            Event::Promoting { .. } => self.paths.take(Path::LearnerPromoted),
            Event::SnapshotRestored { .. } => self.paths.take(Path::SnapshotRestored),
            Event::Halted(Halt::Outdated { .. }) => self.paths.take(Path::BuildOutdated),
            _ => {}
        }
    }

    fn note_failure(&mut self, error: &ProposeError) {
        match error {
            ProposeError::Replaced => self.paths.take(Path::EntryReplaced),
            ProposeError::Overloaded => self.paths.take(Path::Overloaded),
            ProposeError::Quorum(QuorumError::CircuitOpen(_)) => self.paths.take(Path::CircuitOpened),
            _ => {}
        }
    }

    /// A founder takes part with nothing but the founding, though its group has decided something.
    fn is_late_founder(&self, index: usize, disk: &Disk) -> bool {
        let has_decided = self.log.as_ref().is_some_and(|log| {
            log.frontier.get(&self.truth.nodes[index].cluster).is_some_and(|frontier| *frontier > 1)
        });
        let durable = disk.durable();
        has_decided && durable.entries.is_empty() && durable.snapshot.index == 1
    }

    /// A message reaches a replica.
    pub(super) fn note_message(&mut self, index: usize, from: NodeId, message: &ReplicaMessage) {
        self.founder_moment(index, FounderMoment::OtherAcknowledged, message);
        let (ReplicaMessage::BlobData { blob, .. }, Some(log)) = (message, &mut self.log) else { return };
        let Some(first) = log.rare.asked.remove(&(index, *blob)) else { return };
        self.paths.take(Path::BlobFetched);
        if first != from {
            self.paths.take(Path::BlobFromThirdPeer);
        }
        let manager = self.nodes[index].host.as_deref().and_then(|host| host.manager());
        if manager.is_some_and(|manager| manager.group().machine().missing().contains(blob)) {
            self.paths.take(Path::SealedChunkFetched);
        }
    }

    /// An entry is applied for the first time anywhere.
    pub(super) fn note_news(
        &mut self,
        index: usize,
        manager: &Voter,
        disk: &Disk,
        it: &Applied<Outcome>,
        entry: Option<&Written>,
    ) {
        match &it.outcome {
            None => self.note_change(index, disk, it),
            Some(Outcome::Refused(CommandRefusal::Unreadable { .. } | CommandRefusal::NotInForce { .. })) => {
                self.paths.take(Path::TooEarlyRefused);
            }
            Some(Outcome::Refused(CommandRefusal::StaleToken { .. })) => {
                self.paths.take(Path::StaleTokenRefused);
            }
            Some(Outcome::Refused(CommandRefusal::Overtakes { .. })) => {
                self.paths.take(Path::OvertakingRefused);
            }
            Some(_) => {}
        }
        if let Some(entry) = entry {
            self.note_decision(index, manager, entry);
        }
    }

    fn note_change(&mut self, index: usize, disk: &Disk, it: &Applied<Outcome>) {
        let found = disk.all_entries().find(|entry| (entry.index, entry.term) == (it.index, it.term));
        let Some(EntryBody::Configuration(change)) = found.map(|entry| &entry.body) else { return };
        let (cluster, Some(log)) = (self.truth.nodes[index].cluster, &mut self.log) else { return };
        if change.steps.iter().any(|step| matches!(step, ConfigurationStep::Remove(_))) {
            self.paths.take(Path::VoterRemoved);
        }
        if !change.steps.is_empty() {
            log.rare.joint.insert(cluster, it.term);
        } else if log.rare.joint.remove(&cluster).is_some_and(|entered| entered != it.term) {
            self.paths.take(Path::JointLeftByAnother);
        }
    }

    fn note_decision(&mut self, index: usize, manager: &Voter, entry: &Written) {
        let (now, cluster) = (self.kernel.now(), self.truth.nodes[index].cluster);
        let register = manager.group().machine().register();
        let Some(log) = &mut self.log else { return };
        let rare = &mut log.rare;
        let path = match (&entry.command.body, &entry.outcome) {
            (Body::ClusterVersion { version }, Outcome::Done) if *version >= NEWER => Path::VersionRaised,
            (Body::WorkerOwner { replaces, .. }, Outcome::Granted(_) | Outcome::Done)
                if *replaces > Token(0) =>
            {
                Path::OwnerMoved
            }
            (Body::WorkerGrant { worker, .. }, Outcome::Granted(grant))
                if grant.0 == entry.index && register.former_of(*worker).next().is_some() =>
            {
                Path::GrantSuperseded
            }
            (Body::WorkerGone { worker, .. }, Outcome::Done) => {
                let worker = index_of(*worker);
                let since = self.truth.nodes[worker].since;
                if !self.truth.runs(worker) || now.since(since) < RUNS_FOR {
                    return;
                }
                Path::LeaseEndedWhileRunning
            }
            (Body::Ready { job, .. }, Outcome::Done) => {
                rare.waiting.insert((cluster, *job));
                return;
            }
            (Body::Assign(batch), Outcome::Done) if rare.waiting.remove(&(cluster, batch.job)) => {
                Path::ClaimWaited
            }
            (Body::Assign(batch), Outcome::Done) if batch.segments.iter().any(|it| it.attempt > 1) => {
                Path::AttemptRepeated
            }
            (Body::AttemptWindows { .. }, Outcome::Done) => Path::WindowsCommitted,
            (Body::AttemptEnd { end, .. }, Outcome::Done)
                if end.status == EndStatus::Lost && end.result.is_some() =>
            {
                Path::WindowsCommitted
            }
            (Body::Decide(_), Outcome::Done) => match entry.decided() {
                Some(Entry::Restart { .. }) => Path::SegmentRestarted,
                Some(Entry::Control { change: Change::Pause, .. }) => Path::LoadPaused,
                _ => return,
            },
            (Body::JobLeader { job, .. }, Outcome::Granted(_)) => {
                let is_cancelled = register.job(*job).is_some_and(Job::is_wholly_cancelled);
                if rare.led.insert((cluster, *job)) || !is_cancelled {
                    return;
                }
                Path::TakeoverDuringCancel
            }
            (Body::JobEnd { job, .. }, Outcome::Done) => {
                rare.ended.insert((cluster, *job));
                return;
            }
            (Body::JobAccept(_), Outcome::Accepted { job, is_repeat: true })
                if rare.ended.contains(&(cluster, *job)) =>
            {
                Path::RepeatAfterEnd
            }
            _ => return,
        };
        self.paths.take(path);
    }

    /// All trouble ends but for those who stay away.
    pub(in crate::world) fn note_absence(&mut self, absent: &Absent) {
        if absent.nodes.is_empty() {
            return;
        }
        self.paths.take(match absent.how {
            Absence::Dead => Path::MinorityDead,
            Absence::CutOff => Path::MinorityCutOff,
        });
        let leads = |node: &usize| {
            let manager = self.nodes[*node].host.as_deref().and_then(|host| host.manager());
            manager.is_some_and(|manager| manager.group().is_leader())
        };
        if absent.nodes.iter().any(leads) {
            self.paths.take(Path::LeaderAway);
        }
    }

    /// A disk that broke was that of a founder.
    pub(super) fn note_lost_disk(&mut self, index: usize) {
        let (cluster, Some(log)) = (self.truth.nodes[index].cluster, &self.log) else { return };
        let has_decided = log.frontier.contains_key(&cluster);
        if self.founders(index).contains(&index) {
            let later = Path::FounderLostDiskLater;
            self.paths.take(if has_decided { later } else { Path::FounderLostDiskEarly });
        }
    }
}
