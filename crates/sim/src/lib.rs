//! Discrete-event simulator of whole clusters: one thread, one seed decides everything.
//!
//! The production cores of membership, log, managers and workers run unchanged; only clock, processor, disk, network, process and
//! engine are models, and gates have a small driver until their core takes its place. A seed draws a cluster, a subset of all kinds of trouble and the times they come, and runs two phases: *safety*, with faults and
//! every invariant checked after every event, then *liveness*, without faults, in which the cluster must find itself again.
//!
//! | folder or file | what it owns                                                                    |
//! | -------------- | ------------------------------------------------------------------------------- |
//! | `kernel`       | the queue of events, true time, the trace hash                                  |
//! | `clock`, `cpu`, `process`, `network` | models of a machine and of what lies between machines     |
//! | `log`          | the replicated log: hosts, disks, letters                                       |
//! | `jobs`         | what runs on it: managers, workers, gates, and clients that order jobs          |
//! | `faults`       | what goes wrong: kinds, swarm, schedule F                                       |
//! | `world`        | nodes: the cores on their models, the wire between them where keys are changed  |
//! | `invariants`   | what must hold, one file each                                                   |
//! | `run`          | the two phases of a seed                                                        |
//! | `report`       | a failure: seed, command that repeats it, last events per node                  |
//! | `paths`        | rare paths that a batch of seeds must have taken                                |
//! | `teeth`        | deliberate bugs, each caught by a recorded seed                                 |
//! | `measure`      | the goals in numbers                                                            |
//!
//! Nothing in here reads a clock, uses a global generator, starts a thread within a seed or depends on the order of a hash
//! map: the same seed gives the same trace.

pub mod bug;
pub mod clock;
pub mod cpu;
pub mod faults;
pub mod invariants;
pub mod jobs;
pub mod kernel;
pub mod log;
pub mod measure;
pub mod moment;
pub mod network;
pub mod paths;
pub mod process;
pub mod recorder;
pub mod report;
pub mod run;
pub mod teeth;
pub mod trace;
pub mod world;

pub use bug::Bug;
pub use run::{Options, Outcome, run};
pub use world::Size;
