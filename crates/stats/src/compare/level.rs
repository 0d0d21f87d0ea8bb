//! How sure an interval has to be so that all intervals of a comparison together are sure enough.

use super::CONFIDENCE_PERCENT;

/// The confidence of one interval among several (Bonferroni): whatever they have to do with each other, all of them
/// together hold the true values in 95 of 100 comparisons.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    confidence: f64,
    z: f64,
}

impl Level {
    /// For so many intervals.
    pub(super) fn of_all(intervals: usize) -> Self {
        let alarms = 1.0 - CONFIDENCE_PERCENT / 100.0;
        let confidence = 1.0 - alarms / intervals.max(1) as f64;
        Self { confidence, z: quantile(confidence, within_normal) }
    }

    /// The normal distribution has this confidence within ±z.
    pub(super) fn z(self) -> f64 {
        self.z
    }

    /// Student's t with so many degrees of freedom has this confidence within ±t.
    pub(super) fn t(self, freedom: u32) -> f64 {
        quantile(self.confidence, |t| within_student(t, freedom))
    }
}

/// Where a distribution has this confidence within ±x, by bisection: intervals are not made per request.
fn quantile(confidence: f64, within: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while within(high) < confidence && high < 1e6 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if within(middle) < confidence { low = middle } else { high = middle }
    }
    high
}

/// Abramowitz and Stegun 26.2.11.
fn within_normal(z: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    2.0 * sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Abramowitz and Stegun 26.7.3 and 26.7.4.
fn within_student(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let (mut term, mut sum) = if is_odd { (cos, cos) } else { (1.0, 1.0) };
    for n in (if is_odd { 2 } else { 1 }..freedom.saturating_sub(2)).step_by(2) {
        term *= f64::from(n) / f64::from(n + 1) * cos * cos;
        sum += term;
    }
    match freedom {
        1 => angle * std::f64::consts::FRAC_2_PI,
        _ if is_odd => (angle + sin * sum) * std::f64::consts::FRAC_2_PI,
        _ => sin * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let one = Level::of_all(1);
        assert!((one.z() - 1.959_964).abs() < 1e-6, "{}", one.z());
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (10, 2.228),
            (19, 2.093),
            (30, 2.042),
        ];
        for (freedom, wanted) in table {
            assert!((one.t(freedom) - wanted).abs() < 5e-4, "{freedom}: {}", one.t(freedom));
        }
    }

    #[test]
    fn several_intervals_are_wider_each() {
        // 1 − 0.05 / 10 = 99.5 %
        let ten = Level::of_all(10);
        assert!((ten.z() - 2.807_034).abs() < 1e-6, "{}", ten.z());
        assert!((ten.t(4) - 5.598).abs() < 5e-4, "{}", ten.t(4));
        assert!(Level::of_all(100_000).z().is_finite());
    }
}
