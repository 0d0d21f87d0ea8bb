//! What lies over the screen, and the last line.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::fit::{cut, first_that_fits};
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

/// A run that is over, and a screen that waits.
const LAST_KEYS: [(&str, &str); 4] =
    [("q", "leave: the run is over"), ("tab", "workflow"), ("s", "sort"), ("?", "help")];

/// Words for terminals in which the usual ones do not fit.
const SHORT_WORDS: [(&str, &str); 2] = [("space", "spc"), ("workflow", "flow")];

const HELP: [(&str, &str); 11] = [
    ("tab → ←", "next and previous workflow, and the whole run"),
    ("↑ ↓", "scroll the steps"),
    ("space f", "freeze the screen; the run goes on"),
    ("s", "sort the steps: plan, count, failed, p99"),
    ("+ -", "10 % more or less load on the workflow"),
    ("p", "pause, and go on"),
    ("q c", "cancel the run; asks first"),
    ("Ctrl-C", "stop gracefully and report; twice: stop now"),
    ("? h", "this help"),
    ("", ""),
    ("", "latency counts from the intended start"),
];

/// A message, or the keys. A message that does not fit takes the line above as well: what it says about the next key
/// must be read whole.
pub(super) fn foot(frame: &mut Frame<'_>, above: Rect, area: Rect, state: &State, theme: Theme) {
    let Some(message) = state.message().filter(|_| !state.is_held()) else {
        return frame.render_widget(Paragraph::new(key_line(state, usize::from(area.width), theme)), area);
    };
    let width = usize::from(area.width).saturating_sub(2);
    let lines = wrapped(message, width);
    let place = if lines.len() > 1 { above.union(area) } else { area };
    let lines = lines.iter().map(|line| Line::styled(format!(" {line}"), theme.warning()));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), place);
}

/// At most two lines, parted between words; the second ends with `…` if there is more.
fn wrapped(message: &str, width: usize) -> Vec<String> {
    if message.chars().count() <= width {
        return vec![message.to_owned()];
    }
    let within = message.char_indices().nth(width + 1).map_or(message.len(), |(at, _)| at);
    let at = message[..within].rfind(' ').unwrap_or(within);
    vec![cut(&message[..at], width), cut(message[at..].trim_start(), width)]
}

fn key_line(state: &State, width: usize, theme: Theme) -> Line<'static> {
    let all: &[(&'static str, &'static str)] = match state.mode {
        _ if state.is_held() => &LAST_KEYS,
        Mode::Replay => &REPLAY_KEYS,
        Mode::Live => &KEYS,
    };
    let short = |word: &'static str| {
        SHORT_WORDS.iter().find(|(long, _)| *long == word).map_or(word, |(_, short)| *short)
    };
    let shorter: Vec<_> = all.iter().map(|(key, what)| (short(key), short(what))).collect();
    first_that_fits([keys(all, " ", theme), keys(&shorter, "", theme)], width)
}

/// Keys with what they do, and `gap` beyond the space between them.
fn keys(keys: &[(&'static str, &'static str)], gap: &'static str, theme: Theme) -> Line<'static> {
    let mut line = Line::default();
    for (number, (key, what)) in keys.iter().enumerate() {
        line.push_span(Span::raw(if number > 0 { gap } else { "" }));
        line.push_span(Span::styled(format!(" {key}"), theme.title()));
        line.push_span(Span::styled(format!(" {what}"), theme.faint()));
    }
    line
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
                keys(&[("y", "cancel"), ("n", "go on")], " ", theme),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_parted_between_words() {
        assert_eq!(wrapped("stop now", 8), ["stop now"]);
        assert_eq!(wrapped("stop now", 7), ["stop", "now"]);
        assert_eq!(wrapped("press it again to stop", 8), ["press it", "again t…"]);
        assert_eq!(wrapped("öööööööööö", 4), ["ööö…", "ööööö"].map(|text| cut(text, 4)));
    }
}
