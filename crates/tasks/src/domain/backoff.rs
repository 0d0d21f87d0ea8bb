//! How long a task waits before it is tried again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Exponential back-off with jitter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    /// Pause after the first failure, in milliseconds.
    pub initial_ms: u64,
    /// How much longer each further pause is; at least 1.
    pub factor: f64,
    /// The longest pause, in milliseconds.
    pub max_ms: u64,
    /// Part of the pause that is random, 0 to 1: with 0.5 a pause of 10 s is between 5 s and 10 s.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial_ms: 1_000, factor: 2.0, max_ms: 300_000, jitter: 0.5 }
    }
}

impl Backoff {
    /// No pause at all.
    pub const NONE: Self = Self { initial_ms: 0, factor: 1.0, max_ms: 0, jitter: 0.0 };

    /// The pause after the `tries`-th failed try, counted from 1; `random` is in 0..1.
    pub fn delay(&self, tries: u32, random: f64) -> Duration {
        let exponent = i32::try_from(tries.saturating_sub(1)).unwrap_or(i32::MAX);
        let full = (self.initial_ms as f64 * self.factor.max(1.0).powi(exponent)).min(self.max_ms as f64);
        let jittered = full * (1.0 - self.jitter.clamp(0.0, 1.0) * random.clamp(0.0, 1.0));
        Duration::from_millis(jittered as u64)
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if !self.factor.is_finite() || self.factor < 1.0 {
            return Some("backoff.factor must be at least 1");
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Some("backoff.jitter must be between 0 and 1");
        }
        (self.max_ms < self.initial_ms).then_some("backoff.max_ms must be at least backoff.initial_ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = Backoff { initial_ms: 100, factor: 2.0, max_ms: 500, jitter: 0.0 };
        let pauses: Vec<u128> = (1..=5).map(|tries| backoff.delay(tries, 0.9).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 500, 500]);
        assert_eq!(backoff.delay(u32::MAX, 0.0).as_millis(), 500);
    }

    #[test]
    fn jitter_shortens_by_its_part_at_most() {
        let backoff = Backoff { initial_ms: 1_000, factor: 2.0, max_ms: 9_000, jitter: 0.5 };
        assert_eq!(backoff.delay(1, 0.0).as_millis(), 1_000);
        assert_eq!(backoff.delay(1, 1.0).as_millis(), 500);
    }
}
