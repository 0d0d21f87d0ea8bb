//! Sealed worlds: what nodes say is encoded, sealed, opened and read by the production code of the wire.
//!
//! Datagrams travel as bytes: duplicates meet the replay window, a restarted node has to answer challenges before it
//! changes anything, and at some moment the shared secret changes – whoever starts after it uses the new one and accepts
//! the old one too. Every other node pretends to be of the next version and writes in the one that all read. Messages on
//! streams are encoded and read back; sealing them is the business of the connection.
//!
//! A message that the wire cannot carry or read breaks the promise `wire`.

use hyperscale_codec::gossip::{self, Heard};
use hyperscale_codec::{Versions, stream};
use hyperscale_swim::{Datagram, StreamMessage};
use hyperscale_types::{BootEpoch, NodeId};
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::datagram::{BootId, Datagrams, Received};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::entropy::SeededEntropy;
use hyperscale_wire::hello::{PROTOCOL_MAX, PROTOCOL_MIN};
use hyperscale_wire::secret::{Secret, Secrets};

use super::node::{id_of, index_of};
use super::{Happening, World};
use crate::moment::Moment;

/// The secret after the change.
const NEW_SECRET: &str = "hex:8f1c2d3b4a5968778695a4b3c2d1e0f00112a3344c5566d788f9aabbccddee0e";
const PROMISE: &str = "wire";

/// How a world seals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sealing {
    seed: u64,
    rotates_at: Moment,
}

/// One node's end of the wire, in one life.
#[derive(Debug)]
pub struct Wire {
    /// Seals and opens, as in production.
    pub datagrams: Datagrams,
    entropy: SeededEntropy,
}

impl Wire {
    fn new(index: usize, boot: BootEpoch, seed: u64, secrets: Secrets) -> Self {
        let mut entropy = SeededEntropy::new(seed ^ (index as u64) << 32 ^ boot.0);
        let domain = Domain::new("sim", "").expect("it is a name");
        let boot = BootId::draw(&mut entropy);
        Self { datagrams: Datagrams::new(id_of(index), boot, domain, secrets), entropy }
    }
}

/// Old and new builds run mixed; the new ones write what the old ones read.
fn versions_of(index: usize) -> Versions {
    let newest = PROTOCOL_MAX + u32::from(index % 2 == 1);
    let versions = Versions::new(PROTOCOL_MIN, newest).and_then(|versions| versions.writing(PROTOCOL_MAX));
    versions.expect("the next build reads what this one writes")
}

impl World {
    /// Seals what nodes say from their next start on. At `rotates_at` the secret changes.
    pub fn seal(&mut self, seed: u64, rotates_at: Moment) {
        self.sealing = Some(Sealing { seed, rotates_at });
    }

    /// How often the nodes' present lives refused something for that reason.
    pub fn refused(&self, refusal: Refusal) -> u64 {
        let wires = self.nodes.iter().filter_map(|node| node.wire.as_ref());
        wires.map(|wire| wire.datagrams.counters().refused(refusal)).sum()
    }

    /// The wire of a node that starts now.
    pub(super) fn new_wire(&self, index: usize, boot: BootEpoch) -> Option<Box<Wire>> {
        let Sealing { seed, rotates_at } = self.sealing?;
        let old = Secret::development();
        let secrets = if self.kernel.now() < rotates_at {
            Secrets { current: old, previous: None }
        } else {
            let new = Secret::parse(NEW_SECRET, "sim").expect("it is a good secret");
            Secrets { current: new, previous: Some(old) }
        };
        Some(Box::new(Wire::new(index, boot, seed, secrets)))
    }

    /// Sends a datagram as bytes; false if this world does not seal.
    pub(super) fn send_sealed(&mut self, from: usize, to: NodeId, datagram: &Datagram) -> bool {
        let Some(wire) = &mut self.nodes[from].wire else { return false };
        let mut bytes = Vec::new();
        let sealed = wire.datagrams.seal(to, &gossip::encode(datagram, versions_of(from)), &mut bytes);
        match sealed {
            Ok(()) => self.carry(from, index_of(to), bytes),
            Err(error) => self.judges.object(PROMISE, self.kernel.now(), Some(from), error.to_string()),
        }
        true
    }

    fn carry(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let [first, second] = self.network.datagram(self.kernel.now(), from, to, bytes.len());
        if let Some(at) = second {
            self.kernel.at(at, Happening::Sealed { from, to, bytes: bytes.clone() });
        }
        if let Some(at) = first {
            self.kernel.at(at, Happening::Sealed { from, to, bytes });
        }
    }

    /// Bytes arrive: for the core, for the wire itself, or for nobody.
    pub(super) fn sealed(&mut self, from: usize, to: usize, bytes: &[u8]) {
        if !self.truth.nodes[to].process.is_up() {
            return;
        }
        let node = &mut self.nodes[to];
        let Some(wire) = &mut node.wire else { return };
        let local = node.clock.read(self.kernel.now());
        match wire.datagrams.open(local, bytes, &mut wire.entropy) {
            Ok(Received::Payload { from, data, .. } | Received::Confirmed { from, held: Some(data), .. }) => {
                self.read(to, from, &data);
            }
            Ok(Received::Reply { datagram, .. }) => self.carry(to, from, datagram),
            Ok(Received::Confirmed { held: None, .. } | Received::Held) | Err(_) => {}
        }
    }

    fn read(&mut self, to: usize, from: NodeId, payload: &[u8]) {
        match gossip::decode(payload, from, versions_of(to)) {
            Ok(Heard::Member(datagram)) => self.datagram(to, datagram),
            Ok(Heard::Cross(..)) => {}
            Err(error) => self.judges.object(PROMISE, self.kernel.now(), Some(to), error.to_string()),
        }
    }

    /// A message on a stream as its receiver reads it; `None` if it cannot.
    pub(super) fn reread(&mut self, to: usize, message: StreamMessage) -> Option<StreamMessage> {
        if self.sealing.is_none() {
            return Some(message);
        }
        let from = message.from.peer.node;
        match stream::from_message(stream::to_message(&message), from) {
            Ok(read) if read == message => Some(read),
            other => {
                let what = format!("{message:?} is read as {other:?}");
                self.judges.object(PROMISE, self.kernel.now(), Some(to), what);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
