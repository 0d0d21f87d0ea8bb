//! What lies over the screen, and the last line.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::cut;
use crate::state::{Dialog, Mode, State};
use crate::theme::Theme;

const KEYS: [(&str, &str); 7] = [
    ("tab", "workflow"),
    ("space", "freeze"),
    ("s", "sort"),
    ("+/-", "load"),
    ("p", "pause"),
    ("q", "cancel"),
    ("?", "help"),
];

const REPLAY_KEYS: [(&str, &str); 5] =
    [("tab", "workflow"), ("space", "freeze"), ("s", "sort"), ("q", "leave"), ("?", "help")];

const HELP: [(&str, &str); 11] = [
    ("tab → ←", "next and previous workflow; the first is the whole run"),
    ("↑ ↓", "scroll the steps"),
    ("space f", "freeze the screen; the run goes on"),
    ("s", "sort the steps: plan, count, failed, p99"),
    ("+ -", "10 % more or less load on the workflow"),
    ("p", "pause, and go on"),
    ("q c", "cancel the run; asks first"),
    ("Ctrl-C", "stop gracefully and report; twice: stop now"),
    ("? h", "this help"),
    ("", ""),
    ("", "latency counts from the intended start of a call"),
];

/// A message, or the keys.
pub(super) fn foot(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let line = match state.message() {
        Some(message) => {
            Line::styled(format!(" {}", cut(message, usize::from(area.width) - 1)), theme.warning())
        }
        None => keys(if state.mode == Mode::Replay { &REPLAY_KEYS } else { &KEYS }, theme),
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn keys(keys: &[(&'static str, &'static str)], theme: Theme) -> Line<'static> {
    let spans = keys.iter().filter(|(key, _)| !key.is_empty()).flat_map(|(key, what)| {
        [Span::raw(" "), Span::styled(*key, theme.title()), Span::styled(format!(" {what} "), theme.faint())]
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// Help or a question, in the middle of the screen.
pub(super) fn dialog(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let (title, lines) = match state.dialog {
        Dialog::None => return,
        Dialog::Help => (" Keys ", HELP.iter().map(|(key, what)| help_line(key, what, theme)).collect()),
        Dialog::Cancel => (
            " Cancel the run? ",
            vec![
                Line::from(" No new step starts; calls in flight may finish."),
                Line::from(" The result so far is reported."),
                Line::from(""),
                keys(&[("y", "cancel"), ("n", "go on")], theme),
            ],
        ),
    };
    let wanted = lines.iter().map(Line::width).max().unwrap_or(0) + 3;
    let block = Block::new().borders(Borders::ALL).title(Span::styled(title, theme.title()));
    let place = centered(area, wanted as u16, lines.len() as u16 + 2);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

fn help_line(key: &'static str, what: &'static str, theme: Theme) -> Line<'static> {
    Line::from(vec![Span::styled(format!(" {key:<9}"), theme.title()), Span::raw(what)])
}

fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let [_, row, _] =
        Layout::vertical([Constraint::Fill(1), Constraint::Max(height), Constraint::Fill(1)]).areas(area);
    let [_, place, _] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Max(width), Constraint::Fill(1)]).areas(row);
    place
}
