//! Thresholds: a rule against the merged statistics of its workflow, or of all workflows.

use std::time::Duration;

use hyperscale_types::Name;
use hyperscale_types::rule::{Metric, Phase, Rule, Stat};

use crate::histogram::Histogram;
use crate::layout::MetricKind;
use crate::metric::MetricStats;
use crate::totals::{LoadTotals, Totals};
use crate::window::{CheckStats, Iterations};

/// Nothing was recorded that the rule speaks of.
pub const NO_SAMPLES: &str = "no_samples";

/// What came out of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The left side, in the unit of the rule's value; `None` if there was no sample.
    pub value: Option<f64>,
    /// Whether the rule holds. Without a sample it does not, unless it may be empty.
    pub passed: bool,
    /// Why there is no value: [`NO_SAMPLES`].
    pub reason: Option<&'static str>,
}

/// Evaluates a rule against the totals of the workflow it names, `elapsed` after that began; or, if it names none, against
/// those of all workflows, `elapsed` after the first of them began. A rule that saw no sample fails unless `allow_empty`.
pub fn evaluate(rule: &Rule, totals: &[&Totals], elapsed: Duration, allow_empty: bool) -> Evaluation {
    match value_of(rule, totals, elapsed) {
        Some(value) => {
            Evaluation { value: Some(value), passed: rule.op.holds(value, rule.value), reason: None }
        }
        None => Evaluation { value: None, passed: allow_empty, reason: Some(NO_SAMPLES) },
    }
}

fn value_of(rule: &Rule, totals: &[&Totals], elapsed: Duration) -> Option<f64> {
    let step = rule.step.as_ref();
    match &rule.metric {
        Metric::Latency(phase, stat) | Metric::Service(phase, stat) => {
            let load = load_of(totals, step)?;
            let whole =
                if matches!(rule.metric, Metric::Latency(..)) { &load.latency } else { &load.service };
            timing(phase.map_or(whole, |phase: Phase| &load.phases[phase as usize]), *stat)
        }
        Metric::LatencyFailed(stat) => timing(&load_of(totals, step)?.failed_latency, *stat),
        Metric::LatencyAll(stat) => timing(&load_of(totals, step)?.latency_all(), *stat),
        Metric::Rate => calls(totals, step).map(|load| per_second(load.count, elapsed)),
        Metric::Completed => calls(totals, step).map(|load| load.ok as f64),
        Metric::FailedCount => calls(totals, step).map(|load| load.failed as f64),
        Metric::FailedRate => calls(totals, step).map(|load| load.failed as f64 / load.count as f64),
        Metric::CheckRate(name) => check(totals, step, name).rate(),
        Metric::Custom(name, stat) => {
            metric(totals, step, name).and_then(|(kind, stats)| stats.stat(kind, *stat))
        }
        Metric::Dropped => starts(totals).map(|all| all.dropped as f64),
        Metric::Late => starts(totals).map(|all| all.late as f64),
        Metric::Missed => starts(totals).map(|all| all.missed as f64),
    }
}

/// Failed calls / calls of what a rule on the latency of ok calls speaks of; `None` if the rule is another or there was
/// no call. A rule that holds says little where many calls failed.
pub fn left_out_share(rule: &Rule, totals: &[&Totals]) -> Option<f64> {
    let of_ok = matches!(rule.metric, Metric::Latency(..) | Metric::Service(..));
    let load = of_ok.then(|| calls(totals, rule.step.as_ref())).flatten()?;
    Some(load.failed as f64 / load.count as f64)
}

/// Calls of the named step, or of all test steps.
fn load_of(totals: &[&Totals], step: Option<&Name>) -> Option<LoadTotals> {
    let mut load = LoadTotals::default();
    for totals in totals {
        match step {
            None => load.merge(&totals.load()),
            Some(name) => load.add(totals.step(name)?),
        }
    }
    Some(load)
}

/// The same, if there was at least one call.
fn calls(totals: &[&Totals], step: Option<&Name>) -> Option<LoadTotals> {
    load_of(totals, step).filter(|load| load.count > 0)
}

/// Iterations, if any start was intended or made.
fn starts(totals: &[&Totals]) -> Option<Iterations> {
    let mut all = Iterations::default();
    for totals in totals {
        all.merge(&totals.iterations);
    }
    (all.scheduled.max(all.started) > 0).then_some(all)
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { count as f64 / elapsed.as_secs_f64() }
}

/// A statistic in seconds, or the number of samples.
fn timing(histogram: &Histogram, stat: Stat) -> Option<f64> {
    const NS: f64 = 1e9;
    match stat {
        Stat::Percentile(percent) => histogram.percentile_ns(percent).map(|ns| ns as f64 / NS),
        Stat::Mean => histogram.mean_ns().map(|ns| ns / NS),
        Stat::Min => histogram.min_ns().map(|ns| ns as f64 / NS),
        Stat::Max => histogram.max_ns().map(|ns| ns as f64 / NS),
        Stat::Stdev => histogram.stdev_ns().map(|ns| ns / NS),
        Stat::Count => (!histogram.is_empty()).then(|| histogram.count() as f64),
    }
}

/// All checks of that name, of one step or of all steps of the load. Set-up and tear-down are measured apart: they count
/// only where they are named.
fn check(totals: &[&Totals], step: Option<&Name>, name: &Name) -> CheckStats {
    let mut all = CheckStats::default();
    for totals in totals {
        let layout = totals.layout();
        for (check, stats) in layout.checks.iter().zip(totals.checks()) {
            let of = &layout.steps[check.step];
            if check.name == *name && step.map_or(!of.setup, |step| of.name == *step) {
                all.merge(stats);
            }
        }
    }
    all
}

/// All metrics of that name, of one step or of all. Their kind is that of the first: names are unique in a workflow, and
/// the plan's reader has checked that workflows agree.
fn metric(totals: &[&Totals], step: Option<&Name>, name: &Name) -> Option<(MetricKind, MetricStats)> {
    let mut found: Option<(MetricKind, MetricStats)> = None;
    for totals in totals {
        let layout = totals.layout();
        for (metric, stats) in layout.metrics.iter().zip(totals.metrics()) {
            if metric.name == *name && step.is_none_or(|step| layout.steps[metric.step].name == *step) {
                found.get_or_insert_with(|| (metric.kind, MetricStats::default())).1.merge(stats);
            }
        }
    }
    found
}
