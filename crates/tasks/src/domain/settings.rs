//! Settings of a node, with the relations that must hold between them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Stands for leader; executes tasks whether it leads or not.
    #[default]
    Auto,
    /// As auto, but ends with an error if it cannot lead within one lease and a margin.
    Leader,
    /// Executes tasks, never leads.
    Worker,
    /// Only reads.
    Observer,
}

/// Settings of a node. Only [`Settings::check`] says whether they can be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What the node does.
    pub role: Role,
    /// How long a leadership lasts without renewal. Longer: fewer changes; shorter: duties resume sooner after a crash.
    pub leader_lease: Duration,
    /// Pause between its renewals; at most a third of the lease.
    pub leader_renew: Duration,
    /// How long a task lease lasts without renewal. It is renewed at every third of it.
    pub lease: Duration,
    /// Pause between sweeps of the leader; below the lease.
    pub cleanup: Duration,
    /// The longest time without asking for work; at most the lease.
    pub poll: Duration,
    /// Tasks the node executes at a time.
    pub max_parallel: usize,
    /// Pause between heartbeats.
    pub heartbeat: Duration,
    /// Age of a heartbeat beyond which a node is stale; above the heartbeat.
    pub node_stale: Duration,
    /// Age of a heartbeat beyond which a node is dead; above stale.
    pub node_dead: Duration,
    /// How long ended tasks stay before they are archived.
    pub task_retention: Duration,
    /// How long events are kept.
    pub event_retention: Duration,
    /// Crashes of a task after which it is failed.
    pub max_crashes: u32,
    /// How long a cancelled executor may take before it is dropped.
    pub cancel_grace: Duration,
}

const DAY: Duration = Duration::from_hours(24);

impl Default for Settings {
    fn default() -> Self {
        Self {
            role: Role::Auto,
            leader_lease: Duration::from_secs(30),
            leader_renew: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            cleanup: Duration::from_secs(10),
            poll: Duration::from_secs(5),
            max_parallel: 4,
            heartbeat: Duration::from_secs(10),
            node_stale: Duration::from_secs(30),
            node_dead: Duration::from_mins(2),
            task_retention: DAY * 30,
            event_retention: DAY * 30,
            max_crashes: 3,
            cancel_grace: Duration::from_secs(10),
        }
    }
}

/// A relation between settings that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} is {value:?}, but {rule} ({limit:?})")]
pub struct SettingsError {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: Duration,
    /// The rule it breaks.
    pub rule: &'static str,
    /// What it is compared with.
    pub limit: Duration,
}

impl Settings {
    /// Refuses settings that cannot work together, naming the first rule that is broken.
    pub fn check(&self) -> Result<(), SettingsError> {
        let one = Duration::from_nanos(1);
        let rules = [
            (
                self.leader_renew <= self.leader_lease / 3,
                "leader_renew",
                self.leader_renew,
                "it must be at most a third of leader_lease",
                self.leader_lease,
            ),
            (self.cleanup < self.lease, "cleanup", self.cleanup, "it must be below lease", self.lease),
            (self.poll <= self.lease, "poll", self.poll, "it must be at most lease", self.lease),
            (
                self.heartbeat < self.node_stale,
                "heartbeat",
                self.heartbeat,
                "it must be below node_stale",
                self.node_stale,
            ),
            (
                self.node_stale < self.node_dead,
                "node_stale",
                self.node_stale,
                "it must be below node_dead",
                self.node_dead,
            ),
            (self.lease >= one, "lease", self.lease, "it must be above zero", Duration::ZERO),
            (
                self.leader_renew >= one,
                "leader_renew",
                self.leader_renew,
                "it must be above zero",
                Duration::ZERO,
            ),
            (self.cleanup >= one, "cleanup", self.cleanup, "it must be above zero", Duration::ZERO),
            (self.poll >= one, "poll", self.poll, "it must be above zero", Duration::ZERO),
            (self.heartbeat >= one, "heartbeat", self.heartbeat, "it must be above zero", Duration::ZERO),
        ];
        let broken = rules.into_iter().find(|(holds, ..)| !holds);
        broken.map_or(Ok(()), |(_, setting, value, rule, limit)| {
            Err(SettingsError { setting, value, rule, limit })
        })
    }

    /// How often task leases are renewed.
    pub fn renew(&self) -> Duration {
        self.lease / 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn defaults_can_be_used() {
        assert_eq!(Settings::default().check(), Ok(()));
    }

    #[test]
    fn impossible_relations_are_refused_with_their_rule() {
        let good = Settings::default();
        let broken = [
            (
                Settings { leader_renew: 11 * SECOND, ..good },
                "leader_renew is 11s, but it must be at most a third of leader_lease (30s)",
            ),
            (Settings { cleanup: 30 * SECOND, ..good }, "cleanup is 30s, but it must be below lease (30s)"),
            (Settings { poll: 31 * SECOND, ..good }, "poll is 31s, but it must be at most lease (30s)"),
            (
                Settings { heartbeat: 30 * SECOND, ..good },
                "heartbeat is 30s, but it must be below node_stale (30s)",
            ),
            (
                Settings { node_stale: 120 * SECOND, ..good },
                "node_stale is 120s, but it must be below node_dead (120s)",
            ),
            (Settings { poll: Duration::ZERO, ..good }, "poll is 0ns, but it must be above zero (0ns)"),
        ];
        for (settings, message) in broken {
            assert_eq!(settings.check().unwrap_err().to_string(), message);
        }
        assert_eq!(Settings { poll: 30 * SECOND, ..good }.check(), Ok(()));
    }
}
