//! The table of steps.

use hyperscale_stats::layout::StepKind;
use hyperscale_stats::result::{LoadResult, StepResult, TimingResult};

use super::Page;
use crate::human;
use crate::style::Role;
use crate::table::{Cell, Column, Table};
use crate::words::one_line;

/// Latency and service time are told apart when they differ by more than this.
const DIFFERENCE: f64 = 0.01;

/// Test steps as a table, with all of them together as last row if there are several.
pub(super) fn table(steps: &[StepResult], totals: Option<&LoadResult>, page: Page) -> String {
    let tests: Vec<&StepResult> = steps.iter().filter(|step| step.kind == StepKind::Test).collect();
    if tests.is_empty() {
        return String::new();
    }
    let mut table = Table::new(columns());
    for step in &tests {
        table.row(step_row(step));
        if differ(&step.times.latency_us, &step.times.service_us) {
            table.row(timing_row("  service time", &step.times.service_us));
        }
        if step.failed > 0 && step.times.latency_failed_us.max > 0.0 {
            table.row(timing_row("  of failed calls", &step.times.latency_failed_us));
        }
        for tag in &step.tags {
            let name = Cell::new(Role::Dim, format!("  {}", one_line(&tag.tags)));
            table.row(row(name, [tag.count, tag.ok, tag.failed], String::new(), 0, &tag.latency_us));
        }
    }
    if let Some(totals) = totals.filter(|_| tests.len() > 1) {
        table.row(totals_row(totals));
    }
    table.render(2, page.width, page.style)
}

fn columns() -> Vec<Column> {
    [
        ("step", 0),
        ("count", 0),
        ("ok", 4),
        ("failed", 0),
        ("skipped", 5),
        ("rate", 0),
        ("mean", 6),
        ("p50", 0),
        ("p95", 3),
        ("p99", 0),
        ("max", 2),
    ]
    .into_iter()
    .enumerate()
    .map(|(position, (title, rank))| Column { title, rank, left: position == 0 })
    .collect()
}

fn step_row(step: &StepResult) -> Vec<Cell> {
    let counts = [step.count, step.ok, step.failed];
    row(step.name.as_str().into(), counts, human::rate(step.rate), step.skipped, &step.times.latency_us)
}

fn totals_row(totals: &LoadResult) -> Vec<Cell> {
    let counts = [totals.ok.saturating_add(totals.failed), totals.ok, totals.failed];
    row(Cell::new(Role::Title, "all steps"), counts, human::rate(totals.rate), 0, &totals.latency_us)
}

fn row(
    name: Cell,
    [count, ok, failed]: [u64; 3],
    rate: String,
    skipped: u64,
    timing: &TimingResult,
) -> Vec<Cell> {
    let skipped = if skipped == 0 { String::new() } else { human::count(skipped) };
    let head = [
        name,
        human::count(count).into(),
        human::count(ok).into(),
        Cell::new(Role::of_failures(failed), human::count(failed)),
        skipped.into(),
        rate.into(),
    ];
    head.into_iter().chain(timings(timing, Role::Normal)).collect()
}

fn timing_row(name: &str, timing: &TimingResult) -> Vec<Cell> {
    let head = [name, "", "", "", "", ""].map(|text| Cell::new(Role::Dim, text));
    head.into_iter().chain(timings(timing, Role::Dim)).collect()
}

fn timings(timing: &TimingResult, role: Role) -> [Cell; 5] {
    [timing.mean, timing.p50, timing.p95, timing.p99, timing.max].map(|us| {
        let text = if timing.count == 0 { "–".to_owned() } else { human::micros(us) };
        Cell::new(role, text)
    })
}

fn differ(latency: &TimingResult, service: &TimingResult) -> bool {
    let pairs = [(latency.p50, service.p50), (latency.p99, service.p99), (latency.max, service.max)];
    pairs.into_iter().any(|(latency, service)| (latency - service).abs() > latency * DIFFERENCE)
}
