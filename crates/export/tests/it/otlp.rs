//! What is written as OTLP is what the official messages read.

use hyperscale_export::encode::otlp;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric};
use prost::Message;

use crate::runs::{readings, result};

fn decoded() -> ExportMetricsServiceRequest {
    ExportMetricsServiceRequest::decode(&*otlp::encode(&readings().1)).unwrap()
}

fn metric(request: &ExportMetricsServiceRequest, name: &str) -> Metric {
    let mut metrics = request.resource_metrics[0].scope_metrics[0].metrics.iter();
    metrics.find(|metric| metric.name == name).unwrap().clone()
}

#[test]
fn official_messages_read_every_number() {
    let request = decoded();
    let resource = request.resource_metrics[0].resource.as_ref().unwrap();
    let text = |key: &str| {
        let pair = resource.attributes.iter().find(|pair| pair.key == key).unwrap();
        match pair.value.clone().unwrap().value.unwrap() {
            any_value::Value::StringValue(text) => text,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((text("service.name").as_str(), text("hyperscale.job").as_str()), ("hyperscale", "run-1"));
    let requests = metric(&request, "hyperscale_run_requests_total");
    assert_eq!(requests.unit, "{request}");
    let Some(Data::Sum(sum)) = requests.data else { panic!("{requests:?}") };
    assert!(sum.is_monotonic && sum.aggregation_temporality == AggregationTemporality::Cumulative as i32);
    let values: Vec<_> = sum.data_points.iter().map(|point| point.value.unwrap()).collect();
    assert_eq!(values, [Value::AsInt(100), Value::AsInt(1)]);
    assert_eq!(sum.data_points[0].start_time_unix_nano, 1_735_689_600_000_000_000);
    assert_eq!(sum.data_points[0].time_unix_nano, 1_735_689_602_000_000_000);
}

#[test]
fn histograms_have_a_count_per_bucket() {
    let latency = metric(&decoded(), "hyperscale_run_latency_seconds");
    let Some(Data::Histogram(histogram)) = latency.data else { panic!("{latency:?}") };
    let point = &histogram.data_points[0];
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
    assert_eq!(point.count, result(100, 2, true).workflows[0].steps[0].ok);
    assert!(point.explicit_bounds.is_sorted());
}

#[test]
fn points_that_the_receiver_threw_away_are_told() {
    let answer = |rejected| ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: rejected,
            error_message: "too many series".into(),
        }),
    };
    assert_eq!(otlp::rejected(&answer(7).encode_to_vec()), Some((7, "too many series".to_owned())));
    assert_eq!(otlp::rejected(&answer(0).encode_to_vec()), None);
    assert_eq!(otlp::rejected(b""), None);
    assert_eq!(otlp::rejected(b"<html>"), None);
}
