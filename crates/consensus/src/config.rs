//! Settings of a log group: meaning, range, and how they must relate to each other.
//!
//! [`Config::lan`] is for the managers of a datacenter, [`Config::wan`] for gates across regions. [`Config::check`] is
//! the part of the timer ladder that concerns the log; a group is only made from a configuration that passes it.

use std::time::Duration;

#[cfg(feature = "bugs")]
use crate::bugs::Bugs;

/// Most proposals of a node that wait for their outcome.
pub const PROPOSALS_MAX: usize = 16_384;
/// Most reads of a node that wait for their round.
pub const READS_MAX: usize = 16_384;
/// Largest command in the log: larger values are blobs.
pub const COMMAND_BYTES_MAX: usize = 128 * 1024;
/// Most bytes a leader keeps uncommitted before it refuses proposals.
pub const UNCOMMITTED_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most bytes of entries in one message: a control message is at most 1 MiB. Above any command, so that one always fits.
pub const APPEND_BYTES_MAX: u64 = 512 * 1024;
/// Most appends under way to one follower.
pub const APPENDS_IN_FLIGHT_MAX: usize = 64;
/// How far `leader_priority` may reach: it orders nodes of equal health and never beats health.
pub const LEADER_PRIORITY_MAX: i64 = 99;

/// All settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The clock of the group ticks this often, 1 ms … 1 s. Election timeouts differ by whole ticks.
    pub tick: Duration,
    /// Time between heartbeats of a leader; a multiple of the tick.
    pub heartbeat: Duration,
    /// Least time without a leader before a follower campaigns; at least five heartbeats.
    pub election_min: Duration,
    /// Longest such time; above the least one by at least ten ticks.
    pub election_max: Duration,
    /// A snapshot is made after so many entries.
    pub snapshot_entries: u64,
    /// A snapshot is made after so many bytes of entries.
    pub snapshot_bytes: usize,
    /// Entries kept before the last snapshot, for followers that are a little behind.
    pub trailing_entries: u64,
    /// When a learner becomes a voter.
    pub promotion: Promotion,
    /// A leader that is ill this long hands over.
    pub ill_leader_patience: Duration,
    /// Least time between two voluntary transfers; doubles when they repeat.
    pub transfer_gap: Duration,
    /// A proposal or a read without outcome fails after this time.
    pub quorum_timeout: Duration,
    /// Proposals and reads that may wait; one more is refused. 1 … [`PROPOSALS_MAX`] and [`READS_MAX`].
    pub backlog_max: Backlog,
    /// Added to the priority from health, ±[`LEADER_PRIORITY_MAX`].
    pub leader_priority: i64,
    /// Seed of the election timeouts.
    pub seed: u64,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: Bugs,
}

/// When a learner becomes a voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// It may be this many entries behind.
    pub lag_max: u64,
    /// How long it must be that close, with its blobs, without a break.
    pub stable: Duration,
}

/// Proposals and reads of a node that wait, or may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Proposals without an outcome.
    pub proposals: usize,
    /// Reads without an answer.
    pub reads: usize,
}

impl Backlog {
    /// The most that a configuration may allow.
    pub const MAX: Self = Self { proposals: PROPOSALS_MAX, reads: READS_MAX };
}

/// Why a configuration is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The tick is out of range.
    #[error("tick must be 1 ms to 1 s")]
    Tick,
    /// Heartbeats fall between ticks.
    #[error("heartbeat must be a multiple of the tick and not zero")]
    Heartbeat,
    /// One lost heartbeat would be an election.
    #[error("election_min must be at least five heartbeats")]
    ElectionMin,
    /// Two followers would campaign at once too often.
    #[error("election_max must be at least ten ticks above election_min")]
    ElectionMax,
    /// A limit of zero.
    #[error("snapshot_entries, snapshot_bytes and quorum_timeout must not be zero")]
    Zero,
    /// A follower would be sent a snapshot although it is nearly there.
    #[error("trailing_entries must be less than snapshot_entries")]
    Trailing,
    /// Nothing could be proposed or read, or too much could wait.
    #[error("backlog_max must be 1 to 16384 proposals and reads")]
    Backlog,
    /// Would beat health.
    #[error("leader_priority must be between -99 and 99")]
    LeaderPriority,
}

impl Config {
    /// For the managers of a datacenter: heartbeat 100 ms, election 1–2 s.
    pub fn lan() -> Self {
        Self {
            tick: Duration::from_millis(20),
            heartbeat: Duration::from_millis(100),
            election_min: Duration::from_secs(1),
            election_max: Duration::from_secs(2),
            snapshot_entries: 10_000,
            snapshot_bytes: 64 * 1024 * 1024,
            trailing_entries: 1_000,
            promotion: Promotion { lag_max: 250, stable: Duration::from_secs(10) },
            ill_leader_patience: Duration::from_secs(5),
            transfer_gap: Duration::from_secs(30),
            quorum_timeout: Duration::from_secs(5),
            backlog_max: Backlog::MAX,
            leader_priority: 0,
            seed: 0,
            #[cfg(feature = "bugs")]
            bugs: Bugs::default(),
        }
    }

    /// For gates across regions: heartbeat 300 ms, election 3–6 s.
    pub fn wan() -> Self {
        Self {
            tick: Duration::from_millis(60),
            heartbeat: Duration::from_millis(300),
            election_min: Duration::from_secs(3),
            election_max: Duration::from_secs(6),
            quorum_timeout: Duration::from_secs(10),
            ..Self::lan()
        }
    }

    /// Whether the settings fit each other.
    pub fn check(&self) -> Result<(), ConfigError> {
        let require = |holds: bool, error: ConfigError| if holds { Ok(()) } else { Err(error) };
        let tick_range = Duration::from_millis(1)..=Duration::from_secs(1);
        require(tick_range.contains(&self.tick), ConfigError::Tick)?;
        let in_ticks = self.heartbeat.as_nanos().is_multiple_of(self.tick.as_nanos());
        require(in_ticks && !self.heartbeat.is_zero(), ConfigError::Heartbeat)?;
        require(self.election_min >= self.heartbeat * 5, ConfigError::ElectionMin)?;
        require(self.election_max >= self.election_min + self.tick * 10, ConfigError::ElectionMax)?;
        let none_zero =
            self.snapshot_entries > 0 && self.snapshot_bytes > 0 && !self.quorum_timeout.is_zero();
        require(none_zero, ConfigError::Zero)?;
        require(self.trailing_entries < self.snapshot_entries, ConfigError::Trailing)?;
        let backlog = self.backlog_max;
        let may_wait =
            (1..=PROPOSALS_MAX).contains(&backlog.proposals) && (1..=READS_MAX).contains(&backlog.reads);
        require(may_wait, ConfigError::Backlog)?;
        require(self.leader_priority.abs() <= LEADER_PRIORITY_MAX, ConfigError::LeaderPriority)
    }

    pub(crate) fn ticks(&self, duration: Duration) -> usize {
        usize::try_from(duration.as_nanos() / self.tick.as_nanos()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_profiles_pass_their_own_check() {
        assert_eq!(Config::lan().check(), Ok(()));
        assert_eq!(Config::wan().check(), Ok(()));
    }

    #[test]
    fn profiles_have_the_times_of_the_ladder_and_the_sizes_of_snapshots() {
        let times = |config: &Config| {
            [config.heartbeat, config.election_min, config.election_max].map(|time| time.as_millis())
        };
        assert_eq!(times(&Config::lan()), [100, 1000, 2000]);
        assert_eq!(times(&Config::wan()), [300, 3000, 6000]);
        for config in [Config::lan(), Config::wan()] {
            assert_eq!((config.snapshot_entries, config.snapshot_bytes), (10_000, 64 << 20));
            assert_eq!((config.promotion.lag_max, config.promotion.stable.as_secs()), (250, 10));
            assert_eq!((config.ill_leader_patience.as_secs(), config.transfer_gap.as_secs()), (5, 30));
        }
    }

    #[test]
    fn each_broken_rule_is_named() {
        let broken = |change: fn(&mut Config)| {
            let mut config = Config::lan();
            change(&mut config);
            config.check().unwrap_err()
        };
        assert_eq!(broken(|c| c.tick = Duration::ZERO), ConfigError::Tick);
        assert_eq!(broken(|c| c.heartbeat = Duration::from_millis(101)), ConfigError::Heartbeat);
        assert_eq!(broken(|c| c.election_min = Duration::from_millis(400)), ConfigError::ElectionMin);
        assert_eq!(broken(|c| c.election_max = c.election_min), ConfigError::ElectionMax);
        assert_eq!(broken(|c| c.quorum_timeout = Duration::ZERO), ConfigError::Zero);
        assert_eq!(broken(|c| c.trailing_entries = c.snapshot_entries), ConfigError::Trailing);
        assert_eq!(broken(|c| c.backlog_max.proposals = 0), ConfigError::Backlog);
        assert_eq!(broken(|c| c.backlog_max.reads = READS_MAX + 1), ConfigError::Backlog);
        assert_eq!(broken(|c| c.leader_priority = 100), ConfigError::LeaderPriority);
    }
}
