//! The built-in test target: an HTTP server that counts, exactly, every request whose head it read completely.
//!
//! It is the outside witness of the tests and of `hyperscale demo`: what a run reports is compared with what was
//! seen here. So it shares nothing with the clients it is tested against – its HTTP/1.1 reader and writer are its own
//! – and it can misbehave on purpose: delays, stalls, resets, answers cut short, bytes that are no HTTP.
//!
//! ```no_run
//! use hyperscale_target::{Options, Target};
//!
//! let options = Options::new(([127, 0, 0, 1], 0).into());
//! let running = Target::bind(options)?.spawn()?;
//! println!("http://{}/", running.handle().listen());
//! println!("{} requests", running.handle().stats().requests);
//! running.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It must never be used for real traffic, never repeat or drop a count, and never talk to anybody on its own.

mod counts;
mod h1;
mod h2_server;
mod inject;
mod options;
mod reply;
mod request;
mod routes;
mod server;
mod socket;
mod tls;
mod worker;

pub use counts::{Connections, Stats};
pub use options::{
    BODY_SIZE_MAX, DELAY_MAX, ErrorRate, Identity, Latency, OptionError, Options, Stall, TlsOptions,
};
pub use server::{BindError, Handle, Running, Target};
pub use tls::TlsError;
