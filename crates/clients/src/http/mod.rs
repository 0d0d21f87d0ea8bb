//! HTTP: prepared once per step and core, called per request.
//!
//! ```text
//! Prepared::new ─ url, fields, body → Wire (constant block + holes), Route (origin + how to reach it)
//! call ─ fill → Session (idle connection) or connection::open → exchange (write, read) → Outcome
//!                                                                  └ Reader (bytes → head, body) → Collector
//! ```
//! Nothing here knows statistics or schedules. A request is never repeated on its own account.

mod auth;
mod body;
mod call;
mod certificate;
mod chunked;
mod collect;
mod connection;
pub mod cookies;
mod core;
mod deadline;
pub mod decode;
pub mod digest;
mod dns;
mod encode;
mod errors;
mod exchange;
mod extra;
mod follow;
#[cfg(test)]
mod fuzz;
pub mod h2;
mod head;
mod io;
mod memo;
mod message;
pub mod multipart;
mod multiplex;
pub mod oauth2;
mod outcome;
mod ping;
mod post;
mod prepare;
mod proxy;
mod reader;
mod response;
mod route;
mod session;
pub mod stream;
mod target;
mod tls;
mod token;
pub mod url;
mod wire;

pub use call::call;
pub use certificate::Certificate;
pub use core::{CoreOptions, HttpCore};
pub use outcome::{CallError, Outcome, Progress};
pub use ping::{Ping, Pong, Times};
pub use post::{Answer, Post, PostError};
pub use prepare::{PrepareError, Prepared};
pub use response::Response;
pub use session::Session;
pub use stream::StreamStats;
pub use tls::TlsError;
