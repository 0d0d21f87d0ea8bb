//! Laws of the statistics, seen from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod books;
mod histogram;
mod result;
mod saturation;
mod series;
mod thresholds;
mod wire;
