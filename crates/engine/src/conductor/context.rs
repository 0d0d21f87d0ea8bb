//! Values between workflows: what one provides and another uses.

use hyperscale_plan::model::Plan;
use hyperscale_plan::model::workflow::{Pick, Workflow};
use hyperscale_plan::template::{Root, Scope};
use hyperscale_stats::{Histogram, Totals};
use hyperscale_types::limits;
use minijinja::Value;

use super::workflow::WorkflowRun;
use crate::core::Failure;
use crate::core::provide::Provided;

/// The values that a workflow uses, or which one is missing.
pub(super) fn gather(plan: &Plan, runs: &[WorkflowRun], workflow: &Workflow) -> Result<Vec<Value>, Failure> {
    let find = |from: usize, key: &str| {
        let at = plan.workflows[from].provides.iter().position(|provide| provide.key == *key)?;
        runs[from].context_out.get(at).cloned().flatten()
    };
    workflow
        .uses
        .iter()
        .map(|wanted| {
            let found = find(wanted.from, wanted.key.as_str()).or_else(|| wanted.default.clone());
            found.ok_or_else(|| Failure {
                reason: "context_missing",
                message: format!(
                    "`{}` was never provided by {} and has no default",
                    wanted.key, plan.workflows[wanted.from].name
                ),
                step: None,
            })
        })
        .collect()
}

/// The values that a workflow gives to others after its end, by position in `provides`.
pub(super) fn collect(workflow: &Workflow, run: &WorkflowRun) -> Result<Vec<Option<Value>>, Failure> {
    let scope = StatsScope { totals: &run.totals, elapsed_s: run.elapsed().as_secs_f64() };
    let mut values = Vec::with_capacity(workflow.provides.len());
    for (at, provide) in workflow.provides.iter().enumerate() {
        values.push(if provide.from_stats {
            provide.value.value(&scope).ok()
        } else {
            pick(provide.pick, run.provided.iter().filter(|value| value.provide == at))
        });
    }
    let bytes: usize =
        values.iter().flatten().map(|value| serde_json::to_vec(value).map_or(0, |json| json.len())).sum();
    if bytes > limits::CONTEXT_BYTES_MAX {
        return Err(Failure {
            reason: "context_too_large",
            message: format!("the provided values are {bytes} bytes of JSON; at most 1 MiB is allowed"),
            step: None,
        });
    }
    Ok(values)
}

fn pick<'a>(pick: Pick, values: impl Iterator<Item = &'a Provided>) -> Option<Value> {
    match pick {
        Pick::First => values.min_by_key(|value| value.produced).map(|value| value.value.clone()),
        Pick::Last => values.max_by_key(|value| value.produced).map(|value| value.value.clone()),
        Pick::All => {
            let all: Vec<Value> =
                values.take(limits::PICK_ALL_MAX).map(|value| value.value.clone()).collect();
            (!all.is_empty()).then(|| Value::from(all))
        }
    }
}

/// `stats` in a provided value: `stats.completed`, `stats.failed.rate`, `stats.<step>.latency.p99` (milliseconds).
struct StatsScope<'a> {
    totals: &'a Totals,
    elapsed_s: f64,
}

impl Scope for StatsScope<'_> {
    fn root(&self, root: Root) -> Value {
        if root != Root::Stats {
            return Value::UNDEFINED;
        }
        let load = self.totals.load();
        let rate = |count: u64| if self.elapsed_s > 0.0 { count as f64 / self.elapsed_s } else { 0.0 };
        let summary = |count: u64, ok: u64, failed: u64, latency: &Histogram, service: &Histogram| {
            let failed_rate = if count > 0 { failed as f64 / count as f64 } else { 0.0 };
            vec![
                ("count", Value::from(count)),
                ("completed", Value::from(ok)),
                ("rate", Value::from(rate(count))),
                (
                    "failed",
                    Value::from_pairs([("count", Value::from(failed)), ("rate", Value::from(failed_rate))]),
                ),
                ("latency", timing(latency)),
                ("service", timing(service)),
            ]
        };
        let mut all: Vec<(String, Value)> =
            summary(load.count, load.ok, load.failed, &load.latency, &load.service)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
        for (step, stats) in self.totals.layout().steps.iter().zip(self.totals.steps()) {
            let values = summary(stats.count, stats.ok, stats.failed, &stats.latency, &stats.service);
            all.push((step.name.to_string(), Value::from_pairs(values)));
        }
        Value::from_pairs(all)
    }
}

fn timing(histogram: &Histogram) -> Value {
    let ms = |ns: f64| Value::from(ns / 1e6);
    let percentiles =
        [("p50", 50.0), ("p75", 75.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("p99_9", 99.9)];
    let percentiles =
        percentiles.map(|(name, percent)| (name, ms(histogram.percentile_ns(percent).unwrap_or(0) as f64)));
    let others = [
        ("count", Value::from(histogram.count())),
        ("min", ms(histogram.min_ns().unwrap_or(0) as f64)),
        ("max", ms(histogram.max_ns().unwrap_or(0) as f64)),
        ("mean", ms(histogram.mean_ns().unwrap_or(0.0))),
        ("stdev", ms(histogram.stdev_ns().unwrap_or(0.0))),
    ];
    Value::from_pairs(percentiles.into_iter().chain(others))
}
