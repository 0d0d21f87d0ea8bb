//! The histogram of latencies: bars on a logarithmic scale.

use hyperscale_report::human;
use hyperscale_stats::event::Shape;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{panel, waiting};
use crate::state::State;
use crate::theme::Theme;

/// Eighths of a cell.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bars of the selected workflow, or of all of them together.
pub(super) fn histogram(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let block = panel("Latency histogram", theme);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let shapes = chosen(state);
    let Some((from_us, to_us)) = ends(&shapes) else {
        return frame.render_widget(waiting(state, theme), inner);
    };
    let [bars, axis] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inner);
    let width = usize::from(bars.width.saturating_sub(2)).max(1);
    let scale = Scale { from_us, to_us, columns: if to_us > from_us { width } else { 1 } };
    let lines: Vec<Line<'_>> = drawn(&scale.columns(&shapes), usize::from(bars.height))
        .into_iter()
        .map(|row| Line::from(vec![Span::raw(" "), Span::styled(row, theme.accent())]))
        .collect();
    frame.render_widget(Paragraph::new(lines), bars);
    frame.render_widget(Paragraph::new(labels(scale, width, theme)), axis);
}

/// What is there of the workflows on the screen.
fn chosen(state: &State) -> Vec<&Shape> {
    let workflows = state.shown().map_or(&[][..], |shown| &shown.workflows);
    let chosen = match state.selected_workflow() {
        Some(at) => workflows.get(at..=at).unwrap_or_default(),
        None => workflows,
    };
    chosen.iter().map(|live| &live.shape).filter(|shape| !shape.bars.is_empty()).collect()
}

/// The smallest and the largest sample of all shapes.
fn ends(shapes: &[&Shape]) -> Option<(f64, f64)> {
    let from = shapes.iter().map(|shape| shape.from_us).reduce(f64::min)?;
    let to = shapes.iter().map(|shape| shape.to_us).reduce(f64::max)?;
    Some((from, to))
}

/// So many columns of equal width on a logarithmic scale.
#[derive(Clone, Copy)]
struct Scale {
    from_us: f64,
    to_us: f64,
    columns: usize,
}

impl Scale {
    /// Samples of each column. A bar that lies in several columns is shared out among them by how much of it lies in
    /// each: whole bars, one here and two there, would be peaks that nobody measured.
    fn columns(self, shapes: &[&Shape]) -> Vec<f64> {
        let mut columns = vec![0.0; self.columns];
        for shape in shapes {
            for (bar, count) in shape.bars.iter().enumerate() {
                self.share_out(*count as f64, shape.edge_us(bar), shape.edge_us(bar + 1), &mut columns);
            }
        }
        columns
    }

    fn share_out(self, count: f64, from_us: f64, to_us: f64, columns: &mut [f64]) {
        let last = columns.len() as f64;
        let (from, to) = (self.place(from_us).clamp(0.0, last), self.place(to_us).clamp(0.0, last));
        let width = to - from;
        let first = (from as usize).min(columns.len() - 1);
        if width < 1e-9 {
            columns[first] += count;
            return;
        }
        for (column, samples) in columns.iter_mut().enumerate().skip(first) {
            if column as f64 >= to {
                break;
            }
            let inside = to.min((column + 1) as f64) - from.max(column as f64);
            // What only rounding puts into a column is not there.
            if inside > 1e-9 {
                *samples += count * inside / width;
            }
        }
    }

    /// Where a time lies, in columns.
    fn place(self, us: f64) -> f64 {
        let (from, to) = (self.from_us.max(1e-3).ln(), self.to_us.max(1e-3).ln());
        if to > from { (us.max(1e-3).ln() - from) / (to - from) * self.columns as f64 } else { 0.0 }
    }

    /// The time in the middle.
    fn middle_us(self) -> f64 {
        (self.from_us.max(1e-3) * self.to_us).sqrt()
    }
}

/// Rows of eighths from top to bottom. What is there is never invisible.
fn drawn(columns: &[f64], height: usize) -> Vec<String> {
    let most = columns.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let eighths = |count: f64| {
        let scaled = (count / most * (height * 8) as f64).round() as usize;
        if count > 0.0 { scaled.max(1) } else { 0 }
    };
    (0..height)
        .rev()
        .map(|row| {
            columns.iter().map(|count| EIGHTHS[eighths(*count).saturating_sub(row * 8).min(8)]).collect()
        })
        .collect()
}

/// The ends and the middle of the scale.
fn labels(scale: Scale, width: usize, theme: Theme) -> Line<'static> {
    let [from, middle, to] = [scale.from_us, scale.middle_us(), scale.to_us].map(human::micros);
    let lengths = [&from, &middle, &to].map(|text| text.chars().count());
    let free = width.saturating_sub(lengths.iter().sum());
    let text = if scale.columns < 2 {
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

    fn shape(from_us: f64, to_us: f64, bars: &[u64]) -> Shape {
        Shape { from_us, to_us, bars: bars.to_vec() }
    }

    fn columns(shapes: &[&Shape], columns: usize) -> Vec<f64> {
        let (from_us, to_us) = ends(shapes).unwrap();
        Scale { from_us, to_us, columns }.columns(shapes)
    }

    #[test]
    fn even_bars_stay_even_at_every_width() {
        let even = shape(1.0, 1_000.0, &[100; 48]);
        for width in [1, 7, 25, 28, 47, 48, 49, 120] {
            let columns = columns(&[&even], width);
            let expected = 4_800.0 / width as f64;
            assert!(columns.iter().all(|count| (count - expected).abs() < 1e-6), "{width}: {columns:?}");
        }
    }

    #[test]
    fn every_sample_is_in_some_column() {
        let rising = shape(3.0, 700.0, &(0..48).collect::<Vec<u64>>());
        for width in [1, 2, 7, 47, 200] {
            let sum: f64 = columns(&[&rising], width).iter().sum();
            assert!((sum - 1_128.0).abs() < 1e-6, "{width}: {sum}");
        }
    }

    #[test]
    fn workflows_together_are_on_one_scale() {
        let (quick, slow) = (shape(1.0, 10.0, &[8, 8]), shape(100.0, 10_000.0, &[6, 2]));
        let together: Vec<i64> =
            columns(&[&quick, &slow], 4).into_iter().map(|count| count.round() as i64).collect();
        assert_eq!(together, [16, 0, 6, 2]);
        let (one, other) = (shape(1.0, 100.0, &[5, 5]), shape(10.0, 10.0, &[7]));
        assert_eq!(columns(&[&one, &other], 2).iter().sum::<f64>().round() as i64, 17);
    }

    #[test]
    fn one_sample_among_millions_is_still_seen() {
        let rows = drawn(&[1.0, 1_000_000.0, 0.0], 2);
        assert_eq!(rows, [" █ ", "▁█ "]);
    }
}
