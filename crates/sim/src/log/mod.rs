//! The replicated log beside the membership: what a manager or a gate hosts, on models of disk and processor.
//!
//! | file      | what it owns                                                                       |
//! | --------- | ---------------------------------------------------------------------------------- |
//! | `host`    | a node's replica over its lives: directory, disk, and how far its start has come   |
//! | `disk`    | writes that take time, and are lost, torn, stalled or refused                      |
//! | `elections` | who can be elected with what is on the disks                                     |
//! | `journal` | the production register as the machine, with a note of every command it applied   |
//! | `letter`  | everything that nodes of this world say to each other                              |
//!
//! The replica, the register, leases and tokens are the production code. What stands here decides nothing.

pub mod disk;
pub mod elections;
pub mod host;
pub mod journal;
pub mod letter;

pub use disk::{Disk, Terms};
pub use host::{Host, Stage};
pub use journal::{Journal, Written};
pub use letter::Letter;
