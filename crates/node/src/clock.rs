//! The clock of a node: monotonic, and it counts while the machine sleeps, so that a lease that ran out meanwhile is over
//! when the machine wakes.

use std::time::{Duration, Instant};

use hyperscale_types::Now;
use rustix::time::{ClockId, clock_gettime};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Where the monotonic clock itself counts during sleep there is no other.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;

/// Longest wait for a timer: sleep of the machine is noticed at the latest then, as timers of the runtime do not count it.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Returns this moment.
pub fn now() -> Now {
    let time = clock_gettime(CLOCK);
    Now(time.tv_sec.cast_unsigned() * NANOS_PER_SECOND + time.tv_nsec.cast_unsigned())
}

/// Returns the wall clock, milliseconds since 1970: shown to people, and never compared with anything.
pub fn wall_ms() -> u64 {
    let time = clock_gettime(ClockId::Realtime);
    let (seconds, nanos) = (time.tv_sec.max(0).cast_unsigned(), time.tv_nsec.cast_unsigned());
    seconds * 1_000 + nanos / 1_000_000
}

/// Returns how long to wait for a moment, at most [`WAIT_MAX`]: whoever waits looks at the clock again then.
pub fn wait_for(at: Now) -> Duration {
    at.since(now()).min(WAIT_MAX)
}

/// Returns a moment as an `Instant` for timers of the runtime, at most [`WAIT_MAX`] ahead.
pub fn instant_of(at: Now) -> Instant {
    Instant::now() + wait_for(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_never_goes_back_and_waits_are_bounded() {
        let first = now();
        assert!(now() >= first && first > Now::ZERO);
        assert_eq!(wait_for(Now::NEVER), WAIT_MAX);
        assert_eq!(wait_for(first), Duration::ZERO);
        assert!(instant_of(first) <= Instant::now());
    }
}
