//! Draws the state. Pure: the same state and size give the same frame.
//!
//! ```text
//! header: plan, where it is, time, progress
//! one line per workflow
//! rate over time        | latency over time        | virtual users, where there is room
//! steps
//! histogram | errors | checks | thresholds
//! generator health
//! keys or a message
//! ```
//! From [`WIDTH_MIN`] × [`HEIGHT_MIN`] on; below that it says so. Where there is little room the same is said in fewer
//! words ([`fit`]); what still does not fit ends with `…`, never in the middle of a number that looks whole.

mod charts;
mod dialogs;
mod fit;
mod header;
mod health;
mod panels;
mod shape;
mod steps;
mod workflows;

use hyperscale_report::human;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};

use crate::state::State;
use crate::theme::Theme;

/// The smallest terminal that the screen fits into.
pub(crate) const WIDTH_MIN: u16 = 60;
/// The smallest terminal that the screen fits into.
pub(crate) const HEIGHT_MIN: u16 = 18;
/// From this width on, every list has a column of its own.
const WIDE: u16 = 110;
/// Lines of workflows; the selected one is always among them.
const WORKFLOWS_MAX: u16 = 6;

/// Draws everything.
pub fn render(frame: &mut Frame<'_>, state: &State, theme: Theme) {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        return too_small(frame, area);
    }
    let [head, list, charts, steps, bottom, health, foot] = rows(state, area);
    header::head(frame, head, state, theme);
    workflows::workflows(frame, list, state, theme);
    over_time(frame, charts, state, theme);
    steps::steps(frame, steps, state, theme);
    lists(frame, bottom, state, theme);
    health::health(frame, health, state, theme);
    dialogs::foot(frame, health, foot, state, theme);
    dialogs::dialog(frame, area, state, theme);
}

/// Steps that do not fit into a terminal of this size: so far they can be scrolled.
pub(crate) fn steps_hidden(state: &State, (width, height): (u16, u16)) -> usize {
    if width < WIDTH_MIN || height < HEIGHT_MIN {
        return 0;
    }
    let [_, _, _, area, ..] = rows(state, Rect::new(0, 0, width, height));
    steps::hidden(state, area)
}

/// Header, workflows, charts, steps, lists, health and the last line.
fn rows(state: &State, area: Rect) -> [Rect; 7] {
    let workflows = workflow_lines(state, area.height);
    let rest = area.height.saturating_sub(workflows + 3);
    let charts = (rest * 2 / 5).max(5);
    let bottom = (rest * 3 / 10).max(4);
    Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(workflows),
        Constraint::Length(charts),
        Constraint::Min(3),
        Constraint::Length(bottom),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area)
}

/// Rate and latency side by side, virtual users beside them where there is room.
fn over_time(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let users = if area.width >= WIDE { area.width / 5 } else { 0 };
    let [left, middle, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1), Constraint::Length(users)]).areas(area);
    charts::rate(frame, left, state, theme);
    charts::latency(frame, middle, state, theme);
    if users > 0 {
        charts::vus(frame, right, state, theme);
    }
}

/// Histogram, errors, checks and thresholds side by side; in narrow terminals errors and checks share a column.
fn lists(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    // Rules are the longest texts; where there is little room they get more of it.
    let shares: &[u16] = if area.width >= WIDE { &[4, 5, 4, 7] } else { &[2, 2, 3] };
    let columns = shares.len();
    let areas = Layout::horizontal(shares.iter().map(|share| Constraint::Fill(*share))).split(area);
    shape::histogram(frame, areas[0], state, theme);
    if columns == 4 {
        panels::errors(frame, areas[1], state, theme);
        panels::checks(frame, areas[2], state, theme);
    } else {
        panels::errors_and_checks(frame, areas[1], state, theme);
    }
    panels::thresholds(frame, areas[columns - 1], state, theme);
}

fn workflow_lines(state: &State, height: u16) -> u16 {
    let wanted = u16::try_from(state.workflows()).unwrap_or(u16::MAX).max(1);
    wanted.min(WORKFLOWS_MAX).min(height / 8)
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let text = format!(
        "The terminal is too small: {}×{}. {WIDTH_MIN}×{HEIGHT_MIN} is needed. The run goes on.",
        area.width, area.height
    );
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
}

/// A panel with a line on top and a title in it. The line is faint, the title is not.
fn panel(title: impl Into<Line<'static>>, theme: Theme) -> Block<'static> {
    let mut title = title.into();
    title.spans.insert(0, " ".into());
    title.spans.push(" ".into());
    Block::new().borders(Borders::TOP).border_style(theme.faint()).title(title.style(theme.title()))
}

/// What stands where nothing was measured yet. A target that does not answer is not the same as no load.
fn waiting(state: &State, theme: Theme) -> Paragraph<'static> {
    let text = match state.under_way() {
        0 => " no data yet".to_owned(),
        held_up => format!(" no answer yet, {} iterations under way", human::count(held_up)),
    };
    Paragraph::new(text).style(theme.faint()).wrap(Wrap { trim: false })
}
