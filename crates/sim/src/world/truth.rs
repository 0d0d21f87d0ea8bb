//! What is really so, whatever the nodes believe: who runs, in which life, and since when nothing disturbs them.

use std::collections::BTreeSet;

use hyperscale_types::{BootEpoch, NodeId, Role};

use super::node::index_of;
use crate::moment::Moment;
use crate::process::Process;

/// One node as it really is.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Worker, manager or gate.
    pub role: Role,
    /// Which cluster it belongs to: a datacenter, or the gates.
    pub cluster: u8,
    /// Its process.
    pub process: Process,
    /// When its present life began.
    pub since: Moment,
    /// Whether it announced that it goes.
    pub leaving: bool,
}

/// All nodes as they really are, and since when nothing disturbs them.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// All nodes ever started.
    pub nodes: Vec<Fact>,
    /// From then on nothing makes healthy nodes look dead: little loss, no cuts, nobody frozen or slowed down.
    pub calm_from: Moment,
    /// From then on nothing is lost or late at all.
    pub still_from: Moment,
    /// Nodes that stay dead or cut off from all others while the rest must get along without them. What they see and do is
    /// judged for safety only.
    pub absent: BTreeSet<usize>,
}

impl Truth {
    /// Whether it runs and does not go, whether others reach it or not.
    pub fn runs(&self, index: usize) -> bool {
        self.nodes.get(index).is_some_and(|node| node.process.is_up() && !node.leaving)
    }

    /// Whether it runs, does not go and is not absent: whom the others must see.
    pub fn stays(&self, index: usize) -> bool {
        self.runs(index) && !self.absent.contains(&index)
    }

    /// Whether this life of the node runs and does not go.
    pub fn lives(&self, node: NodeId, boot: BootEpoch) -> bool {
        let index = index_of(node);
        self.stays(index) && self.nodes[index].process.boot == boot
    }

    /// The members of a cluster that run and stay.
    pub fn members(&self, cluster: u8) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(move |index| self.nodes[*index].cluster == cluster && self.stays(*index))
    }

    /// Those of them with a role.
    pub fn members_with(&self, cluster: u8, role: Role) -> impl Iterator<Item = usize> + '_ {
        self.members(cluster).filter(move |index| self.nodes[*index].role == role)
    }

    /// Those of a cluster that vote, unless they were taken away: whom configuration names.
    pub fn voters(&self, cluster: u8) -> impl Iterator<Item = usize> + Clone + '_ {
        let nodes = self.nodes.iter().enumerate();
        let voters = nodes.filter(move |(_, fact)| fact.cluster == cluster && fact.role != Role::Worker);
        voters.filter(|(_, fact)| !fact.process.is_gone()).map(|(index, _)| index)
    }

    /// Number of clusters.
    pub fn clusters(&self) -> u8 {
        self.nodes.iter().map(|node| node.cluster + 1).max().unwrap_or(0)
    }

    /// Something disturbs healthy nodes until then.
    pub fn disturbed_until(&mut self, until: Moment) {
        self.calm_from = self.calm_from.max(until);
        self.still_from = self.still_from.max(until);
    }

    /// Whether it has been calm for that long.
    pub fn is_calm(&self, now: Moment, seconds: u64) -> bool {
        now >= Moment(self.calm_from.0.saturating_add(Moment::seconds(seconds).0))
    }

    /// Whether it has been still for that long.
    pub fn is_still(&self, now: Moment, seconds: u64) -> bool {
        now >= Moment(self.still_from.0.saturating_add(Moment::seconds(seconds).0))
    }
}
