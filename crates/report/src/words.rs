//! What every format says in the same words: warnings, values of thresholds, shares of checks, the verdict.

use hyperscale_stats::result::{
    self, CheckResult, ExportResult, RunResult, Status, ThresholdResult, WorkflowResult,
};
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

/// Texts come from outside: no line ends, no escape sequences, nothing that turns the direction of writing.
pub(crate) fn one_line(message: &str) -> String {
    message.chars().map(hyperscale_types::shown).collect()
}

/// `64 VUs`, or `peak 7 of 120 VUs` where fewer were needed than there could be.
pub(crate) fn users(workflow: &WorkflowResult) -> String {
    let all = human::count(workflow.vus);
    match workflow.vus_peak {
        Some(peak) if peak != workflow.vus => format!("peak {} of {all} VUs", human::count(peak)),
        _ if workflow.vus == 1 => "1 VU".to_owned(),
        _ => format!("{all} VUs"),
    }
}

/// What limits the trust in the numbers.
pub(crate) fn warnings(result: &RunResult) -> Vec<String> {
    let unfinished =
        (!result.is_final).then(|| "the run had not ended: the numbers are those so far".to_owned());
    let exports = result.provenance.exports.iter().filter(|export| export.lost > 0).map(not_exported);
    let told = result::warnings(result).iter().map(|warning| one_line(warning)).collect::<Vec<_>>();
    told.into_iter().chain(unfinished).chain(exports).collect()
}

fn not_exported(export: &ExportResult) -> String {
    let why = export.error.as_ref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
    let (lost, target) = (human::count(export.lost), one_line(&export.target));
    format!("{lost} states of the run were not exported to {} {target}{why}", one_line(&export.kind))
}

/// What a threshold was held against, in the unit of its rule.
pub fn threshold_value(threshold: &ThresholdResult) -> String {
    match (threshold.value, &threshold.reason) {
        (Some(value), _) => with_unit(&threshold.rule, value),
        (None, Some(reason)) if reason == "no_samples" => "no samples".to_owned(),
        (None, reason) => reason.clone().unwrap_or_default(),
    }
}

fn with_unit(rule: &str, value: f64) -> String {
    let Ok(rule) = rule.parse::<Rule>() else { return human::number(value) };
    match rule.metric {
        Metric::Latency(_, Stat::Count)
        | Metric::LatencyFailed(Stat::Count)
        | Metric::LatencyAll(Stat::Count)
        | Metric::Service(_, Stat::Count) => human::number(value),
        Metric::Latency(..) | Metric::LatencyFailed(_) | Metric::LatencyAll(_) | Metric::Service(..) => {
            human::micros(value * 1e6)
        }
        Metric::Rate => human::rate(value),
        Metric::FailedRate | Metric::CheckRate(_) => human::percent(value),
        Metric::Completed | Metric::FailedCount | Metric::Dropped | Metric::Late | Metric::Missed => {
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
