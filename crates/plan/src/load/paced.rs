//! Paced models: every VU begins an iteration each interval. A VU that needs longer begins the next one at once and goes
//! on from there; it does not catch up with a burst.

use hyperscale_types::Span;

/// When the next iteration begins, after the one that began at `began_ns` has ended at `now_ns`.
pub fn next_start_ns(began_ns: u64, interval: Span, now_ns: u64) -> u64 {
    began_ns.saturating_add(interval.as_nanos()).max(now_ns)
}

/// How far a VU has fallen behind its pace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behind(u64);

impl Behind {
    /// Takes into account that two starts lay this far apart. Returns how many starts were missed since the last call:
    /// whole intervals; what is left counts the next time.
    pub fn slip(&mut self, apart_ns: u64, interval: Span) -> u64 {
        let interval = interval.as_nanos().max(1);
        self.0 = self.0.saturating_add(apart_ns.saturating_sub(interval));
        let missed = self.0 / interval;
        self.0 %= interval;
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_missed_and_made_add_up_to_those_of_the_pace() {
        let mut behind = Behind::default();
        assert_eq!(behind.slip(1_000_000_000, SECOND), 0);
        let missed: Vec<u64> = (0..4).map(|_| behind.slip(2_500_000_000, SECOND)).collect();
        assert_eq!(missed, [1, 2, 1, 2], "four starts in ten seconds");
    }

    const SECOND: Span = Span::from_secs(1);

    #[test]
    fn a_fast_iteration_waits_for_the_interval() {
        assert_eq!(next_start_ns(500, SECOND, 1_000), 1_000_000_500);
    }

    #[test]
    fn a_slow_iteration_is_followed_at_once_and_shifts_the_pace() {
        let second = next_start_ns(0, SECOND, 2_500_000_000);
        assert_eq!(second, 2_500_000_000);
        assert_eq!(next_start_ns(second, SECOND, second + 1), 3_500_000_000);
    }
}
