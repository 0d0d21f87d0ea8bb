//! Statistics of a run: histograms, counters, windows, their merge, thresholds and the result.
//!
//! A core records into a [`Window`]; every interval the window is swapped and added to the workflow's [`Totals`].
//! Percentiles always come from merged histograms, never from percentiles. Counts are exact and must balance
//! ([`Totals::balance`]).
//!
//! This crate is pure: it must never read a clock, use randomness, do I/O or depend on an async runtime. Times come
//! in as nanoseconds of the run's clock.

pub mod balance;
mod bounded;
mod buckets;
mod coarse;
pub mod compare;
mod detail;
pub mod distribution;
pub mod event;
pub mod histogram;
pub mod human;
pub mod layout;
pub mod metric;
pub mod pulse;
pub mod result;
pub mod sample;
pub mod saturation;
pub mod series;
pub mod step;
pub mod threshold;
pub mod totals;
pub mod window;
pub mod wire;

pub use balance::Imbalance;
pub use distribution::Distribution;
pub use event::Event;
pub use histogram::Histogram;
pub use hyperscale_types::Phases;
pub use layout::{CheckLayout, Layout, MetricKind, MetricLayout, StepKind, StepLayout};
pub use pulse::Pulse;
pub use sample::{CallSample, StreamEvent};
pub use series::Series;
pub use step::StepStats;
pub use threshold::{Evaluation, evaluate, left_out_share};
pub use totals::Totals;
pub use window::{Iterations, Window};
