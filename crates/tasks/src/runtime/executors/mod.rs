//! Executors that need nothing from outside.

mod aggregate;
mod wait;

pub use aggregate::Aggregate;
pub use wait::Wait;
