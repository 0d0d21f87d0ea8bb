//! Samples of real-world shapes, and what decoders make of broken ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod broken;
mod details;
mod fuzz;
mod samples;
mod support;
