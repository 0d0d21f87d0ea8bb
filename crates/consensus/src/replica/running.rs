//! A replica that takes part: inputs for the group, and what the group wants done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_types::{NodeId, Now};
use hyperscale_wire::class::Lane;

use super::blobs::Blobs;
use super::calls::{Caller, Calls, PATIENCE, is_for_the_leader};
use super::sealed::SealedParts;
use super::{CallId, Input, Options, Output, ReplicaMessage, Reply, Request, WireOutcome};
use crate::action::{Action, Applied, ProposeError};
use crate::apply::Machine;
use crate::bootstrap::{FOUNDERS_MAX, PeerState, Report};
use crate::check::MessageRefusal;
use crate::group::{LogGroup, RaftGroup};
use crate::id::{DirectoryId, ProposalId, RaftId, ReadId};
use crate::message::{Message, MessageKind};
use crate::quorum::QuorumError;

/// Most nodes whose version is remembered.
const VERSIONS_MAX: usize = 64;
/// Members are asked at most this often who a sender is that the log does not name.
const INQUIRE_EVERY: Duration = Duration::from_millis(500);

pub(super) struct Running<M: Machine> {
    group: RaftGroup<M>,
    me: NodeId,
    directory: DirectoryId,
    calls: Calls,
    /// Configured peers: like members they are asked, and believed, about members that this log does not name yet.
    reached: BTreeSet<NodeId>,
    /// When they were asked last.
    inquired: Option<Now>,
    /// What members understand, as they said.
    versions: BTreeMap<NodeId, u32>,
    pub(super) blobs: Blobs,
    pub(super) sealed: SealedParts,
}

pub(super) type Outputs<M> = Vec<Output<<M as Machine>::Outcome>>;

impl<M: Machine> Running<M>
where
    M::Outcome: WireOutcome,
{
    pub(super) fn new(
        now: Now,
        mut group: RaftGroup<M>,
        options: &Options,
        reached: BTreeSet<NodeId>,
    ) -> Self {
        // Not known before the first pass.
        group.set_lacks_blobs(true);
        Self {
            group,
            me: options.node,
            directory: options.directory,
            calls: Calls::new(options.first_number),
            reached,
            inquired: None,
            versions: BTreeMap::new(),
            blobs: Blobs::new(now, &options.blobs, options.blob_grace),
            sealed: SealedParts::default(),
        }
    }

    pub(super) fn me(&self) -> NodeId {
        self.me
    }

    pub(super) fn group(&self) -> &RaftGroup<M> {
        &self.group
    }

    pub(super) fn group_mut(&mut self) -> &mut RaftGroup<M> {
        &mut self.group
    }

    pub(super) fn next_tick(&self) -> Now {
        self.group.next_tick()
    }

    pub(super) fn leader_node(&self) -> Option<NodeId> {
        self.node_of(self.group.leader()?)
    }

    pub(super) fn understood(&self, id: RaftId) -> Option<u32> {
        self.versions.get(&self.node_of(id)?).copied()
    }

    pub(super) fn handle(&mut self, now: Now, input: Input, out: &mut Outputs<M>) {
        match input {
            Input::Timer => self.tick(now, out),
            Input::Persisted(ticket) => self.group.persisted(ticket),
            Input::Message { from, message } => self.message(now, from, message, out),
            Input::Undelivered { to, lane } => self.undelivered(now, to, lane),
            Input::PeerGone(node) => self.peer_gone(now, node),
            Input::Health(lhm) => self.group.set_health(now, lhm),
            Input::PeerHealth { node, lhm } => {
                if let Some(peer) = self.raft_id_of(node) {
                    self.group.set_peer_health(peer, lhm);
                }
            }
            Input::PeerVersion { node, version } => self.peer_version(node, version),
            Input::SnapshotMade(snapshot) => self.group.snapshot_made(snapshot),
            Input::BlobStored(blob) => self.blob_stored(now, blob, out),
            Input::BlobRead { blob, to, bytes } => self.blob_read(blob, to, bytes, out),
            Input::Call { call, request } => self.call(now, call, request, out),
            Input::PeerReached(peer) => {
                if peer != self.me && self.reached.len() < FOUNDERS_MAX {
                    self.reached.insert(peer);
                }
            }
        }
        self.pump(now, out);
    }

    fn tick(&mut self, now: Now, out: &mut Outputs<M>) {
        self.group.tick(now);
        let patience = self.group.config().quorum_timeout + PATIENCE;
        let error = ProposeError::Quorum(QuorumError::Timeout(self.group.reach(now)));
        for call in self.calls.overdue(now, patience) {
            out.push(Output::Reply { call, reply: Reply::Failed(error) });
        }
        self.blob_pass(now, out);
    }

    fn message(&mut self, now: Now, from: NodeId, message: ReplicaMessage, out: &mut Outputs<M>) {
        match message {
            ReplicaMessage::Raft(message) => self.raft_message(now, from, *message, out),
            ReplicaMessage::BootstrapReport(report) => self.vouched_for(from, &report),
            ReplicaMessage::Proposed { number, result } => self.proposed(number, result, out),
            ReplicaMessage::ReadIndexAnswer { number, result } => {
                self.read_index_answered(number, result, out);
            }
            // Whoever is not in the group has nothing to ask of it.
            _ if !self.is_member(from) => {}
            ReplicaMessage::Propose { number, command } => {
                let caller = Caller::Peer(from, number);
                if let Err(error) = self.propose(now, caller, command) {
                    out.push(fail_proposal(caller, error));
                }
            }
            ReplicaMessage::ReadIndex { number } => {
                let caller = Caller::Peer(from, number);
                if let Err(error) = self.read(now, caller) {
                    out.push(fail_read(caller, error));
                }
            }
            message @ (ReplicaMessage::BlobPut { .. }
            | ReplicaMessage::BlobStored { .. }
            | ReplicaMessage::BlobGet { .. }
            | ReplicaMessage::BlobData { .. }) => self.blob_arrived(now, from, message, out),
            // Answered in every stage, before it comes here.
            ReplicaMessage::BootstrapQuery { .. } => {}
        }
    }

    /// What is refused is told as an event. Of a sender that is newer than this log the members may know; then it is
    /// listened to when it speaks again.
    fn raft_message(&mut self, now: Now, from: NodeId, message: Message, out: &mut Outputs<M>) {
        if self.group.step(now, from, message) == Err(MessageRefusal::NeverMember) {
            self.inquire(now, out);
        }
    }

    /// Asks everybody who may know who the members are.
    fn inquire(&mut self, now: Now, out: &mut Outputs<M>) {
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
    fn vouched_for(&mut self, from: NodeId, report: &Report) {
        let is_trusted = self.is_member(from) || self.reached.contains(&from);
        if let PeerState::Running { members, .. } = &report.state
            && is_trusted
        {
            self.group.vouch(members);
        }
    }

    fn undelivered(&mut self, now: Now, to: NodeId, lane: Lane) {
        let Some(peer) = self.raft_id_of(to) else { return };
        self.group.unreachable(now, peer);
        if lane == Lane::Bulk {
            self.group.snapshot_sent(now, peer, false);
        }
    }

    fn peer_gone(&mut self, now: Now, node: NodeId) {
        if let Some(peer) = self.raft_id_of(node) {
            self.group.peer_gone(now, peer);
        }
        if let Some(leader) = self.group.leader()
            && self.leader_node() == Some(node)
        {
            self.group.hint_leader_dead(now, leader);
        }
    }

    fn peer_version(&mut self, node: NodeId, version: u32) {
        let members = self.group.roster();
        self.versions.retain(|node, _| members.members().any(|member| member.node == *node));
        if self.versions.len() < VERSIONS_MAX || self.versions.contains_key(&node) {
            self.versions.insert(node, version);
        }
    }

    fn call(&mut self, now: Now, call: CallId, request: Request, out: &mut Outputs<M>) {
        let caller = Caller::Host(call);
        let reply = match request {
            Request::Propose(command) => match self.propose(now, caller, command.clone()) {
                Err(error) if is_for_the_leader(error) => self.ask_leader(
                    now,
                    call,
                    error,
                    |number| ReplicaMessage::Propose { number, command },
                    out,
                ),
                made => made.err().map(Reply::Failed),
            },
            Request::Read => match self.read(now, caller) {
                Err(error) if is_for_the_leader(error) => {
                    self.ask_leader(now, call, error, |number| ReplicaMessage::ReadIndex { number }, out)
                }
                made => made.err().map(Reply::Failed),
            },
            Request::StoreBlob(bytes) => self.store(now, call, bytes, out),
            Request::ReadAsLeader => self.read(now, caller).err().map(Reply::Failed),
            Request::Change(change) => {
                let proposal = ProposalId(self.calls.number());
                let made = self.group.change(now, proposal, change);
                if made.is_ok() {
                    self.calls.propose(proposal, caller);
                }
                made.err().map(Reply::Failed)
            }
            Request::Transfer(to) => Some(match self.group.transfer(now, to) {
                Ok(to) => Reply::Transferring(to),
                Err(error) => Reply::NotTransferred(error),
            }),
        };
        out.extend(reply.map(|reply| Output::Reply { call, reply }));
    }

    fn propose(&mut self, now: Now, caller: Caller, command: Bytes) -> Result<(), ProposeError> {
        let proposal = ProposalId(self.calls.number());
        self.group.propose(now, proposal, command)?;
        self.calls.propose(proposal, caller);
        Ok(())
    }

    fn read(&mut self, now: Now, caller: Caller) -> Result<(), ProposeError> {
        let read = ReadId(self.calls.number());
        self.group.read_index(now, read)?;
        self.calls.read(read, caller);
        Ok(())
    }

    /// Asks the leader for the host; what the host is told if that is not possible.
    fn ask_leader(
        &mut self,
        now: Now,
        call: CallId,
        error: ProposeError,
        question: impl FnOnce(u64) -> ReplicaMessage,
        out: &mut Outputs<M>,
    ) -> Option<Reply<M::Outcome>> {
        let Some(leader) = self.leader_node().filter(|leader| *leader != self.me) else {
            return Some(Reply::Failed(error));
        };
        if self.calls.waiting() >= self.group.config().backlog_max.proposals {
            return Some(Reply::Failed(ProposeError::Overloaded));
        }
        let message = question(self.calls.ask(now, call));
        out.push(Output::Send { to: leader, lane: Lane::Control, message });
        None
    }

    fn proposed(&mut self, number: u64, result: Result<(u64, Bytes), ProposeError>, out: &mut Outputs<M>) {
        let Some(asked) = self.calls.answered(number) else { return };
        let reply = match result {
            Ok((index, outcome)) => Reply::Applied { index, outcome: M::Outcome::from_bytes(&outcome) },
            Err(error) => Reply::Failed(error),
        };
        out.push(Output::Reply { call: asked.call, reply });
    }

    fn read_index_answered(&mut self, number: u64, result: Result<u64, ProposeError>, out: &mut Outputs<M>) {
        let Some(asked) = self.calls.answered(number) else { return };
        match result {
            Ok(index) => self.calls.wait_for(index, asked),
            Err(error) => out.push(Output::Reply { call: asked.call, reply: Reply::Failed(error) }),
        }
    }

    /// Does what the group wants until it wants nothing more.
    pub(super) fn pump(&mut self, now: Now, out: &mut Outputs<M>) {
        loop {
            let mut actions = Vec::new();
            self.group.ready(now, &mut actions);
            if actions.is_empty() {
                break;
            }
            for action in actions {
                self.action(action, out);
            }
        }
        for (index, call) in self.calls.fresh(self.group.applied().0) {
            out.push(Output::Reply { call, reply: Reply::Readable { index } });
        }
    }

    fn action(&mut self, action: Action<M::Outcome>, out: &mut Outputs<M>) {
        match action {
            Action::Persist(batch) => self.persist(batch, out),
            Action::MakeSnapshot(job) => out.push(Output::MakeSnapshot(job)),
            Action::Store { blob, bytes } => self.store_sealed(blob, bytes, out),
            Action::Fetch(blob) => self.want_sealed(blob, out),
            Action::Send(message) => self.send(message, out),
            Action::Applied(applied) => self.applied(applied, out),
            Action::Failed { proposal, error } => {
                if let Some(caller) = self.calls.proposal_settled(proposal) {
                    out.push(fail_proposal(caller, error));
                }
            }
            Action::ReadReady { read, index } => match self.calls.read_settled(read) {
                Some(Caller::Host(call)) => {
                    out.push(Output::Reply { call, reply: Reply::Readable { index } });
                }
                Some(Caller::Peer(to, number)) => {
                    let message = ReplicaMessage::ReadIndexAnswer { number, result: Ok(index) };
                    out.push(Output::Send { to, lane: Lane::Control, message });
                }
                None => {}
            },
            Action::ReadFailed { read, error } => {
                if let Some(caller) = self.calls.read_settled(read) {
                    out.push(fail_read(caller, error));
                }
            }
            Action::Event(event) => out.push(Output::Event(event)),
        }
    }

    fn send(&mut self, message: Message, out: &mut Outputs<M>) {
        // A member that this replica has not heard of yet cannot be written to.
        let Some(to) = self.node_of(message.to) else { return };
        let lane = if message.kind == MessageKind::Snapshot { Lane::Bulk } else { Lane::Control };
        out.push(Output::Send { to, lane, message: ReplicaMessage::Raft(Box::new(message)) });
    }

    fn applied(&mut self, applied: Applied<M::Outcome>, out: &mut Outputs<M>) {
        let caller = applied.proposal.and_then(|proposal| self.calls.proposal_settled(proposal));
        let (index, outcome) = (applied.index, applied.outcome.clone());
        out.push(Output::Applied(applied));
        match caller {
            Some(Caller::Host(call)) => {
                out.push(Output::Reply { call, reply: Reply::Applied { index, outcome } });
            }
            Some(Caller::Peer(to, number)) => {
                let outcome = outcome.map(|outcome| outcome.to_bytes()).unwrap_or_default();
                let message = ReplicaMessage::Proposed { number, result: Ok((index, outcome)) };
                out.push(Output::Send { to, lane: Lane::Control, message });
            }
            None => {}
        }
    }

    fn is_member(&self, node: NodeId) -> bool {
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

fn fail_proposal<O>(caller: Caller, error: ProposeError) -> Output<O> {
    fail(caller, error, |number| ReplicaMessage::Proposed { number, result: Err(error) })
}

fn fail_read<O>(caller: Caller, error: ProposeError) -> Output<O> {
    fail(caller, error, |number| ReplicaMessage::ReadIndexAnswer { number, result: Err(error) })
}

fn fail<O>(caller: Caller, error: ProposeError, answer: impl FnOnce(u64) -> ReplicaMessage) -> Output<O> {
    match caller {
        Caller::Host(call) => Output::Reply { call, reply: Reply::Failed(error) },
        Caller::Peer(to, number) => Output::Send { to, lane: Lane::Control, message: answer(number) },
    }
}
