//! Replicas with a machine that counts.

mod blobs;
mod calls;
mod net;
mod peers;
mod sealed;
mod snapshots;
mod starting;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId, Now};
use hyperscale_wire::class::Lane;
use net::{Net, command};

use super::*;
use crate::action::Event;
use crate::apply::{Effects, NameCursor, Outdated, RestoreError};
use crate::blob::BlobId;
use crate::group::{Change, SnapshotJob};
use crate::id::Ticket;
use crate::message::Addresses;
use crate::quorum::QuorumError;
use crate::storage::{Batch, LogStorage, MemoryDisk};

/// A machine that counts commands, names the blobs whose ids are commands, and seals [`PART`] when it is told to.
#[derive(Default)]
struct Counter(u64, BTreeSet<BlobId>, Sealing);

/// The sealed part, on its way to the host, and not read yet.
#[derive(Default)]
struct Sealing {
    fresh: Vec<(BlobId, Bytes)>,
    named: Vec<BlobId>,
    unread: BTreeSet<BlobId>,
}

const PART: &[u8] = b"part1";
/// A command that names more missing blobs than one slice of the pass handles.
const MANY: &[u8] = b"many";
const MANY_COUNT: usize = 5_000;

impl Machine for Counter {
    type Outcome = u64;

    fn apply(&mut self, _index: u64, command: &Bytes, effects: &mut Effects) -> u64 {
        self.0 += 1;
        if let Some(hash) = command.strip_prefix(b"blob").and_then(|hash| hash.try_into().ok()) {
            self.1.insert(BlobId { hash, length: 5 });
            self.2.named.push(BlobId { hash, length: 5 });
        } else if command == MANY {
            let blob = |number: usize| {
                let mut hash = [0xff; 32];
                hash[1..9].copy_from_slice(&number.to_be_bytes());
                BlobId { hash, length: 5 }
            };
            self.1.extend((0..MANY_COUNT).map(blob));
        } else if command == "forget" {
            self.1.clear();
        } else if command == "seal" {
            self.1.insert(BlobId::of(PART));
            self.2.fresh.push((BlobId::of(PART), Bytes::from_static(PART)));
        }
        effects.number(self.0);
        self.0
    }

    fn snapshot(&self) -> Bytes {
        let hashes = self.1.iter().flat_map(|blob| blob.hash);
        self.0.to_be_bytes().into_iter().chain(hashes).collect()
    }

    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError> {
        let (number, hashes) = state.split_first_chunk().unwrap_or((&[0; 8], &[]));
        self.0 = u64::from_be_bytes(*number);
        let hashes = hashes.chunks(32).filter_map(|hash| hash.try_into().ok());
        self.1 = hashes.map(|hash| BlobId { hash, length: 5 }).collect();
        self.2.unread = self.1.iter().filter(|blob| **blob == BlobId::of(PART)).copied().collect();
        Ok(())
    }

    fn named_blobs(&self, from: NameCursor, limit: usize, out: &mut Vec<BlobId>) -> Option<NameCursor> {
        let listed = self.1.iter().skip(from.place).take(limit);
        out.extend(listed);
        let place = from.place.saturating_add(limit);
        (place < self.1.len()).then_some(NameCursor { place, ..from })
    }

    fn take_named(&mut self) -> Vec<BlobId> {
        std::mem::take(&mut self.2.named)
    }

    fn outdated(&self) -> Option<Outdated> {
        None
    }

    fn take_sealed(&mut self) -> Vec<(BlobId, Bytes)> {
        std::mem::take(&mut self.2.fresh)
    }

    fn missing(&self) -> Vec<BlobId> {
        self.2.unread.iter().copied().collect()
    }

    fn supply(&mut self, blob: BlobId, bytes: &Bytes) -> Result<(), RestoreError> {
        assert!(blob.matches(bytes));
        self.2.unread.remove(&blob);
        Ok(())
    }
}

impl WireOutcome for u64 {
    fn to_bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.to_be_bytes())
    }

    fn from_bytes(bytes: &Bytes) -> Option<Self> {
        bytes[..].try_into().ok().map(u64::from_be_bytes)
    }
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn directory(number: u64) -> DirectoryId {
    DirectoryId([number as u8; 16])
}

fn add(number: u64) -> Change {
    let addresses = Addresses::example(number as u8);
    Change::Add { node: node(number), directory: directory(number), addresses }
}

fn options(number: u64, peers: usize) -> Options {
    Options {
        node: node(number),
        directory: directory(number),
        addresses: Addresses::example(number as u8),
        boot: BootEpoch(1),
        peers,
        first_number: number << 32,
        version: 1,
        blobs: BTreeSet::new(),
        blob_grace: Duration::from_secs(20),
        config: Config { snapshot_entries: 20, trailing_entries: 5, ..Config::lan() },
    }
}

type Out = Vec<Output<u64>>;

fn started(number: u64, peers: usize, loaded: Loaded) -> (Replica<Counter>, Out) {
    let mut out = Vec::new();
    let replica = Replica::start(Now::ZERO, options(number, peers), loaded, Counter::default(), &mut out);
    (replica, out)
}

fn handle(replica: &mut Replica<Counter>, input: Input) -> Out {
    let mut out = Vec::new();
    replica.handle(Now::ZERO, input, &mut out);
    out
}
