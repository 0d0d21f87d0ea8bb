//! Tests of the engine through its public face: workflows on a network in memory, and whole runs.

mod allocations;
mod books;
mod pacing;
#[cfg(feature = "test-protocol")]
mod protocol;
mod segments;
mod support;
