//! What managers and workers say to each other, as messages of the wire, and back.
//!
//! | from → to         | module       | messages                                                                            |
//! | ----------------- | ------------ | ------------------------------------------------------------------------------------ |
//! | manager → worker  | `to_worker`  | `registered`, `lease_renewed`, `dispatch`, `direct`, `job_leader_changed`, `attempt_result_answer`, `progress_answer`, `drain` |
//! | worker → manager  | `to_manager` | `register`, `lease_renew`, `dispatch_answer`, `progress`, `attempt_result`, `job_leader_changed_answer` |
//! | manager → manager | `to_peer`    | `presence`, `lease_renew`, `lease_renewed`, `attempt_result`                        |
//!
//! Every field is mapped and nothing is decided: what is missing or unknown is an error, and the message is dropped by the
//! host, as one that was lost. Which role may say what is the table of `wire`, asked before.

mod parts;
#[cfg(test)]
mod tests;
mod to_manager;
mod to_peer;
mod to_worker;

pub use to_manager::{to_manager_in, to_manager_out};
pub use to_peer::{to_peer_in, to_peer_out};
pub use to_worker::{to_worker_in, to_worker_out};
