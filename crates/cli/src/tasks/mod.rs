//! A node of the task plane as a process, and the way to it: what `serve` runs, and what `tasks`, `schedules` and `nodes` ask.
//!
//! | module      | what it owns                                                              |
//! | ----------- | ------------------------------------------------------------------------- |
//! | `settings`  | settings of a node from arguments and environment                         |
//! | `database`  | which database, and opening it                                            |
//! | `executors` | what a node can run                                                       |
//! | `served`    | a node with its API, started, waited for and stopped as one               |
//! | `backend`   | a node behind the API: one `match` over its methods                       |
//! | `a2a`       | the node as an agent: A2A 1.0 and 0.3                                     |
//! | `trees`, `schedules`, `nodes`, `leases` | the methods of each family                    |
//! | `streams`   | events for those that follow them                                         |
//! | `refusals`  | what the store did not do, as errors of the API                           |
//! | `view`      | what methods take and return, as servers and commands write it            |
//! | `schema`    | JSON Schemas of the parameters of all methods                             |
//! | `metrics`   | what a node counts, as Prometheus reads it                                |
//! | `file`      | trees and schedules in files, with places for errors                      |
//! | `plans`     | plans that load tests name, embedded in their inputs                      |
//! | `load_test` | the executor of load tests, which needs plans, the engine and the client of the API |

mod a2a;
mod backend;
pub(crate) mod database;
pub(crate) mod executors;
pub(crate) mod file;
mod leases;
pub(crate) mod load_test;
mod metrics;
mod nodes;
mod plans;
mod refusals;
mod schedules;
mod schema;
pub(crate) mod served;
pub(crate) mod settings;
mod streams;
mod trees;
pub(crate) mod view;

/// Where a node listens, and where commands find it, unless they are told otherwise.
pub(crate) const DEFAULT_LISTEN: &str = "127.0.0.1:7200";
