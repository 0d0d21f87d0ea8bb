//! The distribution of arbitrary finite numbers, negative ones too, within 0.1 %.
//!
//! Buckets are cut from the number's own bits: sign, exponent and the upper nine bits of the mantissa. Magnitudes
//! below 2⁻⁶⁴ count as zero, those of 2⁶⁴ and more are clamped and counted. Count, smallest and largest are exact and
//! merge exactly; mean and deviation are floats and merge within rounding.

use crate::buckets::{Buckets, Count, SUB, SUB_BITS, rank_of};

/// Exponents −64 … 63.
const EXPONENTS: usize = 128;
/// Negative numbers, then positive ones.
const SLOTS: usize = 2 * EXPONENTS;
/// How many buckets there are.
pub(crate) const BUCKETS: usize = SLOTS * SUB;
const EXPONENT_MIN: i64 = -64;
const EXPONENT_MAX: i64 = 63;
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const EXPONENT_BIAS: i64 = 1023;

/// Arbitrary finite numbers. `C` is the counter of a bucket: `u32` in windows, `u64` in totals.
#[derive(Clone, Debug)]
pub struct Distribution<C = u64> {
    pub(crate) buckets: Buckets<C, SLOTS>,
    /// Zeros, and what is too small to be told from zero.
    pub(crate) zeros: u64,
    pub(crate) moments: Moments,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) clamped: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    /// Sum of squared differences from the mean (Welford; merged by Chan, Golub, LeVeque).
    pub(crate) m2: f64,
}

impl Moments {
    const EMPTY: Moments =
        Moments { count: 0, clamped: 0, min: f64::INFINITY, max: f64::NEG_INFINITY, mean: 0.0, m2: 0.0 };
}

impl<C: Count> Default for Distribution<C> {
    fn default() -> Self {
        Self { buckets: Buckets::default(), zeros: 0, moments: Moments::EMPTY }
    }
}

impl<C: Count> Distribution<C> {
    /// An empty distribution; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records one number. Infinities and not-a-number are no numbers: they are refused with `false`.
    pub fn record(&mut self, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        let m = &mut self.moments;
        m.count += 1;
        m.min = m.min.min(value);
        m.max = m.max.max(value);
        let delta = value - m.mean;
        m.mean += delta / m.count as f64;
        m.m2 += delta * (value - m.mean);
        match place_of(value) {
            Place::Zero => self.zeros += 1,
            Place::Bucket { slot, sub, clamped } => {
                m.clamped += u64::from(clamped);
                self.buckets.add_one(slot, sub);
            }
        }
        true
    }

    /// Adds all numbers of `other`.
    pub fn merge<D: Count>(&mut self, other: &Distribution<D>) {
        let (m, o) = (&mut self.moments, &other.moments);
        if o.count == 0 {
            return;
        }
        let (mine, theirs) = (m.count as f64, o.count as f64);
        let delta = o.mean - m.mean;
        m.mean += delta * (theirs / (mine + theirs));
        m.m2 += o.m2 + delta * delta * (mine * theirs / (mine + theirs));
        m.count = m.count.saturating_add(o.count);
        m.clamped = m.clamped.saturating_add(o.clamped);
        m.min = m.min.min(o.min);
        m.max = m.max.max(o.max);
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.buckets.merge(&other.buckets);
    }

    /// Forgets all numbers; keeps the memory.
    pub fn clear(&mut self) {
        if self.moments.count != 0 {
            self.moments = Moments::EMPTY;
            self.zeros = 0;
            self.buckets.clear();
        }
    }

    /// How many numbers were recorded.
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// Numbers beyond ±2⁶⁴, which are told apart only by smallest and largest.
    pub fn clamped(&self) -> u64 {
        self.moments.clamped
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.moments.count == 0
    }

    /// The smallest, exact.
    pub fn min(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.moments.min)
    }

    /// The largest, exact.
    pub fn max(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.moments.max)
    }

    /// Arithmetic mean.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.moments.mean)
    }

    /// Standard deviation (of the population).
    pub fn stdev(&self) -> Option<f64> {
        (!self.is_empty()).then(|| (self.moments.m2 / self.moments.count as f64).max(0.0).sqrt())
    }

    /// The number below or at which `percent` (0 … 100) of all lie, within 0.1 %.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let m = &self.moments;
        let rank = (!self.is_empty()).then(|| rank_of(percent, m.count))?;
        if rank == 1 {
            return Some(m.min);
        }
        if rank == m.count {
            return Some(m.max);
        }
        Some(self.at_rank(rank).clamp(m.min, m.max))
    }

    /// Walks negative buckets, zeros and positive buckets in order.
    fn at_rank(&self, rank: u64) -> f64 {
        let negative: u64 =
            self.buckets.iter().take_while(|(b, _)| *b < EXPONENTS * SUB).map(|(_, n)| n).sum();
        if rank > negative && rank <= negative + self.zeros {
            return 0.0;
        }
        let rank = if rank > negative { rank - self.zeros } else { rank };
        self.buckets.at_rank(rank).map_or(0.0, middle_of)
    }
}

enum Place {
    Zero,
    Bucket { slot: usize, sub: usize, clamped: bool },
}

fn place_of(value: f64) -> Place {
    let bits = value.to_bits();
    let exponent = (bits >> MANTISSA_BITS & 0x7ff).cast_signed() - EXPONENT_BIAS;
    if exponent < EXPONENT_MIN {
        return Place::Zero;
    }
    let clamped = exponent > EXPONENT_MAX;
    let slot = (exponent.min(EXPONENT_MAX) - EXPONENT_MIN) as usize;
    let sub = if clamped { SUB - 1 } else { (bits >> (MANTISSA_BITS - SUB_BITS)) as usize & (SUB - 1) };
    if value < 0.0 {
        // Mirrored, so that the order of buckets is the order of numbers.
        Place::Bucket { slot: EXPONENTS - 1 - slot, sub: SUB - 1 - sub, clamped }
    } else {
        Place::Bucket { slot: EXPONENTS + slot, sub, clamped }
    }
}

/// Whether the smallest and the largest number lie in the first and the last of these buckets.
pub(crate) fn ends_fit(min: f64, max: f64, zeros: bool, buckets: &[(usize, u64)]) -> bool {
    // Zeros lie between the negative and the positive buckets.
    let half = EXPONENTS * SUB;
    let key = |bucket: usize| if bucket < half { bucket } else { bucket + 1 };
    let of = |value: f64| match place_of(value) {
        Place::Zero => half,
        Place::Bucket { slot, sub, .. } => key(slot * SUB + sub),
    };
    let zero = zeros.then_some(half);
    let ends = |bucket: Option<&(usize, u64)>| bucket.map(|(bucket, _)| key(*bucket)).into_iter().chain(zero);
    ends(buckets.first()).min() == Some(of(min)) && ends(buckets.last()).max() == Some(of(max))
}

fn middle_of(bucket: usize) -> f64 {
    let half = EXPONENTS * SUB;
    let (sign, magnitude) = if bucket < half { (-1.0, half - 1 - bucket) } else { (1.0, bucket - half) };
    let exponent = (magnitude / SUB) as f64 + EXPONENT_MIN as f64;
    let mantissa = 1.0 + ((magnitude % SUB) as f64 + 0.5) / SUB as f64;
    sign * mantissa * exponent.exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= b.abs() / 1000.0
    }

    fn of(values: &[f64]) -> Distribution<u32> {
        let mut distribution = Distribution::new();
        for value in values {
            assert!(distribution.record(*value));
        }
        distribution
    }

    fn nearest_rank(values: &[f64], percent: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[rank_of(percent, sorted.len() as u64) as usize - 1]
    }

    proptest! {
        #[test]
        fn percentiles_of_a_merge_are_those_of_all_numbers(
            a in proptest::collection::vec(-1e6f64..1e6, 1..60),
            b in proptest::collection::vec(prop_oneof![Just(0.0), -1.0f64..1.0, 1e9f64..1e12], 1..60),
        ) {
            let mut merged = Distribution::<u64>::new();
            merged.merge(&of(&a));
            merged.merge(&of(&b));
            let all = [a, b].concat();
            for percent in [0.0, 1.0, 25.0, 50.0, 75.0, 99.0, 100.0] {
                let (got, want) = (merged.percentile(percent).unwrap(), nearest_rank(&all, percent));
                prop_assert!(near(got, want), "p{}: {} instead of {}", percent, got, want);
            }
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            prop_assert!((merged.mean().unwrap() - mean).abs() <= 1e-9 * (1.0 + mean.abs()) * 1e3);
        }
    }

    #[test]
    fn infinite_numbers_are_refused_and_huge_ones_clamped() {
        let mut distribution = Distribution::<u32>::new();
        assert!(!distribution.record(f64::NAN));
        assert!(!distribution.record(f64::INFINITY));
        assert!(distribution.record(-1e300));
        assert!(distribution.record(1e-300));
        assert!(distribution.record(1e300));
        assert_eq!((distribution.count(), distribution.clamped()), (3, 2));
        assert_eq!(distribution.percentile(50.0), Some(0.0));
        assert_eq!((distribution.min(), distribution.max()), (Some(-1e300), Some(1e300)));
    }

    #[test]
    fn deviation_does_not_suffer_from_a_large_mean() {
        let distribution =
            of(&[1e9 + 2.0, 1e9 + 4.0, 1e9 + 4.0, 1e9 + 4.0, 1e9 + 5.0, 1e9 + 5.0, 1e9 + 7.0, 1e9 + 9.0]);
        assert!((distribution.stdev().unwrap() - 2.0).abs() < 1e-6);
    }
}
