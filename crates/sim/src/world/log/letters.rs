//! Letters leave and arrive. Those between replicas travel as bytes of connections in sealed worlds.

use hyperscale_consensus::replica::{Input, ReplicaMessage};
use hyperscale_swim::Status;
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::class::Lane;

use super::lives::log_version;
use super::{Happening, World};
use crate::log::Letter;
use crate::network::Connection;
use crate::world::node::{id_of, index_of};

impl World {
    /// Sends a letter that is written again if it is lost.
    pub(super) fn post(&mut self, from: usize, to: NodeId, letter: Letter) {
        self.send(from, to, letter);
    }

    /// Sends a letter; false if the sender notices that it cannot arrive.
    pub(super) fn send(&mut self, from: usize, to: NodeId, letter: Letter) -> bool {
        let (now, to) = (self.kernel.now(), index_of(to));
        if to >= self.nodes.len() {
            return false;
        }
        let boot = self.truth.nodes[to].process.boot;
        let letter = match letter {
            Letter::Replica(message) if to != from && self.sealing.is_some() => {
                return self.send_on_link(from, to, message);
            }
            letter => Box::new(letter),
        };
        if to == from {
            self.kernel.at(now, Happening::Letter { from, to, boot, letter });
            return true;
        }
        let connection = connection_of(letter.lane());
        let arrives = self.network.stream(now, connection, from, to, letter.bytes());
        let Some(at) = arrives.filter(|_| !self.truth.nodes[to].process.refuses()) else { return false };
        self.kernel.at(at, Happening::Letter { from, to, boot, letter });
        true
    }

    /// A letter arrives, unless its connection broke meanwhile.
    pub(in crate::world) fn letter(&mut self, from: usize, to: usize, boot: BootEpoch, letter: Letter) {
        let now = self.kernel.now();
        let connected = self.network.reaches(now, from, to) && self.network.reaches(now, to, from);
        if !self.is_life(to, boot) || !connected {
            return;
        }
        self.recorder.note(now, to, || format!("{} writes {letter:?}", id_of(from)));
        let sender = id_of(from);
        match letter {
            Letter::Replica(message) => {
                self.greet(from, to);
                self.replica_message(to, sender, message);
            }
            letter if self.nodes[to].worker.is_some() => self.worker_letter(to, sender, letter),
            Letter::Renew { grant, sent } => {
                let is_seen = self.sees_owner(to, sender);
                self.with_group(to, |manager, local, _| manager.renew(local, sender, (grant, sent), is_seen));
            }
            letter => {
                self.with_group(to, |manager, local, orders| {
                    manager.letter(local, now, sender, letter, orders);
                });
            }
        }
    }

    /// Whether the manager that owns a worker, as far as a manager's replica knows, is seen by that one.
    fn sees_owner(&self, manager: usize, worker: NodeId) -> bool {
        let driver = self.nodes[manager].host.as_ref().and_then(|host| host.manager());
        let known = driver.and_then(|driver| driver.group().machine().register().worker(worker));
        known.and_then(|known| known.owner).is_some_and(|(owner, _)| self.sees(manager, owner))
    }

    /// Whether a manager is there in the view of another. That is what the view says now: no event tells a manager of one that was
    /// gone before it started. Who has not got the lists of its peers yet does not judge.
    fn sees(&self, manager: usize, other: NodeId) -> bool {
        let swim = &self.nodes[manager].swim;
        let is_live = swim.status(other).is_some_and(Status::is_live);
        is_live || other == id_of(manager) || !swim.workers_synced()
    }

    /// In worlds without hellos the version of a peer is known with its first message.
    fn greet(&mut self, from: usize, to: usize) {
        let (node, process) = (id_of(from), self.truth.nodes[from].process);
        let version = log_version(process.version);
        self.with_group(to, |manager, now, _| {
            if manager.greeted.insert((node, process.boot)) {
                manager.input(now, Input::PeerVersion { node, version });
            }
        });
    }

    /// A message of a peer reaches the replica.
    pub(in crate::world) fn replica_message(&mut self, to: usize, from: NodeId, message: ReplicaMessage) {
        self.note_message(to, from, &message);
        self.at_work(to, |manager, now, _| manager.input(now, Input::Message { from, message }));
    }

    /// The hello of a peer says which version it is.
    pub(in crate::world) fn peer_admitted(&mut self, to: usize, node: NodeId, version: u32) {
        self.at_work(to, |manager, now, _| manager.input(now, Input::PeerVersion { node, version }));
    }

    /// A node sees that another one's process ended.
    pub(in crate::world) fn hung_up(&mut self, node: usize, boot: BootEpoch, by: usize) {
        if self.is_life(node, boot) {
            self.recorder.note(self.kernel.now(), node, || format!("{} hung up", id_of(by)));
            self.at_work(node, |manager, now, _| manager.input(now, Input::PeerGone(id_of(by))));
        }
    }
}

/// The order that a lane keeps.
pub(in crate::world) fn connection_of(lane: Lane) -> Connection {
    match lane {
        Lane::Control => Connection::Control,
        Lane::Bulk => Connection::Bulk,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::Crash;
    use crate::world::Shape;

    #[test]
    fn manager_does_not_see_one_that_died_before_it_started() {
        let mut world = World::with_quiet_log(Shape::cluster_of(5));
        world.run(Duration::from_secs(20));
        assert!(world.sees(1, id_of(0)) && world.sees(2, id_of(0)));
        world.crash(0, Crash::Machine);
        world.run(Duration::from_secs(40));
        world.crash(2, Crash::Machine);
        world.start(2);
        assert!(world.sees(2, id_of(0)) && world.sees(2, id_of(1)), "it does not judge yet");
        world.run(Duration::from_secs(5));
        assert!(!world.sees(2, id_of(0)) && world.sees(2, id_of(1)) && world.sees(2, id_of(2)));
    }
}
