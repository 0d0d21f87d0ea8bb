//! Looking at the core without changing it.

use std::net::SocketAddr;

use hyperscale_types::{BootEpoch, NodeId, Now, Role};

use super::Swim;
use crate::audit::AuditEntry;
use crate::claim::{Claim, Incarnation, Status};
use crate::config::Config;
use crate::counters::Counters;
use crate::embedded::Embedded;
use crate::load::LoadLevel;
use crate::message::Peer;
use crate::table::Member;
use crate::workers::{WorkerMembership, WorkerStanding, WorkerUpdate, WorkerView};

/// A member in this node's view.
#[derive(Clone, Copy, Debug)]
pub struct MemberView<'a> {
    /// Its id, the same over all its lives.
    pub node: NodeId,
    /// Where it said last that it is reached.
    pub addr: SocketAddr,
    /// Whether it is a worker, a manager or a gate.
    pub role: Role,
    /// Which life and incarnation, and how it is.
    pub claim: Claim,
    /// When its status last changed.
    pub since: Now,
    /// Whether it was reached once.
    pub confirmed: bool,
    /// What it says about itself.
    pub state: Option<&'a Embedded>,
}

/// How full the tables and queues are. Each has its limit in the documentation of the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// At most `limits.members`.
    pub members: usize,
    /// At most [`crate::TOMBS_MAX`].
    pub tombs: usize,
    /// At most `limits.member_updates`.
    pub member_updates: usize,
    /// At most `limits.worker_updates`.
    pub worker_updates: usize,
    /// At most `limits.workers`.
    pub workers: usize,
    /// At most [`crate::GRAVES_MAX`].
    pub graves: usize,
    /// At most [`crate::RELAYS_MAX`].
    pub relays: usize,
    /// At most [`crate::ASTRAY_MAX`].
    pub astray: usize,
    /// At most [`crate::CONTACTS_MAX`].
    pub contacts: usize,
    /// At most `limits.audit`.
    pub audit: usize,
}

impl Swim {
    /// This node.
    pub fn peer(&self) -> Peer {
        self.me.peer()
    }

    /// This node's life.
    pub fn boot(&self) -> BootEpoch {
        self.me.sender().boot
    }

    /// This node's incarnation.
    pub fn incarnation(&self) -> Incarnation {
        self.me.sender().incarnation
    }

    /// The settings it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Everybody in the table, in no order; not this node.
    pub fn members(&self) -> impl Iterator<Item = MemberView<'_>> {
        self.members.iter().map(view)
    }

    /// One member.
    pub fn member(&self, node: NodeId) -> Option<MemberView<'_>> {
        self.members.find(node).map(|slot| view(self.members.get(slot)))
    }

    /// How a member is; cheaper than its view.
    pub fn status(&self, node: NodeId) -> Option<Status> {
        self.members.find(node).map(|slot| self.members.get(slot).status())
    }

    /// How many are alive or suspected, this node included.
    pub fn live_count(&self) -> usize {
        self.cluster_size()
    }

    /// How many are suspected.
    pub fn suspect_count(&self) -> usize {
        self.suspicions.len()
    }

    /// Whether a member list was received, or there was nobody to ask.
    pub fn is_joined(&self) -> bool {
        self.contacts.is_joined()
    }

    /// The health multiplier.
    pub fn lhm(&self) -> u8 {
        self.awareness.lhm()
    }

    /// The load level.
    pub fn load_level(&self) -> LoadLevel {
        self.awareness.level()
    }

    /// What probes and acks say about this node.
    pub fn state(&self) -> Option<&Embedded> {
        self.me.embedded.as_deref()
    }

    /// The last transitions, oldest first.
    pub fn audit(&self) -> impl Iterator<Item = &AuditEntry> {
        self.audit.iter()
    }

    /// Transitions ever, those that fell out of the ring included.
    pub fn audit_total(&self) -> u64 {
        self.audit.total()
    }

    /// Counters, those that tables and queues keep themselves included.
    pub fn counters(&self) -> Counters {
        let dropped = self.workers.queue.dropped();
        Counters {
            worker_updates_dropped: dropped.crowded,
            worker_updates_stale: dropped.stale,
            tombs_dropped: self.tombs.dropped(),
            graves_dropped: self.workers.graves_dropped(),
            ..self.counters
        }
    }

    /// How full the tables and queues are.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            members: self.members.len(),
            tombs: self.tombs.len(),
            member_updates: self.queue.len(),
            worker_updates: self.workers.queue.len(),
            workers: self.workers.len(),
            graves: self.workers.graves(),
            relays: self.prober.relays.len(),
            astray: self.prober.astray.len(),
            contacts: self.contacts.len(),
            audit: self.audit.len(),
        }
    }

    /// The workers a manager knows, its own and those of its peers, by id.
    pub fn workers(&self) -> impl Iterator<Item = WorkerView<'_>> {
        self.workers.iter().map(|update| self.worker_view(update))
    }

    /// One worker.
    pub fn worker(&self, worker: NodeId) -> Option<WorkerView<'_>> {
        self.workers.get(worker).map(|update| self.worker_view(update))
    }

    /// Whether this manager has the worker lists of all its peers.
    pub fn workers_synced(&self) -> bool {
        self.workers.intake.is_done()
    }

    fn worker_view<'a>(&self, update: &'a WorkerUpdate) -> WorkerView<'a> {
        let owner_lives =
            update.owner == self.me.peer().node || self.status(update.owner).is_some_and(Status::is_live);
        let standing = match update.membership {
            WorkerMembership::Registered if owner_lives => WorkerStanding::Owned,
            WorkerMembership::Registered => WorkerStanding::Unowned,
            WorkerMembership::Dead | WorkerMembership::Evicted | WorkerMembership::Left => {
                WorkerStanding::Gone
            }
        };
        WorkerView { update, standing }
    }
}

fn view(member: &Member) -> MemberView<'_> {
    MemberView {
        node: member.peer.node,
        addr: member.peer.addr,
        role: member.peer.role,
        claim: member.claim(),
        since: member.since,
        confirmed: member.confirmed,
        state: member.embedded.as_deref(),
    }
}
