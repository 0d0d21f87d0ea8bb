//! What every format says in the same words: warnings, values of thresholds, shares of checks, the verdict.

use hyperscale_stats::result::{
    CheckResult, ExportResult, Loss, RunResult, Status, ThresholdResult, WorkflowResult,
};
use hyperscale_stats::totals::{SATURATED_BUSY, SATURATED_LAG_NS};
use hyperscale_types::rule::{Metric, Rule, Stat};
use hyperscale_types::{ErrorKind, ReportedKind};

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

/// Why the generator counts as the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// What was measured and where its limit is; unknown in results that were written without it.
    pub measure: Option<String>,
    /// What helps.
    pub advice: &'static str,
}

/// By which measure the generator of a saturated run is the bottleneck. A core that is too busy explains late starts too,
/// so it comes first.
pub fn bottleneck(result: &RunResult) -> Bottleneck {
    let several = result.workflows.len() > 1;
    let measured = |of: fn(&WorkflowResult) -> Option<Bottleneck>| {
        result.workflows.iter().find_map(|workflow| {
            let mut found = of(workflow)?;
            found.measure = found
                .measure
                .map(|measure| if several { format!("{}: {measure}", workflow.name) } else { measure });
            Some(found)
        })
    };
    let unknown = Bottleneck { measure: None, advice: LESS_LOAD };
    measured(out_of_sockets).or_else(|| measured(too_busy)).or_else(|| measured(too_late)).unwrap_or(unknown)
}

const LESS_LOAD: &str = "use more cores or less load";
const RAISE_LIMIT: &str = "the errors say which limit and how to raise it";
const OTHERS: &str = "something else uses this machine";
/// A core that is idle for more than this is not what makes starts late.
const IDLE: f64 = 0.5;

fn out_of_sockets(workflow: &WorkflowResult) -> Option<Bottleneck> {
    let steps = workflow.steps.iter().chain(&workflow.setup_steps);
    let kind = ReportedKind::from(ErrorKind::LocalLimit);
    let calls: u64 = steps.filter_map(|step| step.errors.get(&kind)).sum();
    let measure = format!("{} calls hit a limit of this machine", human::count(calls));
    (calls > 0).then_some(Bottleneck { measure: Some(measure), advice: RAISE_LIMIT })
}

fn too_busy(workflow: &WorkflowResult) -> Option<Bottleneck> {
    let busy = workflow.generator.busiest_core.filter(|busy| *busy > SATURATED_BUSY)?;
    let measure = format!("busiest core {:.1} % > {:.0} %", busy * 100.0, SATURATED_BUSY * 100.0);
    Some(Bottleneck { measure: Some(measure), advice: LESS_LOAD })
}

fn too_late(workflow: &WorkflowResult) -> Option<Bottleneck> {
    let limit_us = SATURATED_LAG_NS as f64 / 1e3;
    let lag = workflow.generator.lag_us.filter(|lag| lag.p99 > limit_us)?;
    let busy = workflow.generator.busiest_core.map(|busy| format!(", own cores {:.0} % busy", busy * 100.0));
    let measure = format!(
        "start lag p99 {} > {}{}",
        human::micros(lag.p99),
        human::micros(limit_us),
        busy.unwrap_or_default()
    );
    let idle = workflow.generator.busiest_core.is_some_and(|busy| busy < IDLE);
    Some(Bottleneck { measure: Some(measure), advice: if idle { OTHERS } else { LESS_LOAD } })
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

/// The sentence about a generator that was the bottleneck, if it was.
pub fn saturated(result: &RunResult) -> Option<String> {
    result.generator_saturated.then(|| {
        let Bottleneck { measure, advice } = bottleneck(result);
        let measure = measure.map(|measure| format!(" ({measure})")).unwrap_or_default();
        format!(
            "the load generator itself was the bottleneck{measure}: latencies are partly its own; {advice}"
        )
    })
}

/// What limits the trust in the numbers.
pub(crate) fn warnings(result: &RunResult) -> Vec<String> {
    let unfinished =
        (!result.is_final).then(|| "the run had not ended: the numbers are those so far".to_owned());
    let exports = result.provenance.exports.iter().filter(|export| export.lost > 0).map(not_exported);
    let told = saturated(result).into_iter().chain(unfinished).chain(losses(&result.loss));
    let thresholds = result.thresholds.iter().filter_map(|threshold| {
        threshold.note.as_ref().map(|note| format!("`{}` holds, but {}", threshold.rule, one_line(note)))
    });
    told.chain(notes(result)).chain(thresholds).chain(exports).collect()
}

fn not_exported(export: &ExportResult) -> String {
    let why = export.error.as_ref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
    let (lost, target) = (human::count(export.lost), one_line(&export.target));
    format!("{lost} states of the run were not exported to {} {target}{why}", one_line(&export.kind))
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
