//! Sealed parts of the state, which snapshots list by their hash: on this disk before a snapshot that lists them, and read
//! back before anything is applied on top of such a snapshot.
//!
//! | the group                         | then                                                                          |
//! | --------------------------------- | ----------------------------------------------------------------------------- |
//! | seals a part                      | `PutBlob`; a snapshot is not written before it is stored, nor what follows it  |
//! | misses a part, it is on this disk | `ReadBlob` for this node, then it is supplied                                 |
//! | misses a part, it is not          | fetched like any blob that is missing, before the others; then as above       |

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use super::running::{Outputs, Running};
use super::{Output, WireOutcome};
use crate::apply::Machine;
use crate::blob::BlobId;
use crate::storage::Batch;

/// What a replica knows of the sealed parts of its state.
#[derive(Debug, Default)]
pub(super) struct SealedParts {
    /// On their way to the disk.
    storing: BTreeSet<BlobId>,
    /// Batches from the first one on with a snapshot that may list what is on its way. As many as the group has under way.
    held_back: VecDeque<Batch>,
    /// What the group waits for.
    pub(super) wanted: BTreeSet<BlobId>,
}

impl<M: Machine> Running<M>
where
    M::Outcome: WireOutcome,
{
    /// Has a batch written, once what its snapshot lists is stored.
    pub(super) fn persist(&mut self, batch: Batch, out: &mut Outputs<M>) {
        let sealed = &mut self.sealed;
        let waits = batch.snapshot.is_some() && !sealed.storing.is_empty();
        if waits || !sealed.held_back.is_empty() {
            sealed.held_back.push_back(batch);
        } else {
            out.push(Output::Persist(batch));
        }
    }

    /// The group sealed a part of its state.
    pub(super) fn store_sealed(&mut self, blob: BlobId, bytes: Bytes, out: &mut Outputs<M>) {
        if self.blobs.holds(blob) {
            return;
        }
        self.sealed.storing.insert(blob);
        if self.blobs.begin_writing(blob) {
            out.push(Output::PutBlob { blob, bytes });
        }
    }

    /// The group waits for a sealed part. What is not on this disk is asked for with the next pass.
    pub(super) fn want_sealed(&mut self, blob: BlobId, out: &mut Outputs<M>) {
        self.sealed.wanted.insert(blob);
        if self.blobs.holds(blob) {
            out.push(Output::ReadBlob { blob, to: self.me() });
        }
    }

    /// A blob is on this disk: what waited for it goes on.
    pub(super) fn sealed_stored(&mut self, blob: BlobId, out: &mut Outputs<M>) {
        let sealed = &mut self.sealed;
        sealed.storing.remove(&blob);
        if sealed.storing.is_empty() {
            out.extend(sealed.held_back.drain(..).map(Output::Persist));
        }
        if sealed.wanted.contains(&blob) {
            out.push(Output::ReadBlob { blob, to: self.me() });
        }
    }

    /// A sealed part was read from this disk.
    pub(super) fn supply_sealed(&mut self, blob: BlobId, bytes: &Bytes) {
        if self.sealed.wanted.remove(&blob) {
            // A part that cannot be read stops the group, which is told as an event.
            let _ = self.group_mut().supply(blob, bytes);
            self.restart_pass();
        }
    }
}
