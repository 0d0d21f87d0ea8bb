//! The pass over the blobs of a replica, see the table in `blobs`.

use std::collections::BTreeSet;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use super::blobs::{Blobs, FETCHES_MAX, Fetch, PASS_EVERY};
use super::calls::PATIENCE;
use super::running::{Outputs, Running};
use super::{Output, ReplicaMessage, Reply, WireOutcome};
use crate::action::ProposeError;
use crate::apply::Machine;
use crate::blob::BlobId;
use crate::quorum::QuorumError;

/// A member that was asked for a blob and has not sent it is left for the next one.
const FETCH_PATIENCE: Duration = Duration::from_secs(5);

impl<M: Machine> Running<M>
where
    M::Outcome: WireOutcome,
{
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
        let lacks_blobs = named.iter().any(|blob| !self.blobs.holds(*blob));
        self.group_mut().set_lacks_blobs(lacks_blobs);
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
