//! A replica that takes part: inputs for the group, and what the group wants done.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::{BootEpoch, NodeId, Now};
use hyperscale_wire::class::Lane;

use super::blobs::Blobs;
use super::calls::{Caller, Calls, PATIENCE};
use super::requests::{fail_proposal, fail_read};
use super::sealed::SealedParts;
use super::{Input, Options, Output, ReplicaMessage, Reply, WireOutcome};
use crate::action::{Action, Applied, Event, ProposeError};
use crate::apply::Machine;
use crate::bootstrap::FOUNDERS_MAX;
use crate::group::{LogGroup, RaftGroup};
use crate::id::DirectoryId;
use crate::message::{Addresses, Message, MessageKind};
use crate::quorum::QuorumError;

/// What such a replica knows beside the group.
pub(super) struct Running<M: Machine> {
    pub(super) group: RaftGroup<M>,
    pub(super) me: NodeId,
    pub(super) directory: DirectoryId,
    pub(super) calls: Calls,
    /// Configured peers: like members they are asked, and believed, about members that this log does not name yet.
    pub(super) reached: BTreeSet<NodeId>,
    /// When they were asked last.
    pub(super) inquired: Option<Now>,
    /// What members understand, as they said.
    pub(super) versions: BTreeMap<NodeId, u32>,
    /// Where members are, as they said; of this node too.
    pub(super) addresses: BTreeMap<NodeId, (BootEpoch, Addresses)>,
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
            addresses: BTreeMap::from([(options.node, (options.boot, options.addresses))]),
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
            Input::PeerAddresses { node, addresses, boot } => self.peer_addresses(node, boot, addresses),
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
        self.follow_moves(now);
        self.tend_blobs(now, out);
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
            let named = self.group.take_named();
            self.mark(&named);
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
            Action::Event(event) => {
                if matches!(event, Event::SnapshotRestored { .. }) {
                    self.restart_pass();
                }
                out.push(Output::Event(event));
            }
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
}
