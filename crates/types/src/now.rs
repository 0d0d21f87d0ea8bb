//! A point on a node's own clock, as the shell hands it to the cores.

use std::time::Duration;

/// Nanoseconds since a start that only the shell knows. Monotonic on one node and meaningless on any other: it never
/// crosses the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Now(pub u64);

impl Now {
    /// The start.
    pub const ZERO: Now = Now(0);
    /// A point that is never reached.
    pub const NEVER: Now = Now(u64::MAX);

    /// The point that lies `duration` after the start.
    pub const fn after_start(duration: Duration) -> Self {
        Self::ZERO.plus(duration)
    }

    /// The point that lies `duration` later; [`Now::NEVER`] if that is too far.
    #[must_use]
    pub const fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// Nanoseconds since `earlier`; zero if that is in the future.
    pub const fn nanos_since(self, earlier: Now) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Time since `earlier`; zero if that is in the future.
    pub const fn since(self, earlier: Now) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

const fn nanos(duration: Duration) -> u64 {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let second = Duration::from_secs(1);
        assert_eq!(Now::ZERO.plus(second).since(Now::ZERO), second);
        assert_eq!(Now::ZERO.since(Now::after_start(second)), Duration::ZERO);
        assert_eq!(Now(5).plus(Duration::MAX), Now::NEVER);
        assert_eq!(Now::NEVER.plus(second), Now::NEVER);
    }
}
