//! What runs on the log: managers and workers with their production cores, clients that order jobs, and a small driver in the
//! place of gates, whose core comes later.
//!
//! | file     | whose part it is                                                                                        |
//! | -------- | ------------------------------------------------------------------------------------------------------- |
//! | `voter`  | a member of a group at work, whichever role it has                                                       |
//! | `manager` | a manager: the production core, and what clients ask of it                                              |
//! | `worker` | a worker: the production core on a model of the engine                                                   |
//! | `gate`   | a gate: leads jobs without workflows, which end after a while                                            |
//! | `gate_duties` | the leader of the gates gives the jobs of silent gates to others                                    |
//! | `aside`  | commands beside that, so that every kind of command of gates meets every fault                           |
//! | `client` | what is ordered, and what clients were told                                                              |
//! | `plan`   | what a job consists of                                                                                   |

mod aside;
pub mod client;
mod gate;
mod gate_duties;
mod manager;
pub mod plan;
mod voter;
mod worker;

pub use voter::{Answer, Deed, Voter, VoterOptions};
pub use worker::{WorkerDeed, WorkerHost};
