//! What every format says in the same words: warnings, values of thresholds, shares of checks, the verdict.

use hyperscale_stats::result::{CheckResult, Loss, RunResult, Status, ThresholdResult, WorkflowResult};
use hyperscale_types::rule::{Metric, Rule, Stat};

use crate::human;

/// Whether a run did what it should: it completed and all its thresholds hold.
pub(crate) fn passed(result: &RunResult) -> bool {
    result.status == Status::Completed && result.thresholds_passed
}

/// `completed`, `cancelled (threshold)`.
pub(crate) fn status(status: Status, reason: Option<&str>) -> String {
    let word = status.as_str().replace('_', " ");
    reason.map_or_else(|| word.clone(), |reason| format!("{word} ({})", one_line(reason)))
}

/// Texts come from outside: no line ends, no escape sequences.
pub(crate) fn one_line(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What limits the trust in the numbers.
pub(crate) fn warnings(result: &RunResult) -> Vec<String> {
    let saturated = result.generator_saturated.then(|| {
        "the load generator itself was the bottleneck: latencies are partly its own; use more cores or less load"
            .to_owned()
    });
    let unfinished =
        (!result.is_final).then(|| "the run had not ended: the numbers are those so far".to_owned());
    saturated.into_iter().chain(unfinished).chain(losses(&result.loss)).chain(notes(result)).collect()
}

/// Where workflows did less than their plan says.
fn notes(result: &RunResult) -> impl Iterator<Item = String> {
    let of = |workflow: &'_ WorkflowResult| {
        workflow.notes.iter().map(|note| format!("{}: {}", workflow.name, one_line(note))).collect::<Vec<_>>()
    };
    result.workflows.iter().flat_map(of)
}

fn losses(loss: &Loss) -> Vec<String> {
    let counted = [
        (loss.windows_lost, "statistics windows were lost: their samples are missing"),
        (loss.windows_late, "statistics windows came late and were added afterwards"),
        (loss.samples_dropped, "samples could not be kept"),
        (loss.workers_lost, "workers were lost"),
    ];
    let mut notes: Vec<String> = counted
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, words)| format!("{} {words}", human::count(n)))
        .collect();
    notes.extend(loss.unreported.iter().map(|gap| {
        format!(
            "requests of segment {} (attempt {}, {} VUs) between {} and {} are unknown",
            gap.segment,
            gap.attempt,
            human::count(gap.vus),
            human::seconds(gap.from_s),
            human::seconds(gap.to_s),
        )
    }));
    notes
}

/// What a threshold was held against, in the unit of its rule.
pub(crate) fn threshold_value(threshold: &ThresholdResult) -> String {
    match (threshold.value, &threshold.reason) {
        (Some(value), _) => with_unit(&threshold.rule, value),
        (None, Some(reason)) if reason == "no_samples" => "no samples".to_owned(),
        (None, reason) => reason.clone().unwrap_or_default(),
    }
}

fn with_unit(rule: &str, value: f64) -> String {
    let Ok(rule) = rule.parse::<Rule>() else { return human::number(value) };
    match rule.metric {
        Metric::Latency(_, Stat::Count) | Metric::Service(_, Stat::Count) => human::number(value),
        Metric::Latency(..) | Metric::Service(..) => human::micros(value * 1e6),
        Metric::Rate => human::rate(value),
        Metric::FailedRate | Metric::CheckRate(_) => human::percent(value),
        Metric::Completed | Metric::FailedCount | Metric::Dropped | Metric::Late => {
            human::count(value as u64)
        }
        Metric::Custom(..) => human::number(value),
    }
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It always held.
    Passed,
    /// It did not hold at least once.
    Failed,
    /// It was never looked at.
    NotEvaluated,
}

/// How a check ended, and the share of times it held.
pub(crate) fn check_outcome(check: &CheckResult) -> (Outcome, String) {
    let all = check.passed.saturating_add(check.failed);
    match (all, check.failed) {
        (0, _) => (Outcome::NotEvaluated, String::new()),
        (_, 0) => (Outcome::Passed, human::percent(1.0)),
        _ => (Outcome::Failed, human::percent(check.passed as f64 / all as f64)),
    }
}

/// `step.check`, or the check alone.
pub(crate) fn check_name(check: &CheckResult) -> String {
    check.step.as_ref().map_or_else(|| check.name.to_string(), |step| format!("{step}.{}", check.name))
}

/// The share of calls that failed.
pub(crate) fn failed_share(ok: u64, failed: u64) -> f64 {
    let all = ok.saturating_add(failed);
    if all == 0 { 0.0 } else { failed as f64 / all as f64 }
}
