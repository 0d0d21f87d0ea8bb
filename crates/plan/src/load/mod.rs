//! Load models: pure functions of time.

pub mod curve;

pub use curve::{Curve, Stage};
