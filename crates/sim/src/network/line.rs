//! A node's line out: limited bandwidth, a queue in front of it that is limited too.

use std::time::Duration;

use crate::moment::Moment;

/// How long a datagram may wait for the line before it is dropped.
const DATAGRAM_QUEUE: Duration = Duration::from_millis(500);
/// How long a message on a stream may wait before its connection counts as broken.
const STREAM_QUEUE: Duration = Duration::from_secs(30);

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Datagram,
    Stream,
}

/// The line out of one node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    free_at: Moment,
}

impl Line {
    /// When the last byte has left, or `None` if the queue is full.
    pub(super) fn send(
        &mut self,
        now: Moment,
        bytes: usize,
        rate: Option<u64>,
        kind: LineKind,
    ) -> Option<Moment> {
        let Some(rate) = rate else { return Some(now) };
        let start = self.free_at.max(now);
        let patience = match kind {
            LineKind::Datagram => DATAGRAM_QUEUE,
            LineKind::Stream => STREAM_QUEUE,
        };
        if start.since(now) > patience {
            return None;
        }
        self.free_at = start.plus(Duration::from_nanos(bytes as u64 * 1_000_000_000 / rate.max(1)));
        Some(self.free_at)
    }
}
