//! A small application on the log: clients submit jobs, managers lead them, workers run their segments under leases.
//!
//! It exists so that tokens, leases and terminal states are exercised by everything that goes wrong in a seed; the role
//! cores take its place later. What decides is production code – register, granter, holder, roll call, token book. What
//! stands here is a driver: each step follows from the log, is repeated until the log shows it, and may be proposed by
//! somebody who has been replaced long ago. The register has to cope with that, and the judges look whether it does.
//!
//! | file            | whose part it is                                                                       |
//! | --------------- | -------------------------------------------------------------------------------------- |
//! | `manager`       | a manager: its replica, and what it answers                                            |
//! | `client_requests` | what clients ask of a manager                                                        |
//! | `outcomes`      | what becomes of what a manager asked for                                               |
//! | `requests`      | what a manager asked of its replica, and what for                                      |
//! | `leases`        | a manager forwards renewals, the cluster leader grants them                            |
//! | `leader_duties` | the cluster leader ends leases and gives the jobs of silent managers to others         |
//! | `driver`        | a job leader assigns, dispatches, cancels and ends                                     |
//! | `placement`     | which workers get the segments of a job                                                |
//! | `worker`        | holds a lease, runs attempts, reports their ends until somebody confirms               |
//! | `client`        | what is ordered, and what clients were told                                            |
//! | `plan`          | what a job consists of, all of it in its id                                            |

mod aside;
pub mod client;
mod client_requests;
mod driver;
mod leader_duties;
mod leases;
mod manager;
mod outcomes;
mod placement;
pub mod plan;
mod requests;
mod worker;

pub use manager::{Answer, ManagerAction, ManagerDriver, ManagerOptions};
pub use worker::{Worker, WorkerAction};
