//! Lists beside the histogram: errors by kind, checks, thresholds.

use std::collections::BTreeMap;

use hyperscale_report::{human, threshold_value};
use hyperscale_stats::result::{CheckResult, ThresholdResult};
use hyperscale_types::Name;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::fit::{cut, cut_line, cut_middle};
use super::panel;
use crate::state::State;
use crate::theme::Theme;

/// Cells of the mark before a check or a threshold.
const MARK: usize = 3;

/// Failed calls by kind, with the message seen most.
pub(super) fn errors(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let lines = or_none(error_lines(state, theme), "none", theme);
    list(frame, area, "Errors", lines, theme);
}

/// How often each check held.
pub(super) fn checks(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let lines = or_none(check_lines(state, cells(area), theme), "none", theme);
    list(frame, area, "Checks", lines, theme);
}

/// Both in one column.
pub(super) fn errors_and_checks(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let mut lines = error_lines(state, theme);
    lines.extend(check_lines(state, cells(area), theme));
    list(frame, area, "Errors, checks", or_none(lines, "no errors, no checks", theme), theme);
}

/// Every rule and whether it holds so far.
pub(super) fn thresholds(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let known = state.result().map_or(&[][..], |result| &result.thresholds);
    let width = cells(area);
    let mut lines: Vec<Line<'_>> =
        known.iter().map(|threshold| threshold_line(threshold, width, theme)).collect();
    if known.is_empty() {
        let rules = state.started.iter().flat_map(|started| &started.thresholds);
        let line = |rule: &String| format!(" · {}", short_rule(rule, width.saturating_sub(MARK)));
        lines = rules.map(|rule| Line::styled(line(rule), theme.faint())).collect();
    }
    list(frame, area, "Thresholds", or_none(lines, "none", theme), theme);
}

/// Mark, rule and value; where they do not fit, the name in the rule is shortened.
fn threshold_line(threshold: &ThresholdResult, width: usize, theme: Theme) -> Line<'static> {
    let (mark, style) = match (threshold.value, threshold.passed) {
        (None, true) => ("·", theme.faint()),
        (_, true) => ("✓", theme.good()),
        (_, false) => ("✗", theme.bad()),
    };
    let value = threshold.value.map(|_| format!(" ({})", threshold_value(threshold))).unwrap_or_default();
    let rule_style = if threshold.passed { Style::default() } else { theme.bad() };
    let room = width.saturating_sub(MARK + value.chars().count());
    Line::from(vec![
        Span::styled(format!(" {mark} "), style),
        Span::styled(short_rule(&threshold.rule, room), rule_style),
        Span::styled(value, theme.faint()),
    ])
}

/// A rule in so many cells. What it compares and with what is at its end: `Checkout.pay.latency.p95 < 300ms` becomes
/// `Checkou…ncy.p95 < 300ms`.
fn short_rule(rule: &str, room: usize) -> String {
    if rule.chars().count() <= room {
        return rule.to_owned();
    }
    let (name, limit) = rule.split_at(rule.find(['<', '>', '=', '!']).unwrap_or(rule.len()));
    let name_room = room.saturating_sub(limit.chars().count() + 1);
    cut(&format!("{} {limit}", cut_middle(name.trim_end(), name_room)), room)
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

fn check_lines(state: &State, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let workflows = state.shown_workflows();
    let all =
        || workflows.iter().flat_map(|workflow| workflow.checks.iter().map(|check| (&workflow.name, check)));
    let line = |(workflow, check): (&Name, &CheckResult)| {
        // Two of the same name would look alike.
        let alone = all().filter(|(_, other)| other.name == check.name).count() == 1;
        let name = if alone { check.name.to_string() } else { full_name(workflow, check) };
        check_line(&name, check, width, theme)
    };
    all().map(line).collect()
}

fn check_line(name: &str, check: &CheckResult, width: usize, theme: Theme) -> Line<'static> {
    let all = check.passed + check.failed;
    let (mark, style) = match (all, check.failed) {
        (0, _) => ("·", theme.faint()),
        (_, 0) => ("✓", theme.good()),
        _ => ("✗", theme.bad()),
    };
    let share = if all == 0 { "–".to_owned() } else { human::percent(check.passed as f64 / all as f64) };
    let share = format!("  {share}");
    Line::from(vec![
        Span::styled(format!(" {mark} "), style),
        Span::raw(cut_middle(name, width.saturating_sub(MARK + share.chars().count()))),
        Span::styled(share, if check.failed > 0 { theme.bad() } else { theme.faint() }),
    ])
}

/// Where a check stands: workflow, step, name.
fn full_name(workflow: &Name, check: &CheckResult) -> String {
    match &check.step {
        Some(step) => format!("{workflow}.{step}.{}", check.name),
        None => format!("{workflow}.{}", check.name),
    }
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
    let width = cells(area);
    let lines: Vec<Line<'_>> = lines.into_iter().map(|line| cut_line(line, width)).collect();
    frame.render_widget(Paragraph::new(lines).block(panel(title, theme)), area);
}

/// Cells of a line: a space stays free at the end, so that neighbours do not run into each other.
fn cells(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_rules_keep_what_is_compared_with_what() {
        let rule = "Checkout.pay.latency.p95 < 300ms";
        assert_eq!(short_rule(rule, 32), rule);
        assert_eq!(short_rule(rule, 23), "Checkou…ncy.p95 < 300ms");
        assert_eq!(short_rule(rule, 31).chars().count(), 31);
        for room in 0..40 {
            assert!(short_rule(rule, room).chars().count() <= room.max(1), "{room}");
        }
    }
}
