//! HTTP: prepared once per step and core, called per request.
//!
//! ```text
//! request   Prepared::new ─ url, fields, body → Wire (constant block + holes)
//! route     origin + how to reach it: link, proxy, connection
//! call ─ fill → session (idle connection) or route::connection → h1 or h2 (write, read) → Outcome
//!                                                                  └ response (head, body) → Collector
//! ```
//! Nothing here knows statistics or schedules. A request is sent again only if the plan says so and the server provably
//! has not processed it.

pub mod auth;
mod call;
mod client;
mod dispatch;
mod follow;
#[cfg(test)]
mod fuzz;
mod h1;
pub mod h2;
mod ping;
mod post;
pub mod request;
pub mod response;
mod retry;
mod route;
pub mod session;

pub use client::HttpClient;
pub use ping::{Ping, Pong, Times};
pub use post::{Answer, Post, PostError};
pub use request::prepare::Prepared;
pub use request::url;
pub use session::Session;
