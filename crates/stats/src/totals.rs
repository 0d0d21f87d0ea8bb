//! The merged windows of one workflow. Merging is associative and commutative, so that windows may arrive in any order
//! and totals of workers and datacenters may be put together in any shape.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperscale_types::Name;
use hyperscale_types::rule::Phase;

use crate::histogram::Histogram;
use crate::layout::Layout;
use crate::metric::MetricStats;
use crate::saturation::{OBSERVED_MIN_NS, Saturation};
use crate::step::StepStats;
use crate::window::{CheckStats, Iterations, Window};

/// Merged statistics of one workflow. Memory does not depend on the length of the run.
#[derive(Clone, Debug)]
pub struct Totals {
    /// Windows that were added.
    pub windows: u64,
    /// Iterations.
    pub iterations: Iterations,
    /// How long after their intended times open-model starts were dispatched.
    pub lag: Histogram,
    layout: Arc<Layout>,
    pub(crate) steps: Vec<StepStats>,
    pub(crate) checks: Vec<CheckStats>,
    pub(crate) metrics: Vec<MetricStats>,
    pub(crate) cores: BTreeMap<u32, CoreLoad>,
    /// When the generator itself was the bottleneck.
    pub saturation: Saturation,
}

/// What one core did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreLoad {
    /// CPU time of its thread.
    pub busy_ns: u64,
    /// Time in which its thread could have run and had no CPU.
    pub waited_ns: u64,
    /// Time that was observed.
    pub observed_ns: u64,
    /// End of its newest window.
    pub newest_ns: u64,
    /// Active VUs at the end of its newest window.
    pub vus: u32,
    /// The most that were active at the end of any window.
    pub vus_peak: u32,
}

impl CoreLoad {
    /// CPU time / observed time.
    pub fn busy(&self) -> Option<f64> {
        self.share(self.busy_ns)
    }

    /// Time without a CPU / observed time.
    pub fn waited(&self) -> Option<f64> {
        self.share(self.waited_ns)
    }

    fn share(&self, ns: u64) -> Option<f64> {
        (self.observed_ns >= OBSERVED_MIN_NS).then(|| ns as f64 / self.observed_ns as f64)
    }

    fn merge(&mut self, other: &CoreLoad) {
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.observed_ns = self.observed_ns.saturating_add(other.observed_ns);
        (self.newest_ns, self.vus) = (self.newest_ns, self.vus).max((other.newest_ns, other.vus));
        self.vus_peak = self.vus_peak.max(other.vus_peak);
    }
}

impl Totals {
    /// Empty totals of a workflow.
    pub fn new(layout: &Arc<Layout>) -> Self {
        Self {
            windows: 0,
            iterations: Iterations::default(),
            lag: Histogram::new(),
            layout: Arc::clone(layout),
            steps: layout.steps.iter().map(|_| StepStats::default()).collect(),
            checks: vec![CheckStats::default(); layout.checks.len()],
            metrics: layout.metrics.iter().map(|_| MetricStats::default()).collect(),
            cores: BTreeMap::new(),
            saturation: Saturation::default(),
        }
    }

    /// Adds a window of the same layout.
    pub fn add(&mut self, window: &Window) {
        debug_assert_eq!(*self.layout, *window.layout, "a window of another workflow");
        self.windows += 1;
        self.iterations.merge(&window.iterations);
        self.lag.merge(&window.lag);
        self.steps.iter_mut().zip(&window.steps).for_each(|(mine, theirs)| mine.merge(theirs));
        self.checks.iter_mut().zip(&window.checks).for_each(|(mine, theirs)| mine.merge(theirs));
        for (mine, theirs) in self.metrics.iter_mut().zip(&window.metrics) {
            mine.add(theirs, window.to_ns, window.core);
        }
        self.cores.entry(window.core).or_default().merge(&CoreLoad {
            busy_ns: window.busy_ns,
            waited_ns: window.waited_ns,
            observed_ns: window.to_ns.saturating_sub(window.from_ns),
            newest_ns: window.to_ns,
            vus: window.vus,
            vus_peak: window.vus,
        });
        self.saturation.add(window);
    }

    /// Adds totals of the same layout.
    pub fn merge(&mut self, other: &Totals) {
        debug_assert_eq!(*self.layout, *other.layout, "totals of another workflow");
        self.windows = self.windows.saturating_add(other.windows);
        self.iterations.merge(&other.iterations);
        self.lag.merge(&other.lag);
        self.steps.iter_mut().zip(&other.steps).for_each(|(mine, theirs)| mine.merge(theirs));
        self.checks.iter_mut().zip(&other.checks).for_each(|(mine, theirs)| mine.merge(theirs));
        self.metrics.iter_mut().zip(&other.metrics).for_each(|(mine, theirs)| mine.merge(theirs));
        for (core, load) in &other.cores {
            self.cores.entry(*core).or_default().merge(load);
        }
        self.saturation.merge(&other.saturation);
    }

    /// Nothing more will be reported of what is counted here, as its worker is gone: iterations that were begun and not ended count
    /// as interrupted, starts that were scheduled and not begun as dropped.
    pub fn close(&mut self) {
        let it = &mut self.iterations;
        let ended = it.completed + it.failed + it.interrupted;
        it.interrupted += it.started.saturating_sub(ended);
        if it.scheduled > 0 {
            it.dropped += it.scheduled.saturating_sub(it.started + it.dropped);
        }
    }

    /// What is recorded.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Statistics of the steps, by number.
    pub fn steps(&self) -> &[StepStats] {
        &self.steps
    }

    /// Checks, by number.
    pub fn checks(&self) -> &[CheckStats] {
        &self.checks
    }

    /// Metrics, by number.
    pub fn metrics(&self) -> &[MetricStats] {
        &self.metrics
    }

    /// Cores that have sent a window, with their number.
    pub fn cores(&self) -> impl Iterator<Item = (u32, &CoreLoad)> {
        self.cores.iter().map(|(core, load)| (*core, load))
    }

    /// Statistics of a step by its name.
    pub fn step(&self, name: &Name) -> Option<&StepStats> {
        let number = self.layout.steps.iter().position(|step| step.name == *name)?;
        self.steps.get(number)
    }

    /// Counts and timings of all test steps that are not set-up or tear-down.
    pub fn load(&self) -> LoadTotals {
        let mut load = LoadTotals::default();
        for (layout, step) in self.layout.steps.iter().zip(&self.steps) {
            if layout.is_load() {
                load.add(step);
            }
        }
        load
    }

    /// Calls of all test steps that are not set-up or tear-down: all, and those that failed. Cheaper than
    /// [`Totals::load`].
    pub fn counts(&self) -> (u64, u64) {
        let load = self.layout.steps.iter().zip(&self.steps).filter(|(layout, _)| layout.is_load());
        load.fold((0, 0), |(count, failed), (_, step)| (count + step.count, failed + step.failed))
    }

    /// Active VUs, by the newest window of each core.
    pub fn vus(&self) -> u64 {
        self.cores.values().map(|core| u64::from(core.vus)).sum()
    }

    /// The most VUs that were active, summed over cores, if any window saw one. In open models a VU is made when no other
    /// is free, so this is how many were needed.
    pub fn vus_peak(&self) -> Option<u64> {
        let sum: u64 = self.cores.values().map(|core| u64::from(core.vus_peak)).sum();
        (sum > 0).then_some(sum)
    }

    /// Share of its time that the busiest core was busy, if it was observed for long enough.
    pub fn busiest_core(&self) -> Option<f64> {
        self.cores.values().filter_map(CoreLoad::busy).reduce(f64::max)
    }

    /// Share of its time that the core that waited most had no CPU, if it was observed for long enough.
    pub fn run_queue(&self) -> Option<f64> {
        self.cores.values().filter_map(CoreLoad::waited).reduce(f64::max)
    }

    /// Whether the generator itself was the bottleneck in any second.
    pub fn generator_saturated(&self) -> bool {
        !self.saturation.is_empty()
    }
}

/// Calls of several steps as one.
#[derive(Clone, Debug, Default)]
pub struct LoadTotals {
    /// Calls that began.
    pub count: u64,
    /// Calls that were ok.
    pub ok: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Requests handed to the kernel.
    pub requests: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Latency of calls that were ok.
    pub latency: Histogram,
    /// Latency of calls that failed.
    pub failed_latency: Histogram,
    /// Service time of calls that were ok.
    pub service: Histogram,
    /// Phases of calls that were ok, in the order of [`Phase::ALL`].
    pub phases: [Histogram; Phase::ALL.len()],
}

impl LoadTotals {
    /// Adds the calls of a step.
    pub fn add(&mut self, step: &StepStats) {
        let calls = [step.count, step.ok, step.failed, step.requests];
        let counts = (calls, [step.retries(), step.bytes_sent, step.bytes_received]);
        self.absorb(counts, [&step.latency, &step.failed_latency, &step.service], &step.phases);
    }

    /// Adds all of `other`, for example another workflow of the job.
    pub fn merge(&mut self, other: &LoadTotals) {
        let calls = [other.count, other.ok, other.failed, other.requests];
        let counts = (calls, [other.retries, other.bytes_sent, other.bytes_received]);
        self.absorb(counts, [&other.latency, &other.failed_latency, &other.service], &other.phases);
    }

    /// Latency of all calls.
    pub fn latency_all(&self) -> Histogram {
        let mut all = self.latency.clone();
        all.merge(&self.failed_latency);
        all
    }

    fn absorb(&mut self, counts: ([u64; 4], [u64; 3]), timings: [&Histogram; 3], phases: &[Histogram]) {
        let mine = [
            &mut self.count,
            &mut self.ok,
            &mut self.failed,
            &mut self.requests,
            &mut self.retries,
            &mut self.bytes_sent,
            &mut self.bytes_received,
        ];
        for (mine, theirs) in mine.into_iter().zip(counts.0.into_iter().chain(counts.1)) {
            *mine = mine.saturating_add(theirs);
        }
        let mine = [&mut self.latency, &mut self.failed_latency, &mut self.service];
        mine.into_iter().zip(timings).for_each(|(mine, theirs)| mine.merge(theirs));
        self.phases.iter_mut().zip(phases).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}
