//! Values between workflows: what one provides and another uses. All of them are plain JSON.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::model::workflow::{Pick, Use};
use hyperscale_plan::template::{Root, Scope};
use hyperscale_stats::{Histogram, Totals};
use hyperscale_types::limits;
use minijinja::Value;
use serde_json::Value as Json;

use crate::machine::JobCore;
use crate::reason::{Failure, FailureKind};
use crate::segment::{Provided, SegmentKind};

/// Most bytes of values in one dispatch: with the rest of it they must fit a control message of 1 MiB.
const DISPATCH_BYTES_MAX: usize = (1 << 20) - (64 << 10);

/// Why the values that a workflow uses, with those of its set-up, cannot be dispatched.
pub(crate) fn too_large(core: &JobCore, used: &[Json], setup: &[Json]) -> Option<Failure> {
    let bytes: usize = used.iter().chain(setup).map(|value| value.to_string().len()).sum();
    let is_too_large = core.facts.is_distributed && bytes > DISPATCH_BYTES_MAX;
    is_too_large.then(|| {
        let message = format!(
            "the values that it uses and those of its set-up are {bytes} bytes of JSON; at most {DISPATCH_BYTES_MAX} can be \
             sent to a worker"
        );
        Failure::new(FailureKind::ContextTooLarge, message)
    })
}

/// The values that a workflow uses, or which one is missing.
pub(crate) fn gather(core: &JobCore, at: usize) -> Result<Vec<Json>, Failure> {
    let find = |wanted: &Use| {
        let provides = &core.workflow(wanted.from).provides;
        let position = provides.iter().position(|provide| provide.key == wanted.key)?;
        core.record.workflows()[wanted.from].provided()?.get(position)?.clone()
    };
    let missing = |wanted: &Use| {
        let from = &core.workflow(wanted.from).name;
        let message = format!("`{}` was never provided by {from} and has no default", wanted.key);
        Failure::new(FailureKind::ContextMissing, message)
    };
    let value = |wanted: &Use| {
        let default = || wanted.default.as_ref().map(plain);
        find(wanted).or_else(default).ok_or_else(|| missing(wanted))
    };
    core.workflow(at).uses.iter().map(value).collect()
}

/// The same for a workflow that was found to have all of them.
pub(crate) fn gathered(core: &JobCore, at: usize) -> Arc<[Json]> {
    gather(core, at).map(Into::into).unwrap_or_default()
}

/// The values that a workflow gives to others after its end, by position in `provides`.
pub(crate) fn collect(core: &JobCore, at: usize) -> Result<Vec<Option<Json>>, Failure> {
    let (workflow, record) = (core.workflow(at), &core.record.workflows()[at]);
    let scope = StatsScope { totals: &core.live[at].totals, elapsed: record.elapsed(core.now) };
    let results = || record.attempts_of(SegmentKind::Load).filter_map(|(_, attempt)| attempt.end.as_ref());
    let provided = |at: usize| {
        results().flat_map(|(_, result)| &result.provided).filter(move |value| value.provide == at)
    };
    let value = |(at, provide): (usize, &hyperscale_plan::model::workflow::Provide)| {
        if provide.from_stats {
            provide.value.value(&scope).ok().map(|value| plain(&value))
        } else {
            pick(provide.pick, provided(at))
        }
    };
    let values: Vec<Option<Json>> = workflow.provides.iter().enumerate().map(value).collect();
    let bytes: usize = values.iter().flatten().map(|value| value.to_string().len()).sum();
    if bytes > limits::CONTEXT_BYTES_MAX {
        let message = format!("the provided values are {bytes} bytes of JSON; at most 1 MiB is allowed");
        return Err(Failure::new(FailureKind::ContextTooLarge, message));
    }
    Ok(values)
}

/// A value as plain data. What JSON has no word for becomes null.
fn plain(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

fn pick<'a>(pick: Pick, values: impl Iterator<Item = &'a Provided>) -> Option<Json> {
    match pick {
        Pick::First => values.min_by_key(|value| value.produced).map(|value| value.value.clone()),
        Pick::Last => values.max_by_key(|value| value.produced).map(|value| value.value.clone()),
        Pick::All => {
            let all: Vec<Json> = values.take(limits::PICK_ALL_MAX).map(|value| value.value.clone()).collect();
            (!all.is_empty()).then_some(Json::Array(all))
        }
    }
}

/// `stats` in a provided value: `stats.completed`, `stats.failed.rate`, `stats.<step>.latency.p99` (milliseconds).
struct StatsScope<'a> {
    totals: &'a Totals,
    elapsed: Duration,
}

impl Scope for StatsScope<'_> {
    fn root(&self, root: Root) -> Value {
        if root != Root::Stats {
            return Value::UNDEFINED;
        }
        let load = self.totals.load();
        let rate = |count: u64| per_second(count, self.elapsed);
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

fn per_second(count: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { count as f64 / elapsed.as_secs_f64() }
}
