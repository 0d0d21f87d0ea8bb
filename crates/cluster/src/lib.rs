//! What managers and workers do: registration, leases, dispatch, results, take-over. Free of I/O, clocks and randomness but
//! their seed.
//!
//! | module     | what it owns                                                                          |
//! | ---------- | -------------------------------------------------------------------------------------- |
//! | [`message`] | what managers and workers say to each other                                           |
//! | [`encoding`] | those messages as messages of the wire, and back                                     |
//! | [`bundle`] | a plan with everything it names, as it travels                                         |
//! | [`manager`] | a manager: submissions, leases, duties of the cluster leader, jobs that are led        |
//! | [`worker`] | a worker: registration, lease, attempts, outbox                                        |
//! | [`record`] | decisions of a job and what attempts leave, as bytes of the log and of blobs          |
//!
//! This crate must never open a socket, read a clock or draw randomness on its own, nor decide anything about a job that its
//! core in `hyperscale-job` has not decided.

pub mod bundle;
pub mod encoding;
pub mod manager;
pub mod message;
pub mod record;
pub mod worker;
