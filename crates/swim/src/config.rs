//! Settings of the membership core: meaning, trade-off, range, and how they must relate to each other.
//!
//! [`Config::lan`] is for nodes within a datacenter, [`Config::wan`] for gates across regions. [`Config::check`] is the
//! part of the timer ladder that concerns membership; a core is only made from a configuration that passes it.

mod check;
#[cfg(test)]
mod tests;

use std::num::{NonZeroU8, NonZeroU32};
use std::time::Duration;

pub use check::ConfigError;

use crate::awareness::Lifeguard;
use crate::gossip::MEMBER_UPDATES_MAX;
use crate::workers::WORKER_UPDATES_MAX;

/// Largest datagram, whatever is configured: fits an Ethernet frame with room for tunnels.
pub const DATAGRAM_BYTES_MAX: usize = 1400;
/// Smallest useful datagram: header, probe, embedded state and a few updates.
pub const DATAGRAM_BYTES_MIN: usize = 512;
/// Most members a core keeps: a full list still fits one control message of 1 MiB.
pub const MEMBERS_MAX: usize = 16_384;
/// Most workers a manager keeps: a full list is some fifty pages.
pub const WORKERS_MAX: usize = 100_000;
/// Most entries of an audit ring.
pub const AUDIT_MAX: usize = 65_536;
/// Most helpers of an indirect probe.
pub const HELPERS_MAX: usize = 8;
/// Most members a gossip tick sends to.
pub const FANOUT_MAX: usize = 16;

/// All settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How members are probed.
    pub probe: ProbeConfig,
    /// How long a suspected member may take to contradict.
    pub suspicion: SuspicionConfig,
    /// How updates spread.
    pub gossip: GossipConfig,
    /// How unreached peers are retried.
    pub contact: ContactConfig,
    /// Time between anti-entropy exchanges, 1 s … 1 h. Shorter heals lost gossip sooner and costs connections.
    pub sync_interval: Duration,
    /// How long a dead or departed member is remembered in the table, 10 s … 7 d. Within it a healed partition joins
    /// again by itself; must exceed the longest suspicion.
    pub dead_ttl: Duration,
    /// Interval of the host's loop that its lag is compared with, 1 ms … 10 s. The gossip interval is a good value.
    pub lag_tick: Duration,
    /// How long a leaving node keeps telling so, at most 1 min. A few gossip intervals.
    pub leave_grace: Duration,
    /// Whether Lifeguard is used.
    pub lifeguard: Lifeguard,
    /// Bounds of tables.
    pub limits: Limits,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: crate::bugs::Bugs,
}

/// How members are probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeConfig {
    /// One probe per this time (T), 10 ms … 1 min. Detection time and load are proportional to it.
    pub period: Duration,
    /// When a direct probe counts as unanswered and helpers are asked. Above the round-trip time of the network, and at
    /// most three quarters of the period: the rest is for the helpers.
    pub timeout: Duration,
    /// Helpers asked (k), 1 … [`HELPERS_MAX`]. More of them survive more loss.
    pub helpers: NonZeroU8,
}

/// How long a suspected member may take to contradict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspicionConfig {
    /// Minimum timeout in periods, times max(1, log₁₀ n); 1 … 20. Smaller detects sooner and kills more of the slow.
    pub alpha: NonZeroU32,
    /// Maximum timeout in minimum timeouts, 1 … 20: what a single accuser gets.
    pub beta: NonZeroU32,
}

/// How updates spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GossipConfig {
    /// Time between gossip ticks, 10 ms … 10 s; at most the probe period.
    pub interval: Duration,
    /// Members a tick sends to, 1 … [`FANOUT_MAX`].
    pub fanout: NonZeroU8,
    /// Transmissions of an update per digit of the cluster size (λ), 1 … 16.
    pub lambda: NonZeroU8,
    /// Least transmissions of an update, 1 … 64: small clusters need more than the logarithm gives them.
    pub transmissions_min: NonZeroU8,
    /// Largest datagram, [`DATAGRAM_BYTES_MIN`] … [`DATAGRAM_BYTES_MAX`], what sealing adds included.
    pub datagram_bytes_max: usize,
    /// What sealing and addressing add to an encoded datagram, at most 128.
    pub seal_bytes: usize,
    /// Space of worker state in one datagram, at most half of it.
    pub worker_bytes_max: usize,
}

/// How unreached peers are retried: for ever, ever less often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactConfig {
    /// First pause, doubled by each try, 10 ms … 1 h.
    pub retry_min: Duration,
    /// Longest pause, 10 ms … 1 d; at least the first one.
    pub retry_max: Duration,
    /// When an unreached peer is warned about, 1 s … 1 d; at least the first pause. One known by hearsay only is given up
    /// after twice this time.
    pub warn_after: Duration,
    /// First probes of a new member are spread over this time per known member, so that a newcomer is not flooded; at
    /// most 1 s.
    pub spread: Duration,
}

/// Bounds of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Members in the table, 2 … [`MEMBERS_MAX`]. When it is full a dead one makes room; without one, the newcomer
    /// is refused and counted.
    pub members: usize,
    /// Workers known to a manager, 1 … [`WORKERS_MAX`]. When the book is full one that is gone makes room, then one
    /// whose owner is gone; without one, the newcomer is refused and counted.
    pub workers: usize,
    /// Updates about members that wait to be gossiped, 1 … [`MEMBER_UPDATES_MAX`]. Beyond it the most transmitted is dropped
    /// and counted; anti-entropy carries it then.
    pub member_updates: usize,
    /// Updates about workers that wait to be gossiped, 1 … [`WORKER_UPDATES_MAX`]; likewise.
    pub worker_updates: usize,
    /// Entries of the audit ring, 1 … [`AUDIT_MAX`]; the oldest falls out.
    pub audit: usize,
}

impl Config {
    /// Nodes of one datacenter: T = 1 s, dead within about 10 s.
    pub fn lan() -> Self {
        Self {
            probe: ProbeConfig {
                period: Duration::from_secs(1),
                timeout: Duration::from_millis(500),
                helpers: nonzero8(3),
            },
            suspicion: SuspicionConfig::default(),
            gossip: GossipConfig {
                interval: Duration::from_millis(200),
                fanout: nonzero8(3),
                lambda: nonzero8(4),
                transmissions_min: nonzero8(12),
                datagram_bytes_max: DATAGRAM_BYTES_MAX,
                seal_bytes: 64,
                worker_bytes_max: 600,
            },
            contact: ContactConfig {
                retry_min: Duration::from_secs(1),
                retry_max: Duration::from_mins(1),
                warn_after: Duration::from_mins(1),
                spread: Duration::from_millis(20),
            },
            sync_interval: Duration::from_secs(30),
            dead_ttl: Duration::from_hours(1),
            lag_tick: Duration::from_millis(200),
            leave_grace: Duration::from_secs(3),
            lifeguard: Lifeguard::On,
            limits: Limits {
                members: MEMBERS_MAX,
                workers: 10_000,
                member_updates: MEMBER_UPDATES_MAX,
                worker_updates: WORKER_UPDATES_MAX,
                audit: 1024,
            },
            #[cfg(feature = "bugs")]
            bugs: crate::bugs::Bugs::NONE,
        }
    }

    /// Gates across regions: round trips of hundreds of milliseconds.
    pub fn wan() -> Self {
        let lan = Self::lan();
        Self {
            probe: ProbeConfig {
                period: Duration::from_secs(5),
                timeout: Duration::from_secs(3),
                helpers: nonzero8(3),
            },
            gossip: GossipConfig { interval: Duration::from_millis(500), fanout: nonzero8(4), ..lan.gossip },
            contact: ContactConfig { retry_min: Duration::from_secs(5), ..lan.contact },
            sync_interval: Duration::from_mins(1),
            ..lan
        }
    }

    /// Updates about members and about workers that may wait.
    pub(crate) fn updates_max(&self) -> (usize, usize) {
        if bug!(self, UpdatesWithoutLimit) {
            return (usize::MAX, usize::MAX);
        }
        (self.limits.member_updates, self.limits.worker_updates)
    }
}

impl Default for SuspicionConfig {
    fn default() -> Self {
        let (three, six) = (NonZeroU32::new(3), NonZeroU32::new(6));
        Self { alpha: three.expect("three is not zero"), beta: six.expect("six is not zero") }
    }
}

impl SuspicionConfig {
    /// α·max(1, log₁₀ n)·T, without rounding the logarithm.
    pub fn timeout_min(&self, period: Duration, members: usize) -> Duration {
        let digits = (members.max(1) as f64).log10().max(1.0);
        period.mul_f64(f64::from(self.alpha.get()) * digits)
    }
}

impl GossipConfig {
    /// How often an update is sent in a cluster of `members`: max(least, λ·⌈log₁₀(n+1)⌉).
    pub fn transmissions(&self, members: usize) -> u8 {
        let mut digits = 0u8;
        let mut power = 1usize;
        while power <= members {
            power = power.saturating_mul(10);
            digits += 1;
        }
        self.transmissions_min.get().max(self.lambda.get().saturating_mul(digits))
    }
}

fn nonzero8(value: u8) -> NonZeroU8 {
    NonZeroU8::new(value).expect("constants of this file are not zero")
}
