//! One line per workflow: where it is, how far, and its load against what is wanted.
//!
//! Facts come before ornaments: the bar of progress takes what room is left, and where that is not enough the facts are
//! said in fewer words.

use hyperscale_report::human;
use hyperscale_stats::event::{Target, WorkflowLive};
use hyperscale_stats::result::Status;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::fit::{cut, cut_line, cut_middle};
use super::header::status_style;
use crate::state::State;
use crate::theme::Theme;

/// Cells of a bar of progress, at most and at least; with less room there is none.
const BAR_MAX: usize = 16;
const BAR_MIN: usize = 4;
/// Cells of ` 100%`.
const PERCENT: usize = 5;
/// Cells of a workflow's name, at most and at least.
const NAME_MAX: usize = 20;
const NAME_MIN: usize = 8;

/// As many workflows as fit, the selected one among them.
pub(super) fn workflows(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let count = state.workflows();
    let height = usize::from(area.height);
    let at = state.selected_workflow().unwrap_or(0);
    let first = (at + 1).saturating_sub(height).min(count.saturating_sub(height));
    let shown: Vec<usize> = (first..count).take(height).collect();
    let columns = Columns::of(state, &shown, usize::from(area.width), theme);
    let lines: Vec<Line<'_>> = shown.iter().map(|at| line(state, *at, columns, theme)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// In how many words the facts are said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Long,
    Short,
}

/// How the room of a line is shared out.
#[derive(Clone, Copy)]
struct Columns {
    width: usize,
    name: usize,
    status: usize,
    bar: usize,
    percent: usize,
    form: Form,
}

impl Columns {
    fn of(state: &State, shown: &[usize], width: usize, theme: Theme) -> Self {
        let longest = |of: &dyn Fn(usize) -> usize| shown.iter().map(|at| of(*at)).max().unwrap_or(0);
        let name = longest(&|at| name_of(state, at).chars().count()).min(NAME_MAX);
        let status = longest(&|at| state.status_of(at).as_str().len());
        let facts = |form| longest(&|at| Line::from(facts(state, at, form, theme)).width());
        let (long, short) = (facts(Form::Long), facts(Form::Short));
        // A space in front of each column, two in front of the facts.
        let fixed = 1 + name + 1 + status + 2;
        let (form, percent) = match width {
            _ if fixed + PERCENT + long <= width => (Form::Long, PERCENT),
            _ if fixed + PERCENT + short <= width => (Form::Short, PERCENT),
            _ => (Form::Short, 0),
        };
        let used = fixed + percent + if form == Form::Long { long } else { short };
        let bar = width.saturating_sub(used + 1).min(BAR_MAX);
        let over = used.saturating_sub(width);
        Self {
            width,
            name: name.saturating_sub(over).max(NAME_MIN.min(name)),
            status,
            bar: if bar < BAR_MIN || percent == 0 { 0 } else { bar },
            percent,
            form,
        }
    }
}

fn line(state: &State, at: usize, columns: Columns, theme: Theme) -> Line<'static> {
    let status = state.status_of(at);
    let name_style = if state.selected_workflow() == Some(at) { theme.selected() } else { Style::default() };
    let (name, width) = (cut_middle(name_of(state, at), columns.name), columns.name);
    let mut spans = vec![
        Span::raw(" "),
        Span::styled(format!("{name:<width$}"), name_style),
        Span::styled(format!(" {:<1$}", status.as_str(), columns.status), status_style(status, theme)),
    ];
    spans.extend(progress(state, at, columns, theme));
    spans.push(Span::raw("  "));
    spans.extend(facts(state, at, columns.form, theme));
    let mut line = cut_line(Line::from(spans), columns.width);
    let left = columns.width.saturating_sub(line.width() + 2);
    if let Some(reason) = reason_of(state, at).filter(|_| left >= NAME_MIN) {
        line.push_span(Span::styled(format!("  {}", cut(reason, left)), theme.warning()));
    }
    line
}

fn name_of(state: &State, at: usize) -> &str {
    state.started.as_ref().and_then(|started| started.workflows.get(at)).map_or("", |plan| plan.name.as_str())
}

fn reason_of(state: &State, at: usize) -> Option<&str> {
    state.result().and_then(|result| result.workflows.get(at)).and_then(|result| result.reason.as_deref())
}

fn progress(state: &State, at: usize, columns: Columns, theme: Theme) -> Vec<Span<'static>> {
    if columns.percent == 0 {
        return Vec::new();
    }
    let live = state.shown().and_then(|shown| shown.workflows.get(at));
    let share = match state.status_of(at) {
        Status::Completed => Some(1.0),
        _ => live.and_then(|live| live.progress),
    };
    let mut spans = Vec::new();
    if columns.bar > 0 {
        let full = ((share.unwrap_or(0.0) * columns.bar as f64).round() as usize).min(columns.bar);
        let empty = if share.is_some() { "─" } else { "·" };
        spans.push(Span::raw(" "));
        spans.push(Span::styled("━".repeat(full), theme.accent()));
        spans.push(Span::styled(empty.repeat(columns.bar - full), theme.faint()));
    }
    let percent = share.map_or_else(String::new, |share| format!("{:.0}%", (share * 100.0).floor()));
    spans.push(Span::raw(format!("{percent:>PERCENT$}")));
    spans
}

/// Virtual users, load and failures. Nothing before the first snapshot.
fn facts(state: &State, at: usize, form: Form, theme: Theme) -> Vec<Span<'static>> {
    let Some(live) = state.shown().and_then(|shown| shown.workflows.get(at)) else { return Vec::new() };
    let plan = state.started.as_ref().and_then(|started| started.workflows.get(at));
    let calls = state.history_of(at).and_then(|history| history.last()).map_or(0.0, |point| point.rate);
    let gap = if form == Form::Long { "  " } else { " " };
    let cap = plan.map(|plan| u64::from(plan.vus));
    let load = [Some(users(live, cap, form)), starts(live, form), calls_of(live, calls, form)];
    let load: Vec<String> = load.into_iter().flatten().collect();
    let mut spans = vec![Span::raw(load.join(gap))];
    let result = state.result().and_then(|result| result.workflows.get(at));
    if let Some(failed) = result.map(|result| result.totals.failed).filter(|failed| *failed > 0) {
        spans.push(Span::styled(format!("{gap}{} failed", human::count(failed)), theme.bad()));
    }
    spans
}

/// Virtual users, and how many there should or could be where that says more.
fn users(live: &WorkflowLive, cap: Option<u64>, form: Form) -> String {
    let most = match live.target {
        Some(Target::Vus(wanted)) => Some(u64::from(wanted)),
        Some(Target::Rate(_)) => cap,
        None => None,
    };
    let vus = human::count(live.vus);
    match (most.filter(|most| *most != live.vus), form) {
        (Some(most), Form::Long) => format!("{vus} of {} VUs", human::count(most)),
        (Some(most), Form::Short) => format!("{vus}/{} VUs", human::count(most)),
        (None, _) => format!("{vus} VUs"),
    }
}

/// Starts per second against those wanted (open models): iterations on both sides.
fn starts(live: &WorkflowLive, form: Form) -> Option<String> {
    let Some(Target::Rate(wanted)) = live.target else { return None };
    let number = |rate: f64| human::rate(rate).trim_end_matches("/s").to_owned();
    let wanted = number(wanted);
    Some(match (live.starts_per_s.map(number), form) {
        (Some(starts), Form::Long) => format!("{starts} of {wanted} starts/s"),
        (Some(starts), Form::Short) => format!("{starts}/{wanted} starts/s"),
        (None, _) => format!("{wanted} starts/s wanted"),
    })
}

/// Calls per second; where there is little room, the chart says it.
fn calls_of(live: &WorkflowLive, calls: f64, form: Form) -> Option<String> {
    let open = matches!(live.target, Some(Target::Rate(_)));
    let calls = human::rate(calls);
    match form {
        Form::Long => Some(format!("{} calls/s", calls.trim_end_matches("/s"))),
        Form::Short => (!open).then_some(calls),
    }
}
