//! Histograms small enough to be sent every second: cumulative counts at fixed bounds for programs, bars between the
//! smallest and the largest value for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buckets::Count;
use crate::histogram::{Histogram, bucket_range_ns};

/// Upper bounds of [`BoundCounts`], in microseconds: 1, 2, 5 of every power of ten from 10 µs to 60 s.
pub const BOUNDS_US: [u64; 21] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Bars of a [`Shape`].
pub const SHAPE_BARS_MAX: usize = 48;

/// Samples at or below each of [`BOUNDS_US`]. A sample counts at the bound above the middle of its fine bucket, so a
/// bound is sharp within 0.1 %; counts never fall from one snapshot to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundCounts {
    /// All samples, those beyond the last bound too.
    pub count: u64,
    /// Sum of all samples.
    pub sum_us: f64,
    /// Cumulative counts, one per bound; empty if there is no sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_most: Vec<u64>,
}

impl BoundCounts {
    /// The samples of a histogram.
    pub fn of<C: Count>(histogram: &Histogram<C>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let mut at_most = vec![0u64; BOUNDS_US.len()];
        for (bucket, count) in histogram.buckets() {
            let (first, last) = bucket_range_ns(bucket);
            let middle = first + (last - first) / 2;
            let bound = BOUNDS_US.partition_point(|bound| bound * 1_000 < middle);
            if let Some(here) = at_most.get_mut(bound) {
                *here += count;
            }
        }
        let mut below = 0;
        for here in &mut at_most {
            below += *here;
            *here = below;
        }
        Self { count: histogram.count(), sum_us: histogram.sum_ns() as f64 / 1e3, at_most }
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Latencies as bars of equal width on a logarithmic scale, from the smallest to the largest sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// The smallest sample: where the first bar begins.
    pub from_us: f64,
    /// The largest sample: where the last bar ends.
    pub to_us: f64,
    /// Samples of each bar; at most [`SHAPE_BARS_MAX`], none without a sample.
    pub bars: Vec<u64>,
}

impl Shape {
    /// The samples of several histograms together.
    pub fn of<'a>(histograms: impl Iterator<Item = &'a Histogram> + Clone) -> Self {
        let smallest = histograms.clone().filter_map(Histogram::min_ns).min();
        let largest = histograms.clone().filter_map(Histogram::max_ns).max();
        let (Some(smallest), Some(largest)) = (smallest, largest) else { return Self::default() };
        // A scale of logarithms has no zero.
        let (from, to) = ((smallest.max(1) as f64).ln(), (largest.max(1) as f64).ln());
        let bars_per_unit = if to > from { SHAPE_BARS_MAX as f64 / (to - from) } else { 0.0 };
        let mut bars = vec![0u64; if to > from { SHAPE_BARS_MAX } else { 1 }];
        for (bucket, count) in histograms.flat_map(Histogram::buckets) {
            let (first, last) = bucket_range_ns(bucket);
            let middle = f64::midpoint(first as f64, last as f64);
            let bar = ((middle.max(1.0).ln() - from) * bars_per_unit).max(0.0) as usize;
            let bar = bar.min(bars.len() - 1);
            bars[bar] += count;
        }
        Self { from_us: smallest as f64 / 1e3, to_us: largest as f64 / 1e3, bars }
    }

    /// Where a bar begins; the end of the last one is where the bar after it would begin.
    pub fn edge_us(&self, bar: usize) -> f64 {
        let (from, to) = (self.from_us.max(1e-3).ln(), self.to_us.max(1e-3).ln());
        (from + (to - from) * bar as f64 / self.bars.len().max(1) as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(us: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        us.into_iter().for_each(|us| histogram.record(us * 1_000));
        histogram
    }

    #[test]
    fn bounds_rise() {
        assert!(BOUNDS_US.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn counts_are_cumulative_and_the_rest_is_in_the_count() {
        let counts = BoundCounts::of(&histogram([5, 15, 1_500, 1_500, 90_000_000]));
        assert_eq!(counts.count, 5);
        assert_eq!(counts.at_most[0], 1, "10 us");
        assert_eq!(counts.at_most[1], 2, "20 us");
        assert_eq!(counts.at_most[6], 2, "1 ms");
        assert_eq!(counts.at_most[7], 4, "2 ms");
        assert_eq!(counts.at_most[20], 4, "60 s");
        assert!((counts.sum_us - 90_003_020.0).abs() < 0.1);
    }

    #[test]
    fn nothing_has_no_counts_and_no_bars() {
        assert_eq!(BoundCounts::of(&histogram([])), BoundCounts::default());
        assert_eq!(Shape::of([histogram([])].iter()), Shape::default());
    }

    #[test]
    fn bars_hold_every_sample_of_every_histogram() {
        let parts = [histogram(1..1_000), histogram([50, 700_000])];
        let shape = Shape::of(parts.iter());
        assert_eq!(shape.bars.iter().sum::<u64>(), 1_001);
        assert_eq!((shape.from_us, shape.to_us), (1.0, 700_000.0));
        assert_eq!(shape.bars.len(), SHAPE_BARS_MAX);
        assert!((shape.edge_us(SHAPE_BARS_MAX) - 700_000.0).abs() < 1.0);
    }

    #[test]
    fn equal_samples_are_one_bar() {
        let shape = Shape::of([histogram([70, 70, 70])].iter());
        assert_eq!(shape.bars, [3]);
    }
}
