//! A run to be exported: so far, and when it is over.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_export::Readings;
use hyperscale_export::reading::Reading;
use hyperscale_stats::event::{BoundCounts, Generator, Shape, Snapshot, StepLive, WorkflowLive};
use hyperscale_stats::result::{
    ExportResult, Provenance, RunIdentity, RunResult, SeriesPoint, Status, ThresholdResult, VERSION,
    Validity, WorkflowFacts, errors, load_result, workflow_result,
};
use hyperscale_stats::{
    CallSample, CheckLayout, Layout, MetricKind, MetricLayout, StepKind, StepLayout, Totals, Window,
};
use hyperscale_types::{ErrorKind, Name};

const MS: u64 = 1_000_000;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn call(ms: u64, error: Option<ErrorKind>) -> CallSample {
    CallSample {
        latency_ns: ms * MS,
        service_ns: ms * MS,
        status: if error.is_some() { 503 } else { 200 },
        error,
        requests: 1,
        bytes_sent: 100,
        bytes_received: 1_000,
        ..CallSample::default()
    }
}

fn totals(iterations: u64) -> Totals {
    let step =
        |text, setup| StepLayout { name: name(text), kind: StepKind::Test, protocol: Some("http"), setup };
    let layout = Arc::new(Layout {
        steps: vec![step("login", true), step("order", false)],
        checks: vec![CheckLayout { step: 1, name: name("status") }],
        metrics: vec![MetricLayout { step: 1, name: name("balance"), kind: MetricKind::Sample }],
    });
    let mut window = Window::new(&layout);
    (window.to_ns, window.vus) = (1_000 * MS, 8);
    window.call(0, &call(80, None));
    for n in 1..=iterations {
        window.started();
        let failed = n % 10 == 0;
        window.call(1, &call(n, failed.then_some(ErrorKind::Status)));
        window.check(0, !failed);
        window.metric(0, -(n as f64) / 2.0);
        if failed { window.failed() } else { window.completed() }
    }
    let mut totals = Totals::new(&layout);
    totals.add(&window);
    totals
}

/// The result of so many iterations.
pub(crate) fn result(iterations: u64, elapsed_s: u64, is_final: bool) -> RunResult {
    let (totals, elapsed) = (totals(iterations), Duration::from_secs(elapsed_s));
    let status = if is_final { Status::Completed } else { Status::Running };
    let facts = WorkflowFacts { name: name("Shop"), status, reason: None, elapsed, vus: 8, cores: 2 };
    RunResult {
        identity: RunIdentity { version: VERSION, job: "run-1".into(), name: "check \"out\", v=2\\".into() },
        status,
        reason: None,
        is_final,
        started_at: "2025-01-01T00:00:00Z".into(),
        elapsed_s: elapsed_s as f64,
        workflows: vec![workflow_result(facts, &totals)],
        thresholds: vec![threshold(0.25, true), threshold(0.25, true)],
        thresholds_passed: true,
        totals: load_result(&totals.load(), elapsed),
        errors: errors(&name("Shop"), &totals),
        validity: Validity::default(),
        series: Vec::new(),
        provenance: Provenance::default(),
    }
}

fn threshold(value: f64, passed: bool) -> ThresholdResult {
    ThresholdResult {
        rule: "Shop.latency.p95 < 1s".into(),
        value: Some(value),
        passed,
        reason: None,
        note: None,
    }
}

/// The state after so many iterations.
pub(crate) fn snapshot(iterations: u64, elapsed_s: u64) -> Snapshot {
    let totals = totals(iterations);
    let step = &totals.steps()[1];
    Snapshot {
        missed: 0,
        paused: false,
        result: result(iterations, elapsed_s, false),
        workflows: vec![WorkflowLive {
            name: name("Shop"),
            progress: None,
            vus: 8,
            target: None,
            starts_per_s: None,
            series: vec![SeriesPoint {
                t_s: 0.0,
                rate: 99.5,
                failed: 1,
                vus: 8,
                p50_us: 1_500.0,
                p95_us: 2_500.0,
                p99_us: 3_500.0,
            }],
            shape: Shape::default(),
            steps: vec![StepLive {
                name: name("order"),
                latency: BoundCounts::of(&step.latency),
                failed_latency: BoundCounts::of(&step.failed_latency),
            }],
        }],
        generator: Generator { cores: 2, memory_bytes: Some(1 << 20), ..Generator::default() },
    }
}

/// One exporter that has lost something.
pub(crate) fn exports() -> [ExportResult; 1] {
    [ExportResult {
        kind: "otlp".into(),
        target: "http://h/v1/metrics".into(),
        sent: 3,
        lost: 1,
        error: None,
    }]
}

/// A reading of a run that goes on, and the final one.
pub(crate) fn readings() -> (Reading, Reading) {
    let mut readings = Readings::default();
    let so_far = readings.so_far(&snapshot(50, 1), &exports());
    (so_far, readings.finished(&result(100, 2, true), &exports()))
}
