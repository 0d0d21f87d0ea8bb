//! One module per format. Pure: a reading in, bytes out; no sockets, files or clocks.
//!
//! | format | counters | latency |
//! | --- | --- | --- |
//! | [`prometheus`], [`remote_write`] | sums since the run began | histogram, and exact percentiles as gauges |
//! | [`otlp`] | cumulative sums | explicit-bucket histogram, and the same gauges |
//! | [`influx`], [`csv`] | sums since the run began | percentiles |
//! | [`statsd`] | differences | percentiles |

pub mod csv;
pub mod datagrams;
pub mod influx;
pub mod otlp;
pub mod prometheus;
pub mod remote_write;
mod series;
pub mod statsd;

use std::fmt;

/// A number as text: counts without a point, everything else as short as it can be read back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A count.
    Count(u64),
    /// Anything else.
    Float(f64),
}

impl Number {
    /// As formats see it that know nothing but floats. Exact up to 2⁵³.
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Float(value) => value,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}
