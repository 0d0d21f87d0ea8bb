//! The view of the cluster as others may look at it: a copy, made by the thread that owns the core.

use std::net::SocketAddr;
use std::time::Duration;

use hyperscale_swim::{
    Claim, Counters, Embedded, Event, LoadLevel, Sizes, Status, Swim, WorkerStanding, WorkerUpdate,
};
use hyperscale_types::{NodeId, Now, Role};
use hyperscale_wire::counters;

/// What the failure detector knew at one moment.
#[derive(Clone, Debug)]
pub struct View {
    /// Everybody but this node, by id.
    pub members: Vec<MemberEntry>,
    /// The workers that a manager knows, by id.
    pub workers: Vec<WorkerEntry>,
    /// How many are alive or suspected, this node included.
    pub live: usize,
    /// How many are suspected.
    pub suspects: usize,
    /// The health multiplier of this node.
    pub lhm: u8,
    /// The load level of this node.
    pub level: LoadLevel,
    /// Whether a member list was received, or there was nobody to ask.
    pub is_joined: bool,
    /// Whether this manager has the worker lists of all its peers.
    pub is_workers_synced: bool,
    /// Counters of the core.
    pub counters: Counters,
    /// Suspicions about others.
    pub suspicions: Suspicions,
    /// How full the tables of the core are.
    pub sizes: Sizes,
    /// Datagrams that were refused, by reason.
    pub refused: counters::Counters,
    /// How late the latest timer was.
    pub lag: Duration,
    /// Events that the host did not take in time.
    pub events_dropped: u64,
    /// Datagrams that the socket did not take.
    pub datagrams_dropped: u64,
}

/// What became of suspicions about others, as this node learned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspicions {
    /// Members that were suspected.
    pub raised: u64,
    /// Suspects that contradicted.
    pub refuted: u64,
    /// Members that were declared dead.
    pub died: u64,
}

impl Suspicions {
    pub(super) fn count(&mut self, event: &Event) {
        match event {
            Event::Suspected { .. } => self.raised += 1,
            Event::Refuted { .. } => self.refuted += 1,
            Event::Died { .. } => self.died += 1,
            _ => {}
        }
    }
}

/// A member.
#[derive(Clone, Debug)]
pub struct MemberEntry {
    /// Its id, the same over all its lives.
    pub node: NodeId,
    /// Where it said last that it is reached.
    pub addr: SocketAddr,
    /// Worker, manager or gate.
    pub role: Role,
    /// Which life and incarnation, and how it is.
    pub claim: Claim,
    /// When its status last changed.
    pub since: Now,
    /// Whether it was reached once.
    pub confirmed: bool,
    /// What it says about itself.
    pub state: Option<Embedded>,
}

/// A worker.
#[derive(Clone, Debug)]
pub struct WorkerEntry {
    /// The newest update about it.
    pub update: WorkerUpdate,
    /// Whether a manager that is there speaks for it.
    pub standing: WorkerStanding,
}

impl View {
    pub(super) fn of(swim: &Swim) -> Self {
        let mut members: Vec<_> = swim
            .members()
            .map(|member| MemberEntry {
                node: member.node,
                addr: member.addr,
                role: member.role,
                claim: member.claim,
                since: member.since,
                confirmed: member.confirmed,
                state: member.state.cloned(),
            })
            .collect();
        members.sort_unstable_by_key(|member| member.node);
        let workers = swim
            .workers()
            .map(|worker| WorkerEntry { update: worker.update.clone(), standing: worker.standing });
        Self {
            members,
            workers: workers.collect(),
            live: swim.live_count(),
            suspects: swim.suspect_count(),
            lhm: swim.lhm(),
            level: swim.load_level(),
            is_joined: swim.is_joined(),
            is_workers_synced: swim.workers_synced(),
            counters: swim.counters(),
            suspicions: Suspicions::default(),
            sizes: swim.sizes(),
            refused: counters::Counters::default(),
            lag: Duration::ZERO,
            events_dropped: 0,
            datagrams_dropped: 0,
        }
    }

    /// One member.
    pub fn member(&self, node: NodeId) -> Option<&MemberEntry> {
        let at = self.members.binary_search_by_key(&node, |member| member.node).ok()?;
        self.members.get(at)
    }

    /// How a member is.
    pub fn status(&self, node: NodeId) -> Option<Status> {
        self.member(node).map(|member| member.claim.status)
    }
}
