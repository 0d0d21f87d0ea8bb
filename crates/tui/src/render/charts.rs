//! Rate and latency over time.

use hyperscale_report::human;
use hyperscale_stats::result::SeriesPoint;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType};

use super::panel;
use crate::state::State;
use crate::theme::Theme;

/// What a curve shows of a point.
type Value = fn(&SeriesPoint) -> f64;

/// One curve: its name, how it looks, its points.
struct Curve {
    name: &'static str,
    style: Style,
    points: Vec<(f64, f64)>,
}

/// Calls per second, and how many of them failed.
pub(super) fn rate(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let points = state.history().points();
    let last = points.last();
    let curve = |name, style, value: Value| Curve {
        name,
        style,
        points: points.iter().map(|point| (point.t_s, value(point))).collect(),
    };
    let mut curves = vec![curve("rate", theme.line(1), |point| point.rate)];
    let width = seconds_per_point(points);
    if points.iter().any(|point| point.failed > 0) {
        let failed = points.iter().map(|point| (point.t_s, point.failed as f64 / width)).collect();
        curves.push(Curve { name: "failed", style: theme.bad(), points: failed });
    }
    let now = last.map_or_else(String::new, |point| format!(" {}", human::rate(point.rate)));
    let mut title = vec![Span::raw(format!("Rate{now}"))];
    if let Some(failed) = last.map(|point| point.failed as f64 / width).filter(|failed| *failed > 0.0) {
        title.push(Span::styled(format!("  failed {}", human::rate(failed)), theme.bad()));
    }
    chart(frame, area, Line::from(title), &curves, human::rate, theme);
}

/// Percentiles of latency.
pub(super) fn latency(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let points = state.history().points();
    let values: [(&str, Value); 3] =
        [("p99", |point| point.p99_us), ("p95", |point| point.p95_us), ("p50", |point| point.p50_us)];
    let curves = values.map(|(name, value)| {
        let number = match name {
            "p50" => 0,
            "p95" => 1,
            _ => 2,
        };
        // A second without an answer has no latency.
        let measured = points.iter().filter(|point| point.p50_us > 0.0);
        Curve {
            name,
            style: theme.line(number),
            points: measured.map(|point| (point.t_s, value(point))).collect(),
        }
    });
    let mut title = vec![Span::raw("Latency")];
    if let Some(last) = points.last().filter(|last| last.p50_us > 0.0) {
        for curve in curves.iter().rev() {
            let value =
                values.iter().find(|(name, _)| *name == curve.name).map_or(0.0, |(_, value)| value(last));
            title.push(Span::styled(format!("  {} {}", curve.name, human::micros(value)), curve.style));
        }
    }
    chart(frame, area, Line::from(title), &curves, human::micros, theme);
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
    theme: Theme,
) {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let top = nice(all().map(|(_, value)| *value).fold(0.0, f64::max));
    let from = all().map(|(at, _)| *at).fold(f64::INFINITY, f64::min);
    let to = all().map(|(at, _)| *at).fold(0.0, f64::max);
    let block = panel(title, theme);
    if !from.is_finite() {
        let waiting =
            ratatui::widgets::Paragraph::new(Line::styled(" no data yet", theme.faint())).block(block);
        return frame.render_widget(waiting, area);
    }
    let to = to.max(from + 1.0);
    let datasets = curves
        .iter()
        .map(|curve| {
            Dataset::default()
                .marker(Marker::Braille)
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
