//! The time series of a run: rate, failures, VUs and percentiles over time, in memory that does not grow with the run.
//!
//! A point begins as one second wide. When there would be more than [`limits::SERIES_POINTS_MAX`] of them, neighbours
//! are merged and all points become twice as wide. Every point keeps a coarse sparse histogram (64 buckets per power of
//! two) instead of percentiles, so that merged points have percentiles of their samples and not averages of
//! percentiles. The error of a point's percentiles is at most 1/128 (0.8 %) from 512 ns on, and 4 ns below; the
//! result's own percentiles come from the exact histograms and not from here. A point of a usual run has some 100–300
//! buckets of eight bytes.

use std::time::Duration;

use hyperscale_types::limits;

use crate::buckets::{Count, rank_of};
use crate::coarse;
use crate::histogram::Histogram;
use crate::result::SeriesPoint;
use crate::window::Window;

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Points over the run's clock, of all windows that were added, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Width of a point: a power of two.
    width_s: u64,
    points: Vec<Point>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Point {
    /// Iterations that began.
    started: u64,
    count: u64,
    failed: u64,
    /// Active VUs × time, summed over cores.
    vu_ns: u128,
    latency: Sketch,
}

/// Counts by coarse bucket, sorted, without zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sketch(Vec<(u16, u32)>);

impl Default for Series {
    fn default() -> Self {
        Self { width_s: 1, points: Vec::new() }
    }
}

impl Series {
    /// A series without points.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the load of a window to the point in which it began.
    pub fn add(&mut self, window: &Window) {
        self.point_at(window.from_ns / SECOND_NS).add(window);
    }

    /// Adds a series of the same clock.
    pub fn merge(&mut self, other: &Series) {
        while self.width_s < other.width_s {
            self.coarsen();
        }
        for (number, point) in other.points.iter().enumerate() {
            self.point_at(number as u64 * other.width_s).merge(point);
        }
    }

    /// The points so far. The last one is as wide as the run has come in it.
    pub fn points(&self, elapsed: Duration) -> Vec<SeriesPoint> {
        let width = self.width_s as f64;
        let point = |(number, point): (usize, &Point)| {
            let t_s = number as f64 * width;
            let last = number + 1 == self.points.len();
            let left = elapsed.as_secs_f64() - t_s;
            let covered = if last && left > 0.0 { left.min(width) } else { width };
            point.numbers(t_s, covered)
        };
        self.points.iter().enumerate().map(point).collect()
    }

    /// The newest points that are over, at most `most` of them: the last full seconds of a run that is going on.
    pub fn newest_full(&self, elapsed: Duration, most: usize) -> Vec<SeriesPoint> {
        let over = ((elapsed.as_secs() / self.width_s) as usize).min(self.points.len());
        let width = self.width_s as f64;
        let numbers = |number: usize| self.points[number].numbers(number as f64 * width, width);
        (over.saturating_sub(most)..over).map(numbers).collect()
    }

    fn point_at(&mut self, second: u64) -> &mut Point {
        while second / self.width_s >= limits::SERIES_POINTS_MAX as u64 {
            self.coarsen();
        }
        let number = (second / self.width_s) as usize;
        if number >= self.points.len() {
            self.points.resize_with(number + 1, Point::default);
        }
        &mut self.points[number]
    }

    fn coarsen(&mut self) {
        self.width_s *= 2;
        let mut merged = Vec::with_capacity(self.points.len().div_ceil(2));
        for pair in self.points.chunks_mut(2) {
            let mut first = std::mem::take(&mut pair[0]);
            if let Some(second) = pair.get(1) {
                first.merge(second);
            }
            merged.push(first);
        }
        self.points = merged;
    }
}

impl Point {
    /// Iterations that began in it.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Adds the load of a window.
    pub(crate) fn add(&mut self, window: &Window) {
        self.started = self.started.saturating_add(window.iterations.started);
        for step in window.load_steps() {
            self.count = self.count.saturating_add(step.count);
            self.failed = self.failed.saturating_add(step.failed);
            self.latency.merge(&Sketch::of(&step.latency));
        }
        self.vu_ns += u128::from(window.vus) * u128::from(window.to_ns.saturating_sub(window.from_ns));
    }

    fn merge(&mut self, other: &Point) {
        self.started = self.started.saturating_add(other.started);
        self.count = self.count.saturating_add(other.count);
        self.failed = self.failed.saturating_add(other.failed);
        self.vu_ns = self.vu_ns.saturating_add(other.vu_ns);
        self.latency.merge(&other.latency);
    }

    /// What it says, `covered_s` after its begin at `t_s`.
    pub(crate) fn numbers(&self, t_s: f64, covered_s: f64) -> SeriesPoint {
        let percentile = |percent| self.latency.percentile_us(percent);
        SeriesPoint {
            t_s,
            rate: (self.count as f64 / covered_s * 10.0).round() / 10.0,
            failed: self.failed,
            vus: (self.vu_ns as f64 / (covered_s * SECOND_NS as f64)).round() as u64,
            p50_us: percentile(50.0),
            p95_us: percentile(95.0),
            p99_us: percentile(99.0),
        }
    }
}

impl Sketch {
    fn of<C: Count>(histogram: &Histogram<C>) -> Self {
        let narrow = |(bucket, count)| (bucket, u32::try_from(count).unwrap_or(u32::MAX));
        Self(coarse::counts(histogram).into_iter().map(narrow).collect())
    }

    fn merge(&mut self, other: &Sketch) {
        if other.0.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.0);
        all.extend_from_slice(&other.0);
        all.sort_unstable_by_key(|(bucket, _)| *bucket);
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        self.0 = all;
    }

    /// The middle of the bucket at the percentile's rank, or 0 without samples.
    fn percentile_us(&self, percent: f64) -> f64 {
        let count = self.0.iter().map(|(_, count)| u64::from(*count)).sum();
        let rank = rank_of(percent, count);
        let mut seen = 0;
        let found = self.0.iter().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map_or(0.0, |(bucket, _)| {
            let (first, last) = coarse::range_ns(*bucket);
            ((first + last) as f64 / 2.0 / 100.0).round() / 10.0
        })
    }
}
