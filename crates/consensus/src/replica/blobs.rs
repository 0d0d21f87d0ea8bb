//! Blobs of a replica: stored on a quorum before an entry names them, fetched when they are missing, collected when nothing
//! names them any more.
//!
//! | blob                                   | pass, every [`PASS_EVERY`]                                                  |
//! | -------------------------------------- | --------------------------------------------------------------------------- |
//! | being stored for the host              | sent again to voters that have not confirmed; fails after its time          |
//! | named by the state, not on this disk   | asked of one member after the other, [`FETCHES_MAX`] blobs at a time        |
//! | on this disk, named by nothing         | removed after `blob_grace`, if this replica has applied all it knows of     |
//!
//! The grace is what a caller has to propose the entry that names its blob. The bytes are in memory only while they are on
//! their way; which blobs are on disk is told at the start and kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_types::{NodeId, Now};

use super::calls::PATIENCE;
use super::running::{Outputs, Running};
use super::{CallId, Output, ReplicaMessage, Reply, WireOutcome};
use crate::action::ProposeError;
use crate::apply::Machine;
use crate::blob::{BLOB_BYTES_MAX, BlobId, Placement};
use crate::quorum::QuorumError;

/// How often a replica looks after its blobs.
pub const PASS_EVERY: Duration = Duration::from_secs(1);
/// Blobs that are being stored for the host; one more is refused.
pub const UPLOADS_MAX: usize = 64;
/// Blobs that other members were asked for and have not sent yet.
pub const FETCHES_MAX: usize = 8;
/// Blobs of peers that are on their way to the disk; one more is not taken, and sent again by whoever stores it.
pub const WRITES_MAX: usize = 64;
/// A member that was asked for a blob and has not sent it is left for the next one.
const FETCH_PATIENCE: Duration = Duration::from_secs(5);

/// What a replica knows of its blobs.
#[derive(Debug)]
pub(super) struct Blobs {
    /// On disk, and since when nothing names them.
    held: BTreeMap<BlobId, Option<Now>>,
    /// On their way to the disk, and who wants to know.
    writing: BTreeMap<BlobId, BTreeSet<NodeId>>,
    uploads: BTreeMap<BlobId, Upload>,
    fetches: BTreeMap<BlobId, Fetch>,
    grace: Duration,
    passed: Now,
}

#[derive(Debug)]
struct Upload {
    bytes: Bytes,
    placement: Placement,
    calls: Vec<(CallId, Now)>,
}

/// Whose turn it is to be asked, and when it was.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    turn: usize,
    asked: Now,
}

impl Blobs {
    pub(super) fn new(now: Now, held: &BTreeSet<BlobId>, grace: Duration) -> Self {
        Self {
            held: held.iter().map(|blob| (*blob, None)).collect(),
            writing: BTreeMap::new(),
            uploads: BTreeMap::new(),
            fetches: BTreeMap::new(),
            grace,
            passed: now,
        }
    }

    /// Whether it is on this disk.
    pub(super) fn holds(&self, blob: BlobId) -> bool {
        self.held.contains_key(&blob)
    }

    /// A blob is to be written; whether nobody writes it yet.
    pub(super) fn begin_writing(&mut self, blob: BlobId) -> bool {
        let is_new = !self.writing.contains_key(&blob);
        self.writing.entry(blob).or_default();
        is_new
    }
}

impl<M: Machine> Running<M>
where
    M::Outcome: WireOutcome,
{
    /// The host wants a blob on a quorum.
    pub(super) fn store(
        &mut self,
        now: Now,
        call: CallId,
        bytes: Bytes,
        out: &mut Outputs<M>,
    ) -> Option<Reply<M::Outcome>> {
        if bytes.len() as u64 > BLOB_BYTES_MAX {
            return Some(Reply::Failed(ProposeError::Size));
        }
        let blob = BlobId::of(&bytes);
        let blobs = &mut self.blobs;
        if blobs.uploads.len() >= UPLOADS_MAX && !blobs.uploads.contains_key(&blob) {
            return Some(Reply::Failed(ProposeError::Overloaded));
        }
        let upload = blobs.uploads.entry(blob).or_insert_with(|| Upload {
            bytes: bytes.clone(),
            placement: Placement::new(blob),
            calls: Vec::new(),
        });
        upload.calls.push((call, now));
        self.put(now, blob, bytes, None, out);
        self.send_blob(blob, out);
        self.placed(blob, out);
        None
    }

    /// A blob is on this disk.
    pub(super) fn blob_stored(&mut self, now: Now, blob: BlobId, out: &mut Outputs<M>) {
        self.blobs.held.insert(blob, Some(now));
        self.blobs.fetches.remove(&blob);
        for to in self.blobs.writing.remove(&blob).unwrap_or_default() {
            let message = ReplicaMessage::BlobStored { blob };
            out.push(Output::Send { to, lane: message.lane(), message });
        }
        self.sealed_stored(blob, out);
        let id = self.group().id();
        if let Some(upload) = self.blobs.uploads.get_mut(&blob) {
            upload.placement.stored(id);
        }
        self.placed(blob, out);
    }

    /// A peer sends a blob: somebody stores it on a quorum, or it was asked for.
    pub(super) fn blob_arrived(
        &mut self,
        now: Now,
        from: NodeId,
        message: ReplicaMessage,
        out: &mut Outputs<M>,
    ) {
        match message {
            ReplicaMessage::BlobPut { blob, bytes } if blob.matches(&bytes) => {
                self.put(now, blob, bytes, Some(from), out);
            }
            ReplicaMessage::BlobData { blob, bytes }
                if self.blobs.fetches.contains_key(&blob) && blob.matches(&bytes) =>
            {
                self.put(now, blob, bytes, None, out);
            }
            ReplicaMessage::BlobStored { blob } => {
                let Some(id) = self.raft_id_of(from) else { return };
                if let Some(upload) = self.blobs.uploads.get_mut(&blob) {
                    upload.placement.stored(id);
                }
                self.placed(blob, out);
            }
            ReplicaMessage::BlobGet { blob } if self.blobs.held.contains_key(&blob) => {
                out.push(Output::ReadBlob { blob, to: from });
            }
            _ => {}
        }
    }

    /// The host has read a blob for a peer or for this replica, or found that it is not there.
    pub(super) fn blob_read(&mut self, blob: BlobId, to: NodeId, bytes: Option<Bytes>, out: &mut Outputs<M>) {
        match bytes {
            Some(bytes) if to == self.me() => self.supply_sealed(blob, &bytes),
            Some(bytes) => {
                let message = ReplicaMessage::BlobData { blob, bytes };
                out.push(Output::Send { to, lane: message.lane(), message });
            }
            // Repaired with the next pass, if something names it.
            None => {
                self.blobs.held.remove(&blob);
            }
        }
    }

    fn put(&mut self, now: Now, blob: BlobId, bytes: Bytes, asker: Option<NodeId>, out: &mut Outputs<M>) {
        if let Some(unnamed) = self.blobs.held.get_mut(&blob) {
            // Whoever stores it again has the whole grace to name it.
            *unnamed = Some(now);
            self.blobs.writing.entry(blob).or_default().extend(asker);
            return self.blob_stored(now, blob, out);
        }
        let is_new = !self.blobs.writing.contains_key(&blob);
        if is_new && self.blobs.writing.len() >= WRITES_MAX {
            return;
        }
        self.blobs.writing.entry(blob).or_default().extend(asker);
        if is_new {
            out.push(Output::PutBlob { blob, bytes });
        }
    }

    /// Sends a blob to the voters that have not confirmed it.
    fn send_blob(&mut self, blob: BlobId, out: &mut Outputs<M>) {
        let Some(upload) = self.blobs.uploads.get(&blob) else { return };
        let me = self.group().id();
        let missing: BTreeSet<_> = upload.placement.missing(self.group().configuration()).collect();
        let bytes = upload.bytes.clone();
        let nodes = missing.into_iter().filter(|id| *id != me).filter_map(|id| self.node_of(id));
        for to in nodes.collect::<Vec<_>>() {
            let message = ReplicaMessage::BlobPut { blob, bytes: bytes.clone() };
            out.push(Output::Send { to, lane: message.lane(), message });
        }
    }

    /// Replies if a quorum has it.
    fn placed(&mut self, blob: BlobId, out: &mut Outputs<M>) {
        let is_placed = |upload: &Upload| upload.placement.is_placed(self.group().configuration());
        if self.blobs.uploads.get(&blob).is_some_and(is_placed)
            && let Some(upload) = self.blobs.uploads.remove(&blob)
        {
            let reply = |(call, _)| Output::Reply { call, reply: Reply::Stored(blob) };
            out.extend(upload.calls.into_iter().map(reply));
        }
    }

    /// Looks after the blobs, from time to time.
    pub(super) fn blob_pass(&mut self, now: Now, out: &mut Outputs<M>) {
        if now.since(self.blobs.passed) < PASS_EVERY || self.group().halted().is_some() {
            return;
        }
        self.blobs.passed = now;
        self.expire_uploads(now, out);
        for blob in self.blobs.uploads.keys().copied().collect::<Vec<_>>() {
            self.send_blob(blob, out);
        }
        let named = self.group().machine().blobs();
        self.sealed.wanted.retain(|blob| named.contains(blob));
        self.fetch_missing(now, &named, out);
        self.collect(now, &named, out);
    }

    fn expire_uploads(&mut self, now: Now, out: &mut Outputs<M>) {
        let patience = self.group().config().quorum_timeout + PATIENCE;
        let error = ProposeError::Quorum(QuorumError::Timeout(self.group().reach(now)));
        self.blobs.uploads.retain(|_, upload| {
            upload.calls.retain(|(call, since)| {
                let is_due = now.since(*since) >= patience;
                if is_due {
                    out.push(Output::Reply { call: *call, reply: Reply::Failed(error) });
                }
                !is_due
            });
            !upload.calls.is_empty()
        });
    }

    fn fetch_missing(&mut self, now: Now, named: &BTreeSet<BlobId>, out: &mut Outputs<M>) {
        self.blobs.fetches.retain(|blob, _| named.contains(blob));
        let peers: Vec<NodeId> = self
            .group()
            .roster()
            .members()
            .map(|member| member.node)
            .filter(|node| *node != self.me())
            .collect();
        let wanted = self.sealed.wanted.clone();
        if bug!(self.group().config().bugs, NoBlobRepair) {
            return;
        }
        for blob in wanted.iter().chain(named.difference(&wanted)) {
            let is_here = self.blobs.held.contains_key(blob) || self.blobs.writing.contains_key(blob);
            if is_here || peers.is_empty() {
                continue;
            }
            if let Some(to) = self.next_to_ask(now, *blob, &peers) {
                let message = ReplicaMessage::BlobGet { blob: *blob };
                out.push(Output::Send { to, lane: message.lane(), message });
            }
        }
    }

    fn next_to_ask(&mut self, now: Now, blob: BlobId, peers: &[NodeId]) -> Option<NodeId> {
        let (fetches, wanted) = (&mut self.blobs.fetches, &self.sealed.wanted);
        // What the group waits for does not wait for the others.
        let is_like = |other: &&BlobId| wanted.contains(*other) == wanted.contains(&blob);
        let turn = match fetches.get(&blob) {
            Some(fetch) if now.since(fetch.asked) < FETCH_PATIENCE => return None,
            Some(fetch) => fetch.turn + 1,
            None if fetches.keys().filter(is_like).count() >= FETCHES_MAX => return None,
            // Members begin with different ones, so that one of them is not asked by all.
            None => usize::from(blob.hash[0]),
        };
        fetches.insert(blob, Fetch { turn, asked: now });
        Some(peers[turn % peers.len()])
    }

    fn collect(&mut self, now: Now, named: &BTreeSet<BlobId>, out: &mut Outputs<M>) {
        let group = self.group();
        let is_current = group.leader().is_some()
            && group.applied().0 >= group.committed()
            && group.machine().missing().is_empty();
        let collects_named = bug!(group.config().bugs, CollectNamedBlobs);
        let Blobs { held, uploads, grace, .. } = &mut self.blobs;
        held.retain(|blob, unnamed| {
            let is_named = named.contains(blob) && !(collects_named && blob.hash[0] < 16);
            if is_named || uploads.contains_key(blob) {
                *unnamed = None;
                return true;
            }
            let is_due = now.since(*unnamed.get_or_insert(now)) >= *grace && is_current;
            if is_due {
                out.push(Output::RemoveBlob(*blob));
            }
            !is_due
        });
    }
}
