//! From the state of a run to a reading. The only place that knows both.

mod steps;
mod workflows;

use std::collections::HashMap;
use std::sync::Arc;

use hyperscale_stats::event::{Generator, Snapshot};
use hyperscale_stats::result::{ExportResult, RunResult, TimingResult};

use crate::names::{self, Metric};
use crate::reading::{Family, Label, Labels, Moment, Point, Reading, Value};

/// Makes the readings of one run.
#[derive(Debug, Default)]
pub struct Readings {
    last: Option<Moment>,
}

impl Readings {
    /// The state of a run that goes on. `exports`: what the exporters have done so far.
    pub fn so_far(&mut self, snapshot: &Snapshot, exports: &[ExportResult]) -> Reading {
        let mut families = Families::default();
        run(&mut families, &snapshot.result, exports);
        generator(&mut families, &snapshot.generator);
        for workflow in &snapshot.result.workflows {
            let live = snapshot.workflows.iter().find(|live| live.name == workflow.name);
            workflows::gather(&mut families, workflow, live);
        }
        self.reading(&snapshot.result, families)
    }

    /// The state of a run that is over: exactly the numbers of its result.
    pub fn finished(&mut self, result: &RunResult, exports: &[ExportResult]) -> Reading {
        let mut families = Families::default();
        run(&mut families, result, exports);
        for workflow in &result.workflows {
            workflows::gather(&mut families, workflow, None);
        }
        self.reading(result, families)
    }

    fn reading(&mut self, result: &RunResult, families: Families) -> Reading {
        let began = began(&result.started_at);
        let at = began.unix_ms.saturating_add((result.elapsed_s * 1e3).round() as i64);
        // Receivers keep one value per time: the final one must not meet the one of the same millisecond.
        let unix_ms = self.last.map_or(at, |last| at.max(last.unix_ms.saturating_add(1)));
        let at = Moment { unix_ms };
        self.last = Some(at);
        Reading {
            began,
            at,
            elapsed_s: result.elapsed_s,
            is_final: result.is_final,
            common: [label(names::JOB, &result.identity.job), label(names::NAME, &result.identity.name)],
            families: families.finish(),
        }
    }
}

/// A time as results write it; what cannot be read is 1970.
fn began(started_at: &str) -> Moment {
    let time: Option<jiff::Timestamp> = started_at.parse().ok();
    Moment { unix_ms: time.map_or(0, jiff::Timestamp::as_millisecond) }
}

fn run(to: &mut Families, result: &RunResult, exports: &[ExportResult]) {
    to.gauge(&names::ELAPSED, &[], result.elapsed_s);
    to.truth(&names::FINISHED, &[], result.is_final);
    to.truth(&names::SATURATED, &[], result.validity.generator_saturated);
    for (at, threshold) in result.thresholds.iter().enumerate() {
        // A rule can be written twice, but a receiver refuses everything if a series is there twice.
        if result.thresholds[..at].iter().any(|before| before.rule == threshold.rule) {
            continue;
        }
        let labels = [label(names::RULE, &threshold.rule)];
        to.truth(&names::THRESHOLD_OK, &labels, threshold.passed);
        if let Some(value) = threshold.value {
            to.gauge(&names::THRESHOLD_VALUE, &labels, value);
        }
    }
    for export in exports {
        let labels = [label(names::EXPORTER, &export.kind), label(names::TARGET, &export.target)];
        to.count(&names::EXPORT_SENT, &labels, export.sent);
        to.count(&names::EXPORT_LOST, &labels, export.lost);
    }
}

fn generator(to: &mut Families, generator: &Generator) {
    to.gauge(&names::CORES, &[], f64::from(generator.cores));
    if let Some(share) = generator.busiest_core {
        to.gauge(&names::BUSIEST_CORE, &[], share);
    }
    if let Some(bytes) = generator.memory_bytes {
        to.gauge(&names::MEMORY, &[], bytes as f64);
    }
}

/// A label with a text of its own.
fn label(name: &'static str, text: &str) -> Label {
    (name, Arc::from(text))
}

/// These labels and one more.
fn with(labels: &[Label], name: &'static str, text: &str) -> Labels {
    labels.iter().cloned().chain([label(name, text)]).collect()
}

/// Families as they grow.
#[derive(Default)]
struct Families {
    points: HashMap<&'static str, Vec<Point>>,
}

impl Families {
    fn add(&mut self, metric: &'static Metric, labels: &[Label], value: Value) {
        self.points.entry(metric.name).or_default().push(Point { labels: labels.to_vec(), value });
    }

    fn count(&mut self, metric: &'static Metric, labels: &[Label], count: u64) {
        self.add(metric, labels, Value::Count(count));
    }

    fn gauge(&mut self, metric: &'static Metric, labels: &[Label], value: f64) {
        self.add(metric, labels, Value::Gauge(value));
    }

    fn truth(&mut self, metric: &'static Metric, labels: &[Label], holds: bool) {
        self.gauge(metric, labels, f64::from(u8::from(holds)));
    }

    /// Percentiles of a duration; none without a sample.
    fn timing(&mut self, metric: &'static Metric, labels: &[Label], timing: &TimingResult) {
        if timing.count > 0 {
            let TimingResult { min, p50, p75, p90, p95, p99, p99_9, max, .. } = *timing;
            self.quantiles(metric, labels, [min, p50, p75, p90, p95, p99, p99_9, max].map(|us| us / 1e6));
        }
    }

    fn quantiles(&mut self, metric: &'static Metric, labels: &[Label], values: [f64; 8]) {
        const WORDS: [&str; 8] = ["0", "0.5", "0.75", "0.9", "0.95", "0.99", "0.999", "1"];
        for (word, value) in WORDS.into_iter().zip(values) {
            self.gauge(metric, &with(labels, names::QUANTILE, word), value);
        }
    }

    /// In the order of [`names::ALL`].
    fn finish(mut self) -> Vec<Family> {
        let family = |metric: &&'static Metric| {
            self.points.remove(metric.name).map(|points| Family { metric, points })
        };
        names::ALL.iter().filter_map(family).collect()
    }
}
