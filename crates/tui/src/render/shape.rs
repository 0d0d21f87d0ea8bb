//! The histogram of latencies: bars on a logarithmic scale.

use hyperscale_report::human;
use hyperscale_stats::event::Shape;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::panel;
use crate::state::State;
use crate::theme::Theme;

/// Eighths of a cell.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bars of the selected workflow; of several, the busiest is shown.
pub(super) fn histogram(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let block = panel("Latency histogram", theme);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(shape) = chosen(state).filter(|shape| !shape.bars.is_empty()) else {
        return frame.render_widget(Paragraph::new(Line::styled(" no data yet", theme.faint())), inner);
    };
    let [bars, axis] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inner);
    let width = usize::from(bars.width.saturating_sub(2)).max(1);
    let columns = resampled(&shape.bars, width);
    let lines: Vec<Line<'_>> = drawn(&columns, usize::from(bars.height))
        .into_iter()
        .map(|row| Line::from(vec![Span::raw(" "), Span::styled(row, theme.accent())]))
        .collect();
    frame.render_widget(Paragraph::new(lines), bars);
    frame.render_widget(Paragraph::new(scale(shape, width, theme)), axis);
}

fn chosen(state: &State) -> Option<&Shape> {
    let workflows = &state.shown()?.workflows;
    match state.selected_workflow() {
        Some(at) => workflows.get(at).map(|live| &live.shape),
        None => workflows.iter().map(|live| &live.shape).max_by_key(|shape| shape.bars.iter().sum::<u64>()),
    }
}

/// The bars in so many columns: wide ones are repeated, narrow ones added up, so that the outline stays.
fn resampled(bars: &[u64], columns: usize) -> Vec<u64> {
    if columns >= bars.len() {
        return (0..columns).map(|column| bars[column * bars.len() / columns]).collect();
    }
    let mut sums = vec![0; columns];
    for (bar, count) in bars.iter().enumerate() {
        sums[bar * columns / bars.len()] += count;
    }
    sums
}

/// Rows of eighths from top to bottom. What is there is never invisible.
fn drawn(columns: &[u64], height: usize) -> Vec<String> {
    let most = columns.iter().copied().max().unwrap_or(0).max(1);
    let eighths = |count: u64| {
        let scaled = (count as f64 / most as f64 * (height * 8) as f64).round() as usize;
        if count > 0 { scaled.max(1) } else { 0 }
    };
    (0..height)
        .rev()
        .map(|row| {
            columns.iter().map(|count| EIGHTHS[eighths(*count).saturating_sub(row * 8).min(8)]).collect()
        })
        .collect()
}

/// The ends and the middle of the scale.
fn scale(shape: &Shape, width: usize, theme: Theme) -> Line<'static> {
    let (from, to) = (human::micros(shape.from_us), human::micros(shape.to_us));
    let middle = human::micros(shape.edge_us(shape.bars.len() / 2));
    let lengths = [&from, &middle, &to].map(|text| text.chars().count());
    let free = width.saturating_sub(lengths.iter().sum());
    let text = if shape.bars.len() < 2 {
        from
    } else if free < 2 {
        format!("{from}{}{to}", " ".repeat(width.saturating_sub(lengths[0] + lengths[2]).max(1)))
    } else {
        format!("{from}{}{middle}{}{to}", " ".repeat(free / 2), " ".repeat(free - free / 2))
    };
    Line::styled(format!(" {text}"), theme.faint())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_some_column() {
        let bars: Vec<u64> = (0..48).collect();
        for columns in [1, 2, 7, 47] {
            assert_eq!(resampled(&bars, columns).iter().sum::<u64>(), bars.iter().sum::<u64>());
        }
        assert_eq!(resampled(&[1, 2], 4), [1, 1, 2, 2]);
    }

    #[test]
    fn one_sample_among_millions_is_still_seen() {
        let rows = drawn(&[1, 1_000_000, 0], 2);
        assert_eq!(rows, [" █ ", "▁█ "]);
    }
}
