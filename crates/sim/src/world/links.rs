//! Connections between nodes in sealed worlds: handshake, hello, streams and codecs are those of production, and bytes
//! are what travels.
//!
//! Every node opens a connection per peer and lane for what it has to say, and opens another when that breaks. A broken
//! connection is noticed when something is lost on it: there are no half-open ones here. While the secret changes, a
//! node that is not understood tries the other of its secrets, as hosts do.
//!
//! Whatever a receiver cannot read breaks the promise `wire`.

use std::collections::BTreeMap;

use hyperscale_cluster::encoding::{to_manager_in, to_peer_in, to_worker_in};
use hyperscale_codec::log;
use hyperscale_types::{BootEpoch, NodeId, Role};
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::{Connection, ConnectionError, Incoming, Outgoing, Shared};
use hyperscale_wire::link::LinkError;
use hyperscale_wire::secret::SecretChoice;

use super::log::connection_of;
use super::node::id_of;
use super::wire::{PROMISE, Wire};
use super::{Happening, World, cluster_name};
use crate::log::Letter;

/// Where bytes belong.
#[derive(Clone, Copy, Debug)]
pub struct BytePlace {
    /// The connection, numbered in the order they were opened.
    pub number: u64,
    /// Its lane.
    pub lane: Lane,
    /// Whether they come from the side that connected.
    pub is_from_connector: bool,
    /// Their place among all bytes of that side.
    pub sequence: u64,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct End {
    number: u64,
    connection: Connection,
    /// The life of the node at the other end.
    peer_boot: BootEpoch,
    sent: u64,
    received: u64,
    /// What overtook something before it while the processor was busy: the kernel keeps it in order.
    early: BTreeMap<u64, Vec<u8>>,
}

/// Peer, lane, and whether this node connected.
pub(super) type EndKey = (NodeId, Lane, bool);

impl End {
    fn new(number: u64, connection: Connection, peer_boot: BootEpoch) -> Self {
        Self { number, connection, peer_boot, sent: 0, received: 0, early: BTreeMap::new() }
    }
}

impl World {
    /// Connections that were opened.
    pub fn links_opened(&self) -> u64 {
        self.links_opened
    }

    /// Sends a message; false if the sender notices that it cannot arrive.
    pub(super) fn send_on_link(&mut self, from: usize, to: usize, outgoing: &Outgoing) -> bool {
        let lane = outgoing.lane();
        if self.truth.nodes[to].process.refuses() || !self.open_link(from, to, lane) {
            self.close_link(from, to, lane);
            return false;
        }
        let key = (id_of(to), lane, true);
        let Some(end) = self.link_end(from, key) else { return false };
        match end.connection.send(outgoing) {
            Ok(()) => self.flush(from, to, key),
            // A full queue: the peer does not take anything.
            Err(_) => false,
        }
    }

    /// Opens a connection unless there is one to the peer's present life.
    fn open_link(&mut self, from: usize, to: usize, lane: Lane) -> bool {
        let (key, peer_boot) = ((id_of(to), lane, true), self.truth.nodes[to].process.boot);
        if self
            .link_end(from, key)
            .is_some_and(|end| end.peer_boot == peer_boot && !end.connection.is_closed())
        {
            return true;
        }
        self.links_opened += 1;
        let number = self.links_opened;
        let Some(wire) = &mut self.nodes[from].wire else { return false };
        let Wire { keys, local, entropy, choices, ends, .. } = &mut **wire;
        let choice = choices.get(&id_of(to)).copied().unwrap_or(SecretChoice::Current);
        let shared = Shared { keys, local };
        match Connection::connect(shared, lane, Some(id_of(to)), choice, entropy) {
            Ok(connection) => {
                ends.insert(key, End::new(number, connection, peer_boot));
                true
            }
            Err(error) => {
                self.judges.object(PROMISE, self.kernel.now(), Some(from), error.to_string());
                false
            }
        }
    }

    /// Both ends are gone.
    fn close_link(&mut self, connector: usize, acceptor: usize, lane: Lane) {
        for (node, key) in
            [(connector, (id_of(acceptor), lane, true)), (acceptor, (id_of(connector), lane, false))]
        {
            if let Some(wire) = &mut self.nodes[node].wire {
                wire.ends.remove(&key);
            }
        }
    }

    fn link_end(&mut self, node: usize, key: EndKey) -> Option<&mut End> {
        self.nodes[node].wire.as_mut()?.ends.get_mut(&key)
    }

    /// Writes what an end has to say.
    fn flush(&mut self, node: usize, peer: usize, key: EndKey) -> bool {
        let (now, boot) = (self.kernel.now(), self.truth.nodes[peer].process.boot);
        let local = self.nodes[node].clock.read(now);
        let Some(end) = self.link_end(node, key) else { return false };
        let mut bytes = Vec::new();
        while end.connection.transmit(local, &mut bytes) {}
        if bytes.is_empty() {
            return true;
        }
        end.sent += 1;
        let (_, lane, is_connector) = key;
        let place =
            BytePlace { number: end.number, lane, is_from_connector: is_connector, sequence: end.sent };
        let arrives = self.network.stream(now, connection_of(lane), node, peer, bytes.len());
        match arrives {
            Some(at) => self.kernel.at(at, Happening::Bytes { from: node, to: peer, boot, place, bytes }),
            None => self.break_link(node, peer, place),
        }
        arrives.is_some()
    }

    fn break_link(&mut self, from: usize, to: usize, place: BytePlace) {
        let (connector, acceptor) = if place.is_from_connector { (from, to) } else { (to, from) };
        let is_present = self
            .link_end(connector, (id_of(acceptor), place.lane, true))
            .is_some_and(|end| end.number == place.number);
        if is_present {
            self.close_link(connector, acceptor, place.lane);
        }
    }

    /// Bytes arrive, unless their connection broke meanwhile.
    pub(super) fn link_bytes(
        &mut self,
        from: usize,
        to: usize,
        boot: BootEpoch,
        place: BytePlace,
        bytes: Vec<u8>,
    ) {
        let now = self.kernel.now();
        let connected = self.network.reaches(now, from, to) && self.network.reaches(now, to, from);
        if !self.is_life(to, boot) || !connected {
            return self.break_link(from, to, place);
        }
        let key = (id_of(from), place.lane, !place.is_from_connector);
        let from_boot = self.truth.nodes[from].process.boot;
        let Some(wire) = &mut self.nodes[to].wire else { return };
        let known = wire.ends.get(&key).map_or(0, |end| end.number);
        if known < place.number && place.is_from_connector && place.sequence == 1 {
            wire.ends.insert(key, End::new(place.number, Connection::accept(), from_boot));
        }
        let Some(end) = wire.ends.get_mut(&key).filter(|end| end.number == place.number) else { return };
        end.early.insert(place.sequence, bytes);
        while let Some(bytes) = self.next_bytes(to, key) {
            if !self.take_bytes(from, to, key, place, &bytes) {
                return;
            }
        }
        self.flush(to, from, key);
    }

    /// The next bytes in order, if they are there.
    fn next_bytes(&mut self, node: usize, key: EndKey) -> Option<Vec<u8>> {
        let end = self.link_end(node, key)?;
        let bytes = end.early.remove(&(end.received + 1))?;
        end.received += 1;
        Some(bytes)
    }

    fn take_bytes(&mut self, from: usize, to: usize, key: EndKey, place: BytePlace, bytes: &[u8]) -> bool {
        let local = self.nodes[to].clock.read(self.kernel.now());
        let Some(wire) = &mut self.nodes[to].wire else { return false };
        let Wire { keys, local: me, entropy, ends, .. } = &mut **wire;
        let Some(end) = ends.get_mut(&key) else { return false };
        let mut heard = Vec::new();
        let shared = Shared { keys, local: me };
        let taken = end.connection.receive(local, shared, bytes, entropy, &mut heard);
        for incoming in heard {
            self.heard(from, to, incoming);
        }
        match taken {
            Ok(()) => true,
            Err(error) => {
                self.refused_link(from, to, place, &error);
                false
            }
        }
    }

    /// Something whole arrived.
    fn heard(&mut self, from: usize, to: usize, incoming: Incoming) {
        let (sender, group) = (id_of(from), self.group_name(to));
        if let Incoming::Admitted(peer) = &incoming {
            return self.peer_admitted(to, peer.node, peer.newest);
        }
        let read = match (self.truth.nodes[from].role, self.truth.nodes[to].role) {
            (Role::Worker, _) => to_manager_in(incoming)
                .map(|message| message.map(|message| Letter::ToManager(Box::new(message))))
                .map_err(|error| error.to_string()),
            (_, Role::Worker) => to_worker_in(incoming)
                .map(|message| message.map(|message| Letter::ToWorker(Box::new(message))))
                .map_err(|error| error.to_string()),
            _ if log::is_of_log(&incoming) => {
                return match log::from_incoming(&group, sender, incoming) {
                    Ok(messages) => {
                        for message in messages {
                            self.recorder
                                .note(self.kernel.now(), to, || format!("{sender} writes {message:?}"));
                            self.replica_message(to, sender, message);
                        }
                    }
                    Err(error) => {
                        self.judges.object(PROMISE, self.kernel.now(), Some(to), error.to_string());
                    }
                };
            }
            _ => to_peer_in(incoming)
                .map(|message| message.map(Letter::Peer))
                .map_err(|error| error.to_string()),
        };
        match read {
            Ok(Some(letter)) => {
                self.recorder.note(self.kernel.now(), to, || format!("{sender} writes {letter:?}"));
                self.take_letter(to, sender, letter);
            }
            Ok(None) => {
                let what = "a message that no role says to the other".to_owned();
                self.judges.object(PROMISE, self.kernel.now(), Some(to), what);
            }
            Err(error) => self.judges.object(PROMISE, self.kernel.now(), Some(to), error),
        }
    }

    /// The other end does not talk to this one. While keys change it may know the other secret only.
    fn refused_link(&mut self, from: usize, to: usize, place: BytePlace, error: &ConnectionError) {
        self.break_link(from, to, place);
        let is_secret = matches!(error, ConnectionError::Link(LinkError::Handshake(_)));
        if !is_secret {
            return self.judges.object(PROMISE, self.kernel.now(), Some(to), error.to_string());
        }
        let Some(wire) = &mut self.nodes[from].wire else { return };
        if wire.keys.secrets.previous.is_some() {
            let choice = wire.choices.entry(id_of(to)).or_insert(SecretChoice::Current);
            *choice = match choice {
                SecretChoice::Current => SecretChoice::Previous,
                SecretChoice::Previous => SecretChoice::Current,
            };
        }
    }

    /// The name of a node's log group.
    pub(super) fn group_name(&self, index: usize) -> String {
        cluster_name(self.truth.nodes[index].cluster).0.to_string()
    }
}
