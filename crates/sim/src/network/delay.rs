//! One-way delays: log-normal, as measured networks are. Most are near the median, some take many times as long.

use std::f64::consts::TAU;
use std::time::Duration;

use fastrand::Rng;

/// Longest single delay; what would take longer counts as that.
pub(super) const DELAY_MAX: Duration = Duration::from_secs(2);

/// Draws a delay with the given median; `sigma` is the spread of its logarithm.
pub(crate) fn draw(rng: &mut Rng, median: Duration, sigma: f64) -> Duration {
    median.mul_f64((sigma * normal(rng)).exp()).min(DELAY_MAX)
}

/// A draw from the standard normal distribution (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (TAU * rng.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_delays_lie_below_the_median_and_the_tail_is_long() {
        let mut rng = Rng::with_seed(3);
        let median = Duration::from_millis(1);
        let mut all: Vec<Duration> = (0..10_000).map(|_| draw(&mut rng, median, 0.5)).collect();
        all.sort();
        assert!(all[5000] > median.mul_f64(0.95) && all[5000] < median.mul_f64(1.05));
        assert!(all[9900] > median * 2 && all[9999] < median * 20);
    }
}
