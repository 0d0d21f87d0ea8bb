//! Letters leave and arrive. In sealed worlds they travel as bytes of connections.

use std::time::Duration;

use hyperscale_cluster::encoding::{to_manager_out, to_peer_out, to_worker_out};
use hyperscale_cluster::message::ToWorker;
use hyperscale_codec::log;
use hyperscale_consensus::replica::{Input, ReplicaMessage};
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Outgoing;

use super::lives::log_version;
use super::{Happening, World};
use crate::log::Letter;
use crate::network::Connection;
use crate::world::node::{id_of, index_of};

/// How long a directive may be held up on a connection that is being replaced.
const DIRECTIVE_HELD_UP_MAX: Duration = Duration::from_secs(4);
/// How long a dispatch may be: longer than most of the loads it asks for.
const DISPATCH_HELD_UP_MAX: Duration = Duration::from_secs(40);

impl World {
    /// Sends a letter that is written again if it is lost.
    pub(super) fn post(&mut self, from: usize, to: NodeId, letter: Letter) {
        self.hold_up(from, to, &letter);
        self.send(from, to, letter);
    }

    /// A connection keeps the order of its letters; one that is being replaced may still deliver what was written to it when others
    /// have long arrived on the new one. Of directives, whose order matters, and of dispatches, which must start nothing twice, a copy is
    /// held up like that where the weather is bad.
    fn hold_up(&mut self, from: usize, to: NodeId, letter: &Letter) {
        let weather = self.network.weather();
        let share = weather.reorder.max(weather.duplicate);
        let Letter::ToWorker(message) = letter else { return };
        let most = match **message {
            ToWorker::Direct { .. } => DIRECTIVE_HELD_UP_MAX,
            ToWorker::Dispatch(_) => DISPATCH_HELD_UP_MAX,
            _ => return,
        };
        let (to, Some(log)) = (index_of(to), &mut self.log) else { return };
        if share <= 0.0 || to >= self.nodes.len() || log.rng.f64() >= share {
            return;
        }
        let late = self.kernel.now().plus(most.mul_f64(log.rng.f64()));
        let (boot, letter) = (self.truth.nodes[to].process.boot, Box::new(letter.clone()));
        self.kernel.at(late, Happening::Letter { from, to, boot, letter });
    }

    /// Sends a letter; false if the sender notices that it cannot arrive.
    pub(super) fn send(&mut self, from: usize, to: NodeId, letter: Letter) -> bool {
        let (now, to) = (self.kernel.now(), index_of(to));
        if to >= self.nodes.len() {
            return false;
        }
        let boot = self.truth.nodes[to].process.boot;
        if to != from && self.sealing.is_some() {
            let outgoing = self.outgoing(from, letter);
            return outgoing.is_some_and(|outgoing| self.send_on_link(from, to, &outgoing));
        }
        let letter = Box::new(letter);
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
            letter => self.take_letter(to, sender, letter),
        }
    }

    /// A letter beside those of the log reaches whom it is for.
    pub(in crate::world) fn take_letter(&mut self, to: usize, sender: NodeId, letter: Letter) {
        match letter {
            Letter::ToWorker(message) => self.worker_message(to, sender, *message),
            Letter::Client(letter) => self.with_group(to, |manager, now| manager.client(now, letter)),
            letter => self.with_group(to, |manager, now| manager.letter(now, sender, letter)),
        }
    }

    /// A letter as a message of the wire.
    fn outgoing(&self, from: usize, letter: Letter) -> Option<Outgoing> {
        Some(match letter {
            Letter::Replica(message) => log::to_outgoing(&self.group_name(from), message),
            Letter::Peer(message) => to_peer_out(message),
            Letter::ToWorker(message) => to_worker_out(*message),
            Letter::ToManager(message) => to_manager_out(*message),
            Letter::Client(_) => return None,
        })
    }

    /// In worlds without hellos the version of a peer is known with its first message.
    fn greet(&mut self, from: usize, to: usize) {
        let (node, process) = (id_of(from), self.truth.nodes[from].process);
        let version = log_version(process.version);
        self.with_group(to, |manager, now| {
            if manager.greeted.insert((node, process.boot)) {
                manager.input(now, Input::PeerVersion { node, version });
            }
        });
    }

    /// A message of a peer reaches the replica.
    pub(in crate::world) fn replica_message(&mut self, to: usize, from: NodeId, message: ReplicaMessage) {
        self.note_message(to, from, &message);
        self.at_work(to, |manager, now| manager.input(now, Input::Message { from, message }));
    }

    /// The hello of a peer says which version it is.
    pub(in crate::world) fn peer_admitted(&mut self, to: usize, node: NodeId, version: u32) {
        self.at_work(to, |manager, now| manager.input(now, Input::PeerVersion { node, version }));
    }

    /// A node sees that another one's process ended.
    pub(in crate::world) fn hung_up(&mut self, node: usize, boot: BootEpoch, by: usize) {
        if self.is_life(node, boot) {
            self.recorder.note(self.kernel.now(), node, || format!("{} hung up", id_of(by)));
            if self.nodes[node].worker.is_some() {
                return self.worker_gossip(node, id_of(by), true);
            }
            self.at_work(node, |manager, now| manager.input(now, Input::PeerGone(id_of(by))));
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
