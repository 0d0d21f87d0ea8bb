//! OpenTelemetry metrics over HTTP with protocol buffers.
//!
//! The messages are those of `opentelemetry-proto` 1.x, declared by hand as far as they are sent: the official crate
//! brings the SDK along. Tests decode what is written here with it.

mod messages;

use prost::Message;

pub use messages::*;

use crate::names::Kind;
use crate::reading::{Family, Point, Reading, Value, bounds_s};

/// The media type of a request.
pub const FIELDS: [(&str, &str); 1] = [("content-type", "application/x-protobuf")];
/// Where requests go unless the URL says otherwise.
pub const PATH: &str = "/v1/metrics";

/// `AggregationTemporality::Cumulative`: sums since the run began.
const CUMULATIVE: i32 = 2;

/// The reading as the body of a request.
pub fn encode(reading: &Reading) -> Vec<u8> {
    request(reading).encode_to_vec()
}

/// Points that the receiver has thrown away although it answered with success, and why.
pub fn rejected(answer: &[u8]) -> Option<(i64, String)> {
    let answer = ExportMetricsServiceResponse::decode(answer).ok()?;
    let partial = answer.partial_success?;
    (partial.rejected_data_points > 0).then_some((partial.rejected_data_points, partial.error_message))
}

fn request(reading: &Reading) -> ExportMetricsServiceRequest {
    let [(_, job), (_, name)] = &reading.common;
    let attributes = [("service.name", "hyperscale"), ("hyperscale.job", job), ("hyperscale.name", name)];
    let scope =
        InstrumentationScope { name: "hyperscale".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let metrics = reading.families.iter().map(|family| metric(reading, family)).collect();
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource { attributes: attributes.map(|(key, text)| pair(key, text)).to_vec() }),
            scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics }],
        }],
    }
}

fn metric(reading: &Reading, family: &Family) -> Metric {
    let points = family.points.iter();
    let data = match family.metric.kind {
        Kind::Gauge => {
            metric::Data::Gauge(Gauge { data_points: points.map(|point| number(reading, point)).collect() })
        }
        Kind::Counter => metric::Data::Sum(Sum {
            data_points: points.map(|point| number(reading, point)).collect(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        Kind::Histogram => metric::Data::Histogram(Histogram {
            data_points: points.filter_map(|point| histogram(reading, point)).collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    };
    Metric {
        name: family.metric.name.to_owned(),
        description: family.metric.help.to_owned(),
        unit: family.metric.unit.to_owned(),
        data: Some(data),
    }
}

fn number(reading: &Reading, point: &Point) -> NumberDataPoint {
    let value = match &point.value {
        Value::Count(count) => {
            Some(number_data_point::Value::AsInt(i64::try_from(*count).unwrap_or(i64::MAX)))
        }
        Value::Gauge(value) => Some(number_data_point::Value::AsDouble(*value)),
        Value::Histogram(_) => None,
    };
    NumberDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: reading.began.unix_ns(),
        time_unix_nano: reading.at.unix_ns(),
        value,
    }
}

fn histogram(reading: &Reading, point: &Point) -> Option<HistogramDataPoint> {
    let Value::Histogram(buckets) = &point.value else { return None };
    // Ours are cumulative over the bounds, theirs are of each bucket.
    let upper = buckets.at_most.iter().chain([&buckets.count]);
    let lower = [0].iter().chain(&buckets.at_most);
    let bucket_counts = upper.zip(lower).map(|(upper, lower)| upper.saturating_sub(*lower)).collect();
    Some(HistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: reading.began.unix_ns(),
        time_unix_nano: reading.at.unix_ns(),
        count: buckets.count,
        sum: Some(buckets.sum_s),
        bucket_counts,
        explicit_bounds: bounds_s().collect(),
    })
}

fn attributes(point: &Point) -> Vec<KeyValue> {
    point.labels.iter().map(|(name, text)| pair(name, text)).collect()
}

fn pair(key: &str, text: &str) -> KeyValue {
    let value = any_value::Value::StringValue(text.to_owned());
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}
