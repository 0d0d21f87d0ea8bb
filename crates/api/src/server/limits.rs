//! Limits of a server. Everything that a peer can do costs bounded memory and time.

use std::num::NonZeroU32;
use std::time::Duration;

/// Bytes of a JSON-RPC request.
pub const BODY_MAX: usize = 1 << 20;
/// Bytes of a blob.
pub const BLOB_MAX: usize = 64 << 20;
/// Bytes of a request's head, and of what is read ahead of it.
pub(super) const HEAD_MAX: usize = 16 << 10;
/// Blobs that are received at a time: each may hold [`BLOB_MAX`] bytes in memory.
pub(super) const BLOBS_AT_A_TIME_MAX: usize = 4;
/// When a client whose blob found no room may try again.
pub(super) const BLOB_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Time that responses under way get when the server stops.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What a server allows its peers.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; others wait to be accepted.
    pub connections_max: usize,
    /// Connections of one source address at a time; others are closed. Not for unix sockets.
    pub source_connections_max: usize,
    /// Requests of one source address. Not for unix sockets.
    pub rate: RateLimit,
    /// Time in which a TLS handshake, a head, and a body must have come. Idle connections are closed after it too.
    pub read_timeout: Duration,
    /// Time in which a blob must have come.
    pub blob_timeout: Duration,
    /// Time without progress after which a peer that does not read is cut off.
    pub write_timeout: Duration,
    /// Time in which the backend must have responded.
    pub call_timeout: Duration,
    /// The same for methods that wait for workers to stop.
    pub wait_timeout: Duration,
    /// Time that a response may be held back until a task has ended, for messages of A2A that want to wait. It costs a connection, as a
    /// stream does.
    pub hold_timeout: Duration,
    /// Silence on an event stream after which a comment shows that it is alive.
    pub keep_alive: Duration,
}

/// A token bucket per source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per second in the long run.
    pub per_second: NonZeroU32,
    /// Requests at once after a pause. At least as many as a batch has.
    pub burst: NonZeroU32,
}

impl Limits {
    /// For the socket of a local run: few peers, all of one user.
    pub const LOCAL: Self = Self {
        connections_max: 16,
        source_connections_max: 16,
        rate: RateLimit::DEFAULT,
        read_timeout: Duration::from_secs(5),
        blob_timeout: Duration::from_secs(5),
        write_timeout: Duration::from_secs(30),
        call_timeout: Duration::from_secs(10),
        wait_timeout: Duration::from_mins(1),
        hold_timeout: Duration::from_mins(10),
        keep_alive: Duration::from_secs(15),
    };

    /// For a node of a cluster: clients that follow jobs, dashboards, scrapers.
    pub const NODE: Self = Self {
        connections_max: 512,
        source_connections_max: 128,
        read_timeout: Duration::from_secs(10),
        blob_timeout: Duration::from_mins(5),
        ..Self::LOCAL
    };
}

impl RateLimit {
    /// Twenty clients that poll ten times a second behind one address.
    pub const DEFAULT: Self =
        Self { per_second: NonZeroU32::new(200).unwrap(), burst: NonZeroU32::new(400).unwrap() };
}
