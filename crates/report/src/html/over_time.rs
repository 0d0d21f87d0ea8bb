//! Charts over time, of one run or of two over each other, and the same numbers as a table.

use hyperscale_stats::result::{RunResult, SeriesPoint};

use super::figure;
use super::table::{Cell, Table};
use crate::chart::{Axis, Chart, Layer, Scale, Unit};
use crate::human;

/// Rows of the table under the charts; the embedded data has all points.
const ROWS_MAX: usize = 120;

/// A run to be drawn, and what its lines are called and look like beside those of another.
#[derive(Clone, Copy)]
pub(crate) struct Drawn<'r> {
    pub(crate) result: &'r RunResult,
    /// Goes in front of the names of its lines.
    pub(crate) prefix: &'static str,
    /// A class of its lines.
    pub(crate) class: &'static str,
}

impl<'r> Drawn<'r> {
    /// A run alone.
    pub(crate) fn alone(result: &'r RunResult) -> Self {
        Self { result, prefix: "", class: "" }
    }

    /// The class of one of its lines.
    pub(crate) fn class_of(&self, line: &str) -> String {
        format!("{line} {}", self.class).trim_end().to_owned()
    }

    /// The name of one of its lines.
    pub(crate) fn name_of(&self, line: &str) -> String {
        format!("{} {line}", self.prefix).trim_start().to_owned()
    }

    /// The points that are drawn: those that are over. The last one of a run is cut off where the run ended, and would
    /// stand there as a cliff that was none.
    fn points(&self) -> &'r [SeriesPoint] {
        let series = &self.result.series[..];
        match series.split_last() {
            Some((last, before))
                if !before.is_empty() && last.t_s + width_s(series) > self.result.elapsed_s + 1e-9 =>
            {
                before
            }
            _ => series,
        }
    }

    fn line(&self, class: &str, value: impl Fn(&SeriesPoint) -> Option<f64>) -> Layer {
        let points = self.points().iter().map(|point| (point.t_s, value(point))).collect();
        Layer::Line { class: self.class_of(class), points }
    }
}

/// Charts and table of one run.
pub(super) fn section(result: &RunResult) -> String {
    if result.series.is_empty() {
        return String::new();
    }
    let table = table(&result.series);
    let charts = charts(&[Drawn::alone(result)]);
    format!(
        "<div class=\"figures\">{charts}</div>\n<details><summary>The same as a table</summary>{table}</details>\n"
    )
}

/// Rate, latency, failures, virtual users.
pub(crate) fn charts(runs: &[Drawn<'_>]) -> String {
    [rate(runs), latency(runs), failed(runs), vus(runs)].concat()
}

fn rate(runs: &[Drawn<'_>]) -> String {
    let max = highest(runs, |point| Some(point.rate));
    let chart = Chart {
        id: "chart-rate",
        title: "Calls per second".to_owned(),
        description: format!("Calls per second over time; at most {}.", human::rate(max)),
        height: 260.0,
        x: time_axis(runs),
        y: Axis { scale: Scale::from_zero(max), unit: Unit::Rate },
        layers: filled(runs, |run| run.line("rate", |point| Some(point.rate))),
        fields: "calls:rate failed:failed",
    };
    figure(&chart, &names(runs, "rate", "calls"))
}

fn failed(runs: &[Drawn<'_>]) -> String {
    let per_second = |run: &Drawn<'_>, point: &SeriesPoint| point.failed as f64 / width_s(&run.result.series);
    let all = runs.iter().flat_map(|run| run.points().iter().map(move |point| per_second(run, point)));
    let max = all.fold(0.0, f64::max);
    let chart = Chart {
        id: "chart-failed",
        title: "Failed calls per second".to_owned(),
        description: format!("Failed calls per second over time; at most {}.", human::rate(max)),
        height: 200.0,
        x: time_axis(runs),
        y: Axis { scale: Scale::from_zero(max.max(5.0)), unit: Unit::Rate },
        layers: filled(runs, |run| run.line("failed", |point| Some(per_second(run, point)))),
        fields: "failed:failed calls:rate",
    };
    figure(&chart, &names(runs, "failed", "failed"))
}

fn latency(runs: &[Drawn<'_>]) -> String {
    let value = |us: f64| (us > 0.0).then_some(us);
    let max = highest(runs, |point| value(point.p99_us));
    let min = lowest(runs, |point| value(point.p50_us));
    let mut layers = Vec::new();
    let mut legend = Vec::new();
    for run in runs {
        layers.push(run.line("p99", |point| value(point.p99_us)));
        layers.push(run.line("p95", |point| value(point.p95_us)));
        layers.push(run.line("p50", |point| value(point.p50_us)));
        legend.extend(["p50", "p95", "p99"].map(|name| (run.class_of(name), run.name_of(name))));
    }
    let chart = Chart {
        id: "chart-latency",
        title: "Latency".to_owned(),
        description: format!(
            "Median, 95th and 99th percentile of latency over time; the 99th is at most {}.",
            human::micros(max)
        ),
        height: 260.0,
        x: time_axis(runs),
        y: Axis { scale: Scale::of_durations(min, max), unit: Unit::Micros },
        layers,
        fields: "p50:p50_us p95:p95_us p99:p99_us",
    };
    figure(&chart, &legend)
}

fn vus(runs: &[Drawn<'_>]) -> String {
    let max = highest(runs, |point| Some(point.vus as f64));
    let chart = Chart {
        id: "chart-vus",
        title: "Active virtual users".to_owned(),
        description: format!("Active virtual users over time; at most {}.", human::count(max as u64)),
        height: 200.0,
        x: time_axis(runs),
        y: Axis { scale: Scale::from_zero(max.max(5.0)), unit: Unit::Count },
        layers: filled(runs, |run| run.line("vus", |point| Some(point.vus as f64))),
        fields: "VUs:vus",
    };
    figure(&chart, &names(runs, "vus", "VUs"))
}

/// One line per run; a run alone has its line filled.
fn filled(runs: &[Drawn<'_>], line: impl Fn(&Drawn<'_>) -> Layer) -> Vec<Layer> {
    let areas = runs.iter().filter(|_| runs.len() == 1).map(|run| area(line(run)));
    areas.chain(runs.iter().map(&line)).collect()
}

/// The legend of a chart with one line per run; a line alone needs none.
fn names(runs: &[Drawn<'_>], class: &str, name: &str) -> Vec<(String, String)> {
    let several = runs.iter().filter(|_| runs.len() > 1);
    several.map(|run| (run.class_of(class), run.name_of(name))).collect()
}

fn area(layer: Layer) -> Layer {
    match layer {
        Layer::Line { class, points } => Layer::Area { class, points },
        other => other,
    }
}

fn time_axis(runs: &[Drawn<'_>]) -> Axis {
    let ends = runs.iter().filter_map(|run| run.points().last()).map(|point| point.t_s);
    Axis { scale: Scale::Linear { min: 0.0, max: ends.fold(1.0, f64::max) }, unit: Unit::Seconds }
}

fn values<'a>(
    runs: &'a [Drawn<'_>],
    value: impl Fn(&SeriesPoint) -> Option<f64> + 'a,
) -> impl Iterator<Item = f64> + 'a {
    runs.iter().flat_map(Drawn::points).filter_map(value)
}

fn highest(runs: &[Drawn<'_>], value: impl Fn(&SeriesPoint) -> Option<f64>) -> f64 {
    values(runs, value).fold(0.0, f64::max)
}

fn lowest(runs: &[Drawn<'_>], value: impl Fn(&SeriesPoint) -> Option<f64>) -> f64 {
    values(runs, value).reduce(f64::min).unwrap_or(0.0)
}

/// How many seconds a point stands for.
fn width_s(series: &[SeriesPoint]) -> f64 {
    match series {
        [first, second, ..] => (second.t_s - first.t_s).max(1.0),
        _ => 1.0,
    }
}

fn table(series: &[SeriesPoint]) -> String {
    let every = series.len().div_ceil(ROWS_MAX).max(1);
    let caption = if every == 1 { "Every point" } else { "A choice of points; the embedded data has all" };
    let mut table = Table::new(caption, &["time", "calls", "failed", "VUs", "p50", "p95", "p99"]);
    for point in series.iter().step_by(every) {
        let latency =
            |us: f64| if us > 0.0 { Cell::number(us, human::micros(us)) } else { Cell::text("–") };
        table.row(vec![
            Cell::number(point.t_s, human::seconds(point.t_s)),
            Cell::number(point.rate, human::rate(point.rate)),
            Cell::number(point.failed as f64, human::count(point.failed)),
            Cell::number(point.vus as f64, human::count(point.vus)),
            latency(point.p50_us),
            latency(point.p95_us),
            latency(point.p99_us),
        ]);
    }
    table.html()
}
