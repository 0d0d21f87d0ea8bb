//! What elections of a group depend on, from the disks and replicas of all its members.

use hyperscale_consensus::{Configuration, RaftId};

use super::World;
use crate::jobs::Voter;
use crate::log::elections::{Standing, last_entry, restarted_with};
use crate::log::{Disk, Host};

impl World {
    /// All replicas of a node's group that have their disks, and whether these hold an entry. The node is at work: its own host
    /// is not in its place.
    pub(super) fn standings(
        &self,
        index: usize,
        manager: &Voter,
        disk: &Disk,
        entry: (u64, u64),
    ) -> Vec<Standing> {
        let others = self.all_hosts_of(self.truth.nodes[index].cluster);
        let mut standings: Vec<Standing> = others.filter_map(|(_, host)| standing(host, entry)).collect();
        let applied = manager.replica().group().map(|group| (group.id(), group.configuration().clone()));
        standings.extend(applied.map(|(id, applied)| of_disk(id, disk, Some(applied), entry)));
        standings
    }

    /// Those of them that run on after the faults, if none of these is among them.
    pub(super) fn standings_without(&self, cluster: u8, absent: &[usize]) -> Vec<Standing> {
        let hosts = self
            .all_hosts_of(cluster)
            .filter(|(index, _)| !absent.contains(index) && !self.truth.nodes[*index].process.is_gone());
        hosts.filter_map(|(_, host)| standing(host, (0, 0))).collect()
    }
}

fn standing(host: &Host, entry: (u64, u64)) -> Option<Standing> {
    let id = host.disk.durable().raft_id?;
    let applied = host.manager().map(|manager| manager.group().configuration().clone());
    Some(of_disk(id, &host.disk, applied, entry))
}

fn of_disk(id: RaftId, disk: &Disk, applied: Option<Configuration>, (entry, term): (u64, u64)) -> Standing {
    let durable = disk.durable();
    let first = durable.entries.first().map_or(u64::MAX, |first| first.index);
    let found = entry.checked_sub(first).and_then(|at| durable.entries.get(at as usize));
    let holds = entry <= durable.snapshot.index || found.is_some_and(|found| found.term == term);
    // Who holds the entry is no candidate without it.
    let configurations = if holds && entry > 0 {
        Vec::new()
    } else {
        applied.into_iter().chain([restarted_with(durable)]).collect()
    };
    Standing { id, last: last_entry(durable), configurations, holds }
}
