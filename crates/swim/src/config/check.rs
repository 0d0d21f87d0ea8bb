//! What a configuration must satisfy: ranges of single settings, and how they relate to each other.

use std::time::Duration;

use super::{
    AUDIT_MAX, Config, DATAGRAM_BYTES_MAX, DATAGRAM_BYTES_MIN, FANOUT_MAX, HELPERS_MAX, MEMBERS_MAX,
    WORKERS_MAX,
};
use crate::gossip::MEMBER_UPDATES_MAX;
use crate::workers::WORKER_UPDATES_MAX;

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
    /// Refuses values out of range and settings that do not fit together, naming the rule.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_ranges()?;
        self.check_ladder()
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
