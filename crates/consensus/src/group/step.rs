//! Messages of peers.

use std::collections::BTreeMap;

use hyperscale_types::{NodeId, Now};
use raft::StateRole;
use raft::eraftpb::MessageType;

use super::RaftGroup;
use crate::action::{Event, Halt};
use crate::apply::{Machine, StateHash};
use crate::check::{MessageRefusal, View};
use crate::convert;
use crate::id::RaftId;
use crate::message::{Member, Message, MessageKind, StateProof};

impl<M: Machine> RaftGroup<M> {
    pub(super) fn on_step(
        &mut self,
        now: Now,
        sender: NodeId,
        message: Message,
    ) -> Result<(), MessageRefusal> {
        if self.state.halt.is_some() {
            return Err(MessageRefusal::Halted);
        }
        if let Err(refusal) = self.view().check(sender, &message) {
            self.events.push(Event::Refused { from: message.from, refusal });
            self.contacts.count_refusal(refusal);
            self.halt_if_lost(refusal, &message);
            return Err(refusal);
        }
        self.observe(now, &message);
        let rival = self.rival(&message);
        // raft-rs answers with an error what it ignores: an answer to a question of an earlier term, for example.
        let _ = self.raft.step(convert::message_in(message));
        if let Some(rival) = rival {
            self.withdraw_for(rival);
        }
        self.settle(now);
        Ok(())
    }

    /// Whoever asks for pre-votes at the same moment as this replica, for the same term, and has the lower id.
    fn rival(&self, message: &Message) -> Option<RaftId> {
        let raft = &self.raft.raft;
        let is_pre_candidate = raft.state == StateRole::PreCandidate && message.kind == MessageKind::PreVote;
        (is_pre_candidate && message.term == raft.term + 1 && message.from < self.id).then_some(message.from)
    }

    /// Gives up the own candidacy for a rival to whom this replica has just granted a pre-vote. Two that grant each other's
    /// pre-vote would each vote for themselves, and the group would wait for another election timeout. Ids decide because
    /// both see the same ones; of two the rival has sent its question before its answer, so this replica has not begun to
    /// vote yet when it learns of it.
    fn withdraw_for(&mut self, rival: RaftId) {
        let raft = &mut self.raft.raft;
        let granted = raft.msgs.last().is_some_and(|message| {
            message.to == rival.get()
                && message.get_msg_type() == MessageType::MsgRequestPreVoteResponse
                && !message.reject
        });
        if granted && raft.state == StateRole::PreCandidate {
            raft.become_follower(raft.term, raft::INVALID_ID);
        }
    }

    fn view(&self) -> View<'_> {
        View {
            id: self.id,
            leader: self.leader(),
            log: &self.raft.raft.raft_log,
            roster: &self.applier.roster,
            vouched: self.contacts.vouched(),
            configuration: &self.configuration,
        }
    }

    fn observe(&mut self, now: Now, message: &Message) {
        self.contacts.heard(message.from, now, &self.configuration);
        match message.kind {
            MessageKind::TimeoutNow => self.damper.note(now),
            MessageKind::HeartbeatResponse => {
                self.contacts.set_lacking(message.from, message.lacks_blobs, &self.configuration);
            }
            _ => {}
        }
        if let Some(proof) = message.proof {
            self.compare(message, proof);
        }
    }

    /// A leader commits to a follower what that follower acknowledged: a commit beyond the log proves that this disk lost it.
    /// Votes and acknowledgements of such a replica are worth nothing. Only a member of the present term is believed.
    fn halt_if_lost(&mut self, refusal: MessageRefusal, message: &Message) {
        let is_believed = self.configuration.contains(message.from) && message.term >= self.term();
        if refusal == MessageRefusal::CommitBeyondLog && is_believed {
            self.halt(Halt::LostEntries { committed: message.commit, last: self.last_index() });
        }
    }

    /// A replica that differs from what a majority came to stops; so does a leader that a majority differs from.
    fn compare(&mut self, message: &Message, proof: StateProof) {
        let ours = self.applier.hash_at(proof.index);
        match message.kind {
            MessageKind::Heartbeat if message.term >= self.term() => match ours {
                None => self.applier.expect(proof),
                Some(ours) if ours == proof.hash => {}
                Some(ours) => self.halt(Halt::Diverged { index: proof.index, ours, theirs: proof.hash }),
            },
            MessageKind::HeartbeatResponse if self.is_leader() && message.term == self.term() => match ours {
                None => {}
                Some(ours) if ours == proof.hash => {
                    self.agreement.agrees(message.term, message.from, proof.index);
                }
                Some(ours) => self.differs(message, proof, ours),
            },
            _ => {}
        }
    }

    fn differs(&mut self, message: &Message, proof: StateProof, ours: StateHash) {
        self.events.push(Event::PeerDiverged { peer: message.from, index: proof.index });
        self.agreement.differs(message.term, message.from);
        if self.agreement.is_outvoted(message.term, &self.configuration) {
            self.halt(Halt::Outvoted { index: proof.index, ours });
        }
    }

    /// What a heartbeat says of the state: of a leader what a majority has confirmed, of a follower its own.
    pub(super) fn proof_for(&self, kind: MessageKind) -> Option<StateProof> {
        match kind {
            MessageKind::HeartbeatResponse => Some(self.applier.proof()),
            MessageKind::Heartbeat => {
                let own = (self.id, self.applier.applied());
                let index = self.agreement.confirmed(self.term(), own, &self.configuration);
                self.applier.hash_at(index).map(|hash| StateProof { index, hash })
            }
            _ => None,
        }
    }

    /// A member that the host has authenticated says that these are members. Of those, newer ones than the log names are
    /// listened to from now on.
    pub fn vouch(&mut self, members: &[Member]) {
        self.contacts.vouch(members, &self.applier.roster);
    }

    /// The node of a member that the log does not name yet and another member vouches for.
    pub fn vouched(&self, id: RaftId) -> Option<NodeId> {
        self.contacts.vouched().get(&id).copied()
    }

    /// Messages that were refused, by reason.
    pub fn refused(&self) -> &BTreeMap<MessageRefusal, u64> {
        self.contacts.refused()
    }

    /// The host sent a snapshot, or could not.
    pub fn snapshot_sent(&mut self, now: Now, to: RaftId, is_ok: bool) {
        if !is_ok && bug!(self.config.bugs, SnapshotFailureUnreported) {
            return;
        }
        let status = if is_ok { raft::SnapshotStatus::Finish } else { raft::SnapshotStatus::Failure };
        self.contacts.snapshot_settled(to);
        self.raft.report_snapshot(to.get(), status);
        self.settle(now);
    }

    /// The host knows that a peer is gone: what is on its way to it does not arrive. A snapshot is sent again as soon as the
    /// peer answers, and not only once the patience with it ends.
    pub fn peer_gone(&mut self, now: Now, peer: RaftId) {
        self.unreachable(now, peer);
        if self.contacts.awaits_snapshot(peer) {
            self.snapshot_sent(now, peer, false);
        }
    }

    /// Whether blobs that the state names are missing on this disk. Said with every answer to a heartbeat: a learner is not
    /// made a voter before it has them.
    pub fn set_lacks_blobs(&mut self, lacks_blobs: bool) {
        self.state.lacks_blobs = lacks_blobs;
    }

    /// The host could not send to this peer.
    pub fn unreachable(&mut self, now: Now, peer: RaftId) {
        self.raft.report_unreachable(peer.get());
        self.settle(now);
    }

    /// This node's health multiplier.
    pub fn set_health(&mut self, now: Now, lhm: u8) {
        self.health.set_own(now, lhm);
        self.settle(now);
    }

    /// A peer's health multiplier, as it says itself.
    pub fn set_peer_health(&mut self, peer: RaftId, lhm: u8) {
        if self.configuration.contains(peer) {
            self.health.set_peer(peer, lhm);
        }
    }
}
