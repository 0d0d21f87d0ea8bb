//! Membership by SWIM with Lifeguard: who is in the cluster, who answers, and what they say about themselves.
//!
//! The core is [`Swim`]: `handle(now, input)` in, actions out. It has no sockets, no clock and no randomness but its seed,
//! so that the same code runs in a node and in the simulator. It is evidence for the layers above, never a decision.
//!
//! ```text
//! UNKNOWN ─join/ack─► ALIVE ─probe failed / suspect(inc ≥)─► SUSPECT ─timeout─► DEAD ─ttl─► removed
//!                       ▲                                       │                 │
//!                       └────────── alive(inc >) ───────────────┘                 │
//!                       └────────── alive(boot or inc >) ─────────────────────────┘
//! LEFT: announced by the node itself; not a failure, no event of death.
//! ```
//!
//! | file          | what it owns                                                             |
//! | ------------- | ------------------------------------------------------------------------ |
//! | `claim`       | which of two sayings about a member holds                                |
//! | `table`       | members, probe order, tombs, drawing at random                           |
//! | `probe`       | states of a probe round, help for the rounds of others                   |
//! | `suspicion`   | how long an accused member may take to contradict                        |
//! | `awareness`   | the node's trust in itself (LHM); `load`: levels made from it            |
//! | `gossip`      | queues and shares of the datagram                                        |
//! | `workers`     | worker state between managers                                            |
//! | `federation`  | probes between clusters, a core of its own                               |
//! | `machine`     | the core: one arm per input, the only place where state changes          |
//! | `bugs`        | deliberate bugs, compiled only for the simulator (feature `bugs`)        |
//!
//! This crate must never depend on an async runtime, sockets, the encoding of messages or another core.

/// Whether a deliberate bug is on; never without the feature `bugs`.
#[cfg(feature = "bugs")]
macro_rules! bug {
    ($config:expr, $bug:ident) => {
        $config.bugs.has($crate::Bug::$bug)
    };
}
#[cfg(not(feature = "bugs"))]
macro_rules! bug {
    ($config:expr, $bug:ident) => {
        false
    };
}

mod alarm;
mod audit;
mod awareness;
#[cfg(feature = "bugs")]
mod bugs;
mod claim;
mod config;
mod contacts;
mod counters;
mod deadlines;
mod digest;
mod embedded;
pub mod federation;
mod gossip;
mod io;
mod load;
mod machine;
mod message;
mod probe;
pub mod size;
mod suspicion;
mod table;
mod workers;

pub use audit::{AuditEntry, Cause};
pub use awareness::{LHM_MAX, Lifeguard};
#[cfg(feature = "bugs")]
pub use bugs::{Bug, Bugs};
pub use claim::{Claim, Incarnation, Status};
pub use config::{
    AUDIT_MAX, Config, ConfigError, ContactConfig, DATAGRAM_BYTES_MAX, DATAGRAM_BYTES_MIN, FANOUT_MAX,
    GossipConfig, HELPERS_MAX, Limits, MEMBERS_MAX, ProbeConfig, SuspicionConfig, WORKERS_MAX,
};
pub use contacts::CONTACTS_MAX;
pub use counters::Counters;
pub use digest::{BUCKETS, Digest};
pub use embedded::{Embedded, EmbeddedState, GateLoad, ManagerLoad, Phase, WorkerLoad, WorkerState};
pub use gossip::MEMBER_UPDATES_MAX;
pub use io::{Action, Command, Destination, Endpoint, Event, Input, Timer};
pub use load::LoadLevel;
pub use machine::{LocalNode, MemberView, Sizes, Swim};
pub use message::{Datagram, MemberUpdate, Message, PAGE_MAX, Peer, Sender, StreamBody, StreamMessage};
pub use probe::{ASTRAY_MAX, RELAYS_MAX};
pub use suspicion::{CONFIRMATIONS_MAX, SuspicionTimeouts, WITNESSES_MAX, Witnesses};
pub use table::TOMBS_MAX;
pub use workers::{
    GRAVES_MAX, WORKER_UPDATE_STALE_AFTER, WORKER_UPDATES_MAX, WorkerMembership, WorkerReport,
    WorkerStanding, WorkerUpdate, WorkerVersion, WorkerView,
};
