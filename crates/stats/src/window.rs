//! HOT: one core's statistics of one interval, which is also what a core records into.
//!
//! A core owns two windows and swaps them: one is written, the other is on its way to the collector and back. Recording
//! takes no lock and, after first use, no memory; [`Window::clear`] keeps what was allocated.

use std::sync::Arc;

use hyperscale_types::ErrorKind;

use crate::histogram::Histogram;
use crate::layout::Layout;
use crate::metric::MetricStats;
use crate::sample::{CallSample, StreamEvent};
use crate::saturation::Judged;
use crate::step::StepStats;

/// One core's statistics of one interval of the run's clock.
#[derive(Clone, Debug)]
pub struct Window {
    /// Number of the window on its core, from 0.
    pub seq: u64,
    /// Number of the core within the workflow.
    pub core: u32,
    /// Begin of the interval.
    pub from_ns: u64,
    /// End of the interval.
    pub to_ns: u64,
    /// Active VUs at its end.
    pub vus: u32,
    /// CPU time of the core's thread in it.
    pub busy_ns: u64,
    /// Time in which the core's thread could have run and had no CPU.
    pub waited_ns: u64,
    /// What was judged of the generator in the second that ends with it.
    pub judged: Option<Judged>,
    /// Iterations in it.
    pub iterations: Iterations,
    pub(crate) steps: Vec<StepStats<u32>>,
    pub(crate) checks: Vec<CheckStats>,
    pub(crate) metrics: Vec<MetricStats<u32>>,
    pub(crate) lag: Histogram<u32>,
    pub(crate) layout: Arc<Layout>,
}

/// Iterations by what became of them. At the end of a run `started = completed + failed + interrupted`, and in open
/// models `scheduled = started + dropped`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Iterations {
    /// Intended starts (open models only).
    pub scheduled: u64,
    /// Begun.
    pub started: u64,
    /// All steps done, none failed.
    pub completed: u64,
    /// A step failed.
    pub failed: u64,
    /// Cut off by the end of the run.
    pub interrupted: u64,
    /// Intended starts that never began.
    pub dropped: u64,
    /// Starts that found no free VU or began too late after their intended time.
    pub late: u64,
    /// Starts that were due while an iteration took too long, and are not made up for (paced models only).
    pub missed: u64,
}

/// How often a check passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckStats {
    /// Times it held.
    pub passed: u64,
    /// Times it did not.
    pub failed: u64,
}

impl Window {
    /// An empty window for a workflow.
    pub fn new(layout: &Arc<Layout>) -> Self {
        Self {
            seq: 0,
            core: 0,
            from_ns: 0,
            to_ns: 0,
            vus: 0,
            busy_ns: 0,
            waited_ns: 0,
            judged: None,
            iterations: Iterations::default(),
            steps: layout.steps.iter().map(|_| StepStats::default()).collect(),
            checks: vec![CheckStats::default(); layout.checks.len()],
            metrics: layout.metrics.iter().map(|_| MetricStats::default()).collect(),
            lag: Histogram::new(),
            layout: Arc::clone(layout),
        }
    }

    /// Records one call of a step.
    #[inline]
    pub fn call(&mut self, step: usize, sample: &CallSample) {
        self.steps[step].call(sample);
    }

    /// Counts `n` requests of a step that were sent again.
    #[cold]
    pub fn retries(&mut self, step: usize, n: u32) {
        self.steps[step].detail.retries += u64::from(n);
    }

    /// Counts `n` times that a step did not run.
    #[inline]
    pub fn skipped(&mut self, step: usize, n: u64) {
        self.steps[step].skipped += n;
    }

    /// Counts one evaluation of a check.
    #[inline]
    pub fn check(&mut self, check: usize, passed: bool) {
        let stats = &mut self.checks[check];
        stats.passed += u64::from(passed);
        stats.failed += u64::from(!passed);
    }

    /// Records a value of a metric. What is not a finite number is refused and counted as such.
    #[inline]
    pub fn metric(&mut self, metric: usize, value: f64) {
        self.metrics[metric].record(value);
    }

    /// Records the same value once more under its tags (`k=v,k2=v2`, sorted by key).
    pub fn tagged_metric(&mut self, metric: usize, tags: &str, value: f64) {
        self.metrics[metric].tagged(tags, value);
    }

    /// Notes the message of a failed call that was recorded with [`Window::call`].
    #[cold]
    pub fn error_message(&mut self, step: usize, kind: ErrorKind, message: &str) {
        self.steps[step].error_message(kind, message);
    }

    /// Records the same call once more under its tags (`k=v,k2=v2`, sorted by key).
    pub fn tagged(&mut self, step: usize, tags: &str, sample: &CallSample) {
        self.steps[step].tagged(tags, sample);
    }

    /// Records one event of a streamed answer.
    #[inline]
    pub fn stream_event(&mut self, step: usize, event: StreamEvent) {
        self.steps[step].stream_event(event);
    }

    /// Records how long after its intended time a start was dispatched (open models).
    #[inline]
    pub fn lag(&mut self, ns: u64) {
        self.lag.record(ns);
    }

    /// `n` starts were intended.
    #[inline]
    pub fn scheduled(&mut self, n: u64) {
        self.iterations.scheduled += n;
    }

    /// An iteration began.
    #[inline]
    pub fn started(&mut self) {
        self.iterations.started += 1;
    }

    /// An iteration ended, all steps done and none failed.
    #[inline]
    pub fn completed(&mut self) {
        self.iterations.completed += 1;
    }

    /// An iteration ended with a failed step.
    #[inline]
    pub fn failed(&mut self) {
        self.iterations.failed += 1;
    }

    /// An iteration was cut off.
    #[inline]
    pub fn interrupted(&mut self) {
        self.iterations.interrupted += 1;
    }

    /// `n` intended starts will never begin.
    #[inline]
    pub fn dropped(&mut self, n: u64) {
        self.iterations.dropped += n;
    }

    /// `n` starts were late.
    #[inline]
    pub fn late(&mut self, n: u64) {
        self.iterations.late += n;
    }

    /// Starts of a paced model that were due while an iteration took too long.
    #[inline]
    pub fn missed(&mut self, n: u64) {
        self.iterations.missed += n;
    }

    /// Forgets everything but the layout and the core; keeps the memory.
    pub fn clear(&mut self) {
        (self.seq, self.from_ns, self.to_ns, self.vus) = (0, 0, 0, 0);
        (self.busy_ns, self.waited_ns, self.judged) = (0, 0, None);
        self.iterations = Iterations::default();
        self.steps.iter_mut().for_each(StepStats::clear);
        self.checks.fill(CheckStats::default());
        self.metrics.iter_mut().for_each(MetricStats::clear);
        self.lag.clear();
    }

    /// What is recorded.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Statistics of the steps, by number.
    pub fn steps(&self) -> &[StepStats<u32>] {
        &self.steps
    }

    /// Statistics of the test steps that are not set-up or tear-down.
    pub(crate) fn load_steps(&self) -> impl Iterator<Item = &StepStats<u32>> {
        self.layout.steps.iter().zip(&self.steps).filter(|(layout, _)| layout.is_load()).map(|(_, step)| step)
    }
}

impl Iterations {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Iterations) {
        for (mine, theirs) in [
            (&mut self.scheduled, other.scheduled),
            (&mut self.started, other.started),
            (&mut self.completed, other.completed),
            (&mut self.failed, other.failed),
            (&mut self.interrupted, other.interrupted),
            (&mut self.dropped, other.dropped),
            (&mut self.late, other.late),
            (&mut self.missed, other.missed),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// Whether starts were intended by a schedule, as open models do.
    pub fn is_open(&self) -> bool {
        self.scheduled > 0 || self.dropped > 0
    }
}

impl CheckStats {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &CheckStats) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
    }

    /// Passed / evaluated.
    pub fn rate(&self) -> Option<f64> {
        let evaluated = self.passed.saturating_add(self.failed);
        (evaluated > 0).then(|| self.passed as f64 / evaluated as f64)
    }
}
