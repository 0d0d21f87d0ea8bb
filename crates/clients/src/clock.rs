//! Hot: the clock that calls are measured with, read three times per request.
//!
//! It is the one that goes on while the machine sleeps: a lease that ran out meanwhile is over when the machine wakes
//! ([`crate::lease`]), and comparing it costs no further reading. Timers of the runtime stand still then; code that leads
//! from one clock to the other reads both again ([`Anchor`]).
//!
//! Points in time are plain nanoseconds, so that a duration is one subtraction; `Instant` needs dozens of instructions
//! for the same.

use std::time::Instant;

use hyperscale_types::Now;
use rustix::time::{ClockId, clock_gettime};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Where the monotonic clock itself goes on during sleep there is no other.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;

/// This moment on the system's monotonic clock that includes sleep.
#[inline]
pub fn now() -> Now {
    let time = clock_gettime(CLOCK);
    Now(time.tv_sec.cast_unsigned() * NANOS_PER_SECOND + time.tv_nsec.cast_unsigned())
}

/// One moment on both clocks, to get from one to the other. Good for as long as the machine does not sleep: to be taken
/// once per batch of moments.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    instant: Instant,
    now: Now,
}

impl Anchor {
    /// This moment.
    pub fn new() -> Self {
        Anchor { instant: Instant::now(), now: now() }
    }

    /// The moment of an `Instant`.
    pub fn at(&self, instant: Instant) -> Now {
        match instant.checked_duration_since(self.instant) {
            Some(later) => self.now.plus(later),
            None => Now(self.now.0.saturating_sub(self.instant.duration_since(instant).as_nanos() as u64)),
        }
    }
}

impl Default for Anchor {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_on_both_sides_of_the_anchor_keep_their_distance() {
        let second = Duration::from_secs(1);
        let before = Instant::now();
        let anchor = Anchor { instant: before + second, now: now() };
        assert_eq!(anchor.now.since(anchor.at(before)), second);
        assert_eq!(anchor.at(before + 3 * second).since(anchor.now), 2 * second);
        assert!(now() >= anchor.now);
    }
}
