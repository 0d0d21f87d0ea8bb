//! Draws the state. Pure: the same state and size give the same frame.
//!
//! ```text
//! header: plan, where it is, time, progress
//! one line per workflow
//! rate over time            | latency over time
//! steps
//! histogram | errors | checks | thresholds
//! generator health
//! keys or a message
//! ```
//! From [`WIDTH_MIN`] × [`HEIGHT_MIN`] on; below that it says so. What does not fit is cut, never drawn over.

mod charts;
mod dialogs;
mod header;
mod panels;
mod shape;
mod steps;

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
    let workflows = workflow_lines(state, area.height);
    let rest = area.height.saturating_sub(workflows + 3);
    let charts = (rest * 2 / 5).max(5);
    let bottom = (rest * 3 / 10).max(4);
    let [head, list, charts, steps, bottom, health, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(workflows),
        Constraint::Length(charts),
        Constraint::Min(3),
        Constraint::Length(bottom),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    header::head(frame, head, state, theme);
    header::workflows(frame, list, state, theme);
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(charts);
    charts::rate(frame, left, state, theme);
    charts::latency(frame, right, state, theme);
    steps::steps(frame, steps, state, theme);
    lists(frame, bottom, state, theme);
    panels::health(frame, health, state, theme);
    dialogs::foot(frame, foot, state, theme);
    dialogs::dialog(frame, area, state, theme);
}

/// Histogram, errors, checks and thresholds side by side; in narrow terminals errors and checks share a column.
fn lists(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    // Rules are long: where there is little room they get more of it.
    let shares: &[u16] = if area.width >= WIDE { &[1, 1, 1, 1] } else { &[2, 2, 3] };
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

/// A panel with a line on top and a title in it.
fn panel(title: impl Into<Line<'static>>, theme: Theme) -> Block<'static> {
    let mut title = title.into();
    title.spans.insert(0, " ".into());
    title.spans.push(" ".into());
    Block::new().borders(Borders::TOP).border_style(theme.faint()).title(title.style(theme.title()))
}

/// A text cut to so many cells, the last of which says that it was cut.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A text in so many cells, shortened in its middle: beginning and end tell more than the beginning alone.
fn squeeze(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept / 3, kept - kept / 3);
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_texts_say_so() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("äöüß", 2), "ä…");
        assert_eq!(cut("abcd", 0), "…");
    }

    #[test]
    fn squeezed_texts_keep_beginning_and_end() {
        assert_eq!(squeeze("abc", 3), "abc");
        assert_eq!(squeeze("Browse.list.has_items", 10), "Bro…_items");
        assert_eq!(squeeze("äöüß", 3), "…üß");
        assert_eq!(squeeze("abcd", 0), "…");
    }
}
