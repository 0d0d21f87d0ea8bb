//! Settings of the transport.

use std::time::Duration;

use hyperscale_wire::hello::Local;
use hyperscale_wire::limits::HANDSHAKE_TIMEOUT;
use hyperscale_wire::link::Keys;

use super::tls::Certificates;

/// What a transport is made from.
#[derive(Clone, Debug)]
pub struct Options {
    /// Deployment and secrets.
    pub keys: Keys,
    /// What this node says of itself; its `peer_address` is where others connect to it.
    pub local: Local,
    /// Mutual TLS in place of the shared secret.
    pub certificates: Option<Certificates>,
    /// When to give up, to try again, to ask for a sign of life.
    pub timing: Timing,
}

/// Times of connections. The defaults fit a datacenter; tests use shorter ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long the kernel may take to connect. Above a few round trips with a lost packet.
    pub connect: Duration,
    /// How long handshake and hello may take together.
    pub handshake: Duration,
    /// A peer that was not heard for this long is sent a ping.
    pub ping_after: Duration,
    /// A connection whose peer was not heard for this long is closed; at least two pings.
    pub silence_max: Duration,
    /// A connection that this node dialled and that carried nothing but pings for this long is closed.
    pub idle_after: Duration,
    /// Least pause after a failed dial; doubled by each further one, with up to as much jitter.
    pub back_off_min: Duration,
    /// Longest pause after a failed dial, before jitter. What waits for a dial is not older than this and its jitter.
    pub back_off_max: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            handshake: HANDSHAKE_TIMEOUT,
            ping_after: Duration::from_secs(5),
            silence_max: Duration::from_secs(15),
            idle_after: Duration::from_mins(2),
            back_off_min: Duration::from_millis(50),
            back_off_max: Duration::from_secs(1),
        }
    }
}
