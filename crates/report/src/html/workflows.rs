//! Workflows and their steps, checks and metrics as tables.

use hyperscale_stats::layout::StepKind;
use hyperscale_stats::result::{RunResult, StepResult, TimingResult, ValuesResult, WorkflowResult};

use super::overview::sign;
use super::table::{Cell, Table};
use crate::human;
use crate::words::{self, Outcome};

/// Everything about workflows and steps.
pub(super) fn section(result: &RunResult) -> String {
    let details = [timings(result), answers(result), tags(result), streams(result)].concat();
    let details = if details.is_empty() {
        details
    } else {
        format!("<details><summary>Service time, phases, answers and bytes</summary>{details}</details>\n")
    };
    [steps(result), workflows(result), details].concat()
}

/// Checks and metrics of all workflows.
pub(super) fn checks_and_metrics(result: &RunResult) -> String {
    [checks(result), metrics(result)].concat()
}

fn workflows(result: &RunResult) -> String {
    let head =
        ["workflow", "status", "time", "VUs", "cores", "busiest core", "start lag p50", "start lag p99"];
    let mut table = Table::new("Workflows", &head);
    for workflow in &result.workflows {
        let lag = |of: fn(&TimingResult) -> f64| {
            workflow.generator.lag_us.as_ref().map_or_else(none, |lag| micros(lag, of(lag)))
        };
        let busy = |busy: f64| Cell::number(busy, format!("{:.0} %", busy * 100.0));
        table.row(vec![
            Cell::text(workflow.name.as_str()),
            Cell::text(words::status(workflow.status, workflow.reason.as_deref())),
            Cell::number(workflow.elapsed_s, human::seconds(workflow.elapsed_s)),
            Cell::number(
                workflow.vus as f64,
                words::users(workflow).trim_end_matches('s').trim_end_matches(" VU"),
            ),
            count(workflow.cores.into()),
            workflow.generator.busiest_core.map_or_else(none, busy),
            lag(|lag| lag.p50),
            lag(|lag| lag.p99),
        ]);
    }
    table.html() + &iterations(result)
}

fn iterations(result: &RunResult) -> String {
    let head = [
        "workflow",
        "scheduled",
        "started",
        "completed",
        "failed",
        "interrupted",
        "dropped",
        "late",
        "missed",
    ];
    let mut table = Table::new("Iterations", &head);
    for workflow in &result.workflows {
        let i = &workflow.iterations;
        let mut row = vec![Cell::text(workflow.name.as_str()), i.scheduled.map_or_else(none, count)];
        row.extend([i.started, i.completed].map(count));
        row.extend([i.failed, i.interrupted, i.dropped, i.late, i.missed.unwrap_or(0)].map(unwelcome));
        table.row(row);
    }
    table.html()
}

fn steps(result: &RunResult) -> String {
    let head = [
        "step", "count", "ok", "failed", "skipped", "rate", "mean", "p50", "p90", "p95", "p99", "p99.9",
        "max",
    ];
    let mut table = Table::new("Calls by step, and their latency", &head);
    for (name, step) in test_steps(result) {
        let t = &step.times.latency_us;
        let mut row = vec![Cell::text(name), count(step.count), count(step.ok)];
        row.extend([step.failed, step.skipped].map(unwelcome));
        row.push(Cell::number(step.rate, human::rate(step.rate)));
        row.extend([t.mean, t.p50, t.p90, t.p95, t.p99, t.p99_9, t.max].map(|us| micros(t, us)));
        table.row(row);
    }
    table.html()
}

/// Test steps of the load, then those of set-up and tear-down, with their workflow's name in front.
fn test_steps(result: &RunResult) -> impl Iterator<Item = (String, &StepResult)> {
    let name =
        |workflow: &WorkflowResult, step: &StepResult, note| format!("{}.{}{note}", workflow.name, step.name);
    result.workflows.iter().flat_map(move |workflow| {
        let load = workflow.steps.iter().map(move |step| (name(workflow, step, ""), step));
        let setup = workflow.setup_steps.iter().map(move |step| (name(workflow, step, " (set-up)"), step));
        load.chain(setup).filter(|(_, step)| step.kind == StepKind::Test)
    })
}

fn timings(result: &RunResult) -> String {
    let head = ["step", "measure", "count", "mean", "p50", "p95", "p99", "max"];
    let mut table = Table::new("Where the time goes", &head);
    for (name, step) in test_steps(result) {
        let phases = &step.times.phases_us;
        let known = [
            ("latency", &step.times.latency_us),
            ("service time", &step.times.service_us),
            ("latency of failed calls", &step.times.latency_failed_us),
            ("connect", &phases.connect),
            ("TLS handshake", &phases.tls),
            ("authentication", &phases.auth),
            ("write", &phases.write),
            ("wait for first byte", &phases.wait),
            ("read", &phases.read),
        ];
        let unknown = phases.unknown.iter().map(|(phase, t)| (phase.as_str(), t));
        for (measure, t) in known.into_iter().chain(unknown).filter(|(_, t)| t.count > 0) {
            let mut row = vec![Cell::text(&name), Cell::text(measure), count(t.count)];
            row.extend([t.mean, t.p50, t.p95, t.p99, t.max].map(|us| micros(t, us)));
            table.row(row);
        }
    }
    table.html()
}

fn answers(result: &RunResult) -> String {
    let mut table =
        Table::new("Answers and bytes", &["step", "requests", "retries", "answers", "sent", "received"]);
    for (name, step) in test_steps(result) {
        let one = |(status, n): (&String, &u64)| format!("{status}: {}", human::count(*n));
        let bytes = |n: u64| Cell::number(n as f64, human::bytes(n));
        table.row(vec![
            Cell::text(name),
            count(step.requests),
            count(step.retries),
            Cell::text(step.status.iter().map(one).collect::<Vec<_>>().join(", ")),
            bytes(step.bytes.sent),
            bytes(step.bytes.received),
        ]);
    }
    table.html()
}

fn tags(result: &RunResult) -> String {
    let head = ["step", "tags", "count", "ok", "failed", "p50", "p95", "p99", "max"];
    let mut table = Table::new("Calls by tag", &head);
    for (name, step) in test_steps(result) {
        for tag in &step.tags {
            let t = &tag.latency_us;
            let mut row = vec![
                Cell::text(&name),
                Cell::text(&tag.tags),
                count(tag.count),
                count(tag.ok),
                unwelcome(tag.failed),
            ];
            row.extend([t.p50, t.p95, t.p99, t.max].map(|us| micros(t, us)));
            table.row(row);
        }
    }
    table.html()
}

fn streams(result: &RunResult) -> String {
    let head = ["step", "events", "first p50", "first p99", "between p50", "between p99"];
    let mut table = Table::new("Events of streamed answers", &head);
    for (name, step) in test_steps(result) {
        if let Some(stream) = &step.stream {
            let (first, between) = (&stream.first_event_us, &stream.between_events_us);
            table.row(vec![
                Cell::text(name),
                count(stream.events),
                micros(first, first.p50),
                micros(first, first.p99),
                micros(between, between.p50),
                micros(between, between.p99),
            ]);
        }
    }
    table.html()
}

fn checks(result: &RunResult) -> String {
    let mut table = Table::new("Checks", &["outcome", "check", "share", "passed", "failed"]).named_by(1);
    for workflow in &result.workflows {
        for check in &workflow.checks {
            let (outcome, share) = words::check_outcome(check);
            let outcome = match outcome {
                Outcome::Passed => sign("good", "✓ passed"),
                Outcome::Failed => sign("bad", "✗ failed"),
                Outcome::NotEvaluated => sign("", "– not evaluated"),
            };
            table.row(vec![
                outcome,
                Cell::text(format!("{}.{}", workflow.name, words::check_name(check))),
                share_cell(check.passed, check.failed, &share),
                count(check.passed),
                unwelcome(check.failed),
            ]);
        }
    }
    table.html()
}

fn share_cell(passed: u64, failed: u64, text: &str) -> Cell {
    if text.is_empty() { none() } else { Cell::number(1.0 - words::failed_share(passed, failed), text) }
}

fn metrics(result: &RunResult) -> String {
    let head = ["metric", "kind", "count", "sum, share or last", "min", "mean", "p50", "p95", "p99", "max"];
    let mut table = Table::new("Metrics", &head);
    for workflow in &result.workflows {
        for metric in &workflow.metrics {
            let one = metric.sum.or(metric.last).map(human::number).or(metric.rate.map(human::percent));
            let mut row = vec![
                Cell::text(format!("{}.{}.{}", workflow.name, metric.step, metric.name)),
                Cell::text(format!("{:?}", metric.kind).to_lowercase()),
                count(metric.count),
                Cell::text(one.unwrap_or_default()).class("n"),
            ];
            row.extend(values(metric.values.as_ref()));
            table.row(row);
        }
    }
    table.html()
}

fn values(values: Option<&ValuesResult>) -> [Cell; 6] {
    let Some(v) = values else { return [(); 6].map(|()| none()) };
    [v.min, v.mean, v.p50, v.p95, v.p99, v.max].map(|value| Cell::number(value, human::number(value)))
}

fn count(n: u64) -> Cell {
    Cell::number(n as f64, human::count(n))
}

/// A count that should be zero.
fn unwelcome(n: u64) -> Cell {
    count(n).class(if n > 0 { "n bad" } else { "n" })
}

fn micros(timing: &TimingResult, us: f64) -> Cell {
    if timing.count == 0 { none() } else { Cell::number(us, human::micros(us)) }
}

fn none() -> Cell {
    Cell::text("–").class("n")
}
