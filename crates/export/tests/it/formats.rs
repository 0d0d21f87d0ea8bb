//! Every format as text: what is sent, and that the numbers are those of the result.

use std::collections::HashMap;

use hyperscale_export::Readings;
use hyperscale_export::encode::{csv, influx, prometheus, remote_write, statsd};
use hyperscale_export::names;
use hyperscale_export::reading::Value;
use prost::Message;

use crate::runs::{exports, readings, result, snapshot};

#[test]
fn prometheus_text_keeps_its_shape() {
    insta::assert_snapshot!(prometheus::encode(&readings().0));
}

#[test]
fn influx_lines_keep_their_shape() {
    insta::assert_snapshot!(influx::encode(&readings().1).concat());
}

#[test]
fn statsd_lines_keep_their_shape() {
    let mut encoder = statsd::Encoder::new(statsd::Tags::InName);
    insta::assert_snapshot!(encoder.encode(&readings().0).concat());
}

#[test]
fn statsd_tags_go_behind_the_value() {
    let mut encoder = statsd::Encoder::new(statsd::Tags::Datadog);
    let lines = encoder.encode(&readings().0);
    let requests: Vec<_> = lines.iter().filter(|line| line.starts_with(names::REQUESTS.name)).collect();
    insta::assert_debug_snapshot!(requests);
}

#[test]
fn csv_rows_keep_their_shape() {
    insta::assert_snapshot!(format!("{}{}", csv::HEADER, csv::encode(&readings().1)));
}

#[test]
fn csv_rows_are_read_back_with_ten_cells() {
    let text = csv::encode(&readings().1);
    let mut reader = csv_core::Reader::new();
    let (mut output, mut ends) = (vec![0; 1 << 20], vec![0; 1 << 16]);
    let (result, read, _, fields) = {
        let mut total = (0, 0, 0);
        loop {
            let (result, read, written, fields) =
                reader.read_record(&text.as_bytes()[total.0..], &mut output, &mut ends);
            total = (total.0 + read, total.1 + written, total.2 + 1);
            if total.0 == text.len() {
                break (result, total.0, total.1, fields);
            }
            assert_eq!(fields, 10, "row {}", total.2);
        }
    };
    assert_eq!((result, read, fields), (csv_core::ReadRecordResult::Record, text.len(), 10));
}

#[test]
fn remote_write_is_snappy_over_sorted_labels() {
    let (_, reading) = readings();
    let bytes = snap::raw::Decoder::new().decompress_vec(&remote_write::encode(&reading)).unwrap();
    let request = remote_write::WriteRequest::decode(&*bytes).unwrap();
    let mut seen = std::collections::HashSet::new();
    for series in &request.timeseries {
        assert!(series.labels.is_sorted_by(|a, b| a.name < b.name), "{series:?}");
        assert_eq!(series.samples.len(), 1);
        assert_eq!(series.samples[0].timestamp, reading.at.unix_ms);
        assert!(seen.insert(format!("{:?}", series.labels)), "twice: {series:?}");
    }
    let text = prometheus::encode(&reading);
    let numbers = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(request.timeseries.len(), numbers, "the same series as a scrape");
}

#[test]
fn statsd_differences_add_up_to_the_result() {
    let (so_far, last) = readings();
    let mut encoder = statsd::Encoder::new(statsd::Tags::InName);
    let mut sums: HashMap<String, u64> = HashMap::new();
    for line in [encoder.encode(&so_far), encoder.encode(&last)].concat() {
        if let Some((name, rest)) = line.split_once(':').filter(|(_, rest)| rest.ends_with("|c\n")) {
            *sums.entry(name.to_owned()).or_default() +=
                rest.trim_end_matches("|c\n").parse::<u64>().unwrap();
        }
    }
    let plan = "check__out___v_2_";
    assert_eq!(sums[&format!("hyperscale_run_requests_total.{plan}.Shop.order.load")], 100);
    assert_eq!(sums[&format!("hyperscale_run_calls_total.{plan}.Shop.order.load.ok")], 90);
    assert_eq!(sums[&format!("hyperscale_run_calls_total.{plan}.Shop.order.load.failed")], 10);
}

#[test]
fn counters_and_buckets_never_fall_and_the_last_ones_are_those_of_the_result() {
    let (so_far, last) = readings();
    let of_last: HashMap<_, _> =
        last.points().map(|(metric, point)| ((metric.name, &point.labels), &point.value)).collect();
    for (metric, point) in so_far.points() {
        match (&point.value, of_last.get(&(metric.name, &point.labels))) {
            (Value::Count(before), Some(Value::Count(after))) => assert!(before <= after, "{point:?}"),
            (Value::Histogram(before), Some(Value::Histogram(after))) => {
                assert!(before.count <= after.count);
                assert!(before.at_most.iter().zip(&after.at_most).all(|(before, after)| before <= after));
            }
            (Value::Gauge(_), _) => {}
            (before, after) => panic!("{before:?} became {after:?}"),
        }
    }
    let step = &result(100, 2, true).workflows[0].steps[0];
    let ok = last.points().find_map(|(metric, point)| match &point.value {
        Value::Histogram(buckets) if metric == &names::LATENCY && point.labels[1].1 == "order".into() => {
            Some(buckets)
        }
        _ => None,
    });
    assert_eq!(ok.unwrap().count, step.ok);
}

#[test]
fn no_two_readings_of_a_run_have_the_same_time() {
    let mut readings = Readings::default();
    let first = readings.so_far(&snapshot(50, 2), &exports()).at;
    let last = readings.finished(&result(100, 2, true), &exports()).at;
    assert_eq!(first.to_string(), "2025-01-01T00:00:02.000Z");
    assert_eq!(last.unix_ms, first.unix_ms + 1);
}

#[test]
fn no_reading_has_a_series_twice() {
    for reading in [readings().0, readings().1] {
        let mut seen = std::collections::HashSet::new();
        for (metric, point) in reading.points() {
            assert!(
                seen.insert((metric.name, point.labels.clone())),
                "twice: {} {:?}",
                metric.name,
                point.labels
            );
        }
    }
}
