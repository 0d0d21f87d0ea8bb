//! The HTTP client against raw servers on loopback and peers in memory.

mod allocations;
mod auth;
mod errors;
mod exchange;
mod lease;
mod proxy;
mod reach;
mod requests;
mod retry;
mod support;
mod target;
