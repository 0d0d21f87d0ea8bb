//! What an attempt leaves, as a blob.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_job::SegmentResult;
use hyperscale_job::segment::{Provided, VuCounts};
use hyperscale_wire::messages as wire;
use prost::Message;

use super::RecordError;
use super::parts::{Read, failure_in, failure_out, json_in, json_out, position_out, time_out};

/// What an attempt leaves: its result, and all statistics of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptLeft {
    /// Failures, values and what became of its virtual users.
    pub result: SegmentResult,
    /// Encoded totals of the statistics crate; empty if it measured nothing. Reading them needs the layout.
    pub totals: Bytes,
}

impl AttemptLeft {
    /// The bytes of the blob.
    pub fn encode(&self) -> Bytes {
        let SegmentResult { failure, values, provided, vus, stopped } = &self.result;
        let provided = provided.iter().map(|it| wire::AttemptValue {
            provide: position_out(it.provide),
            produced_ns: time_out(it.produced),
            value: Some(json_out(&it.value)),
        });
        let message = wire::AttemptLeft {
            failure: failure.as_ref().map(failure_out),
            stopped: stopped.as_ref().map(failure_out),
            values: values.iter().map(json_out).collect(),
            provided: provided.collect(),
            vus_started: vus.started,
            vus_failed: vus.failed,
            vus_out_of_rows: vus.out_of_rows.clone(),
            totals: self.totals.clone(),
        };
        message.encode_to_vec().into()
    }

    /// Reads the bytes of the blob.
    pub fn decode(bytes: &Bytes) -> Result<Self, RecordError> {
        let left = wire::AttemptLeft::decode(bytes.clone()).map_err(|_| RecordError::Malformed)?;
        let provided = left.provided.into_iter().map(|it| {
            Ok(Provided {
                provide: it.provide as usize,
                produced: Duration::from_nanos(it.produced_ns),
                value: json_in(&it.value.ok_or(RecordError::Missing("value"))?)?,
            })
        });
        let result = SegmentResult {
            failure: left.failure.map(failure_in).transpose()?,
            values: left.values.iter().map(json_in).collect::<Read<_>>()?,
            provided: provided.collect::<Read<_>>()?,
            vus: VuCounts {
                started: left.vus_started,
                failed: left.vus_failed,
                out_of_rows: left.vus_out_of_rows,
            },
            stopped: left.stopped.map(failure_in).transpose()?,
        };
        Ok(Self { result, totals: left.totals })
    }
}
