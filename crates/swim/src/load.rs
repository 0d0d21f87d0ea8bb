//! Load levels of a node: how busy it is, and what it does less of because of that.
//!
//! | level    | LHM | lag / tick | timeouts | gossip | probes        | also                                   |
//! | -------- | --- | ---------- | -------- | ------ | ------------- | -------------------------------------- |
//! | normal   | < 2 | < 0.5      | × 1      | × 1    | all           |                                        |
//! | elevated | < 4 | < 1        | × 1.25   | × 1.25 | all           |                                        |
//! | high     | < 6 | < 2        | × 1.5    | × 1.5  | three of four | half the piggyback                     |
//! | severe   | < 7 | < 4        | × 2      | × 2    | every second  | hand over leadership                   |
//! | critical |     |            | × 3      | × 3    | suspects only | hand over leadership, refuse new work  |
//!
//! Busy is not dead: nothing here makes a node accuse others faster or leave the cluster.

use std::fmt;
use std::time::Duration;

/// How busy a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadLevel {
    /// Nothing to do about it.
    #[default]
    Normal,
    /// Slower timeouts, gossip less often.
    Elevated,
    /// Skips a quarter of its probes, smaller piggyback.
    High,
    /// Skips half of its probes, hands over leadership.
    Severe,
    /// No optional probes, hands over leadership, refuses new work.
    Critical,
}

impl LoadLevel {
    /// The level for a health multiplier and a lag measured against the tick of the loop.
    pub fn of(lhm: u8, lag: Duration, tick: Duration) -> Self {
        // In eighths of a tick, so that the halves and wholes of the table are exact.
        let lag8 = lag.as_nanos().saturating_mul(8) / tick.as_nanos().max(1);
        match (lhm, lag8) {
            (0..2, 0..4) => LoadLevel::Normal,
            (0..4, 0..8) => LoadLevel::Elevated,
            (0..6, 0..16) => LoadLevel::High,
            (0..7, 0..32) => LoadLevel::Severe,
            _ => LoadLevel::Critical,
        }
    }

    /// By how many quarters timeouts and intervals are stretched.
    pub fn quarters(self) -> u32 {
        match self {
            LoadLevel::Normal => 4,
            LoadLevel::Elevated => 5,
            LoadLevel::High => 6,
            LoadLevel::Severe => 8,
            LoadLevel::Critical => 12,
        }
    }

    /// Whether the probe of this round is left out. Rounds are numbered from zero.
    pub fn skips_probe(self, round: u64) -> bool {
        match self {
            LoadLevel::Normal | LoadLevel::Elevated => false,
            LoadLevel::High => round % 4 == 3,
            LoadLevel::Severe => round % 2 == 1,
            LoadLevel::Critical => true,
        }
    }

    /// Whether side probes (confirming, recalling the dead, checking helpers) are sent at all.
    pub fn sends_optional_probes(self) -> bool {
        self < LoadLevel::Critical
    }

    /// Whether datagrams carry only half of the usual gossip.
    pub fn halves_piggyback(self) -> bool {
        self >= LoadLevel::High
    }

    /// Whether a leader should pass its leadership on.
    pub fn hands_over_leadership(self) -> bool {
        self >= LoadLevel::Severe
    }

    /// Whether new work is refused, with a retry-after.
    pub fn refuses_work(self) -> bool {
        self == LoadLevel::Critical
    }
}

impl fmt::Display for LoadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LoadLevel::Normal => "normal",
            LoadLevel::Elevated => "elevated",
            LoadLevel::High => "high",
            LoadLevel::Severe => "severe",
            LoadLevel::Critical => "critical",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(200);

    #[test]
    fn level_follows_the_table_of_health_and_lag() {
        use LoadLevel::{Critical, Elevated, High, Normal, Severe};
        let table = [
            // (lhm, lag in ms of a tick of 200 ms, level)
            (0, 0, Normal),
            (1, 99, Normal),
            (2, 0, Elevated),
            (0, 100, Elevated),
            (3, 199, Elevated),
            (4, 0, High),
            (0, 200, High),
            (5, 399, High),
            (6, 0, Severe),
            (0, 400, Severe),
            (6, 799, Severe),
            (7, 0, Critical),
            (8, 0, Critical),
            (0, 800, Critical),
        ];
        for (lhm, lag_ms, level) in table {
            assert_eq!(LoadLevel::of(lhm, Duration::from_millis(lag_ms), TICK), level, "{lhm} {lag_ms}");
        }
    }

    #[test]
    fn probes_skipped_are_none_a_quarter_half_and_all() {
        let skipped = |level: LoadLevel| (0..100).filter(|round| level.skips_probe(*round)).count();
        let levels =
            [LoadLevel::Normal, LoadLevel::Elevated, LoadLevel::High, LoadLevel::Severe, LoadLevel::Critical];
        assert_eq!(levels.map(skipped), [0, 0, 25, 50, 100]);
        assert_eq!(levels.map(LoadLevel::quarters), [4, 5, 6, 8, 12]);
        assert_eq!(levels.map(LoadLevel::halves_piggyback), [false, false, true, true, true]);
        assert_eq!(levels.map(LoadLevel::hands_over_leadership), [false, false, false, true, true]);
        assert_eq!(levels.map(LoadLevel::refuses_work), [false, false, false, false, true]);
        assert_eq!(levels.map(LoadLevel::sends_optional_probes), [true, true, true, true, false]);
    }
}
