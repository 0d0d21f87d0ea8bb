//! The quantities of two runs with the intervals of their differences.

use super::interval::{self, Interval};
use super::level::Level;
use super::{ALL, Difference, Quantity};
use crate::layout::StepKind;
use crate::result::{BucketResult, RunResult, SeriesPoint, StepResult, TimingResult, merge_buckets};

/// What is known of one place in one run.
struct Measured<'r> {
    count: u64,
    failed: u64,
    rate: f64,
    latency: &'r TimingResult,
    buckets: Vec<BucketResult>,
}

/// One place in both runs.
struct Pair<'r> {
    place: String,
    a: Measured<'r>,
    b: Measured<'r>,
}

/// All steps together, then every test step that both runs have. The only step of both runs is all of them, and not said
/// twice: its name comes back instead.
pub(super) fn differences(
    a: &RunResult,
    b: &RunResult,
    same_plan: bool,
) -> (Vec<Difference>, Option<String>) {
    let all = Pair { place: ALL.to_owned(), a: whole(a), b: whole(b) };
    let only = only_step(a).filter(|name| only_step(b).as_ref() == Some(name));
    let pairs = if only.is_some() { Vec::new() } else { step_pairs(a, b) };
    let shown = std::iter::once(&all).chain(&pairs).map(|pair| pair.quantities().count()).sum();
    let over_time = OverTime::new(a, b, same_plan, Level::of_all(shown));
    let noise = over_time.noise(&all);
    let mut differences = of_place(&all, &noise, over_time.rate(), over_time.level);
    for pair in &pairs {
        // The rate of a step is that of its workflow's iterations: as certain as the whole, in relation to it.
        let rate = over_time.rate().map(|half| half * relation(pair.a.rate, all.a.rate));
        differences.extend(of_place(pair, &noise, rate, over_time.level));
    }
    (differences, only)
}

fn only_step(result: &RunResult) -> Option<String> {
    let mut steps = steps(result);
    let first = steps.next().map(|(name, _)| name);
    first.filter(|_| steps.next().is_none())
}

fn step_pairs<'r>(a: &'r RunResult, b: &'r RunResult) -> Vec<Pair<'r>> {
    let pair = |(place, of_a)| {
        let (_, of_b) = steps(b).find(|(other, _)| *other == place)?;
        Some(Pair { place, a: of_step(of_a), b: of_step(of_b) })
    };
    steps(a).filter_map(pair).collect()
}

fn relation(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

fn steps(result: &RunResult) -> impl Iterator<Item = (String, &StepResult)> {
    result.workflows.iter().flat_map(|workflow| {
        let tests = workflow.steps.iter().filter(|step| step.kind == StepKind::Test);
        tests.map(|step| (format!("{}.{}", workflow.name, step.name), step))
    })
}

fn whole(result: &RunResult) -> Measured<'_> {
    let totals = &result.totals;
    Measured {
        count: totals.ok.saturating_add(totals.failed),
        failed: totals.failed,
        rate: totals.rate,
        latency: &totals.latency_us,
        buckets: merge_buckets(steps(result).map(|(_, step)| &step.times.latency_buckets[..])),
    }
}

fn of_step(step: &StepResult) -> Measured<'_> {
    Measured {
        count: step.count,
        failed: step.failed,
        rate: step.rate,
        latency: &step.times.latency_us,
        buckets: step.times.latency_buckets.clone(),
    }
}

fn of_place(
    pair: &Pair<'_>,
    noise: &[(Quantity, f64)],
    rate_half: Option<f64>,
    level: Level,
) -> Vec<Difference> {
    let one = |quantity: Quantity| {
        let (a, b) = (pair.a.value(quantity), pair.b.value(quantity));
        let difference = if quantity == Quantity::Rate {
            rate_half.map(|half| Interval { value: b - a, low: b - a - half, high: b - a + half })
        } else {
            let factor = noise.iter().find(|(of, _)| *of == quantity).map_or(1.0, |(_, factor)| *factor);
            pair.sampled(quantity, level).map(|interval| interval.widened(factor))
        };
        Difference::new(&pair.place, quantity, a, b, difference)
    };
    pair.quantities().map(one).collect()
}

impl Pair<'_> {
    /// What both have.
    fn quantities(&self) -> impl Iterator<Item = Quantity> {
        Quantity::EVERY.into_iter().filter(|quantity| self.a.has(*quantity) && self.b.has(*quantity))
    }

    /// The interval of a difference if all samples were independent.
    fn sampled(&self, quantity: Quantity, level: Level) -> Option<Interval> {
        Some(self.a.interval(quantity, level)?.difference(self.b.interval(quantity, level)?))
    }
}

impl Measured<'_> {
    fn has(&self, quantity: Quantity) -> bool {
        match quantity {
            Quantity::Rate | Quantity::Failed => self.count > 0,
            _ => self.latency.count > 0,
        }
    }

    fn value(&self, quantity: Quantity) -> f64 {
        let latency = self.latency;
        match quantity {
            Quantity::Rate => self.rate,
            Quantity::Failed => self.failed as f64 / self.count.max(1) as f64,
            Quantity::Mean => latency.mean,
            Quantity::P50 => latency.p50,
            Quantity::P90 => latency.p90,
            Quantity::P95 => latency.p95,
            Quantity::P99 => latency.p99,
            Quantity::P999 => latency.p99_9,
        }
    }

    fn interval(&self, quantity: Quantity, level: Level) -> Option<Interval> {
        let percentile = |share| interval::percentile(self.value(quantity), share, &self.buckets, level);
        match quantity {
            Quantity::Rate => None,
            Quantity::Failed => interval::share(self.failed, self.count, level),
            Quantity::Mean => {
                interval::mean(self.latency.mean, self.latency.stdev, self.latency.count, level)
            }
            Quantity::P50 => percentile(0.5),
            Quantity::P90 => percentile(0.9),
            Quantity::P95 => percentile(0.95),
            Quantity::P99 => percentile(0.99),
            Quantity::P999 => percentile(0.999),
        }
    }
}

/// Both runs over time, without start-up and the incomplete end.
struct OverTime<'r> {
    a: &'r [SeriesPoint],
    b: &'r [SeriesPoint],
    paired: bool,
    level: Level,
}

impl<'r> OverTime<'r> {
    fn new(a: &'r RunResult, b: &'r RunResult, same_plan: bool, level: Level) -> Self {
        fn inner(series: &[SeriesPoint]) -> &[SeriesPoint] {
            if series.len() > 2 { &series[1..series.len() - 1] } else { &[] }
        }
        let (a, b) = (inner(&a.series), inner(&b.series));
        // The last second of a run may or may not begin a further point.
        let paired = same_plan && a.len().abs_diff(b.len()) <= 1;
        let both = a.len().min(b.len());
        if paired {
            Self { a: &a[..both], b: &b[..both], paired, level }
        } else {
            Self { a, b, paired, level }
        }
    }

    fn rate(&self) -> Option<f64> {
        self.half(|point| point.rate)
    }

    fn half(&self, value: impl Fn(&SeriesPoint) -> f64) -> Option<f64> {
        let values = |points: &[SeriesPoint]| points.iter().map(&value).collect::<Vec<f64>>();
        interval::over_time(&values(self.a), &values(self.b), self.paired, self.level)
    }

    /// By which factor each quantity is less certain than independent samples would make it.
    fn noise(&self, all: &Pair<'_>) -> Vec<(Quantity, f64)> {
        let seen = |quantity| match quantity {
            Quantity::Rate => None,
            Quantity::Failed => {
                self.half(|point| if point.rate > 0.0 { point.failed as f64 / point.rate } else { 0.0 })
            }
            Quantity::Mean | Quantity::P50 => self.half(|point| point.p50_us),
            Quantity::P90 | Quantity::P95 => self.half(|point| point.p95_us),
            Quantity::P99 | Quantity::P999 => self.half(|point| point.p99_us),
        };
        let factor = |quantity| {
            let expected = all.sampled(quantity, self.level)?.half();
            let factor = seen(quantity)? / expected;
            Some((quantity, if factor.is_finite() { factor.max(1.0) } else { 1.0 }))
        };
        Quantity::EVERY.into_iter().filter_map(factor).collect()
    }
}
