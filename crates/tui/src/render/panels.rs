//! Lists beside the histogram: errors by kind, checks, thresholds.

use std::collections::BTreeMap;

use hyperscale_report::{human, threshold_value};
use hyperscale_stats::result::ThresholdResult;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::fit::cut_line;
use super::panel;
use crate::state::State;
use crate::theme::Theme;

/// Failed calls by kind, with the message seen most.
pub(super) fn errors(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let lines = or_none(error_lines(state, theme), "none", theme);
    list(frame, area, "Errors", lines, theme);
}

/// How often each check held.
pub(super) fn checks(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let lines = or_none(check_lines(state, theme), "none", theme);
    list(frame, area, "Checks", lines, theme);
}

/// Both in one column.
pub(super) fn errors_and_checks(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let mut lines = error_lines(state, theme);
    lines.extend(check_lines(state, theme));
    list(frame, area, "Errors, checks", or_none(lines, "no errors, no checks", theme), theme);
}

/// Every rule and whether it holds so far.
pub(super) fn thresholds(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let known = state.result().map_or(&[][..], |result| &result.thresholds);
    let mut lines: Vec<Line<'_>> = known.iter().map(|threshold| threshold_line(threshold, theme)).collect();
    if known.is_empty() {
        let rules = state.started.iter().flat_map(|started| &started.thresholds);
        lines = rules.map(|rule| Line::styled(format!(" · {rule}"), theme.faint())).collect();
    }
    list(frame, area, "Thresholds", or_none(lines, "none", theme), theme);
}

fn threshold_line(threshold: &ThresholdResult, theme: Theme) -> Line<'static> {
    let (mark, style) = match (threshold.value, threshold.passed) {
        (None, true) => ("·", theme.faint()),
        (_, true) => ("✓", theme.good()),
        (_, false) => ("✗", theme.bad()),
    };
    let value = threshold.value.map(|_| format!(" ({})", threshold_value(threshold))).unwrap_or_default();
    let rule_style = if threshold.passed { Style::default() } else { theme.bad() };
    Line::from(vec![
        Span::styled(format!(" {mark} "), style),
        Span::styled(threshold.rule.clone(), rule_style),
        Span::styled(value, theme.faint()),
    ])
}

fn error_lines(state: &State, theme: Theme) -> Vec<Line<'static>> {
    let names: Vec<_> = state.shown_workflows().iter().map(|workflow| &workflow.name).collect();
    let mut kinds: BTreeMap<&str, (u64, u64, &str)> = BTreeMap::new();
    for error in state.result().iter().flat_map(|result| &result.errors) {
        if !names.contains(&&error.workflow) {
            continue;
        }
        let (count, most, message) = kinds.entry(&error.kind).or_default();
        *count += error.count;
        if error.count > *most {
            (*most, *message) = (error.count, &error.message);
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, (count, ..))| std::cmp::Reverse(*count));
    let line = |(kind, (count, _, message)): (&str, (u64, u64, &str))| {
        Line::from(vec![
            Span::styled(format!(" {} {kind}", human::count(count)), theme.bad()),
            Span::styled(format!("  {}", message.lines().next().unwrap_or_default()), theme.faint()),
        ])
    };
    kinds.into_iter().map(line).collect()
}

fn check_lines(state: &State, theme: Theme) -> Vec<Line<'static>> {
    let checks = state.shown_workflows().into_iter().flat_map(|workflow| &workflow.checks);
    checks
        .map(|check| {
            let all = check.passed + check.failed;
            let (mark, style) = match (all, check.failed) {
                (0, _) => ("·", theme.faint()),
                (_, 0) => ("✓", theme.good()),
                _ => ("✗", theme.bad()),
            };
            let share =
                if all == 0 { "–".to_owned() } else { human::percent(check.passed as f64 / all as f64) };
            Line::from(vec![
                Span::styled(format!(" {mark} "), style),
                Span::raw(check.name.to_string()),
                Span::styled(
                    format!("  {share}"),
                    if check.failed > 0 { theme.bad() } else { theme.faint() },
                ),
            ])
        })
        .collect()
}

fn or_none<'a>(lines: Vec<Line<'a>>, none: &'static str, theme: Theme) -> Vec<Line<'a>> {
    if lines.is_empty() { vec![Line::styled(format!(" {none}"), theme.faint())] } else { lines }
}

/// As many lines as fit; the last one says how many more there are.
fn list(frame: &mut Frame<'_>, area: Rect, title: &'static str, mut lines: Vec<Line<'_>>, theme: Theme) {
    let room = usize::from(area.height.saturating_sub(1));
    if lines.len() > room && room > 0 {
        let more = lines.len() - (room - 1);
        lines.truncate(room - 1);
        lines.push(Line::styled(format!(" … {more} more"), theme.faint()));
    }
    // A space stays free at the end, so that neighbours do not run into each other.
    let width = usize::from(area.width.saturating_sub(1));
    let lines: Vec<Line<'_>> = lines.into_iter().map(|line| cut_line(line, width)).collect();
    frame.render_widget(Paragraph::new(lines).block(panel(title, theme)), area);
}
