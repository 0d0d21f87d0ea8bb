//! Coarse buckets: eight of a histogram's fine ones as one, at most 1.6 % wide.
//!
//! Series and results keep these instead of the fine ones: a few hundred numbers draw a curve as well as thousands. The
//! exact percentiles of a result come from the fine buckets and never from here.

use crate::buckets::{Count, SUB};
use crate::histogram::{Histogram, bucket_range_ns};

/// Fine buckets in a coarse one.
const FINE: usize = 8;
const _: () = assert!(SUB.is_multiple_of(FINE), "a coarse bucket must not span two powers of two");

/// Number and count of every coarse bucket that is not empty, in order.
pub(crate) fn counts<C: Count>(histogram: &Histogram<C>) -> Vec<(u16, u64)> {
    let mut counts: Vec<(u16, u64)> = Vec::new();
    for (bucket, count) in histogram.buckets() {
        let coarse = (bucket / FINE) as u16;
        match counts.last_mut() {
            Some((last, sum)) if *last == coarse => *sum = sum.saturating_add(count),
            _ => counts.push((coarse, count)),
        }
    }
    counts
}

/// First and last nanosecond that fall into a coarse bucket.
pub(crate) fn range_ns(coarse: u16) -> (u64, u64) {
    let first = usize::from(coarse) * FINE;
    (bucket_range_ns(first).0, bucket_range_ns(first + FINE - 1).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_buckets_hold_every_sample_and_are_narrow() {
        let mut histogram = Histogram::<u64>::new();
        for n in 0..10_000u64 {
            histogram.record(1_000 + n * 977);
        }
        let counts = counts(&histogram);
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 10_000);
        for (first, last) in counts.iter().map(|(bucket, _)| range_ns(*bucket)) {
            assert!((last - first) as f64 <= first as f64 / 63.0, "{first}..{last}");
        }
    }
}
