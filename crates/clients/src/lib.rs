//! Protocol clients: one module each, prepared once, called per request.
//!
//! A client is prepared per core, called by virtual users on that core, and reports what happened as an outcome. It
//! records no statistics, logs nothing and knows neither load models nor step graphs. Everything is `!Send`: nothing
//! here is shared between cores.

pub mod clock;
mod deadline;
mod dns;
mod errors;
pub mod http;
pub mod network;
mod outcome;
mod response;
pub mod tls;

pub use http::response::stream::StreamStats;
pub use outcome::{CallError, Outcome, Progress};
pub use response::Response;
