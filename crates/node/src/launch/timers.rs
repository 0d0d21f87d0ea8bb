//! Times of a node, from heartbeats to leases, and the ladder that they have to form.

use std::num::NonZeroU8;
use std::time::Duration;

use hyperscale_consensus::Promotion;
use hyperscale_swim::{GossipConfig, ProbeConfig};

use crate::transport::Timing;

/// Each step of the ladder is at least this many times the one before.
const APART: f64 = 1.5;

/// Times of a node. All nodes of a datacenter have the same.
#[derive(Clone, Debug)]
pub struct Timers {
    /// The failure detector.
    pub membership: hyperscale_swim::Config,
    /// Heartbeats and elections of the log.
    pub log: hyperscale_consensus::Config,
    /// A manager that is silent for this long leads no job any more.
    pub job_lease: Duration,
    /// How long a worker may send load without having renewed.
    pub worker_lease: Duration,
    /// Connections.
    pub connections: Timing,
}

/// A configuration that breaks the ladder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimersError {
    /// Two steps are too close.
    #[error("{higher} ({higher_time:?}) must be at least 1.5 times {lower} ({lower_time:?})")]
    TooClose {
        /// The lower step.
        lower: &'static str,
        /// Its time.
        lower_time: Duration,
        /// The higher step.
        higher: &'static str,
        /// Its time.
        higher_time: Duration,
    },
    /// Settings of the log do not fit each other.
    #[error(transparent)]
    Log(#[from] hyperscale_consensus::ConfigError),
}

impl Timers {
    /// For a datacenter: heartbeat 100 ms, election 1–2 s, job leader 3 s, worker 15 s.
    pub fn lan() -> Self {
        Self {
            membership: hyperscale_swim::Config::lan(),
            log: hyperscale_consensus::Config::lan(),
            job_lease: Duration::from_secs(3),
            worker_lease: Duration::from_secs(15),
            connections: Timing::default(),
        }
    }

    /// A fifth of it, for tests on one machine.
    pub fn test() -> Self {
        let lan = Self::lan();
        let probe = ProbeConfig {
            period: Duration::from_millis(200),
            timeout: Duration::from_millis(100),
            helpers: NonZeroU8::MIN,
        };
        let gossip = GossipConfig { interval: Duration::from_millis(50), ..lan.membership.gossip.clone() };
        Self {
            membership: hyperscale_swim::Config {
                probe,
                gossip,
                sync_interval: Duration::from_secs(6),
                ..lan.membership
            },
            log: hyperscale_consensus::Config {
                tick: Duration::from_millis(10),
                heartbeat: Duration::from_millis(20),
                election_min: Duration::from_millis(200),
                election_max: Duration::from_millis(400),
                quorum_timeout: Duration::from_secs(2),
                promotion: Promotion { stable: Duration::from_secs(2), ..lan.log.promotion },
                ..lan.log
            },
            job_lease: Duration::from_millis(600),
            worker_lease: Duration::from_secs(3),
            connections: Timing {
                back_off_min: Duration::from_millis(10),
                back_off_max: Duration::from_millis(200),
                ..lan.connections
            },
        }
    }

    /// The steps of the ladder, lowest first.
    pub fn ladder(&self) -> [(&'static str, Duration); 5] {
        [
            ("raft heartbeat", self.log.heartbeat),
            ("shortest election", self.log.election_min),
            ("longest election", self.log.election_max),
            ("job-leader lease", self.job_lease),
            ("worker lease", self.worker_lease),
        ]
    }

    /// Whether every step is well above the one before.
    pub fn check(&self) -> Result<(), TimersError> {
        self.log.check()?;
        let ladder = self.ladder();
        for ((lower, lower_time), (higher, higher_time)) in
            ladder.iter().copied().zip(ladder.iter().copied().skip(1))
        {
            if higher_time < lower_time.mul_f64(APART) {
                return Err(TimersError::TooClose { lower, lower_time, higher, higher_time });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_form_a_ladder_and_a_broken_one_is_named() {
        assert_eq!(Timers::lan().check(), Ok(()));
        assert_eq!(Timers::test().check(), Ok(()));
        let broken = Timers { job_lease: Duration::from_secs(2), ..Timers::lan() };
        let error = broken.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "job-leader lease (2s) must be at least 1.5 times longest election (2s)"
        );
    }
}
