//! Settings of the membership core: meaning, trade-off, range, and how they must relate to each other.
//!
//! [`Config::lan`] is for nodes within a datacenter, [`Config::wan`] for gates across regions. [`Config::check`] is the
//! part of the timer ladder that concerns membership; a core is only made from a configuration that passes it.

use std::num::{NonZeroU8, NonZeroU32};
use std::time::Duration;

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

/// The rule a configuration breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value is outside its range.
    #[error("{name} must be between {min} and {max}")]
    OutOfRange {
        /// The setting.
        name: &'static str,
        /// Its least value.
        min: &'static str,
        /// Its greatest value.
        max: &'static str,
    },
    /// Two settings do not fit together.
    #[error("{lower} must be {relation} {upper}")]
    Ladder {
        /// The setting that is too large.
        lower: &'static str,
        /// How it has to relate.
        relation: &'static str,
        /// The setting it is compared with.
        upper: &'static str,
    },
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

    /// Refuses values out of range and settings that do not fit together, naming the rule.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_ranges()?;
        self.check_ladder()
    }

    /// Updates about members and about workers that may wait.
    pub(crate) fn updates_max(&self) -> (usize, usize) {
        if bug!(self, UpdatesWithoutLimit) {
            return (usize::MAX, usize::MAX);
        }
        (self.limits.member_updates, self.limits.worker_updates)
    }

    fn check_ranges(&self) -> Result<(), ConfigError> {
        self.check_gossip_ranges()?;
        let probe = &self.probe;
        let (ms, s) = (Duration::from_millis, Duration::from_secs);
        in_range("probe.period", probe.period, ms(10), s(60), "10ms", "1m")?;
        in_range("probe.helpers", usize::from(probe.helpers.get()), 1, HELPERS_MAX, "1", "8")?;
        in_range("suspicion.alpha", self.suspicion.alpha.get(), 1, 20, "1", "20")?;
        in_range("suspicion.beta", self.suspicion.beta.get(), 1, 20, "1", "20")?;
        let (contact, day) = (&self.contact, s(24 * 3600));
        in_range("contact.retry_min", contact.retry_min, ms(10), s(3600), "10ms", "1h")?;
        in_range("contact.retry_max", contact.retry_max, ms(10), day, "10ms", "1d")?;
        in_range("contact.warn_after", contact.warn_after, s(1), day, "1s", "1d")?;
        in_range("contact.spread", contact.spread, Duration::ZERO, s(1), "0s", "1s")?;
        in_range("sync_interval", self.sync_interval, s(1), s(3600), "1s", "1h")?;
        in_range("dead_ttl", self.dead_ttl, s(10), 7 * day, "10s", "7d")?;
        in_range("lag_tick", self.lag_tick, ms(1), s(10), "1ms", "10s")?;
        in_range("leave_grace", self.leave_grace, Duration::ZERO, s(60), "0s", "1m")?;
        in_range("limits.members", self.limits.members, 2, MEMBERS_MAX, "2", "16384")?;
        in_range("limits.workers", self.limits.workers, 1, WORKERS_MAX, "1", "100000")?;
        let limits = &self.limits;
        in_range("limits.member_updates", limits.member_updates, 1, MEMBER_UPDATES_MAX, "1", "4096")?;
        in_range("limits.worker_updates", limits.worker_updates, 1, WORKER_UPDATES_MAX, "1", "500")?;
        in_range("limits.audit", self.limits.audit, 1, AUDIT_MAX, "1", "65536")
    }

    fn check_gossip_ranges(&self) -> Result<(), ConfigError> {
        let gossip = &self.gossip;
        let (least, greatest) = (Duration::from_millis(10), Duration::from_secs(10));
        in_range("gossip.interval", gossip.interval, least, greatest, "10ms", "10s")?;
        in_range("gossip.fanout", usize::from(gossip.fanout.get()), 1, FANOUT_MAX, "1", "16")?;
        in_range("gossip.lambda", gossip.lambda.get(), 1, 16, "1", "16")?;
        in_range("gossip.transmissions_min", gossip.transmissions_min.get(), 1, 64, "1", "64")?;
        let (least, greatest) = (DATAGRAM_BYTES_MIN, DATAGRAM_BYTES_MAX);
        in_range("gossip.datagram_bytes_max", gossip.datagram_bytes_max, least, greatest, "512", "1400")?;
        in_range("gossip.seal_bytes", gossip.seal_bytes, 0, 128, "0", "128")
    }

    fn check_ladder(&self) -> Result<(), ConfigError> {
        let (probe, gossip) = (&self.probe, &self.gossip);
        let longest =
            self.suspicion.timeout_min(probe.period, self.limits.members) * self.suspicion.beta.get();
        let rung = |holds: bool, lower, relation, upper| {
            if holds { Ok(()) } else { Err(ConfigError::Ladder { lower, relation, upper }) }
        };
        let at_most = "at most";
        rung(!probe.timeout.is_zero(), "zero", "below", "probe.timeout")?;
        rung(
            probe.timeout <= probe.period * 3 / 4,
            "probe.timeout",
            "at most three quarters of",
            "probe.period",
        )?;
        rung(gossip.interval <= probe.period, "gossip.interval", at_most, "probe.period")?;
        rung(
            self.contact.retry_min <= self.contact.retry_max,
            "contact.retry_min",
            at_most,
            "contact.retry_max",
        )?;
        rung(
            self.contact.retry_min <= self.contact.warn_after,
            "contact.retry_min",
            at_most,
            "contact.warn_after",
        )?;
        rung(probe.period * 2 <= self.sync_interval, "two probe periods", at_most, "sync_interval")?;
        rung(longest < self.dead_ttl, "the longest suspicion", "below", "dead_ttl")?;
        rung(
            gossip.worker_bytes_max <= gossip.datagram_bytes_max / 2,
            "gossip.worker_bytes_max",
            "at most half of",
            "gossip.datagram_bytes_max",
        )
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

fn in_range<T: PartialOrd + Copy>(
    name: &'static str,
    value: T,
    least: T,
    greatest: T,
    min: &'static str,
    max: &'static str,
) -> Result<(), ConfigError> {
    if value < least || value > greatest { Err(ConfigError::OutOfRange { name, min, max }) } else { Ok(()) }
}

fn nonzero8(value: u8) -> NonZeroU8 {
    NonZeroU8::new(value).expect("constants of this file are not zero")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_pass_their_own_check() {
        assert_eq!(Config::lan().check(), Ok(()));
        assert_eq!(Config::wan().check(), Ok(()));
    }

    #[test]
    fn presets_have_the_times_of_the_rules() {
        let times = |c: &Config| {
            [c.probe.period, c.probe.timeout, c.gossip.interval, c.sync_interval, c.contact.retry_min]
                .map(|time| time.as_millis())
        };
        assert_eq!(times(&Config::lan()), [1_000, 500, 200, 30_000, 1_000]);
        assert_eq!(times(&Config::wan()), [5_000, 3_000, 500, 60_000, 5_000]);
        for (config, fanout) in [(Config::lan(), 3), (Config::wan(), 4)] {
            let Config { probe, suspicion, gossip, contact, .. } = &config;
            assert_eq!((suspicion.alpha.get(), suspicion.beta.get(), probe.helpers.get()), (3, 6, 3));
            let sends = [gossip.fanout, gossip.lambda, gossip.transmissions_min].map(NonZeroU8::get);
            assert_eq!(sends, [fanout, 4, 12]);
            assert_eq!((gossip.datagram_bytes_max, gossip.worker_bytes_max), (1400, 600));
            let late = [contact.retry_max, contact.warn_after, config.dead_ttl, config.leave_grace];
            assert_eq!(late.map(|time| time.as_secs()), [60, 60, 3_600, 3]);
            assert_eq!((contact.spread.as_millis(), config.lag_tick.as_millis()), (20, 200));
        }
    }

    #[test]
    fn broken_rungs_are_refused_with_the_rule() {
        type Break = fn(&mut Config);
        let table: [(Break, &str); 9] = [
            (
                |c| c.probe.timeout = Duration::from_millis(800),
                "probe.timeout must be at most three quarters of probe.period",
            ),
            (|c| c.gossip.interval = Duration::from_secs(2), "gossip.interval must be at most probe.period"),
            (|c| c.sync_interval = Duration::from_secs(1), "two probe periods must be at most sync_interval"),
            (|c| c.dead_ttl = Duration::from_secs(11), "the longest suspicion must be below dead_ttl"),
            (
                |c| c.gossip.datagram_bytes_max = 9000,
                "gossip.datagram_bytes_max must be between 512 and 1400",
            ),
            (
                |c| c.gossip.worker_bytes_max = 701,
                "gossip.worker_bytes_max must be at most half of gossip.datagram_bytes_max",
            ),
            (|c| c.limits.members = 1, "limits.members must be between 2 and 16384"),
            (
                |c| c.contact.retry_min = Duration::from_mins(2),
                "contact.retry_min must be at most contact.retry_max",
            ),
            (
                |c| {
                    c.contact.retry_min = c.contact.retry_max;
                    c.contact.warn_after = Duration::from_secs(59);
                },
                "contact.retry_min must be at most contact.warn_after",
            ),
        ];
        for (spoil, message) in table {
            let mut config = Config::lan();
            spoil(&mut config);
            assert_eq!(config.check().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn values_out_of_range_are_refused_at_both_ends() {
        type Set = fn(&mut Config, Duration);
        let table: [(Set, Duration, &str); 3] = [
            (
                |c, value| c.contact.retry_max = value,
                Duration::ZERO,
                "contact.retry_max must be between 10ms and 1d",
            ),
            (
                |c, value| c.contact.warn_after = value,
                Duration::ZERO,
                "contact.warn_after must be between 1s and 1d",
            ),
            (
                |c, value| c.contact.spread = value,
                Duration::from_secs(2),
                "contact.spread must be between 0s and 1s",
            ),
        ];
        for (set, outside, message) in table {
            for value in [outside, Duration::MAX] {
                let mut config = Config::lan();
                set(&mut config, value);
                assert_eq!(config.check().unwrap_err().to_string(), message);
            }
        }
        let limits = Config::lan().limits;
        for (workers, audit) in [(0, 1), (WORKERS_MAX + 1, 1), (1, 0), (1, AUDIT_MAX + 1)] {
            let limits = Limits { workers, audit, ..limits.clone() };
            let error = Config { limits, ..Config::lan() }.check().unwrap_err().to_string();
            let name = if audit == 1 { "limits.workers" } else { "limits.audit" };
            assert!(error.starts_with(name), "{error}");
        }
    }

    #[test]
    fn updates_that_may_wait_are_4096_and_500_unless_fewer_are_allowed() {
        type Set = fn(&mut Limits, usize);
        let table: [(Set, usize, &str); 2] = [
            (|limits, value| limits.member_updates = value, 4096, "limits.member_updates"),
            (|limits, value| limits.worker_updates = value, 500, "limits.worker_updates"),
        ];
        assert_eq!(Config::lan().updates_max(), (4096, 500));
        assert_eq!(Config::wan().updates_max(), (4096, 500));
        for (set, most, name) in table {
            for (value, is_fine) in [(0, false), (1, true), (most, true), (most + 1, false)] {
                let mut config = Config::lan();
                set(&mut config.limits, value);
                let refused = config.check().err().map(|error| error.to_string());
                assert_eq!(refused.is_none(), is_fine, "{name} = {value}");
                assert!(refused.is_none_or(|error| error.starts_with(name)));
            }
        }
    }

    #[test]
    fn greatest_values_are_refused_and_do_not_overflow() {
        let spoil: [fn(&mut Config); 8] = [
            |c| c.probe.period = Duration::MAX,
            |c| c.probe.timeout = Duration::MAX,
            |c| c.gossip.interval = Duration::MAX,
            |c| c.gossip.worker_bytes_max = usize::MAX,
            |c| c.contact.retry_min = Duration::MAX,
            |c| c.sync_interval = Duration::MAX,
            |c| c.dead_ttl = Duration::MAX,
            |c| c.leave_grace = Duration::MAX,
        ];
        for spoil in spoil {
            let mut config = Config::lan();
            spoil(&mut config);
            assert!(config.check().is_err(), "{config:?}");
        }
    }

    #[test]
    fn transmissions_follow_the_digits_of_the_cluster_size() {
        let gossip = Config::lan().gossip;
        let table = [(1, 12), (9, 12), (100, 12), (999, 12), (1000, 16), (9_999, 16), (10_000, 20)];
        for (members, times) in table {
            assert_eq!(gossip.transmissions(members), times, "{members}");
        }
    }
}
