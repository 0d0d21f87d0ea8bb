//! The task plane: durable tasks with leases on PostgreSQL or SQLite, and the node that runs them.
//!
//! Clocks decide when to suspect, tokens decide who may write. Execution is at least once, completion is exactly once; effects are
//! once only through the effect key.
//!
//! - [`domain`] decides: states, trees, placement, back-off, schedules, settings. It does no I/O and reads no clock.
//! - [`store`] is what a database must do, and the two that do it. SQL is found nowhere else.
//! - [`database`] is how a PostgreSQL server is reached.
//! - [`runtime`] is a node: it claims, renews, executes and completes, and does the leader's duties while it leads.

#[cfg(feature = "bugs")]
pub mod bugs;
pub mod database;
pub mod domain;
pub mod runtime;
pub mod store;
