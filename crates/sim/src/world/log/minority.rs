//! Who may stay away while the rest still decides: a minority of every group, and some workers.
//!
//! Members that are gone for ever, and those whose disk was lost, count as away already: until the operator has replaced them
//! the group needs a majority of *its* voters among those who are left. No one is taken from a group that is not founded yet
//! (founding needs all founders), or that has a change of its members on its way, whose outcome decides what a majority is. Later changes keep what is left a majority: the operator removes only who is away, and adds who is there.
//!
//! A majority is not always enough: raft-rs counts votes by the configuration that the candidate has *applied*. A voter that has
//! the entry which made another one a voter, and does not know yet that it is committed, still asks the voters before. So
//! somebody among those who are left must be able to win an election as things are ([`crate::log::elections`]).

use fastrand::Rng;
use hyperscale_consensus::EntryBody;
use hyperscale_types::Role;

use super::World;
use crate::log::Host;
use crate::world::node::index_of;

/// How those who are away are away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absence {
    /// They do not run.
    #[default]
    Dead,
    /// They run, reach each other, and nobody else.
    CutOff,
}

/// Those who stay away while the rest must get along without them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// By number.
    pub nodes: Vec<usize>,
    /// All in the same way.
    pub how: Absence,
}

/// Of the workers of a datacenter at most this share is away.
const WORKERS_AWAY: f64 = 0.4;

impl World {
    /// Draws who stays away: as many voters of every group as it can miss, or fewer, and some workers.
    pub fn draw_minority(&self, rng: &mut Rng) -> Absent {
        let how = if rng.bool() { Absence::Dead } else { Absence::CutOff };
        let mut nodes = Vec::new();
        for cluster in 0..self.truth.clusters() {
            let (mut voters, most) = self.dispensable(cluster);
            rng.shuffle(&mut voters);
            voters.truncate(if most > 0 { rng.usize(1..=most) } else { 0 });
            let left = self.standings_without(cluster, &voters);
            if left.iter().any(|candidate| candidate.can_be_elected(&left)) {
                nodes.extend(voters);
            }
            let mut workers: Vec<usize> = self.workers_for_good(cluster);
            rng.shuffle(&mut workers);
            workers.truncate(rng.usize(0..=(workers.len() as f64 * WORKERS_AWAY) as usize));
            nodes.extend(workers);
        }
        Absent { nodes, how }
    }

    fn workers_for_good(&self, cluster: u8) -> Vec<usize> {
        let facts = self.truth.nodes.iter().enumerate();
        let workers = facts.filter(|(_, fact)| fact.cluster == cluster && fact.role == Role::Worker);
        workers.filter(|(_, fact)| !fact.process.is_gone() && !fact.leaving).map(|(index, _)| index).collect()
    }

    /// Voters of a group that have their disks, and how many of them it can miss.
    fn dispensable(&self, cluster: u8) -> (Vec<usize>, usize) {
        let hosts: Vec<(usize, &Host)> = self.all_hosts_of(cluster).collect();
        let applied = |host: &Host| host.manager().map(|manager| manager.group().applied().0);
        let newest = hosts.iter().filter_map(|(_, host)| Some((applied(host)?, *host))).max_by_key(|it| it.0);
        let Some((applied, newest)) = newest else { return (Vec::new(), 0) };
        let Some(manager) = newest.manager() else { return (Vec::new(), 0) };
        let configuration = manager.group().configuration();
        let is_changing = hosts.iter().any(|(_, host)| last_change(host) > applied);
        if is_changing || configuration.is_joint() {
            return (Vec::new(), 0);
        }
        let mut voters = Vec::new();
        for member in manager.group().roster().members() {
            let index = index_of(member.node);
            let has_disk =
                self.nodes[index].host.as_ref().is_some_and(|host| host.directory == member.directory);
            if has_disk
                && !self.truth.nodes[index].process.is_gone()
                && configuration.is_voter(member.raft_id)
            {
                voters.push(index);
            }
        }
        let most = voters.len().saturating_sub(configuration.quorum());
        (voters, most)
    }
}

/// Up to where a log may hold a change of the members, whether it is on disk or on its way there: what a snapshot took in is
/// not known any more.
fn last_change(host: &Host) -> u64 {
    let entries = host.disk.all_entries();
    let changes = entries.filter(|entry| matches!(entry.body, EntryBody::Configuration(_)));
    changes.map(|entry| entry.index).max().unwrap_or(0).max(host.disk.durable().snapshot.index)
}
