//! Whole clusters of production managers and workers, on a model of time, messages, disks and load.

mod engine;
mod model;

mod life;
mod takeover;
