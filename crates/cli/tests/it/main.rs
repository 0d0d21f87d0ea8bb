//! The binary as people use it: real processes, real sockets, and a target that counts every request it sees.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod author;
mod cluster;
mod commands;
mod compare;
mod control;
mod convert;
mod dashboard;
mod data;
mod doctor;
mod examples;
mod exports;
mod faults;
mod guide;
mod home;
mod http;
mod interrupts;
mod models;
mod outputs;
mod packaging;
mod ping;
mod recordings;
mod reports;
mod schema;
mod screen;
mod secrets;
mod seeds;
mod stall;
mod steps;
mod support;
mod tasks;
mod thresholds;
mod trouble;
mod witnesses;
mod workflows;
