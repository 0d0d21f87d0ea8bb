//! The events of a run. Their types belong to the statistics, because every face reads them without the engine.

pub use hyperscale_stats::event::*;

/// Events waiting for a face. At one snapshot per second this is a minute.
pub const EVENTS_MAX: usize = 64;
