//! Server and client on real sockets, and bytes that no client of ours would send.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod access;
mod agent;
mod calls;
mod requests;
mod streams;
mod submit;
mod support;
mod tls;
mod unix;
