//! Letters leave and arrive. Those between replicas go through the wire's messages in sealed worlds.

use hyperscale_consensus::{Message, record};
use hyperscale_types::{BootEpoch, NodeId};
use prost::Message as _;

use super::{Happening, World};
use crate::log::Letter;
use crate::network::Connection;
use crate::world::node::{id_of, index_of};

const PROMISE: &str = "wire";

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
        if to == from {
            self.kernel.at(now, Happening::Letter { from, to, boot, letter: Box::new(letter) });
            return true;
        }
        let connection = if letter.is_bulk() { Connection::Bulk } else { Connection::Control };
        let arrives = self.network.stream(now, connection, from, to, letter.bytes());
        let Some(at) = arrives.filter(|_| !self.truth.nodes[to].process.refuses()) else { return false };
        self.kernel.at(at, Happening::Letter { from, to, boot, letter: Box::new(letter) });
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
            Letter::Raft(message) => self.raft_message(to, sender, message),
            Letter::Ask => self.asked(to, sender),
            Letter::Report(report) => self.reported(to, report),
            letter if self.nodes[to].worker.is_some() => self.worker_letter(to, sender, letter),
            letter => {
                self.at_work(to, |office, local, orders| office.letter(local, now, sender, letter, orders));
            }
        }
    }

    /// A node sees that another one's process ended.
    pub(in crate::world) fn hung_up(&mut self, node: usize, boot: BootEpoch, by: usize) {
        if self.is_life(node, boot) {
            self.recorder.note(self.kernel.now(), node, || format!("{} hung up", id_of(by)));
            self.at_work(node, |office, now, _| office.doubt(now, id_of(by)));
        }
    }

    fn raft_message(&mut self, to: usize, from: NodeId, message: Message) {
        let Some(message) = self.reread_raft(to, message) else { return };
        self.at_work(to, |office, now, _| office.message(now, from, message));
    }

    /// A message as its receiver reads it.
    fn reread_raft(&mut self, to: usize, message: Message) -> Option<Message> {
        if self.sealing.is_none() {
            return Some(message);
        }
        let bytes = record::message_out(message.clone()).encode_to_vec();
        let read = hyperscale_wire::messages::RaftMessage::decode(&bytes[..]);
        match read.map(record::message_in) {
            Ok(Ok(read)) if read == message => Some(read),
            other => {
                let what = format!("{message:?} is read as {other:?}");
                self.judges.object(PROMISE, self.kernel.now(), Some(to), what);
                None
            }
        }
    }
}
