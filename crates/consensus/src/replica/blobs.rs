//! Blobs of a replica: stored on a quorum before an entry names them, fetched when they are missing, collected when nothing
//! names them any more.
//!
//! | blob                                   | every [`PASS_EVERY`]                                                        |
//! | -------------------------------------- | --------------------------------------------------------------------------- |
//! | being stored for the host              | sent again to voters that have not confirmed; fails after its time          |
//! | named by the state, not on this disk   | asked of one member after the other, [`FETCHES_MAX`] blobs at a time        |
//! | on this disk, named by nothing         | removed after `blob_grace`, if the group decided things all that time        |
//!
//! What is missing and what is named by nothing is found by a pass in slices, see `blob_pass`.
//!
//! The grace is what a caller has to propose the entry that names its blob. It does not run while an entry that was proposed
//! may wait to be decided, see [`Progress`]: a group without a quorum may hold such an entry for hours, and decide it then. The bytes are in memory only while they are on
//! their way; which blobs are on disk is told at the start and kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use hyperscale_types::{NodeId, Now};

use super::blob_pass::Pass;
use super::running::{Outputs, Running};
use super::{CallId, Output, ReplicaMessage, Reply, WireOutcome};
use crate::action::ProposeError;
use crate::apply::Machine;
use crate::blob::{BLOB_BYTES_MAX, BlobId, Placement};
use crate::group::RaftGroup;
use crate::quorum::QuorumError;

/// How often a replica looks after its blobs.
pub const PASS_EVERY: Duration = Duration::from_secs(1);
/// Blobs that are being stored for the host; one more is refused.
pub const UPLOADS_MAX: usize = 64;
/// Blobs that other members were asked for and have not sent yet.
pub const FETCHES_MAX: usize = 8;
/// Blobs that a replica knows it misses; further ones are found when it has some of these.
pub const MISSING_MAX: usize = 65_536;
/// Blobs of peers that are on their way to the disk; one more is not taken, and sent again by whoever stores it.
pub const WRITES_MAX: usize = 64;

/// What a replica knows of its blobs.
#[derive(Debug)]
pub(super) struct Blobs {
    /// On disk.
    pub(super) held: BTreeMap<BlobId, Held>,
    /// Named by the state and not on disk, as far as the pass found them.
    pub(super) missing: BTreeSet<BlobId>,
    pub(super) pass: Pass,
    /// On their way to the disk, and who wants to know.
    pub(super) writing: BTreeMap<BlobId, BTreeSet<NodeId>>,
    pub(super) uploads: BTreeMap<BlobId, Upload>,
    pub(super) fetches: BTreeMap<BlobId, Fetch>,
    pub(super) grace: Duration,
    pub(super) progress: Progress,
    pub(super) passed: Now,
}

/// Since when the group decides what is proposed, as far as this replica sees; looked at every [`PASS_EVERY`].
///
/// Whatever its log held a look ago must be applied by now, under the same leader. Without a leader an entry may be in the log of
/// another member only; the next leader brings it along, so that the grace begins anew with it. After a pause this replica does not
/// know what was decided meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// All that is proposed has been decided from then on.
    pub(super) since: Now,
    term: u64,
    last_index: u64,
}

/// A look that is later than this follows a pause.
const LOOK_LATE: Duration = Duration::from_secs(5);

impl Progress {
    fn new(now: Now) -> Self {
        Self { since: now, term: 0, last_index: 0 }
    }

    /// Takes a look at the group; the last one was then.
    pub(super) fn look<M: Machine>(&mut self, now: Now, before: Now, group: &RaftGroup<M>) {
        let is_decided = group.leader().is_some()
            && group.term() == self.term
            && group.applied().0 >= self.last_index
            && now.since(before) < LOOK_LATE;
        let since = if is_decided { self.since } else { now };
        *self = Self { since, term: group.term(), last_index: group.last_index() };
    }
}

/// What is known of a blob on disk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Since when nothing names it.
    pub(super) unnamed: Option<Now>,
    /// The pass in which it was last found to be named, or came.
    pub(super) pass: u64,
}

#[derive(Debug)]
pub(super) struct Upload {
    pub(super) bytes: Bytes,
    pub(super) placement: Placement,
    pub(super) calls: Vec<(CallId, Now)>,
}

/// Whose turn it is to be asked, and when it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    pub(super) turn: usize,
    pub(super) asked: Now,
}

impl Blobs {
    pub(super) fn new(now: Now, held: &BTreeSet<BlobId>, grace: Duration) -> Self {
        Self {
            held: held.iter().map(|blob| (*blob, Held::default())).collect(),
            missing: BTreeSet::new(),
            pass: Pass::default(),
            writing: BTreeMap::new(),
            uploads: BTreeMap::new(),
            fetches: BTreeMap::new(),
            grace,
            progress: Progress::new(now),
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
        // Nobody can lead, so nothing that names the blob can be decided: the caller is told at once instead of after a timeout.
        let reach = self.group.reach(now);
        if self.group.leader().is_none() && !reach.is_enough() {
            return Some(Reply::Failed(QuorumError::Unavailable(reach).into()));
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
        self.blobs.held.insert(blob, Held { unnamed: Some(now), pass: self.blobs.pass.number() });
        self.blobs.missing.remove(&blob);
        if self.blobs.fetches.remove(&blob).is_some() {
            self.fetch_missing(now, out);
        }
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
        if self.blobs.holds(blob) {
            // Whoever stores it again has the whole grace to name it.
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
    pub(super) fn send_blob(&mut self, blob: BlobId, out: &mut Outputs<M>) {
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
}
