//! A token bucket in whole numbers: the same calls give the same answers on every machine.

use std::time::Duration;

use hyperscale_types::Now;

use crate::messages::{Error, ErrorCode};

const SECOND_NS: u128 = 1_000_000_000;

/// What a bucket allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens that come per second; at least one.
    pub per_second: u32,
    /// Tokens it holds when nothing was taken for a while; at least one.
    pub burst: u32,
}

/// Too much was asked for. Trying again makes sense after this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rate limited; try again in {} ms", retry_after.as_millis())]
pub struct RateLimited {
    /// When there will be enough tokens, if nobody else takes them.
    pub retry_after: Duration,
}

impl RateLimited {
    /// As it is told to a peer.
    pub fn to_message(self) -> Error {
        Error {
            code: ErrorCode::RateLimited.into(),
            message: "rate limited".to_owned(),
            // Rounded up: a peer that comes a moment too early is refused again.
            retry_after_ms: self.retry_after.as_nanos().div_ceil(1_000_000) as u64,
            details: None,
        }
    }
}

/// Tokens that come steadily and are taken one by one or many at once.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    /// In units of a token divided by 10⁹, so that one nanosecond adds `per_second` of them.
    filled: u128,
    at: Now,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(rate: Rate, now: Now) -> Self {
        let rate = Rate { per_second: rate.per_second.max(1), burst: rate.burst.max(1) };
        Self { rate, filled: u128::from(rate.burst) * SECOND_NS, at: now }
    }

    /// Takes tokens, or none. More than the burst is taken when the bucket is full.
    pub fn take(&mut self, now: Now, tokens: u32) -> Result<(), RateLimited> {
        self.refill(now);
        let wanted = u128::from(tokens.min(self.rate.burst)) * SECOND_NS;
        if let Some(rest) = self.filled.checked_sub(wanted) {
            self.filled = rest;
            return Ok(());
        }
        let missing = (wanted - self.filled).div_ceil(u128::from(self.rate.per_second));
        Err(RateLimited { retry_after: Duration::from_nanos(u64::try_from(missing).unwrap_or(u64::MAX)) })
    }

    fn refill(&mut self, now: Now) {
        let passed = now.since(self.at).as_nanos();
        self.at = self.at.max(now);
        let full = u128::from(self.rate.burst) * SECOND_NS;
        self.filled = (self.filled + passed * u128::from(self.rate.per_second)).min(full);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate { per_second: 10, burst: 5 };

    #[test]
    fn the_burst_passes_and_then_one_every_tenth_of_a_second() {
        let mut bucket = TokenBucket::new(RATE, Now::ZERO);
        for _ in 0..5 {
            assert_eq!(bucket.take(Now::ZERO, 1), Ok(()));
        }
        let limited = bucket.take(Now::ZERO, 1).unwrap_err();
        assert_eq!(limited.retry_after, Duration::from_millis(100));
        assert_eq!(
            bucket
                .take(Now::after_start(Duration::from_millis(99)), 1)
                .unwrap_err()
                .to_message()
                .retry_after_ms,
            1
        );
        assert_eq!(bucket.take(Now::after_start(limited.retry_after), 1), Ok(()));
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        let later = Now::after_start(Duration::from_mins(1));
        let mut bucket = TokenBucket::new(RATE, later);
        bucket.take(later, 5).unwrap();
        assert!(bucket.take(Now::ZERO, 1).is_err());
        assert!(bucket.take(later, 1).is_err());
    }

    #[test]
    fn an_extreme_pause_fills_it_and_no_more() {
        let mut bucket = TokenBucket::new(Rate { per_second: u32::MAX, burst: u32::MAX }, Now::ZERO);
        bucket.take(Now::ZERO, u32::MAX).unwrap();
        assert_eq!(bucket.take(Now::NEVER, u32::MAX), Ok(()));
        assert!(bucket.take(Now::NEVER, 1).is_err());
    }

    proptest! {
        #[test]
        fn never_more_than_burst_and_rate_together(
            steps in prop::collection::vec((0u64..400_000_000, 1u32..4), 1..200),
        ) {
            let mut bucket = TokenBucket::new(RATE, Now::ZERO);
            let (mut now, mut taken) = (0u64, 0u64);
            for (pause, tokens) in steps {
                now += pause;
                match bucket.take(Now(now), tokens) {
                    Ok(()) => taken += u64::from(tokens),
                    Err(limited) => {
                        let mut later = bucket.clone();
                        prop_assert!(later.take(Now(now).plus(limited.retry_after), tokens).is_ok());
                    }
                }
                prop_assert!(taken * 1_000_000_000 <= 5_000_000_000 + now * 10);
            }
        }
    }
}
