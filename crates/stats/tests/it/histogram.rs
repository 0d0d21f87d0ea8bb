//! The histogram against hdrhistogram and against the sorted samples themselves.

use hyperscale_stats::Histogram;
use hyperscale_stats::histogram::MAX_NS;
use proptest::collection::vec;
use proptest::prelude::*;

const PERCENTILES: [f64; 9] = [0.0, 1.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0];

fn of(samples: &[u64]) -> Histogram<u32> {
    let mut histogram = Histogram::new();
    for ns in samples {
        histogram.record(*ns);
    }
    histogram
}

fn merged(parts: &[&Histogram]) -> Histogram {
    let mut all = Histogram::new();
    for part in parts {
        all.merge(part);
    }
    all
}

fn widened(histogram: &Histogram<u32>) -> Histogram {
    let mut wide = Histogram::new();
    wide.merge(histogram);
    wide
}

/// Durations of every magnitude, not only large ones.
fn duration() -> impl Strategy<Value = u64> {
    (0u32..42, any::<u64>()).prop_map(|(bits, seed)| (seed % (2 << bits)).min(MAX_NS))
}

fn nearest_rank(samples: &[u64], percent: f64) -> u64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let rank = (percent * sorted.len() as f64 / 100.0 - 1e-9).ceil().max(1.0) as usize;
    sorted[rank - 1]
}

proptest! {
    #[test]
    fn percentiles_of_a_merge_are_those_of_all_samples(
        a in vec(duration(), 1..300), b in vec(duration(), 0..300), c in vec(duration(), 0..50),
    ) {
        let all = merged(&[&widened(&of(&a)), &widened(&of(&b)), &widened(&of(&c))]);
        let samples = [a, b, c].concat();
        for percent in PERCENTILES {
            let (got, want) = (all.percentile_ns(percent).unwrap(), nearest_rank(&samples, percent));
            prop_assert!(got.abs_diff(want) as f64 <= want as f64 / 1000.0, "p{}: {} for {}", percent, got, want);
        }
        prop_assert_eq!(all.count(), samples.len() as u64);
        prop_assert_eq!(all.sum_ns(), samples.iter().map(|ns| u128::from(*ns)).sum::<u128>());
        prop_assert_eq!(all.min_ns(), samples.iter().min().copied());
        prop_assert_eq!(all.max_ns(), samples.iter().max().copied());
    }

    #[test]
    fn merging_is_associative_and_commutative(
        a in vec(duration(), 0..100), b in vec(duration(), 0..100), c in vec(duration(), 0..100),
    ) {
        let (x, y, z) = (widened(&of(&a)), widened(&of(&b)), widened(&of(&c)));
        let flat = widened(&of(&[a, b, c].concat()));
        prop_assert!(merged(&[&merged(&[&x, &y]), &z]) == flat);
        prop_assert!(merged(&[&x, &merged(&[&y, &z])]) == flat);
        prop_assert!(merged(&[&z, &y, &x]) == flat);
    }

    #[test]
    fn hdrhistogram_agrees(samples in vec(1u64..MAX_NS, 1..300)) {
        let mut oracle = hdrhistogram::Histogram::<u64>::new_with_bounds(1, MAX_NS, 3).unwrap();
        for ns in &samples {
            oracle.record(*ns).unwrap();
        }
        let ours = of(&samples);
        for percent in PERCENTILES {
            let (got, want) = (ours.percentile_ns(percent).unwrap() as f64, oracle.value_at_percentile(percent) as f64);
            // Each is within 0.1 % of the sample.
            prop_assert!((got - want).abs() <= want * 0.002 + 1.0, "p{}: {} for {}", percent, got, want);
        }
        let (mean, stdev) = (ours.mean_ns().unwrap(), ours.stdev_ns().unwrap());
        prop_assert!((mean - oracle.mean()).abs() <= oracle.mean() * 0.002);
        prop_assert!((stdev - oracle.stdev()).abs() <= oracle.mean() * 0.004 + 1.0);
    }

    #[test]
    fn a_cleared_histogram_is_like_a_new_one(a in vec(duration(), 0..100), b in vec(duration(), 0..100)) {
        let mut reused = of(&a);
        reused.clear();
        for ns in &b {
            reused.record(*ns);
        }
        prop_assert!(reused == of(&b));
    }
}
