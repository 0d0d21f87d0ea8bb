//! What nodes say to each other and how it gets there unharmed: messages, framing, sealing, limits.
//!
//! This crate owns the bytes between nodes. It must never open a socket, read a clock, draw randomness on its own, or
//! know what a message means beyond who may say it.
//!
//! ```text
//! messages (proto)   kind, speak: what it is, who may say it       hello: who is there, which version
//!      │             measure: what it takes when it is decoded
//!      │ bytes
//! mux ── compress    streams of chunks with credit, classes, reassembly
//!      │ chunks                                                    limit: rates, handshakes in progress
//! noise              handshake, session: one sealed frame per chunk
//!      │ frames
//! frame              length, then bytes                            link: all of this in one
//!                                                                  connection: link, hello, who may say what
//!
//! datagram           one sealed packet each, replay window, challenge of new boots
//! secret, domain, identity    what keys and roles are made from
//! counters           every refusal has a reason and a number
//! ```

pub mod chunk;
pub mod class;
pub mod compress;
pub mod connection;
pub mod counters;
pub mod datagram;
pub mod domain;
pub mod entropy;
pub mod frame;
pub mod hello;
pub mod identity;
pub mod kind;
pub mod limit;
pub mod limits;
pub mod link;
pub mod measure;
pub mod messages;
pub mod mux;
pub mod noise;
pub mod secret;
pub mod speak;
pub mod table;

#[cfg(test)]
mod fuzz;
