//! When the generator itself was the bottleneck, judged second by second on each core.
//!
//! ```text
//! core: windows of a second ──Judge──► Judged (in the window that ends the second) ──► Saturation (totals)
//! ```
//! An average over the run would hide a short lack of CPU, which is enough to spoil the high percentiles.

use std::collections::BTreeMap;

use hyperscale_types::{ErrorKind, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::series::SECOND_NS;
use crate::window::Window;

/// A core thread above this share of its CPU is saturated.
pub const BUSY_MAX: f64 = 0.95;
/// A core thread that waits for its CPU for more than this share of the time is saturated: another process has it.
pub const RUN_QUEUE_MAX: f64 = 0.05;
/// Starts that are later than this at the 99th percentile are too late.
pub const LAG_MAX_NS: u64 = 10_000_000;
/// Time a core must have been observed before shares of it mean anything.
pub(crate) const OBSERVED_MIN_NS: u64 = SECOND_NS / 2;

/// By what the generator was the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Calls hit a limit of this machine: open files or local ports.
    LocalLimit,
    /// The core's thread used more than 95 % of its CPU.
    Cpu,
    /// The core's thread waited for its CPU for more than 5 % of the time: another process had it.
    RunQueue,
    /// One start in a hundred began more than 10 ms late though a VU was free.
    Lag,
    /// One start in a hundred began more than 10 ms late, and starts had to wait for a free VU: `max_vus` is too small
    /// for the load, or the target slower than expected.
    Vus,
}

impl Measure {
    /// All, the most telling first. The position is the bit on the wire: only append.
    pub const ALL: [Measure; 5] =
        [Measure::LocalLimit, Measure::Cpu, Measure::RunQueue, Measure::Lag, Measure::Vus];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What was judged of the time that ends with a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Begin of that time.
    pub from_ns: u64,
    /// The bits of the measures that were exceeded; at least one.
    pub(crate) exceeded: u8,
}

/// Judges the windows of one core, in their order.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// Begin of the second under way; `None` without a window in it.
    from_ns: Option<u64>,
    busy_ns: u64,
    waited_ns: u64,
    local_limits: u64,
    started: u64,
    queued: u64,
    lag: Histogram,
}

impl Judge {
    /// Adds a window that is about to leave its core. If it ends a second, or is the last one, it carries the verdict on
    /// it. `queued` of its starts had to wait for a free VU.
    pub fn window(&mut self, window: &mut Window, queued: u64, is_last: bool) {
        let from_ns = *self.from_ns.get_or_insert(window.from_ns);
        self.busy_ns += window.busy_ns;
        self.waited_ns += window.waited_ns;
        self.local_limits +=
            window.steps.iter().map(|step| step.errors[ErrorKind::LocalLimit.index()]).sum::<u64>();
        self.started += window.iterations.started;
        self.queued += queued;
        self.lag.merge(&window.lag);
        if is_last || window.to_ns / SECOND_NS > from_ns / SECOND_NS {
            let exceeded = self.exceeded(window.to_ns.saturating_sub(from_ns));
            window.judged = (exceeded != 0).then_some(Judged { from_ns, exceeded });
            self.lag.clear();
            let lag = std::mem::take(&mut self.lag);
            *self = Judge { lag, ..Judge::default() };
        }
    }

    fn exceeded(&self, observed_ns: u64) -> u8 {
        let above =
            |ns: u64, most: f64| observed_ns >= OBSERVED_MIN_NS && ns as f64 > most * observed_ns as f64;
        let late = self.lag.percentile_ns(99.0).is_some_and(|lag| lag > LAG_MAX_NS);
        let waits_for_vus = self.queued.saturating_mul(100) > self.started;
        let found = [
            (Measure::LocalLimit, self.local_limits > 0),
            (Measure::Cpu, above(self.busy_ns, BUSY_MAX)),
            (Measure::RunQueue, above(self.waited_ns, RUN_QUEUE_MAX)),
            (Measure::Lag, late && !waits_for_vus),
            (Measure::Vus, late && waits_for_vus),
        ];
        found.into_iter().filter(|(_, is)| *is).fold(0, |bits, (measure, _)| bits | measure.bit())
    }
}

/// The seconds in which cores were saturated. Like a [`crate::Series`] its points become wider when there would be too
/// many, and merging is associative and commutative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// Width of a point: a power of two.
    pub(crate) width_s: u64,
    /// Bits of the measures that were exceeded in each point, by core; the last one is not 0.
    pub(crate) cores: BTreeMap<u32, Vec<u8>>,
}

/// An interval in which a core was saturated by one measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturated {
    /// Begin, in seconds of the run's clock.
    pub from_s: u64,
    /// End.
    pub to_s: u64,
    /// Number of the core within the workflow.
    pub core: u32,
    /// By what.
    pub measure: Measure,
}

impl Default for Saturation {
    fn default() -> Self {
        Saturation { width_s: 1, cores: BTreeMap::new() }
    }
}

impl Saturation {
    /// Whether no core ever was.
    pub fn is_empty(&self) -> bool {
        self.cores.is_empty()
    }

    /// Adds what a window carries.
    pub(crate) fn add(&mut self, window: &Window) {
        let Some(judged) = window.judged else { return };
        // Windows do not end at full seconds: the nearest ones are meant.
        let nearest = |ns: u64| ns.saturating_add(SECOND_NS / 2) / SECOND_NS;
        let from_s = nearest(judged.from_ns);
        self.mark(window.core, from_s..nearest(window.to_ns).max(from_s + 1), judged.exceeded);
    }

    /// Adds the saturation of other cores, or of other times.
    pub(crate) fn merge(&mut self, other: &Saturation) {
        while self.width_s < other.width_s {
            self.coarsen();
        }
        for (core, points) in &other.cores {
            for (number, bits) in points.iter().enumerate().filter(|(_, bits)| **bits != 0) {
                let from_s = number as u64 * other.width_s;
                self.mark(*core, from_s..from_s + other.width_s, *bits);
            }
        }
    }

    /// All intervals, by core and measure in the order of time.
    pub fn intervals(&self) -> Vec<Saturated> {
        let mut all: Vec<Saturated> = Vec::new();
        for (&core, points) in &self.cores {
            for measure in Measure::ALL {
                for (number, _) in points.iter().enumerate().filter(|(_, bits)| *bits & measure.bit() != 0) {
                    let from_s = number as u64 * self.width_s;
                    let to_s = from_s + self.width_s;
                    match all.last_mut() {
                        Some(last) if (last.core, last.measure, last.to_s) == (core, measure, from_s) => {
                            last.to_s = to_s;
                        }
                        _ => all.push(Saturated { from_s, to_s, core, measure }),
                    }
                }
            }
        }
        all
    }

    fn mark(&mut self, core: u32, seconds: std::ops::Range<u64>, bits: u8) {
        while seconds.end.div_ceil(self.width_s) > limits::SERIES_POINTS_MAX as u64 {
            self.coarsen();
        }
        let points = seconds.start / self.width_s..seconds.end.div_ceil(self.width_s);
        let known = self.cores.entry(core).or_default();
        if known.len() < points.end as usize {
            known.resize(points.end as usize, 0);
        }
        known[points.start as usize..points.end as usize].iter_mut().for_each(|point| *point |= bits);
    }

    fn coarsen(&mut self) {
        self.width_s *= 2;
        for points in self.cores.values_mut() {
            *points = points.chunks(2).map(|pair| pair.iter().fold(0, |all, bits| all | bits)).collect();
        }
    }
}
