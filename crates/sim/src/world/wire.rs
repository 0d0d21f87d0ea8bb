//! Sealed worlds: what nodes say is encoded, sealed, opened and read by the production code of the wire.
//!
//! Datagrams travel as bytes: duplicates meet the replay window, a restarted node has to answer challenges before it
//! changes anything, and the shared secret changes – whoever starts after that uses the new one and accepts the old one too,
//! until that is retired. Upgraded nodes are of the next version of the protocol and write in the one that all read.
//! Messages of membership on streams are encoded and read back; those between replicas travel on real connections (`links`).
//!
//! A message that the wire cannot carry or read breaks the promise `wire`.

use std::collections::BTreeMap;

use hyperscale_codec::gossip::{self, Heard, SealedBy};
use hyperscale_codec::{Versions, stream};
use hyperscale_swim::StreamMessage;
use hyperscale_swim::federation::CrossMessage;
use hyperscale_types::NodeId;
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::datagram::{BootId, Datagrams, Received};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::entropy::SeededEntropy;
use hyperscale_wire::hello::{Local, PROTOCOL_MAX, PROTOCOL_MIN};
use hyperscale_wire::link::Keys;
use hyperscale_wire::messages::{self, NodeRef};
use hyperscale_wire::secret::{Secret, SecretChoice, Secrets};

use super::links::{End, EndKey};
use super::node::{id_of, index_of};
use super::{Fact, Happening, World};
use crate::bug::WireBug;
use crate::moment::Moment;
use crate::process::Version;

/// The secret after the change.
const NEW_SECRET: &str = "hex:8f1c2d3b4a5968778695a4b3c2d1e0f00112a3344c5566d788f9aabbccddee0e";
pub(super) const PROMISE: &str = "wire";

/// How a world seals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sealing {
    seed: u64,
    bug: Option<WireBug>,
    stage: Stage,
    /// When that began.
    since: Moment,
}

/// Which secrets a node is started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The old one.
    Old,
    /// The new one, and the old one is accepted.
    Both,
    /// The new one only.
    New,
}

/// One node's end of the wire, in one life.
#[derive(Debug)]
pub struct Wire {
    /// Seals and opens, as in production.
    pub datagrams: Datagrams,
    pub(super) entropy: SeededEntropy,
    pub(super) keys: Keys,
    /// What it says of itself in a hello.
    pub(super) local: Local,
    /// The secret that a peer understood last, where it was not the current one.
    pub(super) choices: BTreeMap<NodeId, SecretChoice>,
    /// Its ends of connections.
    pub(super) ends: BTreeMap<EndKey, End>,
}

impl Wire {
    fn new(index: usize, fact: &Fact, seed: u64, secrets: Secrets) -> Self {
        let boot = fact.process.boot;
        let mut entropy = SeededEntropy::new(seed ^ (index as u64) << 32 ^ boot.0);
        let domain = Domain::new("sim", "").expect("it is a name");
        let (node_id, role) = (id_of(index).get(), messages::Role::from(fact.role).into());
        let node = NodeRef { node_id, boot_epoch: boot.0, role, ..NodeRef::default() };
        let versions = (PROTOCOL_MIN, newest_version(fact.process.version));
        let local =
            Local { domain: domain.clone(), node, versions, features: Vec::new(), build: "sim".to_owned() };
        let keys = Keys { domain: domain.clone(), secrets: secrets.clone() };
        let boot = BootId::draw(&mut entropy);
        let datagrams = Datagrams::new(id_of(index), boot, domain, secrets);
        Self { datagrams, entropy, keys, local, choices: BTreeMap::new(), ends: BTreeMap::new() }
    }
}

/// The newest version of the protocol that a build speaks.
fn newest_version(build: Version) -> u32 {
    PROTOCOL_MAX + u32::from(build == Version::New)
}

/// Old and new builds run mixed while nodes are upgraded; the new ones write what the old ones read.
fn versions_of(build: Version) -> Versions {
    let newest = newest_version(build);
    let versions = Versions::new(PROTOCOL_MIN, newest).and_then(|versions| versions.writing(PROTOCOL_MAX));
    versions.expect("the next build reads what this one writes")
}

impl World {
    /// Seals what nodes say from their next start on.
    pub fn seal(&mut self, seed: u64, bug: Option<WireBug>) {
        self.sealing = Some(Sealing { seed, bug, stage: Stage::Old, since: self.kernel.now() });
    }

    /// The next stage of a change of the secret, for nodes that start from now on. The old one is retired only if
    /// everybody who runs has the new one, as an operator would.
    pub(super) fn rotate(&mut self) {
        let now = self.kernel.now();
        let Some(sealing) = &mut self.sealing else { return };
        let mut running = self.truth.nodes.iter().filter(|fact| fact.process.is_up());
        let stage = match sealing.stage {
            Stage::Old => Stage::Both,
            Stage::Both if running.any(|fact| fact.since < sealing.since) => return,
            Stage::Both | Stage::New => Stage::New,
        };
        (sealing.stage, sealing.since) = (stage, now);
    }

    /// How often the nodes' present lives refused something for that reason.
    pub fn refused(&self, refusal: Refusal) -> u64 {
        let wires = self.nodes.iter().filter_map(|node| node.wire.as_ref());
        wires.map(|wire| wire.datagrams.counters().refused(refusal)).sum()
    }

    /// The wire of a node that starts now.
    pub(super) fn new_wire(&self, index: usize) -> Option<Box<Wire>> {
        let Sealing { seed, stage, .. } = self.sealing?;
        let old = Secret::development();
        let new = || Secret::parse(NEW_SECRET, "sim").expect("it is a good secret");
        let secrets = match stage {
            Stage::Old => Secrets { current: old, previous: None },
            Stage::Both => Secrets { current: new(), previous: Some(old) },
            Stage::New => Secrets { current: new(), previous: None },
        };
        Some(Box::new(Wire::new(index, &self.truth.nodes[index], seed, secrets)))
    }

    /// Sends a payload as a sealed datagram; false if this world does not seal.
    pub(super) fn seal_to(&mut self, from: usize, to: NodeId, payload: impl FnOnce() -> Vec<u8>) -> bool {
        let Some(wire) = &mut self.nodes[from].wire else { return false };
        let mut bytes = Vec::new();
        let sealed = wire.datagrams.seal(to, &payload(), &mut bytes);
        match sealed {
            Ok(()) => self.carry(from, index_of(to), bytes),
            Err(error) => self.judges.object(PROMISE, self.kernel.now(), Some(from), error.to_string()),
        }
        true
    }

    /// What a node reads and writes.
    pub(super) fn versions(&self, index: usize) -> Versions {
        let build = self.truth.nodes[index].process.version;
        if self.sealing.is_some_and(|sealing| sealing.bug == Some(WireBug::NewestVersionAlways)) {
            return Versions::new(PROTOCOL_MIN, newest_version(build)).expect("a range of versions");
        }
        versions_of(build)
    }

    fn carry(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let times = self.network.datagram(self.kernel.now(), from, to, bytes.len());
        self.arrives(times, bytes, |bytes| Happening::Sealed { from, to, bytes });
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
            Ok(
                Received::Payload { from: node, proven, data, .. }
                | Received::Confirmed { from: node, proven, held: Some(data), .. },
            ) => self.read(to, SealedBy { node, proven }, &data),
            Ok(Received::Reply { datagram, .. }) => self.carry(to, from, datagram),
            Ok(Received::Confirmed { held: None, .. } | Received::Held) | Err(_) => {}
        }
    }

    fn read(&mut self, to: usize, sealed_by: SealedBy, payload: &[u8]) {
        let (role, versions) = (self.truth.nodes[to].role, self.versions(to));
        let Some(wire) = &mut self.nodes[to].wire else { return };
        match gossip::decode(payload, sealed_by, role, versions, wire.datagrams.counters_mut()) {
            Ok(Heard::Member(datagram)) => self.datagram(to, datagram),
            Ok(Heard::Cross(message, _)) => self.cross_message(to, message),
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
            Ok(Heard::Member(read)) if read == message => Some(read),
            other => {
                let what = format!("{message:?} is read as {other:?}");
                self.judges.object(PROMISE, self.kernel.now(), Some(to), what);
                None
            }
        }
    }

    /// A message between clusters on a stream, likewise.
    pub(super) fn reread_cross(
        &mut self,
        from: usize,
        to: usize,
        message: CrossMessage,
    ) -> Option<CrossMessage> {
        if self.sealing.is_none() {
            return Some(message);
        }
        let written = stream::cross_to_message(&message, self.truth.nodes[from].role);
        match stream::from_message(written, message.from.node) {
            Ok(Heard::Cross(read, _)) if read == message => Some(read),
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
