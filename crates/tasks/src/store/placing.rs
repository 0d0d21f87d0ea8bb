//! Placement classes as both stores use them: which a node may claim from, and which tasks no node can run.

use std::collections::BTreeMap;

use crate::domain::{NodeProfile, NodeRecord, NodeStatus, Placement, Status, Task};

/// Placement classes by their number.
pub(super) type Classes = BTreeMap<i32, Placement>;

/// A class that a node may claim from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// Its number.
    pub(super) class: i32,
    /// How many tasks of it the node may run at a time.
    pub(super) limit: Option<u32>,
}

/// The classes that a node satisfies.
pub(super) fn open_to(classes: &Classes, node: &NodeProfile) -> Vec<Open> {
    let fitting = classes.iter().filter(|(_, placement)| placement.missing(node).is_empty());
    fitting.map(|(class, placement)| Open { class: *class, limit: placement.max_parallel_per_node }).collect()
}

/// Says of pending tasks why no live node can run them. Tasks come with their class.
pub(super) fn mark_unplaceable(tasks: &mut [(Task, i32)], classes: &Classes, nodes: &[NodeRecord]) {
    let live: Vec<NodeProfile> = nodes
        .iter()
        .filter(|node| node.status != NodeStatus::Dead)
        .map(|node| node.profile.clone())
        .collect();
    let mut known: BTreeMap<i32, Option<String>> = BTreeMap::new();
    for (task, class) in tasks.iter_mut().filter(|(task, _)| task.status == Status::Pending) {
        let reason = known
            .entry(*class)
            .or_insert_with(|| classes.get(class).and_then(|placement| placement.unplaceable(&live)));
        task.unplaceable.clone_from(reason);
    }
}
