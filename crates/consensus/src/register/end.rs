//! How something ended: an attempt, a workflow, a part, a job.

use super::job::{Job, REASON_BYTES_MAX};
use super::limits::{NAME_BYTES_MAX, Room, Share};
use crate::blob::BlobId;

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndStatus {
    /// As planned.
    Completed,
    /// Some of it did.
    Partial,
    /// With an error.
    Failed,
    /// Because somebody asked for it.
    Cancelled,
    /// Too late.
    TimedOut,
    /// Not begun, because something before it failed.
    Skipped,
    /// With its worker or its datacenter.
    Lost,
    /// The worker or the datacenter did not take it.
    Refused,
}

/// An end and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End {
    /// The one status it keeps.
    pub status: EndStatus,
    /// The result, stored on a quorum.
    pub result: Option<BlobId>,
    /// Why it was not as planned.
    pub error: Option<EndError>,
}

/// Why something did not end as planned. Whom to ask next and when is for the caller of the moment, and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndError {
    /// Number of the wire's error code. A number, as a newer voter may know more codes than this one.
    pub code: i32,
    /// Shown to people.
    pub message: String,
    /// The field, capability or context that was wrong; empty: none.
    pub subject: String,
}

impl End {
    /// An end without an error.
    pub fn new(status: EndStatus, result: Option<BlobId>) -> Self {
        Self { status, result, error: None }
    }

    /// Whether this says the same; why it happened may be told in other words.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.status, self.result) == (other.status, other.result)
    }
}

impl EndError {
    /// Bytes of its texts.
    pub(super) fn texts(&self) -> usize {
        self.message.len() + self.subject.len()
    }

    /// What ends must be able to end: where there is no room for the texts, only the code is kept.
    pub(super) fn fitted(mut self, room: Room, job: &Job) -> Self {
        cut(&mut self.message, REASON_BYTES_MAX);
        cut(&mut self.subject, NAME_BYTES_MAX);
        if room.check(job, self.texts(), Share::Closing).is_err() {
            self.message.clear();
            self.subject.clear();
        }
        self
    }
}

/// Cuts a text to so many bytes, between two characters.
pub(super) fn cut(text: &mut String, bytes_max: usize) {
    text.truncate(text.floor_char_boundary(bytes_max));
}
