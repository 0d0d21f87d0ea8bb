//! Prometheus remote write 1.0: a protocol buffer of series, compressed with snappy.
//!
//! The messages follow `prometheus/prompb/types.proto` and `remote.proto`; only what is sent is declared.

use prost::Message;

use super::series::for_each;
use crate::reading::Reading;

/// Header fields that the receiver wants.
pub const FIELDS: [(&str, &str); 3] = [
    ("content-type", "application/x-protobuf"),
    ("content-encoding", "snappy"),
    ("x-prometheus-remote-write-version", "0.1.0"),
];

/// `prometheus.WriteRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    /// The series.
    #[prost(message, repeated, tag = "1")]
    pub timeseries: Vec<TimeSeries>,
}

/// `prometheus.TimeSeries`.
#[derive(Clone, PartialEq, Message)]
pub struct TimeSeries {
    /// Sorted by name.
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<LabelPair>,
    /// In the order of time.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
}

/// `prometheus.Label`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub struct LabelPair {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its text.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// `prometheus.Sample`.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Sample {
    /// The number.
    #[prost(double, tag = "1")]
    pub value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

/// The reading as the body of a request.
pub fn encode(reading: &Reading) -> Vec<u8> {
    let bytes = request(reading).encode_to_vec();
    // Fails only beyond 4 GiB; a reading has some hundred kilobytes.
    snap::raw::Encoder::new().compress_vec(&bytes).unwrap_or_default()
}

/// The reading as a message.
pub fn request(reading: &Reading) -> WriteRequest {
    let mut timeseries = Vec::new();
    for family in &reading.families {
        for_each(reading, family, |suffix, labels, number| {
            let pair = |name: &str, value: &str| LabelPair { name: name.to_owned(), value: value.to_owned() };
            let name = format!("{}{suffix}", family.metric.name);
            let mut labels: Vec<_> = labels.iter().map(|(name, value)| pair(name, value)).collect();
            labels.push(pair("__name__", &name));
            labels.sort();
            let samples = vec![Sample { value: number.as_f64(), timestamp: reading.at.unix_ms }];
            timeseries.push(TimeSeries { labels, samples });
        });
    }
    WriteRequest { timeseries }
}
