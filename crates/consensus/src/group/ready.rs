//! What there is to do: the one place where raft-rs' readies become actions.

use std::collections::VecDeque;

use bytes::Bytes;
use hyperscale_types::Now;
use raft::{Ready, eraftpb};

use super::RaftGroup;
use super::disk::Held;
use crate::action::{Action, Applied, Event, Halt, ProposeError};
use crate::apply::{Machine, RestoreError};
use crate::blob::BlobId;
use crate::convert;
use crate::id::Ticket;
use crate::message::{EntryBody, Message, MessageKind, Snapshot};
use crate::split::split;
use crate::storage::{Batch, SnapshotWrite};

impl<M: Machine> RaftGroup<M> {
    pub(super) fn on_ready(&mut self, now: Now, out: &mut Vec<Action<M::Outcome>>) {
        if self.state.halt.is_none() {
            out.extend(self.disk.take_released().into_iter().map(Action::Send));
            self.begin_reads(now);
        }
        if self.state.halt.is_none() {
            self.apply_committed(Vec::new(), out);
        }
        while self.state.halt.is_none() && self.raft.has_ready() {
            self.work_off(now, out);
            self.settle(now);
        }
        out.extend(std::mem::take(&mut self.state.missing).into_iter().map(Action::Fetch));
        self.write_made_snapshot(out);
        self.begin_snapshot_if_due(out);
        if self.reads.drain(self.applier.applied(), out) {
            self.circuit.succeeded();
        }
        self.proposals.drain_failed(out);
        out.extend(self.events.drain(..).map(Action::Event));
    }

    fn work_off(&mut self, now: Now, out: &mut Vec<Action<M::Outcome>>) {
        let mut ready = self.raft.ready();
        if ready.ss().is_some() {
            self.leadership_changed();
        }
        // Before anything of it is written or said: what cannot be used must not take the place of a good log, and its
        // sender must not be told that it was taken.
        let installed =
            (!ready.snapshot().is_empty()).then(|| convert::snapshot_out(ready.snapshot().clone()));
        if let Some(Err(halt)) = installed.as_ref().map(|snapshot| self.restore(snapshot)) {
            return self.halt(halt);
        }
        for read in ready.take_read_states() {
            self.reads.proven(&read.request_ctx, read.index);
        }
        let messages = self.outgoing(now, ready.take_messages());
        out.extend(messages.into_iter().map(Action::Send));
        self.persist(now, &mut ready, installed, out);
        let (number, committed) = (ready.number(), ready.take_committed_entries());
        self.raft.advance_append_async(ready);
        if self.disk.is_idle() || bug!(self.config.bugs, CommitWithoutOwnDisk) && self.is_leader() {
            self.raft.on_persist_ready(number);
        }
        self.apply_committed(committed, out);
    }

    /// Hands the batch to the disk, and holds the messages that depend on it.
    fn persist(
        &mut self,
        now: Now,
        ready: &mut Ready,
        installed: Option<Snapshot>,
        out: &mut Vec<Action<M::Outcome>>,
    ) {
        let number = ready.number();
        let mut messages = self.outgoing(now, ready.take_persisted_messages());
        if bug!(self.config.bugs, SkipSyncBeforeVote) {
            out.extend(messages.drain(..).map(Action::Send));
        }
        if !ready.must_sync() {
            return self.follow(number, messages, out);
        }
        let entries = ready.take_entries();
        let log = self.raft.mut_store();
        if let Some(snapshot) = &installed {
            log.install(snapshot.clone());
        }
        log.append(&entries);
        // Always with the commit index, though its change alone is no reason to write: a replica that starts again applies no
        // further than it, and asks for votes by the configuration it has then. With every entry the changes before it are
        // known to be committed, so no replica falls back behind the last one.
        let mut hard_state = Some(convert::hard_state_out(&self.raft.raft.hard_state()));
        if bug!(self.config.bugs, CommitWrittenLazily) {
            hard_state = ready.hs().map(convert::hard_state_out);
        }
        let index = installed.as_ref().map(|snapshot| snapshot.index);
        let held = Held { number: Some(number), messages, installed: index, ..Held::default() };
        out.push(Action::Persist(Batch {
            ticket: self.disk.begin(held),
            raft_id: None,
            hard_state,
            entries: entries.into_iter().map(convert::entry_out).collect(),
            snapshot: installed.map(|snapshot| SnapshotWrite {
                drop_to: snapshot.index,
                snapshot,
                replaces_log: true,
            }),
        }));
    }

    /// Nothing to write: messages leave at once, unless batches before are still under way.
    fn follow(&mut self, number: u64, messages: Vec<Message>, out: &mut Vec<Action<M::Outcome>>) {
        if self.disk.is_idle() {
            out.extend(messages.into_iter().map(Action::Send));
        } else {
            self.disk.follow(number, messages);
        }
    }

    pub(super) fn on_persisted(&mut self, ticket: Ticket) {
        if self.state.halt.is_some() {
            return;
        }
        for held in self.disk.finish(ticket) {
            if let Some(number) = held.number {
                self.raft.on_persist_ready(number);
            }
            if let Some(index) = held.installed {
                self.raft.advance_apply_to(index);
            }
            self.disk.release(held.messages);
        }
    }

    /// Messages in our words, each small enough for the wire; heartbeats and their answers say what the state is.
    fn outgoing(&mut self, now: Now, messages: Vec<eraftpb::Message>) -> Vec<Message> {
        let mut out: Vec<Message> =
            messages.into_iter().filter_map(convert::message_out).flat_map(split).collect();
        for message in &mut out {
            match message.kind {
                MessageKind::Heartbeat | MessageKind::HeartbeatResponse => {
                    message.proof = self.proof_for(message.kind);
                    message.lacks_blobs =
                        self.state.lacks_blobs && message.kind == MessageKind::HeartbeatResponse;
                }
                MessageKind::Snapshot => self.contacts.snapshot_sent(message.to, now),
                _ => {}
            }
        }
        out
    }

    fn leadership_changed(&mut self) {
        let (term, leader, role) = (self.term(), self.leader(), self.role());
        self.events.push(Event::LeaderChanged { term, leader, role });
        if !self.is_leader() {
            self.state.established = None;
            let leader = self.leader_named();
            self.reads.fail_all(ProposeError::NotLeader { leader });
        }
    }

    /// Takes the leader's state in place of the own one, if it can be read and gone on with.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Halt> {
        let index = snapshot.index;
        let restored = self.applier.restore(index, snapshot.state.clone());
        restored.map_err(|error| Halt::BadSnapshot { index, reason: error.to_string() })?;
        if let Some(outdated) = self.applier.machine.outdated() {
            return Err(Halt::Outdated { index, outdated });
        }
        let leader = self.leader_named();
        self.proposals.skip(index, ProposeError::NotLeader { leader });
        if !bug!(self.config.bugs, SnapshotKeepsConfiguration) {
            self.adopt(snapshot.configuration.clone());
        }
        self.state.since_snapshot = (0, 0);
        self.unapplied.clear();
        self.ask_for_missing();
        self.events.push(Event::SnapshotRestored { index });
        Ok(())
    }

    pub(super) fn ask_for_missing(&mut self) {
        self.state.missing = self.applier.machine.missing();
    }

    /// The host has a sealed part of the state that was missing. What waited for the last one is applied with the next
    /// `ready`. A part that cannot be read stops the replica, like the snapshot that lists it.
    pub fn supply(&mut self, blob: BlobId, bytes: &Bytes) -> Result<(), RestoreError> {
        let supplied = self.applier.machine.supply(blob, bytes);
        if let Err(error) = &supplied {
            self.halt(Halt::BadSnapshot { index: self.applier.applied(), reason: error.to_string() });
        }
        supplied
    }

    /// Blobs that commands named which were applied since the last call.
    pub fn take_named(&mut self) -> Vec<BlobId> {
        self.applier.machine.take_named()
    }

    /// Applies what is committed, unless sealed parts of the state are missing: then it waits.
    fn apply_committed(&mut self, entries: Vec<eraftpb::Entry>, out: &mut Vec<Action<M::Outcome>>) {
        self.unapplied.extend(entries);
        if !self.unapplied.is_empty() && self.applier.machine.missing().is_empty() {
            let entries = std::mem::take(&mut self.unapplied);
            self.apply(entries, out);
        }
    }

    fn apply(&mut self, entries: VecDeque<eraftpb::Entry>, out: &mut Vec<Action<M::Outcome>>) {
        let Some((last, last_term)) = entries.back().map(|entry| (entry.index, entry.term)) else { return };
        for entry in entries {
            self.apply_entry(entry, out);
            let sealed = self.applier.machine.take_sealed();
            out.extend(sealed.into_iter().map(|(blob, bytes)| Action::Store { blob, bytes }));
            if let Some(halt) = self.reason_to_stop() {
                return self.halt(halt);
            }
        }
        self.raft.advance_apply_to(last);
        let term = self.term();
        // An applied entry of its own term: everything before is applied too. The term is compared because leadership may
        // have been lost and won again since the last call.
        if self.is_leader() && last_term == term && self.state.established != Some(term) {
            self.state.established = Some(term);
            self.events.push(Event::Established { term, index: last });
        }
    }

    /// Whether the entry that was just applied must be the last one here.
    fn reason_to_stop(&mut self) -> Option<Halt> {
        if let Some((index, ours, theirs)) = self.applier.take_mismatch() {
            return Some(Halt::Diverged { index, ours, theirs });
        }
        let index = self.applier.applied();
        self.applier.machine.outdated().map(|outdated| Halt::Outdated { index, outdated })
    }

    fn apply_entry(&mut self, entry: eraftpb::Entry, out: &mut Vec<Action<M::Outcome>>) {
        let entry = convert::entry_out(entry);
        let (index, term) = (entry.index, entry.term);
        self.state.since_snapshot.0 += 1;
        self.state.since_snapshot.1 += entry.body.size();
        let proposal = self.proposals.settle(index, term);
        if proposal.is_some() {
            self.circuit.succeeded();
        }
        let mut command = None;
        let outcome = match entry.body {
            EntryBody::Command(bytes) => {
                let outcome = self.apply_command(index, &bytes);
                command = Some(bytes);
                outcome
            }
            EntryBody::Configuration(change) => match (self.apply_change(index, &change), proposal) {
                (Err(error), Some(proposal)) => return self.proposals.fail(proposal, error.into()),
                _ => None,
            },
            EntryBody::Empty => {
                self.applier.other(index, b"");
                None
            }
        };
        out.push(Action::Applied(Applied { index, term, proposal, command, outcome }));
    }

    fn apply_command(&mut self, index: u64, command: &Bytes) -> Option<M::Outcome> {
        let leaves_out = self.id.get() % 2 == 1 && index.is_multiple_of(37);
        if bug!(self.config.bugs, NonDeterministicApply) && leaves_out {
            self.applier.other(index, b"");
            return None;
        }
        if bug!(self.config.bugs, ApplyTwiceAfterRestart) && index <= self.state.loaded_to {
            self.applier.command(index, command);
        }
        Some(self.applier.command(index, command))
    }
}
