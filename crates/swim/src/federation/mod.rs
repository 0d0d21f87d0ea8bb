//! Probes between clusters: gates watch datacenters, managers watch the gates.
//!
//! Each cluster is its own SWIM; nothing is gossiped between them, and identities are namespaced by cluster. A node probes
//! one member of every other cluster per period with `xprobe`, round-robin, and is answered with `xack`, which carries the
//! cluster's aggregate. A cluster is judged as a whole: one member that answers is enough. Only answers to what was asked
//! count, each once.
//!
//! ```text
//! REACHABLE ─ no xack for `timeout` ─► SUSPECTED ─ none for `unreachable_after` more ─► UNREACHABLE
//!     ▲                                   │ (not while judgement is held)                  │
//!     └────────── xack ───────────────────┴────────────────── xack ────────────────────────┘
//! ```
//!
//! | state       | xack                 | silent for timeout | silent for longer | held      |
//! | ----------- | -------------------- | ------------------ | ----------------- | --------- |
//! | Reachable   | –                    | Suspected          | –                 | Suspected |
//! | Suspected   | Reachable            | –                  | Unreachable       | –         |
//! | Unreachable | Reachable            | –                  | –                 | –         |
//!
//! The time by which this node's own ticks are late, because it slept or is starved of CPU, counts neither as silence nor
//! towards the limit of a hold: it sent no probes then. Between `SUSPECTED` and `UNREACHABLE` all members are probed for the
//! full `unreachable_after`.
//!
//! When more than half of the clusters become suspected within a short time, this node is probably the one cut off: it
//! holds its judgement and says so. The hold ends when half of them answer again, or after its own limit. A node that
//! watches a single cluster cannot tell who is cut off and never holds.

mod cluster;
mod config;
mod hold;
mod io;
mod machine;

pub use cluster::{ClusterView, Reachability};
pub use config::{FederationConfig, FederationConfigError};
pub use io::{
    Aggregate, ClusterName, CrossBody, CrossMessage, CrossSender, DatacenterLoad, FederationAction,
    FederationCommand, FederationEvent, FederationInput, FederationTimer, MANAGERS_MAX,
};
pub use machine::{CLUSTER_MEMBERS_MAX, CLUSTERS_MAX, Federation, FederationCounters};
