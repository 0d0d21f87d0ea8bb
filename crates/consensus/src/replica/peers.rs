//! Who the members are and how they are: nodes behind raft ids, what they understand, whether they are reached.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Now};
use hyperscale_wire::class::Lane;

use super::running::{Outputs, Running};
use super::{Output, ReplicaMessage, WireOutcome};
use crate::apply::Machine;
use crate::bootstrap::{PeerState, Report};
use crate::check::MessageRefusal;
use crate::group::{Change, LogGroup as _};
use crate::id::{ProposalId, RaftId};
use crate::message::{Addresses, Message};

/// Most nodes whose version is remembered.
const VERSIONS_MAX: usize = 64;
/// Members are asked at most this often who a sender is that the log does not name.
const INQUIRE_EVERY: Duration = Duration::from_millis(500);

impl<M: Machine> Running<M>
where
    M::Outcome: WireOutcome,
{
    pub(super) fn understood(&self, id: RaftId) -> Option<u32> {
        self.versions.get(&self.node_of(id)?).copied()
    }

    /// What is refused is told as an event. Of a sender that is newer than this log the members may know; then it is
    /// listened to when it speaks again.
    pub(super) fn raft_message(&mut self, now: Now, from: NodeId, message: Message, out: &mut Outputs<M>) {
        if self.group.step(now, from, message) == Err(MessageRefusal::NeverMember) {
            self.inquire(now, out);
        }
    }

    /// Asks everybody who may know who the members are.
    pub(super) fn inquire(&mut self, now: Now, out: &mut Outputs<M>) {
        if self.inquired.is_some_and(|asked| now.since(asked) < INQUIRE_EVERY) {
            return;
        }
        self.inquired = Some(now);
        let members = self.group.roster().members().map(|member| member.node);
        let asked: BTreeSet<NodeId> = members.chain(self.reached.iter().copied()).collect();
        for to in asked.into_iter().filter(|node| *node != self.me) {
            let message = ReplicaMessage::BootstrapQuery { directory: self.directory };
            out.push(Output::Send { to, lane: message.lane(), message });
        }
    }

    /// A member, or a configured peer, says who the members are.
    pub(super) fn vouched_for(&mut self, from: NodeId, report: &Report) {
        let is_trusted = self.is_member(from) || self.reached.contains(&from);
        if let PeerState::Running { members, .. } = &report.state
            && is_trusted
        {
            self.group.vouch(members);
        }
    }

    pub(super) fn undelivered(&mut self, now: Now, to: NodeId, lane: Lane) {
        let Some(peer) = self.raft_id_of(to) else { return };
        self.group.unreachable(now, peer);
        if lane == Lane::Bulk {
            self.group.snapshot_sent(now, peer, false);
        }
    }

    pub(super) fn peer_gone(&mut self, now: Now, node: NodeId) {
        if let Some(peer) = self.raft_id_of(node) {
            self.group.peer_gone(now, peer);
        }
        if let Some(leader) = self.group.leader()
            && self.leader_node() == Some(node)
        {
            self.group.hint_leader_dead(now, leader);
        }
    }

    pub(super) fn peer_version(&mut self, node: NodeId, version: u32) {
        let members = self.group.roster();
        self.versions.retain(|node, _| members.members().any(|member| member.node == *node));
        if self.versions.len() < VERSIONS_MAX || self.versions.contains_key(&node) {
            self.versions.insert(node, version);
        }
    }

    pub(super) fn peer_addresses(&mut self, node: NodeId, boot: BootEpoch, addresses: Addresses) {
        let members = self.group.roster();
        self.addresses.retain(|node, _| members.members().any(|member| member.node == *node));
        let is_late = self.addresses.get(&node).is_some_and(|(known, _)| *known > boot);
        if (self.is_member(node) || node == self.me) && !is_late {
            self.addresses.insert(node, (boot, addresses));
        }
    }

    /// A leader has the log name where its members are now, one at a time. Other leaders may have heard of a later life of a
    /// member than this one, and the log may name it: then it says nothing. What is refused, as another change is under way,
    /// is tried again with the next tick.
    pub(super) fn follow_moves(&mut self, now: Now) {
        if !self.group.is_established() || self.group.configuration().is_joint() {
            return;
        }
        let moved = self.group.roster().members().find_map(|member| {
            let (boot, said) = *self.addresses.get(&member.node)?;
            let is_news = said != member.addresses && boot > member.boot;
            is_news.then_some((member.raft_id, said, boot))
        });
        let Some((id, addresses, boot)) = moved else { return };
        let proposal = ProposalId(self.calls.number());
        let _ = self.group.change(now, proposal, Change::Move { id, addresses, boot });
    }

    pub(super) fn is_member(&self, node: NodeId) -> bool {
        self.group.roster().members().any(|member| member.node == node)
    }

    /// The node of a member, by the log or by what another member says.
    pub(super) fn node_of(&self, id: RaftId) -> Option<NodeId> {
        let member = self.group.roster().member(id).map(|member| member.node);
        member.or_else(|| self.group.vouched(id))
    }

    /// The member that a node is, by the log.
    pub(super) fn raft_id_of(&self, node: NodeId) -> Option<RaftId> {
        self.group.roster().members().find(|member| member.node == node).map(|member| member.raft_id)
    }
}
