//! Shows the judges what replicas do.

use hyperscale_consensus::register::Outcome;
use hyperscale_consensus::replica::{Output, ReplicaMessage, Reply, StartError};
use hyperscale_consensus::{Applied, Event, Halt, OpenError, RaftId, RaftRole, ReadId};

use super::World;
use crate::invariants::{Logged, What};
use crate::jobs::Voter;
use crate::log::{Disk, Written};
use crate::process::Version;

impl World {
    /// Before anything is answered, when most of it waits.
    pub(super) fn show_backlog(&mut self, index: usize, manager: &Voter) {
        let Some(group) = manager.replica().group() else { return };
        let (waiting, allowed) = (group.backlog(), group.config().backlog_max);
        if waiting.proposals + waiting.reads > 0 {
            self.show_log(index, Logged::Waiting { waiting, allowed });
        }
    }

    pub(super) fn show_output(
        &mut self,
        index: usize,
        manager: &Voter,
        disk: &Disk,
        output: &Output<Outcome>,
        entry: Option<&Written>,
    ) {
        match output {
            Output::Persist(batch) => {
                self.judge_founding(index, batch);
                self.show_log(index, Logged::Persists { batch, durable: disk.durable() });
            }
            Output::Send { message: ReplicaMessage::Raft(message), .. } => {
                self.show_log(index, Logged::Sends { message, terms: disk.terms() });
            }
            Output::Applied(it) => self.show_applied(index, manager, disk, it, entry),
            Output::Reply { call, reply: Reply::Readable { .. } } => {
                let applied = manager.group().applied().0;
                self.show_log(index, Logged::ReadReady { read: ReadId(call.0), applied });
            }
            Output::Waiting { reason, .. } => self.waits(index, *reason),
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
            | Output::MakeSnapshot(_)
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
        manager: &Voter,
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

    fn show_event(&mut self, index: usize, manager: &Voter, event: &Event) {
        self.recorder.note(self.kernel.now(), index, || format!("► {event:?}"));
        match event {
            Event::LeaderChanged { term, role: RaftRole::Leader, .. } => {
                self.show_log(index, Logged::Leads { term: *term, id: manager.group().id() });
            }
            Event::Promoting { id, index: entry } => {
                let (entry, last) = (*entry, self.last_on_disk(index, manager, *id));
                let allowed = self.log.as_ref().map_or(0, |log| log.setup.config.promotion.lag_max);
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
    fn last_on_disk(&self, index: usize, manager: &Voter, id: RaftId) -> u64 {
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
}
