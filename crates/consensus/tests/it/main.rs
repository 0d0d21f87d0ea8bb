//! Replicas against each other: a small cluster in memory, one thread, one clock, every message and write under control.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod cluster;
mod election;
mod hostile;
mod log;
mod membership;
mod outdated;
mod redb;
mod refusal;
mod storm;
#[cfg(feature = "bugs")]
mod teeth;
mod transfer;
