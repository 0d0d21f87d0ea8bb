//! What makes a comparison doubtful.

use std::collections::BTreeSet;

use crate::result::{RunResult, Status, WorkflowResult, covered_s};
use crate::saturation::{BUSY_MAX, LAG_MAX_NS, Measure};

/// Options that do not make it another test. Every other one does, those that nobody has thought of yet included.
const SAME_TEST: [&str; 1] = ["seed"];
/// Facts of the environment without which runs differ for another reason.
const MACHINE: [&str; 4] = ["cpu_model", "cpus", "arch", "version"];
const SATURATED: &str = "was limited by the load generator: its latencies are partly the generator's";
/// A run whose generator was the bottleneck for more than this share of its time is not compared.
const SPOILED_MAX: f64 = 0.05;
/// Points of a series without which nothing can be said about variation over time.
const POINTS_MIN: usize = 7;

/// Whether both ran the same plan with the same load.
pub(super) fn same_plan(a: &RunResult, b: &RunResult) -> bool {
    let text = |result: &RunResult| result.provenance.plan.as_ref().map(|plan| plan.text.clone());
    let plans = match (text(a), text(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => {
            a.provenance.options.get("plan") == b.provenance.options.get("plan")
                && a.identity.name == b.identity.name
        }
        _ => false,
    };
    plans && other_options(a, b).is_empty()
}

fn other_options<'r>(a: &'r RunResult, b: &'r RunResult) -> BTreeSet<&'r str> {
    // Where the text of the plan is known, the name of its file does not matter.
    let skip_name = a.provenance.plan.is_some() && b.provenance.plan.is_some();
    let counts = |name: &str| !(SAME_TEST.contains(&name) || skip_name && name == "plan");
    let differs =
        |name: &&str| counts(name) && a.provenance.options.get(*name) != b.provenance.options.get(*name);
    a.provenance
        .options
        .keys()
        .chain(b.provenance.options.keys())
        .map(String::as_str)
        .filter(differs)
        .collect()
}

/// All doubts, in the order of their weight.
pub(super) fn warnings(a: &RunResult, b: &RunResult, same_plan: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if !a.identity.job.is_empty() && a.identity.job == b.identity.job {
        warnings.push(format!("A and B are the same run ({}): it is compared with itself", a.identity.job));
    }
    if !same_plan {
        warnings.push("the runs had different plans or load: differences may come from that".to_owned());
        for name in other_options(a, b) {
            let said = |result: &RunResult| {
                result.provenance.options.get(name).cloned().unwrap_or_else(|| "not given".to_owned())
            };
            warnings.push(format!("option {name}: {} in A, {} in B", said(a), said(b)));
        }
    }
    for (side, result) in [("A", a), ("B", b)] {
        warnings.extend(doubts(result).into_iter().map(|doubt| format!("run {side} {doubt}")));
    }
    for name in MACHINE {
        if let (Some(a), Some(b)) = (a.provenance.environment.get(name), b.provenance.environment.get(name))
            && a != b
        {
            warnings.push(format!("{}: {a} in A, {b} in B", name.replace('_', " ")));
        }
    }
    warnings.extend(unmatched(a, b));
    warnings
}

/// Why no rule can be held against these runs: latencies of a generator say nothing about what was tested.
pub(super) fn incomparable(a: &RunResult, b: &RunResult) -> Option<String> {
    let saturated = [("A", a), ("B", b)].into_iter().find(|(_, result)| is_spoiled(result));
    saturated.map(|(side, _)| format!("not comparable: run {side} {SATURATED}"))
}

/// Whether the generator was the bottleneck for so long that the run says little about its target. A single bad second is
/// a doubt, no reason to refuse: on a machine that other programs use there is one in most runs. Waiting for a free VU
/// does not count, because a target that became slow makes the starts wait.
fn is_spoiled(result: &RunResult) -> bool {
    let intervals = &result.validity.saturation;
    if intervals.is_empty() {
        return result.validity.generator_saturated;
    }
    let own = intervals.iter().filter(|interval| interval.measure != Measure::Vus);
    let spoiled_s = covered_s(own.map(|interval| interval.from_s..interval.to_s));
    let has_busy_core =
        |workflow: &WorkflowResult| workflow.generator.busiest_core.is_some_and(|busy| busy > BUSY_MAX);
    let has_lag = intervals.iter().any(|interval| interval.measure == Measure::Lag);
    let is_late = |workflow: &WorkflowResult| {
        has_lag && workflow.generator.lag_us.is_some_and(|lag| lag.p99 > LAG_MAX_NS as f64 / 1e3)
    };
    spoiled_s as f64 > SPOILED_MAX * result.elapsed_s
        || result.workflows.iter().any(|workflow| has_busy_core(workflow) || is_late(workflow))
}

fn doubts(result: &RunResult) -> Vec<&'static str> {
    let doubts = [
        (result.status != Status::Completed, "did not complete"),
        (!result.is_final, "had not ended"),
        (result.validity.generator_saturated, SATURATED),
        (!result.validity.loss.is_none(), "has lost samples"),
        (
            result.series.len() < POINTS_MIN,
            "was too short to see how much it varies over time: intervals may be too narrow, rates have none",
        ),
        (
            result.totals.ok > 0
                && result
                    .workflows
                    .iter()
                    .all(|w| w.steps.iter().all(|s| s.times.latency_buckets.is_empty())),
            "has no latency buckets: percentiles have no interval",
        ),
    ];
    doubts.into_iter().filter(|(is, _)| *is).map(|(_, words)| words).collect()
}

fn unmatched(a: &RunResult, b: &RunResult) -> Option<String> {
    let names = |result: &RunResult| -> BTreeSet<String> {
        let all = result
            .workflows
            .iter()
            .flat_map(|w| w.steps.iter().map(move |s| format!("{}.{}", w.name, s.name)));
        all.collect()
    };
    let (a, b) = (names(a), names(b));
    let only: Vec<String> = a.symmetric_difference(&b).cloned().collect();
    (!only.is_empty()).then(|| format!("steps of one run only: {}", only.join(", ")))
}
