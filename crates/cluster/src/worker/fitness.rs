//! What a worker is fit for: decided from what its host reads of the machine, from its queue, and from what it was asked.
//!
//! | from               | when                                                                       | to                  |
//! | ------------------ | -------------------------------------------------------------------------- | ------------------- |
//! | healthy            | CPU ≥ 80 %, memory ≥ 85 %, queue ≥ 50, or LHM 4–6                           | degraded            |
//! | degraded           | none of these                                                               | healthy             |
//! | healthy, degraded  | memory > 95 %, or LHM > 6                                                   | draining (pressure) |
//! | draining (pressure)| nothing of it runs any more, and for 10 s none of the above                 | healthy             |
//! | any                | asked to drain                                                              | draining (asked)    |
//! | draining (asked)   | everything has ended and is confirmed                                        | offline             |
//!
//! Queue depth is what was taken and is still prepared, and ends that are not confirmed. A worker that drains because of pressure
//! comes back by itself; one that was asked never does.

use std::time::Duration;

use hyperscale_swim::WorkerState;
use hyperscale_types::Now;

/// From here on a worker is degraded, CPU of its own segments not counted: generating load is its job.
const CPU_DEGRADED: u8 = 80;
/// From here on a worker is degraded.
const MEMORY_DEGRADED: u8 = 85;
/// Beyond it a worker takes nothing new: what it has may need the rest.
const MEMORY_DRAINING: u8 = 95;
/// The soft limit of the queue: from here on a worker is degraded.
const QUEUE_DEGRADED: u32 = 50;
/// From here on a worker is degraded.
const LHM_DEGRADED: u8 = 4;
/// Beyond it a worker takes nothing new.
const LHM_DRAINING: u8 = 6;
/// A worker that drained because of pressure is healthy after all readings were normal for this time.
const CALM_FOR: Duration = Duration::from_secs(10);

/// What a host reads of its machine, every second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Busy share of the processors, 0…100, without what the worker's own segments use.
    pub cpu_percent: u8,
    /// Used share of the memory, 0…100.
    pub memory_percent: u8,
    /// The health multiplier of the failure detector, 0…8.
    pub lhm: u8,
}

/// How pressed a worker is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pressure {
    Normal,
    Degrading,
    Draining,
}

fn pressure(readings: Readings, queue_depth: u32) -> Pressure {
    let Readings { cpu_percent, memory_percent, lhm } = readings;
    if memory_percent > MEMORY_DRAINING || lhm > LHM_DRAINING {
        return Pressure::Draining;
    }
    let is_degrading = cpu_percent >= CPU_DEGRADED
        || memory_percent >= MEMORY_DEGRADED
        || queue_depth >= QUEUE_DEGRADED
        || lhm >= LHM_DEGRADED;
    if is_degrading { Pressure::Degrading } else { Pressure::Normal }
}

/// What a worker is fit for. See the table of the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fitness {
    #[default]
    Healthy,
    Degraded,
    /// It drains because of pressure.
    Pressed {
        /// Since when nothing runs and all readings are normal.
        calm_since: Option<Now>,
    },
    /// It was asked to drain.
    Leaving,
    Offline,
}

impl Fitness {
    /// The state after a look at the machine and at what the worker has. `is_idle`: nothing of it runs.
    pub(super) fn judge(self, now: Now, readings: Readings, queue_depth: u32, is_idle: bool) -> Self {
        let pressure = pressure(readings, queue_depth);
        match (self, pressure) {
            (Self::Leaving | Self::Offline, _) => self,
            (_, Pressure::Draining) => Self::Pressed { calm_since: None },
            (Self::Pressed { calm_since }, Pressure::Normal) if is_idle => match calm_since {
                Some(since) if now.since(since) >= CALM_FOR => Self::Healthy,
                since => Self::Pressed { calm_since: since.or(Some(now)) },
            },
            (Self::Pressed { .. }, _) => Self::Pressed { calm_since: None },
            (Self::Healthy | Self::Degraded, Pressure::Degrading) => Self::Degraded,
            (Self::Healthy | Self::Degraded, Pressure::Normal) => Self::Healthy,
        }
    }

    /// When time alone changes it.
    pub(super) fn next_timer(self) -> Option<Now> {
        match self {
            Self::Pressed { calm_since: Some(since) } => Some(since.plus(CALM_FOR)),
            _ => None,
        }
    }

    /// Whether nothing new is taken.
    pub(super) fn is_draining(self) -> bool {
        matches!(self, Self::Pressed { .. } | Self::Leaving | Self::Offline)
    }

    /// As others are told.
    pub(super) fn state(self) -> WorkerState {
        match self {
            Self::Healthy => WorkerState::Healthy,
            Self::Degraded => WorkerState::Degraded,
            Self::Pressed { .. } | Self::Leaving => WorkerState::Draining,
            Self::Offline => WorkerState::Offline,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now::after_start(Duration::from_secs(seconds))
    }

    fn readings(cpu_percent: u8, memory_percent: u8, lhm: u8) -> Readings {
        Readings { cpu_percent, memory_percent, lhm }
    }

    #[test]
    fn readings_decide_what_a_worker_is_fit_for() {
        let (healthy, degraded) = (Fitness::Healthy, Fitness::Degraded);
        let pressed = Fitness::Pressed { calm_since: None };
        let table = [
            // ((cpu, memory, lhm, queue), from healthy and degraded)
            ((0, 0, 0, 0), healthy),
            ((79, 84, 3, 49), healthy),
            ((80, 0, 0, 0), degraded),
            ((100, 0, 0, 0), degraded),
            ((0, 85, 0, 0), degraded),
            ((0, 95, 0, 0), degraded),
            ((0, 96, 0, 0), pressed),
            ((0, 0, 0, 50), degraded),
            ((0, 0, 0, 5_000), degraded),
            ((0, 0, 4, 0), degraded),
            ((0, 0, 6, 0), degraded),
            ((0, 0, 7, 0), pressed),
            ((100, 100, 8, 99), pressed),
        ];
        for ((cpu, memory, lhm, queue), expected) in table {
            for from in [healthy, degraded] {
                let judged = from.judge(at(1), readings(cpu, memory, lhm), queue, true);
                assert_eq!(judged, expected, "{from:?} with {cpu} {memory} {lhm} {queue}");
            }
        }
    }

    #[test]
    fn worker_that_drained_under_pressure_is_healthy_after_ten_quiet_seconds_without_segments() {
        let (calm, mut fitness) = (readings(10, 50, 0), Fitness::Pressed { calm_since: None });
        let mut judge = |seconds, readings, is_idle| {
            fitness = fitness.judge(at(seconds), readings, 0, is_idle);
            fitness
        };
        judge(1, calm, false);
        assert!(judge(20, calm, false).is_draining(), "segments run");
        assert_eq!(judge(21, calm, true), Fitness::Pressed { calm_since: Some(at(21)) });
        assert_eq!(judge(25, readings(85, 50, 0), true), Fitness::Pressed { calm_since: None });
        assert!(judge(26, calm, true).is_draining());
        assert!(judge(35, calm, true).is_draining(), "nine seconds");
        assert_eq!(judge(36, calm, true), Fitness::Healthy);
    }

    #[test]
    fn worker_that_was_asked_to_drain_never_comes_back() {
        for state in [Fitness::Leaving, Fitness::Offline] {
            assert_eq!(state.judge(at(1), Readings::default(), 0, true), state);
            assert_eq!(state.judge(at(100), readings(100, 100, 8), 0, true), state);
        }
    }
}
