//! Settings of probes between clusters.

use std::time::Duration;

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationConfig {
    /// One probe per cluster and this time, 100 ms … 1 min.
    pub period: Duration,
    /// Silence after which a cluster is suspected; at least two periods, so that one lost datagram is not enough.
    pub timeout: Duration,
    /// Further silence after which it counts as unreachable; at least the timeout.
    pub unreachable_after: Duration,
    /// When more than half of the clusters become suspected within this time, judgement is held.
    pub mass_window: Duration,
    /// How long judgement may be held; after that the silent clusters are judged after all.
    pub hold_max: Duration,
}

/// The rule a configuration breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FederationConfigError {
    /// The period is outside its range.
    #[error("federation.period must be between 100ms and 1m")]
    Period,
    /// A single lost probe would suspect a cluster.
    #[error("federation.timeout must be at least two periods")]
    Timeout,
    /// Suspicion would leave no time to answer.
    #[error("federation.unreachable_after must be at least federation.timeout")]
    UnreachableAfter,
    /// Clusters that fail together would be suspected in different windows.
    #[error("federation.mass_window must be at least federation.timeout")]
    MassWindow,
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
        }
    }

    /// Refuses settings that do not fit together, naming the rule.
    pub fn check(&self) -> Result<(), FederationConfigError> {
        if self.period < Duration::from_millis(100) || self.period > Duration::from_mins(1) {
            return Err(FederationConfigError::Period);
        }
        if self.timeout < self.period * 2 {
            return Err(FederationConfigError::Timeout);
        }
        if self.unreachable_after < self.timeout {
            return Err(FederationConfigError::UnreachableAfter);
        }
        if self.mass_window < self.timeout {
            return Err(FederationConfigError::MassWindow);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ];
        for (config, error) in table {
            assert_eq!(config.check(), Err(error));
        }
    }
}
