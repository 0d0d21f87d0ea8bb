//! The runtime of a node: moves bytes and time for the cores, and decides nothing.
//!
//! ```text
//!  sockets ── transport ──► events ─┐                       ┌─► transport ── sockets
//!  UDP ────── membership ─► events ─┼─► loop: one enum, ────┼─► membership
//!  disk ───── disk ───────► events ─┤   one handler         ├─► disk
//!  clock ─────────────────────────── ┘                      └─► timer
//! ```
//!
//! | module       | what it owns                                                                        |
//! | ------------ | ----------------------------------------------------------------------------------- |
//! | `clock`      | the one clock of a node, which counts while the machine sleeps                      |
//! | `entropy`    | randomness of the operating system                                                  |
//! | `directory`  | the data directory: node id, boot epoch, lock                                       |
//! | `transport`  | TCP connections to other nodes: dialling, accepting, queues, backpressure           |
//! | `membership` | the thread of the failure detector: UDP socket, timers, snapshot of the view        |
//! | `disk`       | the threads that write the log and the blobs                                        |
//! | `manager`    | the loop of a manager: feeds its core from all of these and performs what it wants  |
//! | `launch`     | whole nodes, joined from these parts and started                                    |
//! | `worker`     | the loop of a worker, and the attempts that run on it                               |
//!
//! Each part is made from `Options`, runs until it is told to stop, and is reached through a cheap handle. Channels are
//! bounded by a named constant. This crate must never decide what a core decides, nor depend on a face.

pub mod clock;
mod contacts;
pub mod directory;
pub mod disk;
pub mod entropy;
pub mod launch;
pub mod manager;
pub mod membership;
pub mod shutdown;
pub mod transport;
pub mod worker;
