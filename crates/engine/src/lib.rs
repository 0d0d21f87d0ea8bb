//! Runs plan segments on cores: pacing, virtual users, recorders.

pub mod data;
