//! The result for spreadsheets and data frames: one table, one row per thing that was counted.
//!
//! | column | meaning |
//! | --- | --- |
//! | `record` | `total` (one row), `workflow`, `step`, `setup_step`, or `series` (one row per point in time) |
//! | `t_s` | begin of the point on the run's clock (`series` only) |
//! | `workflow`, `step`, `kind` | names, and the kind of a step |
//! | `count`, `ok`, `failed`, `skipped`, `requests` | as in the JSON result |
//! | `rate`, `vus` | calls per second; VUs of a workflow, active VUs of a point |
//! | `min_us` … `max_us` | latency of calls that were ok, in microseconds |
//! | `bytes_sent`, `bytes_received` | on the connections |
//! | `retries` | requests that were sent again |
//!
//! A cell is empty where the row has no such number. Columns are only ever added at the end. Names need no quoting: they
//! are letters, digits, `_` and `-`.

use hyperscale_stats::layout::StepKind;
use hyperscale_stats::result::{
    LoadResult, RunResult, SeriesPoint, StepResult, TimingResult, WorkflowResult,
};

/// The columns, in order.
const COLUMNS: [&str; 25] = [
    "record",
    "t_s",
    "workflow",
    "step",
    "kind",
    "count",
    "ok",
    "failed",
    "skipped",
    "requests",
    "rate",
    "vus",
    "min_us",
    "mean_us",
    "stdev_us",
    "p50_us",
    "p75_us",
    "p90_us",
    "p95_us",
    "p99_us",
    "p99_9_us",
    "max_us",
    "bytes_sent",
    "bytes_received",
    "retries",
];

/// The result as comma-separated values (RFC 4180) with a header line.
pub fn to_csv(result: &RunResult) -> String {
    let mut rows = vec![load_row("total", &result.totals)];
    for workflow in &result.workflows {
        rows.push(workflow_row(workflow));
        let steps = workflow.steps.iter().map(|step| ("step", step));
        let setup = workflow.setup_steps.iter().map(|step| ("setup_step", step));
        rows.extend(steps.chain(setup).map(|(record, step)| step_row(record, workflow, step)));
    }
    rows.extend(result.series.iter().map(series_row));
    let mut text = COLUMNS.join(",") + "\n";
    for row in rows {
        text.push_str(&COLUMNS.map(|column| row.get(column)).join(","));
        text.push('\n');
    }
    text
}

/// Cells by column; those that were not set stay empty.
struct Row(Vec<(&'static str, String)>);

impl Row {
    fn new(record: &str) -> Self {
        Self(vec![("record", record.to_owned())])
    }

    fn set(&mut self, column: &'static str, value: &impl ToString) {
        debug_assert!(COLUMNS.contains(&column), "{column} is no column");
        self.0.push((column, value.to_string()));
    }

    fn get(&self, column: &str) -> &str {
        self.0.iter().find(|(name, _)| *name == column).map_or("", |(_, value)| value)
    }

    fn timing(&mut self, timing: &TimingResult) {
        if timing.count == 0 {
            return;
        }
        for (column, value) in [
            ("min_us", timing.min),
            ("mean_us", timing.mean),
            ("stdev_us", timing.stdev),
            ("p50_us", timing.p50),
            ("p75_us", timing.p75),
            ("p90_us", timing.p90),
            ("p95_us", timing.p95),
            ("p99_us", timing.p99),
            ("p99_9_us", timing.p99_9),
            ("max_us", timing.max),
        ] {
            self.set(column, &value);
        }
    }
}

fn load_row(record: &str, load: &LoadResult) -> Row {
    let mut row = Row::new(record);
    row.set("count", &load.ok.saturating_add(load.failed));
    row.set("ok", &load.ok);
    row.set("failed", &load.failed);
    row.set("requests", &load.requests);
    row.set("rate", &load.rate);
    row.timing(&load.latency_us);
    row.set("bytes_sent", &load.bytes.sent);
    row.set("bytes_received", &load.bytes.received);
    row.set("retries", &load.retries);
    row
}

fn workflow_row(workflow: &WorkflowResult) -> Row {
    let mut row = load_row("workflow", &workflow.totals);
    row.set("workflow", &workflow.name);
    row.set("vus", &workflow.vus);
    row
}

fn step_row(record: &str, workflow: &WorkflowResult, step: &StepResult) -> Row {
    let mut row = Row::new(record);
    row.set("workflow", &workflow.name);
    row.set("step", &step.name);
    row.set("kind", &kind(step.kind));
    row.set("count", &step.count);
    row.set("ok", &step.ok);
    row.set("failed", &step.failed);
    row.set("skipped", &step.skipped);
    row.set("requests", &step.requests);
    row.set("rate", &step.rate);
    row.timing(&step.times.latency_us);
    row.set("bytes_sent", &step.bytes.sent);
    row.set("bytes_received", &step.bytes.received);
    row.set("retries", &step.retries);
    row
}

fn kind(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Test => "test",
        StepKind::Check => "check",
        StepKind::Metric => "metric",
        StepKind::Action => "action",
    }
}

fn series_row(point: &SeriesPoint) -> Row {
    let mut row = Row::new("series");
    row.set("t_s", &point.t_s);
    row.set("failed", &point.failed);
    row.set("rate", &point.rate);
    row.set("vus", &point.vus);
    for (column, value) in [("p50_us", point.p50_us), ("p95_us", point.p95_us), ("p99_us", point.p99_us)] {
        if value > 0.0 {
            row.set(column, &value);
        }
    }
    row
}
