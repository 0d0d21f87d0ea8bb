//! What a client tells the recorder about one call.

use hyperscale_types::{ErrorKind, Phases};

/// One call of a test step, as it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSample {
    /// From the intended start (open models) or the actual start to the end.
    pub latency_ns: u64,
    /// From the actual start to the end.
    pub service_ns: u64,
    /// Parts of the service time.
    pub phases: Phases,
    /// Why it failed, or `None` if it was ok.
    pub error: Option<ErrorKind>,
    /// Whether the peer answered at all; a protocol without statuses has no other sign of it.
    pub answered: bool,
    /// The protocol's status; 0 when there was none.
    pub status: u16,
    /// Requests whose last byte was handed to the kernel: redirect hops and authentication round trips included.
    pub requests: u32,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
}

/// One event of a streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The first one, this long after the call began.
    First(u64),
    /// A later one, this long after the one before.
    Next(u64),
}
