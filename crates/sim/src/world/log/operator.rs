//! An operator looks after the groups: members that are gone for ever, or whose node came back without its disk, are removed;
//! nodes that wait are added, those among them.
//!
//! One change at a time, asked of whoever leads and says so; what was not made is asked for again.

use std::time::Duration;

use hyperscale_consensus::replica::{CallId, Input, Request};
use hyperscale_consensus::{Change, Member};
use hyperscale_types::NodeId;

use super::{Happening, World};
use crate::world::node::{addresses_of, id_of, index_of};

/// How often the operator looks.
pub(in crate::world) const ROUND: Duration = Duration::from_secs(1);
/// Calls of the operator have numbers that no manager uses.
const NUMBERS: u64 = 1 << 62;

impl World {
    pub(in crate::world) fn operator_round(&mut self) {
        self.kernel.after(ROUND, Happening::Operator);
        for cluster in 0..self.truth.clusters() {
            self.empty_founders(cluster);
            let leader = self.leader_of(cluster);
            let change = leader.and_then(|leader| self.wanted(leader, cluster));
            if let (Some(leader), Some(change)) = (leader, change) {
                self.recorder.note(self.kernel.now(), leader, || format!("operator wants {change:?}"));
                let call = CallId(NUMBERS + self.kernel.happened());
                // What cannot be done now is asked for again in the next round.
                self.at_work(leader, |manager, now| {
                    manager.input(now, Input::Call { call, request: Request::Change(change) });
                });
            }
        }
    }

    /// Asks any manager that takes part to have a worker drained.
    pub(in crate::world) fn ask_to_drain(&mut self, node: usize) {
        let cluster = self.truth.nodes[node].cluster;
        let hosts = self.hosts_of(cluster);
        let managers: Vec<usize> =
            hosts.iter().filter(|(_, host)| host.manager().is_some()).map(|(index, _)| *index).collect();
        if managers.is_empty() {
            return;
        }
        let asked = managers[self.kernel.happened() as usize % managers.len()];
        self.recorder.note(self.kernel.now(), asked, || format!("operator wants {} drained", id_of(node)));
        self.at_work(asked, |manager, now| manager.drain(now, id_of(node)));
    }

    /// What is wrong with the members, as far as the leader's replica knows them.
    fn wanted(&self, leader: usize, cluster: u8) -> Option<Change> {
        let group = self.nodes[leader].host.as_ref()?.manager()?.group();
        let is_gone = |node: NodeId| self.truth.nodes[index_of(node)].process.is_gone();
        let has_lost_disk = |member: &Member| {
            let host = self.nodes[index_of(member.node)].host.as_ref();
            host.is_some_and(|host| host.directory != member.directory)
        };
        let mut members = group.roster().members();
        if let Some(gone) = members.find(|member| is_gone(member.node) || has_lost_disk(member)) {
            return Some(Change::Remove(gone.raft_id));
        }
        let mut hosts = self.all_hosts_of(cluster);
        let newcomer = hosts.find(|(index, host)| {
            let is_member = group.roster().bound_to(host.directory).is_some();
            !is_member && !is_gone(id_of(*index))
        });
        newcomer.map(|(index, host)| Change::Add {
            node: id_of(index),
            directory: host.directory,
            addresses: addresses_of(index),
        })
    }
}
