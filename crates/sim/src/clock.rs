//! A node's own clock: it starts anywhere, runs a little fast or slow, and sometimes jumps ahead.
//!
//! It is a boot-time clock, the only one the cores are given: it never goes back and goes on while the machine sleeps.

use std::time::Duration;

use fastrand::Rng;
use hyperscale_types::Now;

use crate::moment::Moment;

/// Farthest that clocks start from each other.
pub const OFFSET_MAX: Duration = Duration::from_millis(500);
/// Fastest and slowest clock, in parts per million.
pub const RATE_PPM_MAX: i64 = 1000;
/// What a right clock shows at the beginning, and what the one that starts first does.
const START: Duration = Duration::from_secs(10);
const EARLIEST: Duration = Duration::from_millis(9500);
const MILLION: i128 = 1_000_000;

/// A clock as a line through one point: what it showed then, and how fast it has run since.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    since: Moment,
    shown: Now,
    rate_ppm: i64,
}

impl Clock {
    /// A clock that is right.
    pub fn exact() -> Self {
        Self { since: Moment::ZERO, shown: Now::after_start(START), rate_ppm: 0 }
    }

    /// A clock that is wrong within the limits.
    pub fn skewed(rng: &mut Rng) -> Self {
        let start = EARLIEST + OFFSET_MAX.mul_f64(2.0 * rng.f64());
        let rate_ppm = rng.i64(-RATE_PPM_MAX..=RATE_PPM_MAX);
        Self { since: Moment::ZERO, shown: Now::after_start(start), rate_ppm }
    }

    /// What it shows at that moment.
    pub fn read(&self, at: Moment) -> Now {
        let passed = i128::from(at.0.saturating_sub(self.since.0));
        let shown = passed * (MILLION + i128::from(self.rate_ppm)) / MILLION;
        Now(self.shown.0.saturating_add(u64::try_from(shown).unwrap_or(u64::MAX)))
    }

    /// The first moment at which it shows `local` or more; the beginning of its line if that has passed.
    pub fn moment_of(&self, local: Now) -> Moment {
        let ahead = i128::from(local.0.saturating_sub(self.shown.0));
        let rate = MILLION + i128::from(self.rate_ppm);
        let passed = (ahead * MILLION + rate - 1) / rate;
        Moment(self.since.0.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// Jumps ahead.
    pub fn jump(&mut self, at: Moment, by: Duration) {
        (self.shown, self.since) = (self.read(at).plus(by), at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_waiting_are_inverse_for_every_rate() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..1000 {
            let clock = Clock::skewed(&mut rng);
            let local = clock.read(Moment::ZERO).plus(Duration::from_nanos(rng.u64(..1 << 50)));
            let at = clock.moment_of(local);
            assert!(clock.read(at) >= local);
            assert!(at.0 == 0 || clock.read(Moment(at.0 - 1)) < local);
        }
    }

    #[test]
    fn skew_stays_within_its_limits() {
        let mut rng = Rng::with_seed(2);
        for _ in 0..1000 {
            let clock = Clock::skewed(&mut rng);
            let start = clock.read(Moment::ZERO).since(Now::after_start(EARLIEST));
            assert!(start <= OFFSET_MAX * 2);
            let hour = clock.read(Moment::seconds(3600)).since(clock.read(Moment::ZERO));
            assert!(hour >= Duration::from_millis(3_596_400) && hour <= Duration::from_millis(3_603_600));
        }
    }

    #[test]
    fn jumps_go_ahead_and_the_rate_stays() {
        let mut clock = Clock::exact();
        let at = Moment::seconds(5);
        let before = clock.read(at);
        clock.jump(at, Duration::from_secs(2));
        assert_eq!(clock.read(at).since(before), Duration::from_secs(2));
        assert_eq!(clock.read(Moment::seconds(6)).since(before), Duration::from_secs(3));
    }
}
