//! The first lines: the plan and how far it is, then its workflows.

use hyperscale_report::human;
use hyperscale_stats::event::Target;
use hyperscale_stats::result::Status;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::cut;
use crate::state::{Mode, State};
use crate::theme::Theme;

/// Cells of a workflow's bar of progress.
const BAR: usize = 16;
/// Cells of a workflow's name.
const NAME: usize = 20;

/// Name, status and time of the run.
pub(super) fn head(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let name = state.started.as_ref().map_or("", |started| started.name.as_str());
    let (word, style) = status(state, theme);
    let mut left = vec![
        Span::styled(format!(" {} ", cut(name, 30)), theme.title()),
        Span::styled(format!(" {word} "), style.patch(theme.selected())),
    ];
    if state.frozen.is_some() {
        left.push(Span::styled(" frozen ", theme.warning()));
    }
    if state.mode == Mode::Replay {
        left.push(Span::styled(" replay ", theme.accent()));
    }
    let missed = state.shown().map_or(0, |snapshot| snapshot.missed);
    if missed > 0 {
        left.push(Span::styled(format!(" {missed} snapshots missed "), theme.warning()));
    }
    let [left_area, right_area] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(34)]).areas(area);
    // Whoever wants to control the run from elsewhere needs its id.
    let job = state.started.as_ref().map_or("", |started| started.job.as_str());
    let used: usize = left.iter().map(Span::width).sum();
    if used + job.chars().count() + 2 <= usize::from(left_area.width) {
        left.push(Span::styled(format!(" {job} "), theme.faint()));
    }
    frame.render_widget(Paragraph::new(Line::from(left)), left_area);
    frame.render_widget(Paragraph::new(clock(state, theme)).alignment(Alignment::Right), right_area);
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
        Some(Status::Running) if state.is_paused() => ("paused", theme.warning()),
        Some(status) => (status.as_str(), status_style(status, theme)),
    }
}

fn status_style(status: Status, theme: Theme) -> Style {
    match status {
        Status::Running | Status::Completed => theme.good(),
        Status::Failed | Status::Partial | Status::TimedOut => theme.bad(),
        Status::Cancelled | Status::Cancelling | Status::Skipped | Status::Completing => theme.warning(),
        _ => theme.accent(),
    }
}

/// One line per workflow, as many as fit, the selected one among them.
pub(super) fn workflows(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let count = state.workflows();
    let height = usize::from(area.height);
    let at = state.selected_workflow().unwrap_or(0);
    let first = (at + 1).saturating_sub(height).min(count.saturating_sub(height));
    let lines: Vec<Line<'_>> =
        (first..count).take(height).map(|at| workflow(state, at, area.width, theme)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn workflow(state: &State, at: usize, width: u16, theme: Theme) -> Line<'static> {
    let plan = state.started.as_ref().and_then(|started| started.workflows.get(at));
    let live = state.shown().and_then(|shown| shown.workflows.get(at));
    let result = state.result().and_then(|result| result.workflows.get(at));
    let status = state.status_of(at);
    let name = plan.map_or("", |plan| plan.name.as_str());
    let name_style = if state.selected_workflow() == Some(at) { theme.selected() } else { Style::default() };
    let progress = match status {
        Status::Completed => Some(1.0),
        _ => live.and_then(|live| live.progress),
    };
    let mut spans = vec![
        Span::raw(" "),
        Span::styled(format!("{:<NAME$}", cut(name, NAME)), name_style),
        Span::styled(format!(" {:<10} ", status.as_str()), status_style(status, theme)),
    ];
    spans.extend(bar(progress, theme));
    let load = live.map_or_else(String::new, |live| {
        let rate = state.each.get(at).and_then(|history| history.last()).map_or(0.0, |point| point.rate);
        format!("  {} VUs{}  {}", human::count(live.vus), wanted(live.target, live.vus), human::rate(rate))
    });
    spans.push(Span::raw(load));
    if let Some(failed) = result.map(|result| result.totals.failed).filter(|failed| *failed > 0) {
        spans.push(Span::styled(format!("  {} failed", human::count(failed)), theme.bad()));
    }
    if let Some(reason) = result.and_then(|result| result.reason.clone()) {
        spans.push(Span::styled(format!("  {}", cut(&reason, usize::from(width / 3))), theme.warning()));
    }
    Line::from(spans)
}

/// What is wanted, where it says more than what is.
fn wanted(target: Option<Target>, vus: u64) -> String {
    match target {
        Some(Target::Vus(wanted)) if u64::from(wanted) != vus => {
            format!(" of {}", human::count(u64::from(wanted)))
        }
        Some(Target::Rate(rate)) => format!(", {} wanted,", human::rate(rate)),
        _ => String::new(),
    }
}

fn bar(progress: Option<f64>, theme: Theme) -> [Span<'static>; 3] {
    let Some(progress) = progress else {
        return [Span::styled("·".repeat(BAR), theme.faint()), Span::raw(""), Span::raw("     ")];
    };
    let full = ((progress * BAR as f64).round() as usize).min(BAR);
    [
        Span::styled("━".repeat(full), theme.accent()),
        Span::styled("─".repeat(BAR - full), theme.faint()),
        Span::raw(format!(" {:>3.0}%", (progress * 100.0).floor())),
    ]
}
