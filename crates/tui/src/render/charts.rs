//! Rate, latency and virtual users over time.

use hyperscale_report::human;
use hyperscale_stats::result::SeriesPoint;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph};

use super::fit::first_that_fits;
use super::{panel, waiting};
use crate::state::State;
use crate::theme::Theme;

/// One curve: how it looks, its points.
struct Curve {
    style: Style,
    marker: Marker,
    points: Vec<(f64, f64)>,
}

/// A percentile: its name, its number among the lines of the chart, what it is of a point.
type Percentile = (&'static str, usize, fn(&SeriesPoint) -> f64);

const PERCENTILES: [Percentile; 3] =
    [("p50", 0, |point| point.p50_us), ("p95", 1, |point| point.p95_us), ("p99", 2, |point| point.p99_us)];

/// Calls per second, and how many of them failed.
pub(super) fn rate(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let points = state.history().points();
    let calls = points.iter().map(|point| (point.t_s, point.rate)).collect();
    let mut curves = vec![Curve { style: theme.line(1), marker: Marker::Braille, points: calls }];
    let width = seconds_per_point(points);
    if points.iter().any(|point| point.failed > 0) {
        let failed = points.iter().map(|point| (point.t_s, point.failed as f64 / width)).collect();
        curves.push(Curve { style: theme.bad(), marker: theme.marker(1), points: failed });
    }
    let title = rate_title(points.last(), width, usize::from(area.width).saturating_sub(2), theme);
    chart(frame, area, title, &curves, human::rate, waiting(state, theme), theme);
}

fn rate_title(last: Option<&SeriesPoint>, seconds: f64, width: usize, theme: Theme) -> Line<'static> {
    let Some(last) = last else { return Line::from("Rate") };
    let calls = human::rate(last.rate);
    let failed = last.failed as f64 / seconds;
    let title = |words: String, gap: &str| {
        let mut spans = vec![Span::raw(words)];
        if failed > 0.0 {
            spans.push(Span::styled(format!("{gap}failed {}", human::rate(failed)), theme.bad()));
        }
        Line::from(spans)
    };
    first_that_fits([title(format!("Rate {calls}"), "  "), title(calls, " ")], width)
}

/// Percentiles of latency.
pub(super) fn latency(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let points = state.history().points();
    // What is drawn last lies on top.
    let curves = PERCENTILES.map(|(_, number, value)| {
        // A second without an answer has no latency.
        let measured = points.iter().filter(|point| point.p50_us > 0.0);
        Curve {
            style: theme.line(number),
            marker: theme.marker(number),
            points: measured.map(|point| (point.t_s, value(point))).collect(),
        }
    });
    let last = points.last().filter(|last| last.p50_us > 0.0);
    let title = latency_title(last, usize::from(area.width).saturating_sub(2), theme);
    chart(frame, area, title, &curves, human::micros, waiting(state, theme), theme);
}

/// The newest percentiles. Where there is little room, the 99th is the last to go.
fn latency_title(last: Option<&SeriesPoint>, width: usize, theme: Theme) -> Line<'static> {
    let Some(last) = last else { return Line::from("Latency") };
    let span = |(name, number, value): &Percentile| {
        let text = format!("{}{name} {}", theme.sign(*number), human::micros(value(last)));
        Span::styled(text, theme.line(*number))
    };
    let title = |word: &'static str, gap: &'static str, percentiles: &[Percentile]| {
        let parts = Some(Span::raw(word)).filter(|_| !word.is_empty()).into_iter();
        let parts: Vec<Span<'static>> = parts.chain(percentiles.iter().map(span)).collect();
        let joined = parts.into_iter().enumerate().flat_map(|(number, part)| {
            let gap = Some(Span::raw(gap)).filter(|_| number > 0);
            gap.into_iter().chain([part])
        });
        Line::from(joined.collect::<Vec<_>>())
    };
    let [p50, _, p99] = PERCENTILES;
    let forms = [
        title("Latency", "  ", &PERCENTILES),
        title("", "  ", &PERCENTILES),
        title("", " ", &PERCENTILES),
        title("", " ", &[p50, p99]),
        title("", " ", &[p99]),
    ];
    first_that_fits(forms, width)
}

/// Active virtual users.
pub(super) fn vus(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let points = state.history().points();
    let users = points.iter().map(|point| (point.t_s, point.vus as f64)).collect();
    let curves = [Curve { style: theme.line(0), marker: Marker::Braille, points: users }];
    let now = points.last().map_or_else(String::new, |point| format!(" {}", human::count(point.vus)));
    let label = |vus: f64| human::number(vus);
    chart(frame, area, Line::from(format!("VUs{now}")), &curves, label, waiting(state, theme), theme);
}

/// Points of long runs are wider than a second; the last one says little about that.
fn seconds_per_point(points: &[SeriesPoint]) -> f64 {
    match points {
        [.., before, last] if last.t_s > before.t_s => last.t_s - before.t_s,
        _ => 1.0,
    }
}

fn chart(
    frame: &mut Frame<'_>,
    area: Rect,
    title: Line<'static>,
    curves: &[Curve],
    label: impl Fn(f64) -> String,
    waiting: Paragraph<'static>,
    theme: Theme,
) {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let top = nice(all().map(|(_, value)| *value).fold(0.0, f64::max));
    let from = all().map(|(at, _)| *at).fold(f64::INFINITY, f64::min);
    let to = all().map(|(at, _)| *at).fold(0.0, f64::max);
    let block = panel(title, theme);
    if !from.is_finite() {
        return frame.render_widget(waiting.block(block), area);
    }
    let to = to.max(from + 1.0);
    let datasets = curves
        .iter()
        .map(|curve| {
            Dataset::default()
                .marker(curve.marker)
                .graph_type(GraphType::Line)
                .style(curve.style)
                .data(&curve.points)
        })
        .collect();
    let x = Axis::default()
        .bounds([from, to])
        .style(theme.faint())
        .labels([human::seconds(from), human::seconds(to + 1.0)]);
    let middle = if area.height >= 8 { vec![label(top / 2.0)] } else { Vec::new() };
    let y = Axis::default()
        .bounds([0.0, top])
        .style(theme.faint())
        .labels(std::iter::once("0".to_owned()).chain(middle).chain([label(top)]));
    frame.render_widget(Chart::new(datasets).block(block).x_axis(x).y_axis(y).legend_position(None), area);
}

/// The next larger of 1, 1.5, 2, 3, 5, 7.5 of a power of ten, so that the axis does not jump every second.
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0];
    let step = steps.into_iter().find(|step| value <= step * power * (1.0 + 1e-9));
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::nice;

    #[test]
    fn axes_end_at_round_numbers_above_the_data() {
        for (value, top) in
            [(0.0, 1.0), (1.0, 1.0), (1.1, 1.5), (4.2, 5.0), (76.0, 100.0), (12_345.0, 15_000.0)]
        {
            assert!((nice(value) - top).abs() < 1e-6, "{value}: {}", nice(value));
        }
        assert!((nice(f64::NAN) - 1.0).abs() < f64::EPSILON);
        assert!((nice(f64::INFINITY) - 1.0).abs() < f64::EPSILON);
    }
}
