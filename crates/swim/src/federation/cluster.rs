//! One watched cluster: its members, what they were asked, when it was last heard, how it is judged.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId, Now};

use super::config::FederationConfig;
use super::io::{Aggregate, ClusterName, CrossSender};
use crate::claim::Incarnation;

/// Probes per member of a cluster that may still be answered: the oldest falls out, and its answer counts as not asked for. An
/// answer that takes so many periods says nothing about now.
const ASKED_MAX: usize = 8;

/// A member: where it is, and who, once that is known.
pub(super) type ClusterMember = (SocketAddr, Option<NodeId>);

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
    members: Vec<ClusterMember>,
    next: usize,
    /// Probes without an answer, oldest first: their numbers and whom they went to.
    asked: VecDeque<(u32, ClusterMember)>,
    pub(super) reachability: Reachability,
    pub(super) heard: Option<Now>,
    /// Silence counts from here: last heard, first watched, or one timeout before it was suspected or a hold ended. Moved
    /// forward by the lateness of this node's ticks since then.
    silent_since: Now,
    pub(super) suspected_at: Option<Now>,
    pub(super) aggregate: Option<Arc<Aggregate>>,
    /// Newest identity heard per member, and per address whose member is not known.
    identities: BTreeMap<NodeId, Heard>,
}

/// Which life and incarnation of a node was heard, and where.
#[derive(Clone, Copy, Debug)]
struct Heard {
    addr: SocketAddr,
    identity: (BootEpoch, Incarnation),
}

impl Cluster {
    pub(super) fn new(members: Vec<ClusterMember>, now: Now) -> Self {
        Self {
            members,
            next: 0,
            asked: VecDeque::new(),
            reachability: Reachability::Reachable,
            heard: None,
            silent_since: now,
            suspected_at: None,
            aggregate: None,
            identities: BTreeMap::new(),
        }
    }

    /// Replaces the members; whose turn it is goes on, or those at the end would never have theirs. At an address given without an id, who was last heard there is remembered.
    pub(super) fn set_members(&mut self, members: Vec<ClusterMember>) {
        self.identities.retain(|node, heard| {
            members.iter().any(|(at, known)| known.map_or(*at == heard.addr, |known| known == *node))
        });
        self.members = members;
    }

    pub(super) fn silent_since(&self) -> Now {
        self.silent_since
    }

    /// How many members it has.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// The member whose turn it is to be asked, with this number.
    pub(super) fn ask_next(&mut self, seq: u32) -> Option<ClusterMember> {
        let member = *self.members.get(self.next % self.members.len().max(1))?;
        self.next = self.next.wrapping_add(1);
        if self.asked.len() >= ASKED_MAX * self.members.len() {
            self.asked.pop_front();
        }
        self.asked.push_back((seq, member));
        Some(member)
    }

    /// Whether the node was asked with this number and has not answered yet. It has now.
    pub(super) fn was_asked(&mut self, seq: u32, node: NodeId, addr: SocketAddr) -> bool {
        let is_it = |(asked, (at, known)): &(u32, ClusterMember)| {
            *asked == seq && known.map_or(*at == addr, |known| known == node)
        };
        let place = self.asked.iter().position(is_it);
        place.and_then(|place| self.asked.remove(place)).is_some()
    }

    /// Whether a node with this id, or with the address of a member whose id is not known yet, is one of its members.
    pub(super) fn has_member(&self, node: NodeId, addr: SocketAddr) -> bool {
        self.members.iter().any(|(at, known)| *known == Some(node) || (*at == addr && known.is_none()))
    }

    /// Remembers the id of a member that was known by its address, and forgets who was there before: else every node
    /// that was ever at an address would be remembered.
    pub(super) fn learn(&mut self, node: NodeId, addr: SocketAddr) {
        let unknown = |(at, known): &&mut ClusterMember| *at == addr && known.is_none();
        let Some((_, known)) = self.members.iter_mut().find(unknown) else { return };
        *known = Some(node);
        let members = &self.members;
        let is_member = |node| members.iter().any(|(_, known)| *known == Some(node));
        self.identities.retain(|other, heard| heard.addr != addr || is_member(*other));
    }

    /// False if the identity is older than one heard from the same node.
    pub(super) fn admit(&mut self, from: &CrossSender) -> bool {
        let heard = Heard { addr: from.addr, identity: (from.boot, from.incarnation) };
        let newest = self.identities.entry(from.node).or_insert(heard);
        let fresh = heard.identity >= newest.identity;
        if fresh {
            *newest = heard;
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
                // From now on all its members are probed: they get the full `unreachable_after` to respond.
                self.limit_silence(now, config);
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
            self.limit_silence(now, config);
        }
    }

    /// Counts at most one timeout of its silence so far.
    fn limit_silence(&mut self, now: Now, config: &FederationConfig) {
        let already = Now(now.0.saturating_sub(Now::after_start(config.timeout).0));
        self.silent_since = self.silent_since.max(already);
    }

    /// Excludes the time by which this node's tick was late: no probes were sent then, so silence is no evidence.
    pub(super) fn exclude_lateness(&mut self, now: Now, late: Duration) {
        self.silent_since = self.silent_since.plus(late).min(now);
        self.suspected_at = self.suspected_at.map(|at| at.plus(late).min(now));
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn addr(port: u16) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    /// A node answers at the only address.
    fn answer(cluster: &mut Cluster, number: u64, boot: u64) -> bool {
        cluster.learn(node(number), addr(1));
        cluster.admit(&CrossSender {
            cluster: ClusterName::new("dc"),
            node: node(number),
            addr: addr(1),
            boot: BootEpoch(boot),
            incarnation: Incarnation(0),
        })
    }

    #[test]
    fn identities_do_not_pile_up_when_an_address_is_watched_again_and_again() {
        let mut cluster = Cluster::new(vec![(addr(1), None)], Now::ZERO);
        for number in 1..100 {
            cluster.set_members(vec![(addr(1), None)]);
            assert!(answer(&mut cluster, number, 1));
            assert_eq!(cluster.identities.len(), 1);
        }
    }

    #[test]
    fn former_life_of_who_answered_at_an_address_stays_stale_when_it_is_watched_again() {
        let mut cluster = Cluster::new(vec![(addr(1), None)], Now::ZERO);
        assert!(answer(&mut cluster, 7, 2));
        for _ in 0..3 {
            cluster.set_members(vec![(addr(1), None)]);
        }
        assert!(!answer(&mut cluster, 7, 1));
    }

    #[test]
    fn probes_without_an_answer_are_bounded_and_each_is_answered_once() {
        let mut cluster = Cluster::new(vec![(addr(1), Some(node(7)))], Now::ZERO);
        for seq in 0..=ASKED_MAX as u32 {
            cluster.ask_next(seq);
        }
        assert_eq!(cluster.asked.len(), ASKED_MAX);
        assert!(!cluster.was_asked(0, node(7), addr(1)), "fell out");
        assert!(!cluster.was_asked(1, node(8), addr(1)), "another was asked");
        assert!(cluster.was_asked(1, node(7), addr(1)));
        assert!(!cluster.was_asked(1, node(7), addr(1)), "answered");
    }
}
