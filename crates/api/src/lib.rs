//! The one API style of Hyperscale: JSON-RPC 2.0 over HTTP.
//!
//! ```text
//! client ── POST /rpc ──► server ── Method ──► Desk (whoever owns the job)
//!    ◄───── answer ─────────┘ ◄── answer ───────┘
//! ```
//! [`rpc`] reads and writes the envelope, [`method`] what is in it, [`server`] and [`client`] carry it, [`folder`] is where
//! local runs listen. This crate knows no engine and decides nothing about a job: it turns bytes from outside into
//! [`method::Method`]s that can be relied on, and answers into bytes.

pub mod answer;
pub mod client;
pub mod folder;
#[cfg(test)]
mod fuzz;
pub mod method;
pub mod rpc;
pub mod server;

pub use client::{CallError, Client};
pub use folder::{Folder, FolderError};
pub use method::{Method, Steer};
pub use rpc::RpcError;
pub use server::{Desk, Server};
