//! What is counted per workflow: virtual users, iterations, checks, metrics of the plan.

use hyperscale_stats::event::WorkflowLive;
use hyperscale_stats::result::{MetricResult, ValuesResult, WorkflowResult};

use super::{Families, label, steps, with};
use crate::names;
use crate::reading::Label;

/// Adds a workflow. `live`: what only a run that goes on knows.
pub(super) fn gather(to: &mut Families, workflow: &WorkflowResult, live: Option<&WorkflowLive>) {
    let labels = [label(names::WORKFLOW, workflow.name.as_str())];
    // When it is over, nobody is active.
    to.gauge(&names::VUS, &labels, live.map_or(0.0, |live| live.vus as f64));
    iterations(to, workflow, &labels);
    if let Some(lag) = &workflow.generator.lag_us {
        to.timing(&names::LAG, &labels, lag);
    }
    if let Some(live) = live {
        newest_second(to, live, &labels);
    }
    steps::gather(to, workflow, live, &labels);
    checks(to, workflow, &labels);
    workflow.metrics.iter().for_each(|metric| plan_metric(to, metric, &labels));
}

fn iterations(to: &mut Families, workflow: &WorkflowResult, labels: &[Label]) {
    let all = &workflow.iterations;
    if let Some(scheduled) = all.scheduled {
        to.count(&names::SCHEDULED, labels, scheduled);
    }
    to.count(&names::STARTED, labels, all.started);
    to.count(&names::COMPLETED, labels, all.completed);
    to.count(&names::FAILED, labels, all.failed);
    to.count(&names::INTERRUPTED, labels, all.interrupted);
    to.count(&names::DROPPED, labels, all.dropped);
    to.count(&names::LATE, labels, all.late);
    if let Some(missed) = all.missed {
        to.count(&names::MISSED, labels, missed);
    }
}

fn newest_second(to: &mut Families, live: &WorkflowLive, labels: &[Label]) {
    let Some(newest) = live.series.last() else { return };
    to.gauge(&names::NOW_RATE, labels, newest.rate);
    if newest.p50_us > 0.0 {
        for (word, us) in [("0.5", newest.p50_us), ("0.95", newest.p95_us), ("0.99", newest.p99_us)] {
            to.gauge(&names::NOW_LATENCY, &with(labels, names::QUANTILE, word), us / 1e6);
        }
    }
}

fn checks(to: &mut Families, workflow: &WorkflowResult, labels: &[Label]) {
    for check in &workflow.checks {
        let step = check.step.as_ref().map_or("", |step| step.as_str());
        let labels = with(&with(labels, names::STEP, step), names::CHECK, check.name.as_str());
        to.count(&names::CHECKS, &with(&labels, names::OUTCOME, "ok"), check.passed);
        to.count(&names::CHECKS, &with(&labels, names::OUTCOME, "failed"), check.failed);
    }
}

fn plan_metric(to: &mut Families, metric: &MetricResult, labels: &[Label]) {
    let labels = with(&with(labels, names::STEP, metric.step.as_str()), names::METRIC, metric.name.as_str());
    to.count(&names::METRIC_VALUES, &labels, metric.count);
    if metric.count == 0 {
        return;
    }
    let single = [
        (&names::METRIC_SUM, metric.sum),
        (&names::METRIC_RATIO, metric.rate),
        (&names::METRIC_LAST, metric.last),
    ];
    for (name, value) in single {
        if let Some(value) = value {
            to.gauge(name, &labels, value);
        }
    }
    if let Some(ValuesResult { min, p50, p75, p90, p95, p99, p99_9, max, .. }) = metric.values {
        to.quantiles(&names::METRIC_QUANTILE, &labels, [min, p50, p75, p90, p95, p99, p99_9, max]);
    }
}
