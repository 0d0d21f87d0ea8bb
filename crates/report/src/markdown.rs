//! The result as Markdown for a comment on a pull request: verdict first, thresholds, steps, the rest folded away.

use std::fmt::Write as _;

use hyperscale_stats::layout::StepKind;
use hyperscale_stats::result::{ErrorResult, RunResult, StepResult, TimingResult};

use crate::escape::markdown as text;
use crate::human;
use crate::words::{self, Outcome};

/// Errors that are listed: a comment is not a log.
const ERRORS_SHOWN: usize = 20;

/// Changes that are listed.
const CHANGES_SHOWN: usize = 20;

/// The result as GitHub-flavoured Markdown.
pub fn to_markdown(result: &RunResult) -> String {
    let parts = [
        heading(result),
        warnings(result),
        thresholds(result),
        steps(result),
        checks(result),
        changes(result),
        errors(&result.errors),
        environment(result),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn heading(result: &RunResult) -> String {
    let sign = if words::passed(result) { "✅" } else { "❌" };
    let totals = &result.totals;
    let failed = words::failed_share(totals.ok, totals.failed);
    let latency = &totals.latency_us;
    let mut out = format!(
        "## {sign} {}: {} after {}\n\n",
        text(&result.identity.name),
        text(&words::status(result.status, result.reason.as_deref())),
        human::seconds(result.elapsed_s),
    );
    let _ = write!(
        out,
        "**{}** requests · **{}** · {} failed ({})",
        human::count(totals.requests),
        human::rate(totals.rate),
        human::count(totals.failed),
        human::percent(failed),
    );
    if latency.count > 0 {
        let [p50, p95, p99, max] = [latency.p50, latency.p95, latency.p99, latency.max].map(human::micros);
        let _ = write!(out, " · latency p50 **{p50}**, p95 **{p95}**, p99 **{p99}**, max {max}");
    }
    out.push('\n');
    out
}

fn warnings(result: &RunResult) -> String {
    words::warnings(result)
        .iter()
        .map(|warning| format!("> ⚠️ {}\n", text(warning)))
        .collect::<Vec<_>>()
        .join(">\n")
}

fn thresholds(result: &RunResult) -> String {
    if result.thresholds.is_empty() {
        return String::new();
    }
    let mut out = "| | threshold | value |\n| --- | --- | ---: |\n".to_owned();
    for threshold in &result.thresholds {
        let sign = if threshold.passed { "✅ passed" } else { "❌ failed" };
        let _ = writeln!(
            out,
            "| {sign} | {} | {} |",
            text(&threshold.rule),
            text(&words::threshold_value(threshold))
        );
    }
    out
}

fn changes(result: &RunResult) -> String {
    if result.provenance.changes.is_empty() {
        return String::new();
    }
    let mut out = "Changed while it ran:\n\n".to_owned();
    for change in result.provenance.changes.iter().take(CHANGES_SHOWN) {
        let at = human::seconds(change.t_s);
        let _ = writeln!(out, "- at {at}: {} (by {})", text(&change.to_string()), change.by.as_str());
    }
    let more = result.provenance.changes.len().saturating_sub(CHANGES_SHOWN) as u64
        + result.provenance.changes_left_out;
    if more > 0 {
        let _ = writeln!(out, "- and {} more", human::count(more));
    }
    out
}

fn steps(result: &RunResult) -> String {
    let rows: String = result
        .workflows
        .iter()
        .flat_map(|workflow| {
            let tests = workflow.steps.iter().filter(|step| step.kind == StepKind::Test);
            tests.map(|step| step_row(workflow.name.as_str(), step))
        })
        .collect();
    if rows.is_empty() {
        return rows;
    }
    let head = "| step | count | failed | rate | p50 | p95 | p99 | max |\n\
                | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    format!("{head}{rows}")
}

fn step_row(workflow: &str, step: &StepResult) -> String {
    let failed = human::count(step.failed);
    let failed = if step.failed > 0 { format!("**{failed}**") } else { failed };
    format!(
        "| {}.{} | {} | {failed} | {} | {} |\n",
        text(workflow),
        text(step.name.as_str()),
        human::count(step.count),
        human::rate(step.rate),
        timings(&step.times.latency_us),
    )
}

fn timings(timing: &TimingResult) -> String {
    let cell = |us| if timing.count == 0 { "–".to_owned() } else { human::micros(us) };
    [timing.p50, timing.p95, timing.p99, timing.max].map(cell).join(" | ")
}

fn checks(result: &RunResult) -> String {
    let mut rows = String::new();
    for workflow in &result.workflows {
        for check in &workflow.checks {
            let (outcome, share) = words::check_outcome(check);
            let sign = match outcome {
                Outcome::Passed => "✅ passed",
                Outcome::Failed => "❌ failed",
                Outcome::NotEvaluated => "– not evaluated",
            };
            let name = format!("{}.{}", workflow.name, words::check_name(check));
            let (passed, failed) = (human::count(check.passed), human::count(check.failed));
            let _ = writeln!(rows, "| {sign} | {} | {passed} | {failed} | {share} |", text(&name));
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!("| | check | passed | failed | share |\n| --- | --- | ---: | ---: | ---: |\n{rows}")
}

fn errors(errors: &[ErrorResult]) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&ErrorResult> = errors.iter().collect();
    sorted.sort_by_key(|error| std::cmp::Reverse(error.count));
    let mut out = "| count | where | kind | message |\n| ---: | --- | --- | --- |\n".to_owned();
    for error in sorted.iter().take(ERRORS_SHOWN) {
        let step = error.step.as_ref().map(|step| format!(".{step}")).unwrap_or_default();
        let place = format!("{}{step}", error.workflow);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            human::count(error.count),
            text(&place),
            text(&error.kind),
            text(&error.message)
        );
    }
    let more = sorted.len().saturating_sub(ERRORS_SHOWN);
    if more > 0 {
        let _ = writeln!(out, "\nand {more} more in the JSON report");
    }
    folded("Errors", &out)
}

fn environment(result: &RunResult) -> String {
    let facts: Vec<(&str, &str)> =
        [("job", result.identity.job.as_str()), ("started", result.started_at.as_str())]
            .into_iter()
            .chain(result.provenance.options.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .chain(result.provenance.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .collect();
    let mut out = "| | |\n| --- | --- |\n".to_owned();
    for (name, value) in facts {
        let _ = writeln!(out, "| {} | {} |", text(name), text(value));
    }
    folded("Run and environment", &out)
}

fn folded(title: &str, content: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{content}\n</details>\n")
}
