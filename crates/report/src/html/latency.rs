//! How latency is spread: the histogram of all calls and the curve of percentiles, step by step.

use hyperscale_stats::layout::StepKind;
use hyperscale_stats::result::{BucketResult, RunResult, StepResult, merge_buckets};

use super::figure;
use super::over_time::Drawn;
use crate::chart::{Axis, Chart, Layer, Scale, Unit};
use crate::human;

/// Bars of the histogram at most.
const BARS_MAX: u32 = 56;
/// Steps that get a curve of their own: those with most calls.
const CURVES_MAX: usize = 6;
/// Buckets per power of two: the grid of the result.
const GRID: u32 = 64;
/// Percentiles with a dot on the curve.
const DOTS: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// Histogram and curve of one run.
pub(super) fn section(result: &RunResult) -> String {
    let all = all_buckets(result);
    if all.is_empty() {
        return String::new();
    }
    format!("<div class=\"figures\">{}{}</div>\n", histogram(result, &all), curves(result, &all))
}

/// The buckets of all test steps of the load together.
fn all_buckets(result: &RunResult) -> Vec<BucketResult> {
    merge_buckets(load_steps(result).map(|(_, step)| &step.times.latency_buckets[..]))
}

/// The percentiles of two runs over each other.
pub(crate) fn curves_of_runs(runs: &[Drawn<'_>]) -> String {
    let all: Vec<Vec<BucketResult>> = runs.iter().map(|run| all_buckets(run.result)).collect();
    if all.iter().any(Vec::is_empty) {
        return String::new();
    }
    let lines = runs
        .iter()
        .zip(&all)
        .map(|(run, buckets)| (run.class_of("s0"), run.name_of("all steps"), &buckets[..]));
    curve_figure(&lines.collect::<Vec<_>>(), Vec::new())
}

fn load_steps(result: &RunResult) -> impl Iterator<Item = (String, &StepResult)> {
    result.workflows.iter().flat_map(|workflow| {
        let tests = workflow.steps.iter().filter(|step| step.kind == StepKind::Test);
        tests.map(|step| (format!("{}.{}", workflow.name, step.name), step))
    })
}

fn histogram(result: &RunResult, all: &[BucketResult]) -> String {
    let bars = bars(all);
    let highest = bars.iter().map(|bar| bar.2).fold(0.0, f64::max);
    let (min, max) = ends(all);
    let latency = &result.totals.latency_us;
    let percentiles = [("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99)];
    let marks = percentiles.map(|(name, us)| Layer::Mark { class: name.to_owned(), x: us });
    let legend = percentiles.map(|(name, us)| (name.to_owned(), format!("{name} {}", human::micros(us))));
    let layers = std::iter::once(Layer::Bars { class: "latency".to_owned(), bars }).chain(marks).collect();
    let chart = Chart {
        id: "chart-histogram",
        title: "Calls by latency".to_owned(),
        description: format!(
            "Histogram of latency: half of the calls took at most {}, 99 % at most {}.",
            human::micros(latency.p50),
            human::micros(latency.p99)
        ),
        height: 280.0,
        x: Axis { scale: Scale::factors(min, max), unit: Unit::Micros },
        y: Axis { scale: Scale::from_zero(highest), unit: Unit::Count },
        layers,
        fields: "",
    };
    figure(&chart, &legend)
}

/// Neighbouring buckets as bars, so few that they can be told apart.
fn bars(all: &[BucketResult]) -> Vec<(f64, f64, f64, String)> {
    let total: u64 = all.iter().map(|bucket| bucket.2).sum();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
    let together = (grid_number(last.0) - grid_number(first.0) + 1).div_ceil(BARS_MAX).max(1);
    let mut bars: Vec<(u32, f64, f64, u64)> = Vec::new();
    for bucket in all {
        let number = grid_number(bucket.0) / together;
        match bars.last_mut() {
            Some(bar) if bar.0 == number => (bar.2, bar.3) = (bucket.1, bar.3 + bucket.2),
            _ => bars.push((number, bucket.0, bucket.1, bucket.2)),
        }
    }
    let text = |from, to, count: u64| {
        let share = human::percent(count as f64 / total as f64);
        format!("{} to {}: {} calls ({share})", human::micros(from), human::micros(to), human::count(count))
    };
    bars.into_iter().map(|(_, from, to, count)| (from, to, count as f64, text(from, to, count))).collect()
}

/// The number of a bucket on the grid of all results.
fn grid_number(from_us: f64) -> u32 {
    let ns = (from_us * 1e3).max(1.0);
    let power = ns.log2().floor().max(0.0);
    let inside = (ns / power.exp2() - 1.0) * f64::from(GRID);
    power as u32 * GRID + inside.round() as u32
}

fn curves(result: &RunResult, all: &[BucketResult]) -> String {
    let mut steps: Vec<(String, &StepResult)> =
        load_steps(result).filter(|(_, step)| !step.times.latency_buckets.is_empty()).collect();
    steps.sort_by_key(|(_, step)| std::cmp::Reverse(step.count));
    let mut lines = vec![("s0".to_owned(), "all steps".to_owned(), all)];
    if steps.len() > 1 {
        lines.extend(steps.iter().take(CURVES_MAX).enumerate().map(|(number, (name, step))| {
            (format!("s{}", number + 1), name.clone(), &step.times.latency_buckets[..])
        }));
    }
    let total = all.iter().map(|bucket| bucket.2).sum::<u64>();
    let dots =
        DOTS.into_iter().filter(|(share, _)| (1.0 - share) * total as f64 >= 1.0).map(|(share, name)| {
            let us = at_share(all, share);
            let title = format!("{name}: {}", human::micros(us));
            Layer::Dot { class: "s0".to_owned(), x: share, y: us, title }
        });
    curve_figure(&lines, dots.collect())
}

type CurveLine<'a> = (String, String, &'a [BucketResult]);

fn curve_figure(lines: &[CurveLine<'_>], dots: Vec<Layer>) -> String {
    let count = |buckets: &[BucketResult]| buckets.iter().map(|bucket| bucket.2).sum::<u64>();
    let most = lines.iter().map(|line| count(line.2)).max().unwrap_or(0);
    let low = lines.iter().map(|line| ends(line.2).0).fold(f64::INFINITY, f64::min);
    let high = lines.iter().map(|line| ends(line.2).1).fold(0.0, f64::max);
    // What is drawn first lies below: the line of all steps is on top.
    let drawn = lines
        .iter()
        .rev()
        .map(|(class, _, buckets)| Layer::Line { class: class.clone(), points: curve(buckets) });
    let chart = Chart {
        id: "chart-percentiles",
        title: "Latency by percentile".to_owned(),
        description: format!(
            "Percentiles of latency on an axis on which every further nine takes the same room, up to {}.",
            human::micros(high)
        ),
        height: 280.0,
        x: Axis { scale: Scale::nines(most), unit: Unit::Percentile },
        y: Axis { scale: Scale::of_durations(low, high), unit: Unit::Micros },
        layers: drawn.chain(dots).collect(),
        fields: "",
    };
    let legend: Vec<(String, String)> =
        lines.iter().map(|(class, name, _)| (class.clone(), name.clone())).collect();
    figure(&chart, if lines.len() > 1 { &legend } else { &[] })
}

/// Latency by share of samples, in steps: up to the share that a bucket reaches, its latency is the percentile. A line
/// from one bucket to the next would show percentiles that no sample has, far off where the tail is thin.
fn curve(buckets: &[BucketResult]) -> Vec<(f64, Option<f64>)> {
    let mut from = 0.0;
    let mut points = Vec::with_capacity(2 * buckets.len());
    for (to, us) in reached(buckets) {
        points.extend([(from, Some(us)), (to, Some(us))]);
        from = to;
    }
    points
}

/// The middle of the bucket in which a share of the samples is reached.
fn at_share(buckets: &[BucketResult], share: f64) -> f64 {
    reached(buckets).find(|(to, _)| *to >= share).map_or(0.0, |(_, us)| us)
}

/// The share of samples at or below each bucket, and its middle.
fn reached(buckets: &[BucketResult]) -> impl Iterator<Item = (f64, f64)> {
    let total = buckets.iter().map(|bucket| bucket.2).sum::<u64>().max(1) as f64;
    let mut seen = 0;
    buckets.iter().map(move |bucket| {
        seen += bucket.2;
        (seen as f64 / total, f64::midpoint(bucket.0, bucket.1))
    })
}

fn ends(buckets: &[BucketResult]) -> (f64, f64) {
    match (buckets.first(), buckets.last()) {
        (Some(first), Some(last)) => (first.0.max(0.1), last.1),
        _ => (1.0, 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_the_grid_have_following_numbers() {
        assert_eq!(grid_number(1_048.576) % GRID, 0);
        assert_eq!(grid_number(1_064.96), grid_number(1_048.576) + 1);
        assert_eq!(grid_number(1_040.384), grid_number(1_048.576) - 1);
    }

    #[test]
    fn bars_hold_all_calls_and_are_not_too_many() {
        let all: Vec<BucketResult> = (0..400)
            .map(|number| {
                let from = 1_000.0 * 2f64.powf(f64::from(number) / 64.0);
                BucketResult(from, from * 1.01, 3)
            })
            .collect();
        let bars = bars(&all);
        assert!(bars.len() <= BARS_MAX as usize + 1, "{}", bars.len());
        assert_eq!(bars.iter().map(|bar| bar.2 as u64).sum::<u64>(), 1_200);
    }

    #[test]
    fn the_curve_is_a_stair_that_never_falls_and_ends_with_all_calls() {
        let buckets = [BucketResult(1.0, 2.0, 5), BucketResult(4.0, 6.0, 4), BucketResult(9.0, 9.5, 1)];
        let stair = [(0.0, 1.5), (0.5, 1.5), (0.5, 5.0), (0.9, 5.0), (0.9, 9.25), (1.0, 9.25)];
        assert_eq!(curve(&buckets), stair.map(|(share, us)| (share, Some(us))));
        assert_eq!([0.5, 0.99].map(|share| human::micros(at_share(&buckets, share))), ["1.50µs", "9.25µs"]);
    }
}
