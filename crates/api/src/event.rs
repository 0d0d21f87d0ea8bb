//! Events of a job's stream, and how a place in the stream is named.
//!
//! ```text
//! id: 17.42                       token of the job leader, number of the event under that token
//! event: snapshot
//! data: {"seq":42,"job":"…","token":17,"event":"snapshot","status":"running","message":"","totals":{…},"final":false,"detail":{…}}
//! ```
//! Ids are ordered: an event of a newer leader is always greater than every event of an older one, so a reader that keeps
//! the greatest id it has seen recognises duplicates and events of leaders that were replaced.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use hyperscale_stats::event::{Event, Snapshot};
use hyperscale_stats::result::{LoadResult, Status};
use hyperscale_types::Token;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The place of an event in the stream of its job, written `token.sequence`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// The token of the job leader.
    pub token: Token,
    /// The number under that token, from 1.
    pub sequence: u64,
}

/// The text is not two numbers with a dot between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event id is `token.sequence`, two numbers")]
pub struct EventIdError;

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.token, self.sequence)
    }
}

impl FromStr for EventId {
    type Err = EventIdError;
    fn from_str(text: &str) -> Result<Self, EventIdError> {
        // `parse` would take a sign too.
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| Some(text).filter(|text| is_digits(text))?.parse().ok();
        let (token, sequence) = text.split_once('.').ok_or(EventIdError)?;
        match (number(token), number(sequence)) {
            (Some(token), Some(sequence)) => Ok(Self { token: Token(token), sequence }),
            _ => Err(EventIdError),
        }
    }
}

/// One event of a job's stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobEvent {
    /// Its number under the token.
    pub seq: u64,
    /// The job.
    pub job: String,
    /// The token of the job leader that sent it.
    pub token: Token,
    /// What kind of event it is.
    pub event: EventKind,
    /// Where the job is.
    pub status: Status,
    /// What happened, in words; empty for snapshots.
    #[serde(default)]
    pub message: String,
    /// All workflows together, where the event has numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<LoadResult>,
    /// Whether it is the last one.
    #[serde(default, rename = "final")]
    pub is_final: bool,
    /// Whether events before it were left out because they are no longer kept. What it carries replaces everything
    /// that was seen before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resync: bool,
    /// The event as screens, recordings and exporters take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<Event>>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The job was accepted.
    Accepted,
    /// The first segment runs.
    Started,
    /// A workflow changed its state.
    Workflow,
    /// The result so far, once per second.
    Snapshot,
    /// A threshold failed and ends the job.
    Abort,
    /// Somebody changed the load.
    Changed,
    /// Another node leads the job now.
    LeaderChanged,
    /// The job has ended.
    Finished,
    /// This version does not know the word.
    #[serde(other)]
    Unknown,
}

impl EventKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Started => "started",
            Self::Workflow => "workflow",
            Self::Snapshot => "snapshot",
            Self::Abort => "abort",
            Self::Changed => "changed",
            Self::LeaderChanged => "leader_changed",
            Self::Finished => "finished",
            Self::Unknown => "unknown",
        }
    }
}

impl JobEvent {
    /// An event that only says something.
    pub fn note(job: &str, id: EventId, kind: EventKind, status: Status, message: impl Into<String>) -> Self {
        Self {
            seq: id.sequence,
            job: job.to_owned(),
            token: id.token,
            event: kind,
            status,
            message: message.into(),
            totals: None,
            is_final: kind == EventKind::Finished,
            resync: false,
            detail: None,
        }
    }

    /// An event of a run, while the job is in this state; snapshots and the end bring their own.
    pub fn of(job: &str, id: EventId, status: Status, event: Event) -> Self {
        let (kind, status, message, totals) = match &event {
            Event::Started(started) => {
                (EventKind::Started, status, format!("{} started", started.name), None)
            }
            Event::Workflow { name, .. } => (EventKind::Workflow, status, format!("{name} changed"), None),
            Event::Snapshot(snapshot) => {
                let Snapshot { result, .. } = &**snapshot;
                (EventKind::Snapshot, result.status, String::new(), Some(result.totals))
            }
            Event::Abort { rule } => (EventKind::Abort, status, format!("threshold failed: {rule}"), None),
            Event::Changed { what, .. } => (EventKind::Changed, status, what.clone(), None),
            Event::Finished(result) => {
                let message = result.reason.clone().unwrap_or_default();
                (EventKind::Finished, result.status, message, Some(result.totals))
            }
        };
        let detail = Some(Box::new(event));
        Self { totals, detail, ..Self::note(job, id, kind, status, message) }
    }

    /// Its place in the stream.
    pub fn id(&self) -> EventId {
        EventId { token: self.token, sequence: self.seq }
    }
}

/// An event as it is sent, written once for all that follow the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFrame {
    /// Its place in the stream.
    pub id: EventId,
    /// Whether it is the last one; the stream ends after it.
    pub is_final: bool,
    /// The text of the server-sent event.
    pub bytes: Bytes,
}

impl EventFrame {
    /// An event of this kind with JSON as data.
    pub fn new(id: EventId, kind: &str, data: &Value, is_final: bool) -> Self {
        // JSON has no line breaks outside of texts, where they are escaped.
        let bytes = format!("id: {id}\nevent: {kind}\ndata: {data}\n\n").into();
        Self { id, is_final, bytes }
    }

    /// One of the responses to a request that is answered by a stream.
    pub fn response(response: &Value, is_final: bool) -> Self {
        let bytes = format!("data: {response}\n\n").into();
        Self { id: EventId::default(), is_final, bytes }
    }
}

/// An event of the task plane as a client reads it: its data is what the node wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskEvent {
    /// Its place in the stream.
    pub id: EventId,
    /// What happened, in a word.
    pub kind: String,
    /// The event with state and progress of its task.
    pub data: Value,
}

impl From<&JobEvent> for EventFrame {
    fn from(event: &JobEvent) -> Self {
        let id = event.id();
        // JSON of our own types cannot fail and has no line breaks.
        let data = serde_json::to_string(event).unwrap_or_default();
        let bytes = format!("id: {id}\nevent: {}\ndata: {data}\n\n", event.event.as_str()).into();
        Self { id, is_final: event.is_final, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_by_token_then_sequence_and_read_back() {
        let id = |token, sequence| EventId { token: Token(token), sequence };
        assert!(id(2, 1) > id(1, 99) && id(1, 2) > id(1, 1));
        assert_eq!("17.42".parse(), Ok(id(17, 42)));
        assert_eq!(id(17, 42).to_string(), "17.42");
        for text in ["", "1", "1.", ".1", "+1.2", "1.2.3", "1.-2", "99999999999999999999.1"] {
            assert_eq!(text.parse::<EventId>(), Err(EventIdError), "{text}");
        }
    }

    #[test]
    fn end_of_a_job_is_the_only_final_event() {
        let id = EventId { token: Token(1), sequence: 2 };
        let event = JobEvent::note("j", id, EventKind::Finished, Status::Failed, "worker_lost");
        assert!(event.is_final);
        assert!(!JobEvent::note("j", id, EventKind::Accepted, Status::Queued, "").is_final);
        let frame = EventFrame::from(&event);
        let text = std::str::from_utf8(&frame.bytes).unwrap();
        assert!(
            text.starts_with("id: 1.2\nevent: finished\ndata: {\"seq\":2,\"job\":\"j\",\"token\":1,"),
            "{text}"
        );
        assert!(text.ends_with("\"final\":true}\n\n"), "{text}");
    }
}
