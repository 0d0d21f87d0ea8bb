//! The table of steps.

use std::cmp::Reverse;

use hyperscale_report::human;
use hyperscale_stats::StepKind;
use hyperscale_stats::result::StepResult;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Row, Table};

use super::fit::cut_middle;
use super::panel;
use crate::state::{Sort, State};
use crate::theme::Theme;

/// Heads of the columns with numbers, and how wide they are.
const COLUMNS: [Column; 7] =
    [("count", 11), ("ok", 11), ("failed", 9), ("rate", 9), ("p50", 7), ("p95", 7), ("p99", 7)];
/// The same where there is little room. `ok` is what is neither failed nor missing.
const NARROW: [Column; 6] = [("count", 11), ("failed", 9), ("rate", 9), ("p50", 7), ("p95", 7), ("p99", 7)];
/// The same in the smallest terminals.
const NARROWEST: [Column; 5] = [("count", 9), ("failed", 7), ("rate", 8), ("p50", 7), ("p99", 7)];

/// A head and its width.
type Column = (&'static str, u16);

fn columns(width: u16) -> &'static [Column] {
    match width {
        90.. => &COLUMNS,
        72.. => &NARROW,
        _ => &NARROWEST,
    }
}

/// Count, ok, failed, rate and percentiles of every step on the screen.
pub(super) fn steps(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let rows = sorted(state);
    let columns = columns(area.width);
    let room = room(area);
    let first = state.scroll.min(rows.len().saturating_sub(room));
    let title = match (state.sort, rows.len() > room) {
        (Sort::Plan, false) => "Steps".to_owned(),
        (sort, false) => format!("Steps by {}", sort.word()),
        (sort, true) => format!(
            "Steps by {}, {}–{} of {} (↑↓)",
            sort.word(),
            first + 1,
            (first + room).min(rows.len()),
            rows.len()
        ),
    };
    // A space in front of the name and one between columns.
    let numbers: u16 = columns.iter().map(|(_, width)| width + 1).sum();
    let name_width = usize::from(area.width.saturating_sub(numbers + 1));
    let shown = rows.iter().skip(first).take(room);
    let table = shown.map(|(name, step)| row(&cut_middle(name, name_width), step, columns, theme));
    let right = |text: &str| Cell::from(Text::from(text.to_owned()).alignment(Alignment::Right));
    let head = std::iter::once(Cell::from(" step")).chain(columns.iter().map(|(name, _)| right(name)));
    let widths = std::iter::once(Constraint::Fill(1))
        .chain(columns.iter().map(|(_, width)| Constraint::Length(*width)));
    let table =
        Table::new(table, widths).header(Row::new(head).style(theme.faint())).block(panel(title, theme));
    frame.render_widget(table, area);
}

/// Steps that do not fit into this area.
pub(super) fn hidden(state: &State, area: Rect) -> usize {
    sorted(state).len().saturating_sub(room(area))
}

/// Rows below title and head.
fn room(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(2))
}

fn sorted(state: &State) -> Vec<(String, &StepResult)> {
    let workflows = state.shown_workflows();
    let several = workflows.len() > 1;
    let mut rows: Vec<(String, &StepResult)> = workflows
        .iter()
        .flat_map(|workflow| {
            let tests = workflow.steps.iter().filter(|step| step.kind == StepKind::Test);
            tests.map(move |step| {
                (
                    if several { format!("{}.{}", workflow.name, step.name) } else { step.name.to_string() },
                    step,
                )
            })
        })
        .collect();
    match state.sort {
        Sort::Plan => {}
        Sort::Count => rows.sort_by_key(|(_, step)| Reverse(step.count)),
        Sort::Failed => rows.sort_by_key(|(_, step)| Reverse(step.failed)),
        Sort::P99 => rows.sort_by(|(_, a), (_, b)| b.times.latency_us.p99.total_cmp(&a.times.latency_us.p99)),
    }
    rows
}

fn row(name: &str, step: &StepResult, columns: &[Column], theme: Theme) -> Row<'static> {
    let time = |us: f64| if step.times.latency_us.count == 0 { "–".to_owned() } else { human::micros(us) };
    let cell = |(column, _): &Column| {
        let text = match *column {
            "count" => human::count(step.count),
            "ok" => human::count(step.ok),
            "failed" => human::count(step.failed),
            "rate" => human::rate(step.rate),
            "p50" => time(step.times.latency_us.p50),
            "p95" => time(step.times.latency_us.p95),
            _ => time(step.times.latency_us.p99),
        };
        let style = if *column == "failed" && step.failed > 0 { theme.bad() } else { Style::default() };
        Cell::from(Line::styled(text, style).alignment(Alignment::Right))
    };
    Row::new(std::iter::once(Cell::from(format!(" {name}"))).chain(columns.iter().map(cell)))
}
