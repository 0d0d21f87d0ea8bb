//! One watched cluster: its members, when it was last heard, how it is judged.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hyperscale_types::{BootEpoch, NodeId, Now};

use super::config::FederationConfig;
use super::io::{Aggregate, ClusterName};
use crate::claim::Incarnation;

/// How a cluster is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reachability {
    /// It answers.
    Reachable,
    /// It has not answered in time.
    Suspected,
    /// It has been silent for too long.
    Unreachable,
}

/// A watched cluster, for looking at.
#[derive(Clone, Copy, Debug)]
pub struct ClusterView<'a> {
    /// Its name.
    pub name: &'a ClusterName,
    /// How it is judged.
    pub reachability: Reachability,
    /// When it was last heard, if ever.
    pub heard: Option<Now>,
    /// What it last said about itself.
    pub aggregate: Option<&'a Aggregate>,
}

/// A change of judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Suspected,
    Unreachable,
}

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    members: Vec<(SocketAddr, Option<NodeId>)>,
    next: usize,
    pub(super) reachability: Reachability,
    pub(super) heard: Option<Now>,
    /// Silence counts from here: last heard, first watched, or the end of a hold.
    silent_since: Now,
    pub(super) suspected_at: Option<Now>,
    pub(super) aggregate: Option<Arc<Aggregate>>,
    /// Newest identity heard per node of this cluster.
    identities: BTreeMap<NodeId, (BootEpoch, Incarnation)>,
}

impl Cluster {
    pub(super) fn new(members: Vec<(SocketAddr, Option<NodeId>)>, now: Now) -> Self {
        Self {
            members,
            next: 0,
            reachability: Reachability::Reachable,
            heard: None,
            silent_since: now,
            suspected_at: None,
            aggregate: None,
            identities: BTreeMap::new(),
        }
    }

    pub(super) fn set_members(&mut self, members: Vec<(SocketAddr, Option<NodeId>)>) {
        self.identities
            .retain(|node, _| members.iter().any(|(_, known)| known.is_none_or(|known| known == *node)));
        self.members = members;
        self.next = 0;
    }

    pub(super) fn silent_since(&self) -> Now {
        self.silent_since
    }

    /// The member whose turn it is.
    pub(super) fn next_member(&mut self) -> Option<(SocketAddr, Option<NodeId>)> {
        let member = self.members.get(self.next % self.members.len().max(1)).copied();
        self.next = self.next.wrapping_add(1);
        member
    }

    /// Whether a node with this id, or with the address of a member whose id is not known yet, is one of its members.
    pub(super) fn has_member(&self, node: NodeId, addr: SocketAddr) -> bool {
        self.members.iter().any(|(at, known)| *known == Some(node) || (*at == addr && known.is_none()))
    }

    /// Remembers the id of a member that was known by its address.
    pub(super) fn learn(&mut self, node: NodeId, addr: SocketAddr) {
        if let Some((_, known)) = self.members.iter_mut().find(|(at, known)| *at == addr && known.is_none()) {
            *known = Some(node);
        }
    }

    /// False if the identity is older than one heard from the same node.
    pub(super) fn admit(&mut self, node: NodeId, boot: BootEpoch, incarnation: Incarnation) -> bool {
        let newest = self.identities.entry(node).or_insert((boot, incarnation));
        let fresh = (boot, incarnation) >= *newest;
        if fresh {
            *newest = (boot, incarnation);
        }
        fresh
    }

    /// It answered; whether that changes the judgement, or is the first answer ever.
    pub(super) fn answered(&mut self, now: Now) -> bool {
        let news = self.heard.is_none() || self.reachability != Reachability::Reachable;
        self.heard = Some(now);
        self.silent_since = now;
        self.suspected_at = None;
        self.reachability = Reachability::Reachable;
        news
    }

    /// Keeps what it says about itself unless that is of an older term; whether it is new.
    pub(super) fn says(&mut self, aggregate: &Arc<Aggregate>) -> bool {
        let news = self
            .aggregate
            .as_ref()
            .is_none_or(|known| aggregate.term() >= known.term() && known != aggregate);
        if news {
            self.aggregate = Some(Arc::clone(aggregate));
        }
        news
    }

    /// Judges its silence.
    pub(super) fn judge(&mut self, now: Now, config: &FederationConfig, held: bool) -> Change {
        let silent = now.since(self.silent_since);
        match self.reachability {
            Reachability::Reachable if silent >= config.timeout => {
                self.reachability = Reachability::Suspected;
                self.suspected_at = Some(now);
                Change::Suspected
            }
            Reachability::Suspected if !held && silent >= config.timeout + config.unreachable_after => {
                self.reachability = Reachability::Unreachable;
                Change::Unreachable
            }
            Reachability::Reachable | Reachability::Suspected | Reachability::Unreachable => Change::None,
        }
    }

    /// A hold ends: a suspected cluster gets its time anew.
    pub(super) fn resume(&mut self, now: Now, config: &FederationConfig) {
        if self.reachability == Reachability::Suspected {
            let already = Now(now.0.saturating_sub(Now::after_start(config.timeout).0));
            self.silent_since = self.silent_since.max(already);
        }
    }
}
