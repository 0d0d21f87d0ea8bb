//! HOT: durations in nanoseconds, log-linear buckets with a relative error of at most 0.1 %.
//!
//! [`Histogram::record`] runs about five times per request. hdrhistogram's `record` needs about 1.4 times the
//! instructions, keeps no exact sum and allocates its whole range at once; here a histogram costs memory only for the powers of two
//! it has seen. hdrhistogram stays the oracle of the tests.
//!
//! Count, sum, smallest and largest value are exact integers, so merging is associative and commutative to the last
//! bit. Percentiles are nearest-rank: the middle of the bucket that holds the sample of that rank, never outside the
//! smallest and largest value. The standard deviation comes from the middles of the buckets, so it is within 0.1 % of
//! the mean: a sum of squares would cost more than all the rest.

use crate::buckets::{Buckets, Count, SUB, SUB_BITS, rank_of};

/// The longest duration that is told apart: one hour. What is longer is recorded as one hour and counted as clamped.
pub const MAX_NS: u64 = 3_600 * 1_000_000_000;

/// Chunks needed for `0..=MAX_NS`.
const SLOTS: usize = slot_of(MAX_NS) + 1;

/// Durations in nanoseconds. `C` is the counter of a bucket: `u32` in windows, `u64` in totals.
#[derive(Clone, Debug)]
pub struct Histogram<C = u64> {
    buckets: Buckets<C, SLOTS>,
    moments: Moments,
}

/// The exact part of a [`Histogram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) clamped: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) sum: u128,
}

impl Moments {
    const EMPTY: Moments = Moments { count: 0, clamped: 0, min: u64::MAX, max: 0, sum: 0 };
}

impl<C: Count> Default for Histogram<C> {
    fn default() -> Self {
        Self { buckets: Buckets::default(), moments: Moments::EMPTY }
    }
}

impl<C: Count> Histogram<C> {
    /// An empty histogram; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records one duration.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let value = ns.min(MAX_NS);
        let m = &mut self.moments;
        m.count += 1;
        m.sum += u128::from(value);
        // Branches that are hardly ever taken cost less than stores that are always made.
        if value < m.min {
            m.min = value;
        }
        if value > m.max {
            m.max = value;
        }
        if ns > MAX_NS {
            m.clamped += 1;
        }
        let slot = slot_of(value);
        self.buckets.add_one(slot, sub_of(value, slot));
    }

    /// Adds all samples of `other`.
    pub fn merge<D: Count>(&mut self, other: &Histogram<D>) {
        let (m, o) = (&mut self.moments, &other.moments);
        if o.count == 0 {
            return;
        }
        m.count = m.count.saturating_add(o.count);
        m.clamped = m.clamped.saturating_add(o.clamped);
        m.min = m.min.min(o.min);
        m.max = m.max.max(o.max);
        m.sum = m.sum.saturating_add(o.sum);
        self.buckets.merge(&other.buckets);
    }

    /// Forgets all samples; keeps the memory.
    pub fn clear(&mut self) {
        if self.moments.count != 0 {
            self.moments = Moments::EMPTY;
            self.buckets.clear();
        }
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// Samples longer than [`MAX_NS`].
    pub fn clamped(&self) -> u64 {
        self.moments.clamped
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.moments.count == 0
    }

    /// Sum of all samples, exact.
    pub fn sum_ns(&self) -> u128 {
        self.moments.sum
    }

    /// The smallest sample, exact.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.moments.min)
    }

    /// The largest sample, exact up to [`MAX_NS`].
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.moments.max)
    }

    /// Arithmetic mean.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.moments.sum as f64 / self.moments.count as f64)
    }

    /// Standard deviation of the samples (of the population, as the samples are all there is), within 0.1 % of the
    /// mean.
    pub fn stdev_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        let m = &self.moments;
        let squares = self.buckets.iter().map(|(bucket, count)| {
            let middle = middle_of(bucket).clamp(m.min, m.max) as f64;
            count as f64 * (middle - mean) * (middle - mean)
        });
        Some((squares.sum::<f64>() / m.count as f64).sqrt())
    }

    /// The value below or at which `percent` (0 … 100) of the samples lie, within 0.1 %.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let m = &self.moments;
        let rank = (!self.is_empty()).then(|| rank_of(percent, m.count))?;
        // The ends are known exactly.
        if rank == 1 {
            return Some(m.min);
        }
        if rank == m.count {
            return Some(m.max);
        }
        self.buckets.at_rank(rank).map(|bucket| middle_of(bucket).clamp(m.min, m.max))
    }

    /// Number and count of every bucket that is not empty, in order; see [`bucket_range_ns`].
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.buckets.iter()
    }

    pub(crate) fn moments(&self) -> &Moments {
        &self.moments
    }
}

impl<C: Count> Histogram<C> {
    /// Puts a histogram together from its parts. The caller has checked that they belong to each other.
    pub(crate) fn from_parts(moments: Moments, buckets: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let mut histogram = Self { buckets: Buckets::default(), moments };
        for (bucket, count) in buckets {
            histogram.buckets.add(bucket, count);
        }
        histogram
    }
}

impl<C: Count, D: Count> PartialEq<Histogram<D>> for Histogram<C> {
    fn eq(&self, other: &Histogram<D>) -> bool {
        self.moments == other.moments && self.buckets.iter().eq(other.buckets.iter())
    }
}

/// How many buckets a histogram has.
pub const BUCKETS: usize = Buckets::<u64, SLOTS>::LEN;

/// First and last nanosecond that fall into a bucket.
pub fn bucket_range_ns(bucket: usize) -> (u64, u64) {
    let (slot, sub) = (bucket / SUB, (bucket % SUB) as u64);
    if slot == 0 {
        return (sub, sub);
    }
    let first = (SUB as u64 + sub) << (slot - 1);
    (first, first + (1 << (slot - 1)) - 1)
}

fn middle_of(bucket: usize) -> u64 {
    let (first, last) = bucket_range_ns(bucket);
    first + (last - first) / 2
}

/// Values below [`SUB`] lie in chunk 0, each further power of two in the next one.
#[inline]
const fn slot_of(value: u64) -> usize {
    let leading = (value | (SUB as u64 / 2)).ilog2();
    (leading - (SUB_BITS - 1)) as usize
}

#[inline]
const fn sub_of(value: u64, slot: usize) -> usize {
    (value >> slot.saturating_sub(1)) as usize & (SUB - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_near_its_middle() {
        for exponent in 0..42 {
            for offset in [0, 1, 2, 3, 511, 512, 513] {
                let value = ((1u64 << exponent) + offset).min(MAX_NS);
                let slot = slot_of(value);
                let bucket = slot * SUB + sub_of(value, slot);
                let (first, last) = bucket_range_ns(bucket);
                assert!(bucket < BUCKETS && first <= value && value <= last, "{value}");
                let off = middle_of(bucket).abs_diff(value) as f64;
                assert!(off <= value as f64 / 1000.0, "{value} is {off} away");
            }
        }
    }

    #[test]
    fn buckets_cover_the_range_without_gaps() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (first, last) = bucket_range_ns(bucket);
            assert_eq!(first, next);
            next = last + 1;
        }
        assert!(next > MAX_NS);
    }

    #[test]
    fn what_is_too_long_is_clamped_and_counted() {
        let mut histogram = Histogram::<u32>::new();
        histogram.record(u64::MAX);
        histogram.record(MAX_NS);
        assert_eq!((histogram.count(), histogram.clamped()), (2, 1));
        assert_eq!(histogram.max_ns(), Some(MAX_NS));
    }

    #[test]
    fn an_empty_histogram_has_no_numbers() {
        let histogram = Histogram::<u64>::new();
        assert_eq!(histogram.percentile_ns(50.0), None);
        assert_eq!(histogram.mean_ns(), None);
        assert_eq!(histogram.stdev_ns(), None);
        assert_eq!(histogram.min_ns(), None);
    }

    #[test]
    fn mean_and_deviation_of_small_numbers_are_exact() {
        let mut histogram = Histogram::<u64>::new();
        for ns in [2, 4, 4, 4, 5, 5, 7, 9] {
            histogram.record(ns);
        }
        assert_eq!(histogram.mean_ns(), Some(5.0));
        assert_eq!(histogram.stdev_ns(), Some(2.0));
    }
}
