//! Protocol clients: one module each, prepared once, called per request.
//!
//! A client is prepared per core, called by virtual users on that core, and reports what happened as an outcome. It
//! records no statistics, logs nothing and knows neither load models nor step graphs. Everything is `!Send`: nothing
//! here is shared between cores.

pub mod clock;
mod contract;
mod deadline;
mod dns;
#[cfg(feature = "test-protocol")]
pub mod echo;
mod errors;
mod fields;
pub mod http;
mod known;
pub mod lease;
pub mod network;
mod outcome;
mod response;
mod shared;
pub mod tls;

pub use contract::{Clients, PrepareError, Prepared, Protocol, Session, Terms};
pub use http::response::stream::StreamStats;
pub use known::Known;
pub use outcome::{CallError, Outcome, Progress};
pub use response::Response;
pub use shared::{ClientOptions, Shared};
