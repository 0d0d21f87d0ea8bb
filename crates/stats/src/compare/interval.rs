//! Confidence intervals of single quantities and of differences.

use super::level::Level;
use crate::result::BucketResult;

/// Batches a run is cut into at most: enough for a t interval, long enough to be nearly independent.
const BATCHES_MAX: usize = 20;
/// Batches that are needed to say anything.
const BATCHES_MIN: usize = 5;

/// A value and the range in which the true one lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    /// `other − self`, by the method of variance estimates recovery (Zou and Donner 2008): it keeps intervals that are not
    /// symmetric as they are.
    pub(super) fn difference(self, other: Interval) -> Interval {
        let value = other.value - self.value;
        Interval {
            value,
            low: value - (other.value - other.low).hypot(self.high - self.value),
            high: value + (other.high - other.value).hypot(self.value - self.low),
        }
    }

    /// The same, wider by a factor.
    pub(super) fn widened(self, factor: f64) -> Interval {
        let Interval { value, low, high } = self;
        Interval { value, low: value - (value - low) * factor, high: value + (high - value) * factor }
    }

    /// Half of its width.
    pub(super) fn half(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A percentile (`share` of samples at or below it) by order statistics: the samples whose ranks are that far from the
/// percentile's rank as chance explains, taken at the outer edges of their buckets. `None` if there is no sample of such a
/// rank: then the true percentile may lie beyond all of them.
pub(super) fn percentile(value: f64, share: f64, buckets: &[BucketResult], level: Level) -> Option<Interval> {
    let count = buckets.iter().map(|bucket| bucket.2).sum::<u64>() as f64;
    let middle = count * share;
    let off = level.z() * (count * share * (1.0 - share)).sqrt();
    let (first, last) = ((middle - off).floor(), (middle + off).ceil() + 1.0);
    if first < 1.0 || last > count {
        return None;
    }
    let (low, high) = (bucket_at(buckets, first)?.0, bucket_at(buckets, last)?.1);
    Some(Interval { value, low: low.min(value), high: high.max(value) })
}

fn bucket_at(buckets: &[BucketResult], rank: f64) -> Option<BucketResult> {
    let mut seen = 0.0;
    buckets.iter().copied().find(|bucket| {
        seen += bucket.2 as f64;
        seen >= rank
    })
}

/// A mean of so many samples.
pub(super) fn mean(value: f64, stdev: f64, count: u64, level: Level) -> Option<Interval> {
    (count > 0).then(|| {
        let half = level.z() * stdev / (count as f64).sqrt();
        Interval { value, low: value - half, high: value + half }
    })
}

/// A share of `count`, after Wilson: right for small shares and for none at all.
pub(super) fn share(part: u64, count: u64, level: Level) -> Option<Interval> {
    if count == 0 {
        return None;
    }
    let (n, p, z) = (count as f64, part as f64 / count as f64, level.z());
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Some(Interval { value: p, low: (centre - half).max(0.0).min(p), high: (centre + half).min(1.0).max(p) })
}

/// How far the difference of two means may be off, from how they vary over time: batch means with Student's t. Paired
/// values belong to the same moments of the same plan, so that what the plan does to both cancels out.
pub(super) fn over_time(a: &[f64], b: &[f64], paired: bool, level: Level) -> Option<f64> {
    if paired && a.len() == b.len() {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        return half_of_batches(&differences, level);
    }
    Some(half_of_batches(a, level)?.hypot(half_of_batches(b, level)?))
}

fn half_of_batches(values: &[f64], level: Level) -> Option<f64> {
    let batches = values.len().min(BATCHES_MAX);
    if batches < BATCHES_MIN {
        return None;
    }
    let cut = |number: usize| number * values.len() / batches;
    let means: Vec<f64> = (0..batches)
        .map(|number| {
            let batch = &values[cut(number)..cut(number + 1)];
            batch.iter().sum::<f64>() / batch.len() as f64
        })
        .collect();
    let n = batches as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(level.t(batches as u32 - 1) * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 95 %.
    fn one() -> Level {
        Level::of_all(1)
    }

    #[test]
    fn differences_add_their_uncertainties_like_lengths_of_a_right_triangle() {
        let a = Interval { value: 10.0, low: 7.0, high: 13.0 };
        let b = Interval { value: 20.0, low: 16.0, high: 24.0 };
        assert_eq!(a.difference(b), Interval { value: 10.0, low: 5.0, high: 15.0 });
        assert_eq!(a.difference(b).widened(2.0), Interval { value: 10.0, low: 0.0, high: 20.0 });
    }

    #[test]
    fn percentiles_lie_between_the_ranks_that_chance_explains() {
        let buckets: Vec<BucketResult> =
            (0..1_000).map(|n| BucketResult(f64::from(n), f64::from(n) + 1.0, 1)).collect();
        // 500 ± 1.96 · √250 = 500 ± 31
        let median = percentile(500.0, 0.5, &buckets, one()).unwrap();
        assert_eq!((median.low, median.high), (468.0, 532.0));
    }

    #[test]
    fn a_percentile_beyond_the_samples_has_no_interval() {
        let few = [BucketResult(4.0, 6.0, 500)];
        assert_eq!(percentile(1.0, 0.5, &[], one()), None);
        assert_eq!(percentile(5.0, 0.999, &few, one()), None);
        assert!(percentile(5.0, 0.5, &few, one()).is_some());
    }

    #[test]
    fn a_share_of_nothing_is_uncertain_upwards_only() {
        let none = share(0, 100, one()).unwrap();
        assert_eq!((none.value, none.low), (0.0, 0.0));
        assert!((none.high - 0.036_99).abs() < 1e-4, "{none:?}");
        assert_eq!(share(0, 0, one()), None);
    }

    #[test]
    fn pairs_cancel_what_the_plan_does_to_both() {
        let ramp: Vec<f64> = (0..40).map(f64::from).collect();
        let shifted: Vec<f64> = ramp.iter().map(|value| value + 3.0).collect();
        assert_eq!(over_time(&ramp, &shifted, true, one()), Some(0.0));
        assert!(over_time(&ramp, &shifted, false, one()).unwrap() > 5.0);
        assert_eq!(over_time(&ramp[..4], &shifted[..4], true, one()), None);
    }

    #[test]
    fn batch_means_follow_students_t() {
        // Five batches: mean 3, deviation √2.5, t(4) = 2.776.
        let half = half_of_batches(&[1.0, 2.0, 3.0, 4.0, 5.0], one()).unwrap();
        assert!((half - 2.776_445 * (2.5f64 / 5.0).sqrt()).abs() < 1e-5);
    }
}
