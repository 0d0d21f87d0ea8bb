//! Whole clusters of production managers and workers, on a model of time, messages, disks and load.

#![expect(clippy::unwrap_used, reason = "what a model cannot go on without fails its test")]

mod model;

mod bad_network;
mod cancel;
mod choice;
mod cost;
mod dispatch;
mod leave;
mod life;
mod limits;
mod loss;
mod queue;
mod restart;
mod takeover;
mod windows;
