//! Settings of probes between clusters. No time is longer than [`LONGEST`]: sums of them do not overflow, and a setting in
//! the wrong unit is noticed.

use std::time::Duration;

/// Longest time of any setting.
const LONGEST: Duration = Duration::from_hours(1);

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationConfig {
    /// One probe per cluster and this time, 100 ms … 1 min.
    pub period: Duration,
    /// Silence after which a cluster is suspected; at least two periods, so that one lost datagram is not enough,
    /// and at most 1 h.
    pub timeout: Duration,
    /// Further silence after which it counts as unreachable; the timeout … 1 h.
    pub unreachable_after: Duration,
    /// When more than half of the clusters become suspected within this time, judgement is held; the timeout … 1 h.
    pub mass_window: Duration,
    /// How long judgement may be held; after that the silent clusters are judged after all. The timeout … 1 h.
    pub hold_max: Duration,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: crate::bugs::Bugs,
}

/// The rule a configuration breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FederationConfigError {
    /// The period is outside its range.
    #[error("federation.period must be between 100ms and 1m")]
    Period,
    /// A single lost probe would suspect a cluster, or silence would hardly ever.
    #[error("federation.timeout must be between two periods and 1h")]
    Timeout,
    /// Suspicion would leave no time to answer, or would hardly ever end.
    #[error("federation.unreachable_after must be between federation.timeout and 1h")]
    UnreachableAfter,
    /// Clusters that fail together would be suspected in different windows, or those that do not in the same.
    #[error("federation.mass_window must be between federation.timeout and 1h")]
    MassWindow,
    /// A hold would end before anybody could answer, or would hardly ever.
    #[error("federation.hold_max must be between federation.timeout and 1h")]
    HoldMax,
}

impl FederationConfig {
    /// Across regions: period 2 s, timeout 5 s.
    pub fn wan() -> Self {
        Self {
            period: Duration::from_secs(2),
            timeout: Duration::from_secs(5),
            unreachable_after: Duration::from_secs(10),
            mass_window: Duration::from_secs(10),
            hold_max: Duration::from_mins(1),
            #[cfg(feature = "bugs")]
            bugs: crate::bugs::Bugs::NONE,
        }
    }

    /// Refuses settings that do not fit together, naming the rule.
    pub fn check(&self) -> Result<(), FederationConfigError> {
        if self.period < Duration::from_millis(100) || self.period > Duration::from_mins(1) {
            return Err(FederationConfigError::Period);
        }
        if !(self.period * 2..=LONGEST).contains(&self.timeout) {
            return Err(FederationConfigError::Timeout);
        }
        let range = self.timeout..=LONGEST;
        if !range.contains(&self.unreachable_after) {
            return Err(FederationConfigError::UnreachableAfter);
        }
        if !range.contains(&self.mass_window) {
            return Err(FederationConfigError::MassWindow);
        }
        if !range.contains(&self.hold_max) {
            return Err(FederationConfigError::HoldMax);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_has_the_times_of_the_rule() {
        let FederationConfig { period, timeout, unreachable_after, mass_window, hold_max, .. } =
            FederationConfig::wan();
        let times = [period, timeout, unreachable_after, mass_window, hold_max];
        assert_eq!(times.map(|time| time.as_secs()), [2, 5, 10, 10, 60]);
    }

    #[test]
    fn preset_passes_and_broken_rules_are_named() {
        let good = FederationConfig::wan();
        assert_eq!(good.check(), Ok(()));
        let second = Duration::from_secs(1);
        let table = [
            (FederationConfig { period: Duration::ZERO, ..good.clone() }, FederationConfigError::Period),
            (FederationConfig { timeout: 3 * second, ..good.clone() }, FederationConfigError::Timeout),
            (
                FederationConfig { unreachable_after: second, ..good.clone() },
                FederationConfigError::UnreachableAfter,
            ),
            (FederationConfig { mass_window: second, ..good.clone() }, FederationConfigError::MassWindow),
            (FederationConfig { hold_max: second, ..good.clone() }, FederationConfigError::HoldMax),
        ];
        for (config, error) in table {
            assert_eq!(config.check(), Err(error));
        }
    }

    #[test]
    fn greatest_values_are_refused_and_do_not_overflow() {
        let (good, max) = (FederationConfig::wan(), Duration::MAX);
        let table = [
            (FederationConfig { period: max, ..good.clone() }, FederationConfigError::Period),
            (FederationConfig { timeout: max, ..good.clone() }, FederationConfigError::Timeout),
            (
                FederationConfig { unreachable_after: max, ..good.clone() },
                FederationConfigError::UnreachableAfter,
            ),
            (FederationConfig { mass_window: max, ..good.clone() }, FederationConfigError::MassWindow),
            (FederationConfig { hold_max: max, ..good.clone() }, FederationConfigError::HoldMax),
        ];
        for (config, error) in table {
            assert_eq!(config.check(), Err(error));
        }
    }
}
