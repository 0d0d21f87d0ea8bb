//! The first line: the plan, where it is, and the time.

use hyperscale_report::human;
use hyperscale_stats::result::Status;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::fit::cut;
use crate::state::{Mode, State};
use crate::theme::Theme;

/// Cells of the plan's name.
const NAME: usize = 30;

/// Name, status and time of the run. The name gives way: nobody forgets what he has just started.
pub(super) fn head(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let clock = clock(state, theme);
    let [left, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(clock.width() as u16)]).areas(area);
    let width = usize::from(left.width);
    let name = state.started.as_ref().map_or("", |started| started.name.as_str());
    let name_width = name.chars().count().min(NAME) + 2;
    let mut badges = badges(state, theme, "snapshots missed");
    if name_width + badges.width() > width {
        badges = self::badges(state, theme, "missed");
    }
    let room = width.saturating_sub(badges.width() + 2).min(NAME);
    let mut line = Line::from(Span::styled(format!(" {} ", cut(name, room)), theme.title()));
    line.spans.extend(badges.spans);
    // Whoever wants to control the run from elsewhere needs its id.
    let job = state.started.as_ref().map_or("", |started| started.job.as_str());
    if line.width() + job.chars().count() + 2 <= width {
        line.spans.push(Span::styled(format!(" {job} "), theme.faint()));
    }
    frame.render_widget(Paragraph::new(line), left);
    frame.render_widget(Paragraph::new(clock), right);
}

/// Where the run is, and what is special about the screen.
fn badges(state: &State, theme: Theme, missed_words: &str) -> Line<'static> {
    let (word, style) = status(state, theme);
    let mut badges = vec![Span::styled(format!(" {word} "), style.patch(theme.selected()))];
    if state.is_frozen() {
        badges.push(Span::styled(" frozen ", theme.warning()));
    }
    if state.mode == Mode::Replay {
        badges.push(Span::styled(" replay ", theme.accent()));
    }
    let missed = state.shown().map_or(0, |snapshot| snapshot.missed);
    if missed > 0 {
        badges.push(Span::styled(format!(" {missed} {missed_words} "), theme.warning()));
    }
    Line::from(badges)
}

fn clock(state: &State, theme: Theme) -> Line<'static> {
    let elapsed = state.result().map_or(0.0, |result| result.elapsed_s);
    let planned = state.started.as_ref().and_then(|started| started.planned_s);
    let vus: u64 = state.shown().map_or(0, |shown| shown.workflows.iter().map(|live| live.vus).sum());
    let mut spans = vec![Span::raw(format!("{} VUs  ", human::count(vus)))];
    spans.push(Span::styled(human::seconds(elapsed.floor()), theme.title()));
    if let Some(planned) = planned {
        spans.push(Span::raw(format!(" of {}", human::seconds(planned))));
    }
    spans.push(Span::raw(" "));
    Line::from(spans)
}

fn status(state: &State, theme: Theme) -> (&'static str, Style) {
    match state.result().map(|result| result.status) {
        None => ("starting", theme.accent()),
        Some(Status::Running) if state.shows_paused() => ("paused", theme.warning()),
        Some(status) => (status.as_str(), status_style(status, theme)),
    }
}

/// How the status of a run or of a workflow looks.
pub(super) fn status_style(status: Status, theme: Theme) -> Style {
    match status {
        Status::Running | Status::Completed => theme.good(),
        Status::Failed | Status::Partial | Status::TimedOut => theme.bad(),
        Status::Cancelled | Status::Cancelling | Status::Skipped | Status::Completing => theme.warning(),
        _ => theme.accent(),
    }
}
