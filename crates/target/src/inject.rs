//! Injected misfortune that applies to every answer: latency, errors, stalls.
//!
//! Owns the random sequence of a thread and the clock the stalls are measured with.

use std::f64::consts::TAU;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::options::{DELAY_MAX, ErrorRate, Latency, Options, Stall};

/// What one thread injects into its answers.
#[derive(Debug)]
pub(crate) struct Inject {
    latency: Latency,
    error_rate: ErrorRate,
    stall: Option<Stall>,
    rng: Mutex<Rng>,
}

/// What was drawn for one answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Draw {
    pub(crate) delay: Duration,
    pub(crate) fail: bool,
}

impl Draw {
    const NOTHING: Self = Self { delay: Duration::ZERO, fail: false };
}

impl Inject {
    pub(crate) fn new(options: &Options, thread: usize) -> Self {
        // Threads draw from different parts of the sequence space; the multiplier spreads neighbouring numbers.
        let seed = options.seed ^ (thread as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self {
            latency: options.latency,
            error_rate: options.error_rate,
            stall: options.stall,
            rng: Mutex::new(Rng::with_seed(seed)),
        }
    }

    /// Whether answers leave untouched and at once.
    pub(crate) fn is_calm(&self) -> bool {
        self.latency == Latency::None && self.error_rate == ErrorRate::NEVER && self.stall.is_none()
    }

    /// Draws what happens to the next answer.
    pub(crate) fn draw(&self) -> Draw {
        if self.latency == Latency::None && self.error_rate == ErrorRate::NEVER {
            return Draw::NOTHING;
        }
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let fail = self.error_rate != ErrorRate::NEVER && rng.f64() < self.error_rate.share();
        Draw { delay: sample(self.latency, &mut rng), fail }
    }

    /// Waits until the answer may leave: first its delay, then the end of a stall it fell into.
    pub(crate) async fn wait(&self, delay: Duration, epoch: &Epoch) {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if let Some(stall) = self.stall {
            let remaining = stall.remaining(epoch.elapsed());
            if !remaining.is_zero() {
                tokio::time::sleep(remaining).await;
            }
        }
    }
}

fn sample(latency: Latency, rng: &mut Rng) -> Duration {
    match latency {
        Latency::None => Duration::ZERO,
        Latency::Fixed(fixed) => fixed,
        Latency::Uniform { min, max } => {
            Duration::from_nanos(rng.u64(min.as_nanos() as u64..=max.as_nanos() as u64))
        }
        Latency::LogNormal { median, sigma } => {
            let factor = (sigma * standard_normal(rng)).exp();
            Duration::from_secs_f64((median.as_secs_f64() * factor).min(DELAY_MAX.as_secs_f64()))
        }
    }
}

/// Box–Muller transform; `1 - f64()` keeps the logarithm finite.
fn standard_normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (TAU * rng.f64()).cos()
}

/// The moment stalls are counted from: the start of the target or its last reset.
#[derive(Debug)]
pub(crate) struct Epoch {
    start: Instant,
    /// Nanoseconds after `start`.
    offset: AtomicU64,
}

impl Epoch {
    pub(crate) fn now() -> Self {
        Self { start: Instant::now(), offset: AtomicU64::new(0) }
    }

    pub(crate) fn restart(&self) {
        self.offset.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed().saturating_sub(Duration::from_nanos(self.offset.load(Ordering::Relaxed)))
    }

    /// Time since the target started, whatever was reset.
    pub(crate) fn uptime(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inject(latency: &str, error_rate: &str, seed: u64) -> Inject {
        let mut options = Options::new(([127, 0, 0, 1], 0).into());
        options.latency = latency.parse().unwrap();
        options.error_rate = error_rate.parse().unwrap();
        options.seed = seed;
        Inject::new(&options, 0)
    }

    #[test]
    fn equal_seeds_draw_equal_misfortune() {
        let draws = |seed| {
            let inject = inject("uniform:1ms..9ms", "30%", seed);
            (0..100).map(|_| inject.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }

    #[test]
    fn uniform_draws_stay_in_range() {
        let inject = inject("uniform:1ms..9ms", "0", 1);
        for _ in 0..1000 {
            let delay = inject.draw().delay;
            assert!((Duration::from_millis(1)..=Duration::from_millis(9)).contains(&delay), "{delay:?}");
        }
    }

    #[test]
    fn log_normal_draws_have_the_given_median() {
        let inject = inject("lognormal:5ms,0.5", "0", 1);
        let below = (0..10_000).filter(|_| inject.draw().delay < Duration::from_millis(5)).count();
        assert!((4_700..5_300).contains(&below), "{below} of 10000 below the median");
    }

    #[test]
    fn error_rate_fails_its_share() {
        let failed = |rate| {
            let inject = inject("0s", rate, 1);
            (0..10_000).filter(|_| inject.draw().fail).count()
        };
        assert_eq!(failed("0"), 0);
        assert_eq!(failed("100%"), 10_000);
        assert!((800..1_200).contains(&failed("10%")), "{}", failed("10%"));
    }
}
