//! One state of a run, as every exporter sees it: families of points, each with labels and a value.
//!
//! Counters and histograms are sums since the run began, so a reading that is lost costs resolution and no count: the
//! next one has everything. Formats that want differences take them between two readings they have sent.

use std::fmt;
use std::sync::Arc;

use hyperscale_stats::event::{BOUNDS_US, BoundCounts};

use crate::names::Metric;

/// One state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// When the run began.
    pub began: Moment,
    /// When this was so. No two readings of a run have the same.
    pub at: Moment,
    /// Seconds from one to the other, as in the result.
    pub elapsed_s: f64,
    /// Whether nothing will change any more.
    pub is_final: bool,
    /// Labels on every point: which run, of which plan.
    pub common: [Label; 2],
    /// The numbers. No metric has two families.
    pub families: Vec<Family>,
}

/// A time, in milliseconds since 1970. Every format can say it without loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub unix_ms: i64,
}

impl Moment {
    /// In nanoseconds; times before 1970 are 1970.
    pub fn unix_ns(self) -> u64 {
        u64::try_from(self.unix_ms).unwrap_or(0).saturating_mul(1_000_000)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_millisecond(self.unix_ms).unwrap_or_default();
        write!(f, "{time:.3}")
    }
}

/// All points of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Which.
    pub metric: &'static Metric,
    /// At least one. No two have the same labels.
    pub points: Vec<Point>,
}

/// One number, or one distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What tells it from others of its family, in a fixed order, beside [`Reading::common`].
    pub labels: Labels,
    /// Its value.
    pub value: Value,
}

/// A name and a text.
pub type Label = (&'static str, Arc<str>);

/// Labels in a fixed order.
pub type Labels = Vec<Label>;

/// A value. Which one it is follows from the kind of its metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a counter.
    Count(u64),
    /// Of a gauge.
    Gauge(f64),
    /// Of a histogram.
    Histogram(Buckets),
}

/// Samples at or below fixed bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    /// All samples.
    pub count: u64,
    /// Their sum.
    pub sum_s: f64,
    /// Samples at or below each of [`bounds_s`].
    pub at_most: Vec<u64>,
}

impl Buckets {
    /// The same in seconds.
    pub(crate) fn of(counts: &BoundCounts) -> Self {
        let mut at_most = counts.at_most.clone();
        at_most.resize(BOUNDS_US.len(), 0);
        Self { count: counts.count, sum_s: counts.sum_us / 1e6, at_most }
    }
}

/// The bounds of all histograms, in seconds.
pub fn bounds_s() -> impl Iterator<Item = f64> {
    BOUNDS_US.iter().map(|us| *us as f64 / 1e6)
}

impl Reading {
    /// Every point with its metric.
    pub fn points(&self) -> impl Iterator<Item = (&'static Metric, &Point)> {
        self.families.iter().flat_map(|family| family.points.iter().map(|point| (family.metric, point)))
    }

    /// All labels of a point.
    pub fn labels<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = (&'static str, &'a str)> {
        self.common.iter().chain(&point.labels).map(|(name, text)| (*name, &**text))
    }
}
