//! What is counted per test step.

use hyperscale_stats::event::{BoundCounts, WorkflowLive};
use hyperscale_stats::layout::StepKind;
use hyperscale_stats::result::{StepResult, WorkflowResult};

use super::{Families, with};
use crate::names;
use crate::reading::{Buckets, Label, Value};

/// Adds the test steps of a workflow.
pub(super) fn gather(
    to: &mut Families,
    workflow: &WorkflowResult,
    live: Option<&WorkflowLive>,
    labels: &[Label],
) {
    let load = workflow.steps.iter().map(|step| (step, "load"));
    let setup = workflow.setup_steps.iter().map(|step| (step, "setup"));
    for (step, part) in load.chain(setup).filter(|(step, _)| step.kind == StepKind::Test) {
        let labels = with(&with(labels, names::STEP, step.name.as_str()), names::PART, part);
        counts(to, step, &labels);
        latency(to, step, bounds(step, live.filter(|_| part == "load")), &labels);
    }
}

fn counts(to: &mut Families, step: &StepResult, labels: &[Label]) {
    to.count(&names::REQUESTS, labels, step.requests);
    if step.retries > 0 {
        to.count(&names::RETRIES, labels, step.retries);
    }
    to.count(&names::CALLS, &with(labels, names::OUTCOME, "ok"), step.ok);
    to.count(&names::CALLS, &with(labels, names::OUTCOME, "failed"), step.failed);
    to.count(&names::SKIPPED, labels, step.skipped);
    to.gauge(&names::RATE, labels, step.rate);
    to.count(&names::SENT, labels, step.bytes.sent);
    to.count(&names::RECEIVED, labels, step.bytes.received);
    for (kind, count) in &step.errors {
        to.count(&names::ERRORS, &with(labels, names::KIND, &kind.word()), *count);
    }
    for (status, count) in &step.status {
        to.count(&names::ANSWERS, &with(labels, names::STATUS, status), *count);
    }
}

/// The histograms of ok and of failed calls: those of the live part while the run goes on, else those of the result.
fn bounds<'a>(step: &'a StepResult, live: Option<&'a WorkflowLive>) -> [&'a BoundCounts; 2] {
    let live = live.and_then(|live| live.steps.iter().find(|live| live.name == step.name));
    match live {
        Some(live) => [&live.latency, &live.failed_latency],
        None => [&step.times.latency_bounds, &step.times.latency_failed_bounds],
    }
}

fn latency(to: &mut Families, step: &StepResult, bounds: [&BoundCounts; 2], labels: &[Label]) {
    let timings = [&step.times.latency_us, &step.times.latency_failed_us];
    for ((outcome, bounds), timing) in ["ok", "failed"].into_iter().zip(bounds).zip(timings) {
        let labels = with(labels, names::OUTCOME, outcome);
        to.add(&names::LATENCY, &labels, Value::Histogram(Buckets::of(bounds)));
        to.timing(&names::LATENCY_QUANTILE, &labels, timing);
    }
}
