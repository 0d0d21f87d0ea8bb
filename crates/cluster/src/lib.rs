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
//! | `model`    | a model of the engine, compiled only for the simulator and tests (feature `model`)     |
//! | `bugs`     | deliberate bugs, compiled only for the simulator (feature `bugs`)                      |
//!
//! This crate must never open a socket, read a clock or draw randomness on its own, nor decide anything about a job that its
//! core in `hyperscale-job` has not decided.

/// Whether a deliberate bug is switched on; without the feature `false`, and the code behind it is not compiled in.
macro_rules! bug {
    ($options:expr, $name:ident) => {{
        #[cfg(feature = "bugs")]
        let is_on = $options.bugs.has(crate::bugs::Bug::$name);
        #[cfg(not(feature = "bugs"))]
        let is_on = false;
        is_on
    }};
}

#[cfg(feature = "bugs")]
pub mod bugs;
pub mod bundle;
pub mod encoding;
pub mod manager;
pub mod message;
#[cfg(feature = "model")]
pub mod model;
pub mod record;
pub mod worker;
