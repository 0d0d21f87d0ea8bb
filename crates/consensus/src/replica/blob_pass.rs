//! The pass over the blobs of a replica, see the table in `blobs`.
//!
//! ```text
//! waiting ── PASS_EVERY ──► marking ── all names listed ──► sweeping ── all of the disk looked at ──► waiting
//!                              ▲          a snapshot or a sealed part of the state was read │
//!                              └─────────────────────────────────────────────────────────────┘
//! ```
//!
//! A state may name millions of blobs, so the pass advances with every tick by at most [`BLOBS_PER_SLICE`]. Marking lists what the state
//! names: what is on disk is marked with the number of the pass, what is not is missing. Sweeping looks at what is on
//! disk: what has no mark is named by nothing. What a command names while the pass is under way is marked as it is applied, and what comes to
//! the disk meanwhile is left for the next pass, so that nothing is removed which an entry has named.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use super::blobs::{Blobs, FETCHES_MAX, Fetch, MISSING_MAX, PASS_EVERY};
use super::calls::PATIENCE;
use super::running::{Outputs, Running};
use super::{Output, ReplicaMessage, Reply, WireOutcome};
use crate::action::ProposeError;
use crate::apply::{Machine, NameCursor};
use crate::blob::BlobId;
use crate::quorum::QuorumError;

/// A member that was asked for a blob and has not sent it is left for the next one.
const FETCH_PATIENCE: Duration = Duration::from_secs(5);
/// Names that are listed, or blobs on disk that are looked at, with one tick: about a millisecond.
pub const BLOBS_PER_SLICE: usize = 2_048;

/// How far the pass is.
#[derive(Debug, Default)]
pub(super) struct Pass {
    number: u64,
    stage: PassStage,
    /// Named and not on disk, as found by this pass.
    found: BTreeSet<BlobId>,
}

#[derive(Clone, Copy, Debug, Default)]
enum PassStage {
    #[default]
    Waiting,
    Marking(NameCursor),
    /// After this blob.
    Sweeping(Option<BlobId>),
}

impl Pass {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    #[cfg(test)]
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.stage, PassStage::Waiting)
    }

    fn begin(&mut self) {
        self.number += 1;
        self.stage = PassStage::Marking(NameCursor::default());
        self.found.clear();
    }
}

impl<M: Machine> Running<M>
where
    M::Outcome: WireOutcome,
{
    /// Looks after the blobs, with every tick.
    pub(super) fn tend_blobs(&mut self, now: Now, out: &mut Outputs<M>) {
        if self.group().halted().is_some() {
            return;
        }
        let is_due = now.since(self.blobs.passed) >= PASS_EVERY;
        if is_due {
            let before = self.blobs.passed;
            self.blobs.progress.look(now, before, &self.group);
        }
        if is_due && matches!(self.blobs.pass.stage, PassStage::Waiting) {
            self.blobs.pass.begin();
        }
        self.advance_pass(now, out);
        if is_due {
            self.blobs.passed = now;
            self.expire_uploads(now, out);
            for blob in self.blobs.uploads.keys().copied().collect::<Vec<_>>() {
                self.send_blob(blob, out);
            }
            let unread: BTreeSet<BlobId> = self.group().machine().missing().into_iter().collect();
            self.sealed.wanted.retain(|blob| unread.contains(blob));
            self.fetch_missing(now, out);
        }
    }

    /// One slice of the pass.
    fn advance_pass(&mut self, now: Now, out: &mut Outputs<M>) {
        let mut left = BLOBS_PER_SLICE;
        while left > 0 {
            let done = match self.blobs.pass.stage {
                PassStage::Waiting => return,
                PassStage::Marking(from) => self.mark_slice(from, left),
                PassStage::Sweeping(after) => self.sweep_slice(now, after, left, out),
            };
            left = left.saturating_sub(done.max(1));
        }
    }

    /// Lists some names; how many.
    fn mark_slice(&mut self, from: NameCursor, limit: usize) -> usize {
        let mut names = Vec::new();
        let next = self.group().machine().named_blobs(from, limit, &mut names);
        self.mark(&names);
        self.blobs.pass.stage = next.map_or(PassStage::Sweeping(None), PassStage::Marking);
        if next.is_none() {
            self.end_marking();
        }
        names.len()
    }

    /// These are named: by the state, or by a command that was just applied.
    pub(super) fn mark(&mut self, names: &[BlobId]) {
        let collects_named = bug!(self.group().config().bugs, CollectNamedBlobs);
        let blobs = &mut self.blobs;
        for blob in names.iter().filter(|blob| !(collects_named && blob.hash[0] < 16)) {
            match blobs.held.get_mut(blob) {
                Some(held) => (held.unnamed, held.pass) = (None, blobs.pass.number),
                None if blobs.pass.found.len() < MISSING_MAX => drop(blobs.pass.found.insert(*blob)),
                None => {}
            }
        }
    }

    /// All names are known: what this disk lacks is fetched, and not what nothing names any more.
    fn end_marking(&mut self) {
        let blobs = &mut self.blobs;
        blobs.missing = std::mem::take(&mut blobs.pass.found);
        blobs.missing.retain(|blob| !blobs.held.contains_key(blob));
        let lacks_blobs = !blobs.missing.is_empty();
        self.group_mut().set_lacks_blobs(lacks_blobs);
    }

    /// Looks at some blobs on disk; how many.
    fn sweep_slice(&mut self, now: Now, after: Option<BlobId>, limit: usize, out: &mut Outputs<M>) -> usize {
        let group = self.group();
        let is_current = group.leader().is_some()
            && group.applied().0 >= group.committed()
            && group.machine().missing().is_empty();
        let blobs = &mut self.blobs;
        let decides_since = blobs.progress.since;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut looked_at, mut last, mut due) = (0, None, Vec::new());
        for (blob, held) in blobs.held.range_mut((from, Bound::Unbounded)).take(limit) {
            (looked_at, last) = (looked_at + 1, Some(*blob));
            if blobs.uploads.contains_key(blob) {
                held.unnamed = None;
            } else if held.pass != blobs.pass.number {
                let since = (*held.unnamed.get_or_insert(now)).max(decides_since);
                due.extend((is_current && now.since(since) >= blobs.grace).then_some(*blob));
            }
        }
        for blob in due {
            blobs.held.remove(&blob);
            out.push(Output::RemoveBlob(blob));
        }
        blobs.pass.stage = match last.filter(|_| looked_at == limit) {
            Some(last) => PassStage::Sweeping(Some(last)),
            None => PassStage::Waiting,
        };
        looked_at
    }

    /// The state is another one, or more of it is known: what was marked before says nothing about it.
    pub(super) fn restart_pass(&mut self) {
        if !matches!(self.blobs.pass.stage, PassStage::Waiting) {
            self.blobs.pass.begin();
        }
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

    /// Asks for what is missing: the next member for what was not sent, and further blobs while there is room.
    pub(super) fn fetch_missing(&mut self, now: Now, out: &mut Outputs<M>) {
        let (blobs, wanted) = (&mut self.blobs, &self.sealed.wanted);
        let Blobs { fetches, missing, held, writing, .. } = blobs;
        fetches.retain(|blob, _| wanted.contains(blob) || missing.contains(blob));
        let peers = self.group.roster().members().map(|member| member.node);
        let peers: Vec<NodeId> = peers.filter(|node| *node != self.me).collect();
        if peers.is_empty() || bug!(self.group.config().bugs, NoBlobRepair) {
            return;
        }
        for (blob, fetch) in fetches.iter_mut().filter(|(_, fetch)| now.since(fetch.asked) >= FETCH_PATIENCE)
        {
            *fetch = Fetch { turn: fetch.turn + 1, asked: now };
            out.push(ask(*blob, fetch.turn, &peers));
        }
        // What the group waits for does not wait for the others.
        for (class, is_wanted) in [(wanted, true), (&*missing, false)] {
            let under_way = fetches.keys().filter(|blob| wanted.contains(blob) == is_wanted).count();
            let is_new = |blob: &&BlobId| {
                let is_here = held.contains_key(blob) || writing.contains_key(blob);
                !is_here && !fetches.contains_key(blob) && wanted.contains(blob) == is_wanted
            };
            let new = class.iter().filter(is_new).take(FETCHES_MAX.saturating_sub(under_way));
            for blob in new.copied().collect::<Vec<_>>() {
                // Members begin with different ones, so that one of them is not asked by all.
                let turn = usize::from(blob.hash[0]);
                fetches.insert(blob, Fetch { turn, asked: now });
                out.push(ask(blob, turn, &peers));
            }
        }
    }
}

/// Asks the member whose turn it is for a blob.
fn ask<O>(blob: BlobId, turn: usize, peers: &[NodeId]) -> Output<O> {
    let message = ReplicaMessage::BlobGet { blob };
    Output::Send { to: peers[turn % peers.len()], lane: message.lane(), message }
}
