//! Once all trouble is over, every node sees exactly those that run, and all managers see the same workers.
//!
//! Seeing them is not enough: a node without a member list and a manager without the worker lists of its peers have met the
//! others by chance. They do not know who is gone, and the manager never calls itself active.
//!
//! Checked in the liveness phase until it holds; how long it may take is part of the phase.

use std::collections::BTreeMap;

use hyperscale_swim::{Status, WorkerStanding, WorkerView};
use hyperscale_types::Role;

use crate::world::{World, index_of};

/// The first difference between a view of a node with one of the roles and the truth, if there is any.
pub fn strangers(world: &World, roles: &[Role]) -> Option<String> {
    let truth = &world.truth;
    let mut sizes = BTreeMap::new();
    for cluster in 0..truth.clusters() {
        sizes.insert(cluster, truth.members(cluster).count());
    }
    for (observer, node) in world.nodes.iter().enumerate() {
        if !truth.stays(observer) || !roles.contains(&truth.nodes[observer].role) {
            continue;
        }
        if !node.swim.is_joined() {
            return Some(format!("{} has no member list", world.name_of(observer)));
        }
        let mut alive = 1;
        for member in node.swim.members() {
            if member.claim.status == Status::Alive && truth.lives(member.node, member.claim.boot) {
                alive += 1;
            } else if !member.confirmed && !truth.stays(index_of(member.node)) {
                // Hearsay about somebody who is gone: it counts for nothing and is given up in time.
            } else if member.claim.status.is_live() || truth.stays(index_of(member.node)) {
                let (me, it) = (world.name_of(observer), world.name_of(index_of(member.node)));
                return Some(format!("{me} sees {it} as {:?}", member.claim));
            }
        }
        let expected = sizes[&truth.nodes[observer].cluster];
        if alive != expected {
            let me = world.name_of(observer);
            return Some(format!("{me} sees {alive} members of {expected}"));
        }
    }
    None
}

/// The first node that still lists somebody who is gone and whom it never reached.
pub fn ghosts(world: &World) -> Option<String> {
    for (observer, node) in world.nodes.iter().enumerate().filter(|(index, _)| world.truth.stays(*index)) {
        let mut live = node.swim.members().filter(|member| member.claim.status.is_live());
        if let Some(ghost) = live.find(|member| !world.truth.stays(index_of(member.node))) {
            let (me, it) = (world.name_of(observer), world.name_of(index_of(ghost.node)));
            return Some(format!("{me} still lists {it} as {:?}", ghost.claim));
        }
    }
    None
}

/// The first difference between what managers know about workers, or between that and the truth.
pub fn workers_differ(world: &World) -> Option<String> {
    let truth = &world.truth;
    for cluster in 0..truth.clusters() {
        let workers = truth.members_with(cluster, Role::Worker).count();
        let mut agreed = None;
        for manager in truth.members_with(cluster, Role::Manager) {
            let swim = &world.nodes[manager].swim;
            if !swim.workers_synced() {
                return Some(format!("{} lacks worker lists of its peers", world.name_of(manager)));
            }
            let owned = swim.workers().filter(|worker| worker.standing == WorkerStanding::Owned);
            let view: Vec<_> =
                owned.map(|it| (it.update.worker, it.update.version, it.update.owner)).collect();
            if view.len() != workers {
                let me = world.name_of(manager);
                let gone = view.iter().find(|(it, ..)| !truth.stays(index_of(*it)));
                let extra = gone.map(|(it, version, manager)| {
                    let (it, whose) = (world.name_of(index_of(*it)), world.name_of(index_of(*manager)));
                    format!(", {it} of {whose} under {version:?} among them")
                });
                let extra = extra.or_else(|| unowned(world, manager)).unwrap_or_default();
                return Some(format!("{me} sees {} workers of {workers}{extra}", view.len()));
            }
            if agreed.get_or_insert_with(|| view.clone()) != &view {
                return Some(format!("{} knows other workers than its peers", world.name_of(manager)));
            }
        }
    }
    None
}

/// The first worker that runs and whose owner is gone in the view of a manager.
fn unowned(world: &World, manager: usize) -> Option<String> {
    let is_unowned = |worker: &WorkerView<'_>| {
        worker.standing == WorkerStanding::Unowned && world.truth.stays(index_of(worker.update.worker))
    };
    let it = world.nodes[manager].swim.workers().find(is_unowned)?.update;
    let (worker, owner) = (world.name_of(index_of(it.worker)), world.name_of(index_of(it.owner)));
    Some(format!(", {worker} of {owner} under {:?} is unowned", it.version))
}
