//! The wire as its users see it: golden bytes of every message, what decoding takes, and hostile peers at whole links.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod decoded;
mod golden;
mod hostile;
mod layouts;
mod samples;
