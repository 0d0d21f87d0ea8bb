//! The parts of a node on real sockets and real disks, on loopback.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod clusters;
mod host;
mod membership;
mod replicas;
mod support;
mod tls;
mod transport;
