//! Latencies of a result by bucket: what curves and histograms are drawn from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buckets::Count;
use crate::coarse;
use crate::histogram::Histogram;

/// `[from_us, to_us, count]`: so many samples in `from_us ..= to_us`. A bucket is at most 1.6 % wide; all buckets lie on
/// one grid, so that those of several steps can be added up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BucketResult(
    /// The shortest duration in it, in microseconds.
    pub f64,
    /// The longest duration in it, in microseconds.
    pub f64,
    /// How many samples.
    pub u64,
);

/// The buckets of several steps as those of one.
pub fn merge_buckets<'a>(all: impl IntoIterator<Item = &'a [BucketResult]>) -> Vec<BucketResult> {
    let mut merged: BTreeMap<u64, BucketResult> = BTreeMap::new();
    for bucket in all.into_iter().flatten() {
        // Durations are not negative, and the bits of such numbers are in their order.
        let sum = merged.entry(bucket.0.to_bits()).or_insert(BucketResult(bucket.0, bucket.1, 0));
        sum.2 = sum.2.saturating_add(bucket.2);
    }
    merged.into_values().collect()
}

pub(super) fn bucket_results<C: Count>(histogram: &Histogram<C>) -> Vec<BucketResult> {
    let micros = |ns: u64| ns as f64 / 1e3;
    let result = |(bucket, count)| {
        let (first, last) = coarse::range_ns(bucket);
        BucketResult(micros(first), micros(last), count)
    };
    coarse::counts(histogram).into_iter().map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_several_steps_add_up_on_one_grid() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::<u64>::new();
            for ns in values {
                histogram.record(*ns);
            }
            histogram
        };
        let (a, b) = (of(&[1_000_000, 2_000_000, 2_000_000]), of(&[3, 2_000_000, 900_000_000]));
        let mut both = a.clone();
        both.merge(&b);
        let merged = merge_buckets([&bucket_results(&a)[..], &bucket_results(&b)[..]]);
        assert_eq!(merged, bucket_results(&both));
        assert_eq!(merged.iter().map(|bucket| bucket.2).sum::<u64>(), 6);
    }
}
