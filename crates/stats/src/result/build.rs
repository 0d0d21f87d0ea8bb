//! From totals to results: the only place where numbers are rounded.

use std::time::Duration;

use hyperscale_types::error_kind::unknown_word;
use hyperscale_types::rule::Phase;
use hyperscale_types::{Name, ReportedKind};

use super::buckets::bucket_results;
use super::{
    BytesResult, CallTimes, CheckResult, ErrorResult, GeneratorResult, IterationsResult, LoadResult,
    MetricResult, MetricTagResult, PhasesResult, SaturationResult, Status, StepResult, StreamResult,
    TagResult, TimingResult, ValuesResult, WorkflowResult,
};
use crate::buckets::Count;
use crate::distribution::Distribution;
use crate::event::BoundCounts;
use crate::histogram::Histogram;
use crate::layout::{MetricKind, StepLayout};
use crate::metric::MetricStats;
use crate::saturation::Saturated;
use crate::step::{STATUS_END, StepStats, TagStats};
use crate::totals::{LoadTotals, Totals};
use crate::window::Iterations;

/// Stands for what was beyond a limit.
const OTHER: &str = "other";

/// What the statistics do not know about a workflow.
#[derive(Clone, Debug)]
pub struct WorkflowFacts {
    /// Its name.
    pub name: Name,
    /// How it ended, or where it is.
    pub status: Status,
    /// Why it did not complete.
    pub reason: Option<String>,
    /// How long its load took.
    pub elapsed: Duration,
    /// Its VUs.
    pub vus: u64,
    /// Cores it ran on.
    pub cores: u32,
}

/// The result of a workflow from its totals.
pub fn workflow_result(facts: WorkflowFacts, totals: &Totals) -> WorkflowResult {
    let layout = totals.layout();
    let steps = |setup| {
        let all = layout.steps.iter().zip(totals.steps());
        let wanted = all.filter(move |(layout, _)| layout.setup == setup);
        wanted.map(|(layout, step)| step_result(layout, step, facts.elapsed)).collect()
    };
    let step_name = |step: usize| layout.steps[step].name.clone();
    let checks = layout.checks.iter().zip(totals.checks()).map(|(check, stats)| CheckResult {
        name: check.name.clone(),
        step: Some(step_name(check.step)),
        passed: stats.passed,
        failed: stats.failed,
    });
    let metrics = layout.metrics.iter().zip(totals.metrics()).map(|(metric, stats)| {
        metric_result(metric.name.clone(), step_name(metric.step), metric.kind, stats)
    });
    let share = |share: f64| (share * 1e3).round() / 1e3;
    WorkflowResult {
        elapsed_s: round_s(facts.elapsed),
        iterations: iterations_result(&totals.iterations),
        steps: steps(false),
        setup_steps: steps(true),
        checks: checks.collect(),
        metrics: metrics.collect(),
        totals: load_result(&totals.load(), facts.elapsed),
        generator: GeneratorResult {
            lag_us: (!totals.lag.is_empty()).then(|| timing_result(&totals.lag)),
            generator_saturated: totals.generator_saturated(),
            busiest_core: totals.busiest_core().map(share),
            run_queue: totals.run_queue().map(share),
        },
        name: facts.name,
        status: facts.status,
        reason: facts.reason,
        vus: facts.vus,
        vus_peak: totals.vus_peak(),
        cores: facts.cores,
        notes: Vec::new(),
    }
}

/// When the generator was the bottleneck of a workflow.
pub fn saturation(workflow: &Name, totals: &Totals) -> Vec<SaturationResult> {
    let interval = |Saturated { from_s, to_s, core, measure }| SaturationResult {
        from_s,
        to_s,
        workflow: workflow.clone(),
        core,
        measure,
    };
    totals.saturation.intervals().into_iter().map(interval).collect()
}

/// The result of several steps as one.
pub fn load_result(load: &LoadTotals, elapsed: Duration) -> LoadResult {
    LoadResult {
        requests: load.requests,
        retries: load.retries,
        ok: load.ok,
        failed: load.failed,
        rate: rate(load.count, elapsed),
        latency_us: timing_result(&load.latency),
        latency_failed_us: timing_result(&load.failed_latency),
        latency_all_us: timing_result(&load.latency_all()),
        service_us: timing_result(&load.service),
        bytes: BytesResult { sent: load.bytes_sent, received: load.bytes_received },
    }
}

/// What went wrong in a workflow, by step, kind and message; the counts of a kind add up to its failed calls.
pub fn errors(workflow: &Name, totals: &Totals) -> Vec<ErrorResult> {
    let mut all = Vec::new();
    for (layout, step) in totals.layout().steps.iter().zip(totals.steps()) {
        let error = |kind: ReportedKind, message: &str, count| ErrorResult {
            datacenter: None,
            workflow: workflow.clone(),
            step: Some(layout.name.clone()),
            kind: kind.word().into_owned(),
            message: message.to_owned(),
            count,
        };
        for (kind, mut left) in step.errors_by_kind() {
            for (_, message, count) in step.messages().filter(|(of, ..)| *of == kind) {
                left = left.saturating_sub(count);
                all.push(error(kind, message, count));
            }
            if left > 0 {
                all.push(error(kind, OTHER, left));
            }
        }
    }
    all
}

fn step_result(layout: &StepLayout, step: &StepStats, elapsed: Duration) -> StepResult {
    let status = |(status, count)| {
        let word = if status == STATUS_END { OTHER.to_owned() } else { u16::to_string(&status) };
        (word, count)
    };
    StepResult {
        name: layout.name.clone(),
        kind: layout.kind,
        protocol: layout.protocol.map(str::to_owned),
        count: step.count,
        ok: step.ok,
        failed: step.failed,
        skipped: step.skipped,
        requests: step.requests,
        retries: step.retries(),
        rate: rate(step.count, elapsed),
        times: call_times(step),
        stream: stream_result(step),
        bytes: BytesResult { sent: step.bytes_sent, received: step.bytes_received },
        status: step.statuses().map(status).collect(),
        errors: step.errors_by_kind().collect(),
        tags: tag_results(step),
    }
}

fn call_times(step: &StepStats) -> CallTimes {
    let phase = |phase: Phase| timing_result(&step.phases[phase as usize]);
    let unknown = step.unknown_phases().map(|(number, phase)| (unknown_word(number), timing_result(phase)));
    CallTimes {
        latency_us: timing_result(&step.latency),
        latency_buckets: bucket_results(&step.latency),
        latency_bounds: BoundCounts::of(&step.latency),
        service_us: timing_result(&step.service),
        latency_failed_us: timing_result(&step.failed_latency),
        latency_failed_bounds: BoundCounts::of(&step.failed_latency),
        latency_all_us: timing_result(&step.latency_all()),
        phases_us: PhasesResult {
            connect: phase(Phase::Connect),
            tls: phase(Phase::Tls),
            auth: phase(Phase::Auth),
            write: phase(Phase::Write),
            wait: phase(Phase::Wait),
            read: phase(Phase::Read),
            unknown: unknown.collect(),
        },
    }
}

fn stream_result(step: &StepStats) -> Option<StreamResult> {
    let (first, between) = (&step.stream.first_event, &step.stream.between_events);
    let events = first.count().saturating_add(between.count());
    (events > 0).then(|| StreamResult {
        events,
        first_event_us: timing_result(first),
        between_events_us: timing_result(between),
    })
}

fn tag_results(step: &StepStats) -> Vec<TagResult> {
    let result = |(tags, stats): (&str, &TagStats)| TagResult {
        tags: tags.to_owned(),
        count: stats.count,
        ok: stats.ok,
        failed: stats.failed,
        latency_us: timing_result(&stats.latency),
    };
    let other = Some((OTHER, step.other_tags())).filter(|(_, other)| other.count > 0);
    step.tags().chain(other).map(result).collect()
}

fn iterations_result(iterations: &Iterations) -> IterationsResult {
    IterationsResult {
        scheduled: iterations.is_open().then_some(iterations.scheduled),
        started: iterations.started,
        completed: iterations.completed,
        failed: iterations.failed,
        interrupted: iterations.interrupted,
        dropped: iterations.dropped,
        late: iterations.late,
        missed: (iterations.missed > 0).then_some(iterations.missed),
    }
}

fn metric_result(name: Name, step: Name, kind: MetricKind, stats: &MetricStats) -> MetricResult {
    let other = stats.other_tags().map(|other| (OTHER, other));
    let tags = stats.tags().chain(other).map(|(tags, stats)| metric_tag_result(tags, kind, stats));
    let all = metric_tag_result("", kind, stats);
    MetricResult {
        name,
        step,
        kind,
        count: all.count,
        refused: stats.refused(),
        sum: all.sum,
        rate: all.rate,
        last: all.last,
        values: all.values,
        tags: tags.collect(),
    }
}

/// The numbers that a kind of metric has.
fn metric_tag_result(tags: &str, kind: MetricKind, stats: &MetricStats) -> MetricTagResult {
    let distribution = matches!(kind, MetricKind::Sample | MetricKind::Distribution | MetricKind::Timing);
    MetricTagResult {
        tags: tags.to_owned(),
        count: stats.count(),
        sum: (kind == MetricKind::Count).then(|| stats.sum()),
        rate: stats.rate().filter(|_| kind == MetricKind::Rate),
        last: stats.last().filter(|_| kind == MetricKind::Sample),
        values: distribution.then(|| values_result(stats.values())).flatten(),
    }
}

fn values_result(values: &Distribution) -> Option<ValuesResult> {
    Some(ValuesResult {
        min: values.min()?,
        mean: values.mean()?,
        stdev: values.stdev()?,
        p50: values.percentile(50.0)?,
        p75: values.percentile(75.0)?,
        p90: values.percentile(90.0)?,
        p95: values.percentile(95.0)?,
        p99: values.percentile(99.0)?,
        p99_9: values.percentile(99.9)?,
        max: values.max()?,
    })
}

fn timing_result<C: Count>(histogram: &Histogram<C>) -> TimingResult {
    let percentile = |percent| round_us(histogram.percentile_ns(percent).unwrap_or(0) as f64);
    TimingResult {
        count: histogram.count(),
        min: percentile(0.0),
        mean: round_us(histogram.mean_ns().unwrap_or(0.0)),
        stdev: round_us(histogram.stdev_ns().unwrap_or(0.0)),
        p50: percentile(50.0),
        p75: percentile(75.0),
        p90: percentile(90.0),
        p95: percentile(95.0),
        p99: percentile(99.0),
        p99_9: percentile(99.9),
        max: percentile(100.0),
    }
}

fn rate(count: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { (count as f64 / elapsed.as_secs_f64() * 10.0).round() / 10.0 }
}

fn round_us(ns: f64) -> f64 {
    (ns / 100.0).round() / 10.0
}

fn round_s(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1_000.0).round() / 1_000.0
}
