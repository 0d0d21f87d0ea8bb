//! A reading as Prometheus sees it: series of single numbers. A histogram is one series per bucket, a sum and a count.

use crate::encode::Number;
use crate::names;
use crate::reading::{Buckets, Family, Point, Reading, Value, bounds_s};

/// The labels of a series.
pub(crate) type SeriesLabels<'a> = [(&'static str, &'a str)];

/// Hands over every series of a family: suffix of its name, labels, number.
pub(crate) fn for_each(
    reading: &Reading,
    family: &Family,
    mut each: impl FnMut(&str, &SeriesLabels<'_>, Number),
) {
    for point in &family.points {
        let labels: Vec<_> = reading.labels(point).collect();
        match &point.value {
            Value::Count(count) => each("", &labels, Number::Count(*count)),
            Value::Gauge(value) => each("", &labels, Number::Float(*value)),
            Value::Histogram(buckets) => histogram(&labels, buckets, &mut each),
        }
    }
}

fn histogram(
    labels: &SeriesLabels<'_>,
    buckets: &Buckets,
    each: &mut impl FnMut(&str, &SeriesLabels<'_>, Number),
) {
    let bounds = bounds_s().map(|bound| bound.to_string()).chain(["+Inf".to_owned()]);
    for (bound, count) in bounds.zip(buckets.at_most.iter().copied().chain([buckets.count])) {
        let labels: Vec<_> = labels.iter().copied().chain([(names::LE, bound.as_str())]).collect();
        each("_bucket", &labels, Number::Count(count));
    }
    each("_sum", labels, Number::Float(buckets.sum_s));
    each("_count", labels, Number::Count(buckets.count));
}

/// What formats without histograms send of a point: a number, unless percentiles stand in for it elsewhere.
pub(crate) fn single(point: &Point) -> Option<Number> {
    match &point.value {
        Value::Count(count) => Some(Number::Count(*count)),
        Value::Gauge(value) => Some(Number::Float(*value)),
        Value::Histogram(_) => None,
    }
}
