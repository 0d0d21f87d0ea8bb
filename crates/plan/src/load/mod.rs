//! Load models: pure functions of time, one file each. They say how many VUs or starts there are; who makes them is the
//! engine's business.
//!
//! | model | file | says |
//! | --- | --- | --- |
//! | closed | [`closed`] | how many VUs are active at a time, when each of them begins |
//! | open | [`open`] | the intended nanosecond of every start |
//! | iterations | [`iterations`] | how many iterations a core makes |
//! | paced | [`paced`] | when a VU's next iteration begins |
//! | all of them | [`mix`] | which part of a load that workflows share is whose |
//!
//! All of them are exact: what the cores do adds up to what the plan says ([`share`]).

pub mod closed;
pub mod curve;
pub mod iterations;
pub mod mix;
pub mod open;
pub mod paced;
mod random;
pub mod share;

pub use curve::{Curve, Stage};
pub use open::Arrivals;
pub use share::{SegmentShare, Share};

#[cfg(test)]
mod tests {
    use super::{Curve, Share, Stage};
    use hyperscale_types::Span;
    use proptest::prelude::*;

    /// Curves with ramps, holds, pauses and jumps, up to some 100 000 starts.
    pub(super) fn curve() -> impl Strategy<Value = Curve> {
        let value = || prop_oneof![Just(0.0), 0.1f64..50.0, 100.0f64..2_000.0];
        let over = || prop_oneof![Just(0u64), 1_000_000u64..20_000_000_000];
        let stages = proptest::collection::vec((value(), over()), 0..5);
        (value(), value(), stages).prop_map(|(start, to, stages)| {
            let first = Stage { to, over: Span::from_secs(1) };
            let more = stages.into_iter().map(|(to, ns)| Stage { to, over: Span::from_nanos(ns) });
            Curve { start, stages: std::iter::once(first).chain(more).collect() }
        })
    }

    /// The shares of all cores of a workflow.
    pub(super) fn shares() -> impl Strategy<Value = Vec<Share>> {
        (1u32..9, 0u32..60).prop_map(|(cores, more)| {
            (0..cores).map(|core| Share { core, cores, vus: cores + more }).collect()
        })
    }
}
