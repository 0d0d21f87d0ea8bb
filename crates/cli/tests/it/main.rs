//! The binary as people use it: real processes, real sockets, and a target that counts every request it sees.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod commands;
mod compare;
mod examples;
mod faults;
mod http;
mod interrupts;
mod models;
mod reports;
mod stall;
mod steps;
mod support;
mod thresholds;
mod trouble;
mod workflows;
