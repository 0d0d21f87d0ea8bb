//! The one API style of Hyperscale: JSON-RPC 2.0 over HTTP, server-sent events for streams.
//!
//! ```text
//! client ── POST /rpc, PUT /blobs ──► server ── Method, Caller ──► Backend (local run, manager, gate, worker)
//!    ◄──────── response ────────────────┘ ◄────── result ─────────────┘
//!    ◄──────── GET /events/{job} ───────┘ ◄────── EventFrames ────────┘
//! ```
//! [`rpc`] reads and writes the envelope, [`method`] and [`response`] what is in it, [`event`], [`feed`] and [`sse`]
//! streams, [`error`] has the table of error codes. [`server`] and [`client`] carry all of it, [`folder`] is where local runs
//! listen. This crate knows no engine and no cluster and decides nothing about a job: it turns bytes from outside into
//! valid [`Method`]s of authorized callers, and results into bytes.

pub mod client;
pub mod error;
pub mod event;
pub mod feed;
pub mod folder;
#[cfg(test)]
mod fuzz;
pub mod method;
pub mod response;
pub mod rpc;
pub mod server;
pub mod sse;
pub mod tls;
pub mod token;

pub use client::{CallError, Client, ClientOptions, EventStream, Servers};
pub use error::{ErrorCode, RpcError};
pub use event::{EventFrame, EventId, JobEvent, TaskEvent};
pub use folder::{Folder, FolderError};
pub use method::{A2aCall, A2aVersion, Method, Operation, Steer};
pub use server::{Access, Backend, Caller, Limits, Listener, Readiness, Server};
pub use tls::{ClientTls, ServerTls};
pub use token::ApiToken;
