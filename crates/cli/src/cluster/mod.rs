//! Nodes of a cluster as processes, and the way to them: what `manager` and `worker` serve, and what commands with `--server` ask.
//!
//! | module    | what it owns                                                                   |
//! | --------- | ------------------------------------------------------------------------------ |
//! | `backend` | a manager behind the API                                                       |
//! | `changes` | drains, and changes of the group, that an operator asks for                    |
//! | `feeds`   | events of the jobs that a manager leads, for those that follow them            |
//! | `refusals` | what a manager did not do, as errors                                           |
//! | `uploads` | files of plans that wait for their submission                                  |
//! | `view`    | what a manager knows about its cluster, as responses                           |
//! | `options` | options of a job, from the words of the command line                           |
//! | `submission` | a plan with everything it names, on its way to a manager                    |
//! | `node`    | settings of a node from arguments and environment                              |
//! | `metrics` | what nodes count, as Prometheus reads it                                       |
//! | `probes`  | what every node serves: health, readiness, metrics                             |
//! | `served`  | a manager with its API, started and stopped as one                             |
//! | `remote`  | the client of a cluster from arguments and environment                         |

pub(crate) mod backend;
mod changes;
mod feeds;
pub(crate) mod metrics;
pub(crate) mod node;
mod options;
pub(crate) mod probes;
mod refusals;
pub(crate) mod remote;
pub(crate) mod served;
pub(crate) mod submission;
mod uploads;
mod view;
