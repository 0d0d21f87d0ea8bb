//! The stores under one suite of rules, against a reference model, with deliberate bugs, and under running nodes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]
#![expect(clippy::print_stdout, reason = "says which case or seed failed")]

mod bugs;
mod cases;
mod chaos;
mod executors;
mod model;
mod nodes;
mod open;
mod partitions;
mod processes;
mod server;
mod support;
mod tls;
