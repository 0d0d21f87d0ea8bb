//! Runs that never ran: events put together from real statistics.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_stats::event::{
    BoundCounts, Event, Generator, Shape, Snapshot, Started, StepLive, Target, WorkflowLive, WorkflowPlan,
};
use hyperscale_stats::result::{
    Provenance, RunIdentity, RunResult, SeriesPoint, Status, ThresholdResult, VERSION, Validity,
    WorkflowFacts, WorkflowResult, errors, load_result, workflow_result,
};
use hyperscale_stats::totals::LoadTotals;
use hyperscale_stats::{CallSample, CheckLayout, Layout, StepKind, StepLayout, Totals, Window};
use hyperscale_types::{ErrorKind, Name};

const US: u64 = 1_000;

/// One workflow: its name, steps, and what went wrong in its first step.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [&'static str],
    pub(crate) errors: &'static [(ErrorKind, &'static str, u64)],
    pub(crate) failed_checks: u64,
    pub(crate) target: Option<Target>,
    pub(crate) status: Status,
}

/// A browsing workflow without trouble.
pub(crate) const BROWSE: Part = Part {
    name: "Browse",
    steps: &["home", "search", "product"],
    errors: &[],
    failed_checks: 0,
    target: Some(Target::Vus(50)),
    status: Status::Running,
};

/// An open-model workflow whose target is in trouble.
pub(crate) const CHECKOUT: Part = Part {
    name: "Checkout",
    steps: &["cart", "pay"],
    errors: &[
        (ErrorKind::Timeout, "no answer within 2s", 41),
        (ErrorKind::Status, "status 503 is not expected", 1_204),
        (ErrorKind::Reset, "connection reset by peer", 3),
    ],
    failed_checks: 12,
    target: Some(Target::Rate(200.0)),
    status: Status::Running,
};

/// Steps whose names begin alike.
pub(crate) const ALIKE: Part = Part {
    name: "Registration",
    steps: &["confirm_the_address_of_the_buyer", "confirm_the_address_of_the_seller"],
    errors: &[],
    failed_checks: 0,
    target: Some(Target::Vus(50)),
    status: Status::Running,
};

/// Begins after the others.
pub(crate) const REPORT: Part = Part {
    name: "NightlyReport",
    steps: &["export"],
    errors: &[],
    failed_checks: 0,
    target: None,
    status: Status::Pending,
};

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// The first event.
pub(crate) fn started(parts: &[&Part]) -> Event {
    let workflow = |part: &&Part| WorkflowPlan {
        name: name(part.name),
        planned_s: Some(60.0),
        vus: if matches!(part.target, Some(Target::Rate(_))) { 120 } else { 50 },
    };
    Event::Started(Box::new(Started {
        job: "run-1".into(),
        name: "shop".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        planned_s: Some(60.0),
        workflows: parts.iter().map(workflow).collect(),
        thresholds: vec!["Browse.latency.p99 < 50ms".into()],
        ..Started::default()
    }))
}

/// The state of the run after so many seconds.
pub(crate) fn snapshot(parts: &[&Part], seconds: u64) -> Snapshot {
    let all: Vec<(WorkflowResult, WorkflowLive, Totals)> =
        parts.iter().map(|part| workflow(part, seconds)).collect();
    let mut load = LoadTotals::default();
    for (.., totals) in &all {
        load.merge(&totals.load());
    }
    let elapsed = Duration::from_millis(seconds * 1_000 + 150);
    let result = RunResult {
        identity: RunIdentity { version: VERSION, job: "run-1".into(), name: "shop".into() },
        status: Status::Running,
        reason: None,
        is_final: false,
        started_at: "2026-01-01T00:00:00Z".into(),
        elapsed_s: elapsed.as_secs_f64(),
        thresholds: vec![threshold("Browse.latency.p99 < 50ms", Some(0.012_4), true)],
        thresholds_passed: true,
        totals: load_result(&load, elapsed),
        errors: all.iter().flat_map(|(result, _, totals)| errors(&result.name, totals)).collect(),
        workflows: all.iter().map(|(result, ..)| result.clone()).collect(),
        validity: Validity::default(),
        series: points(seconds, 1.0, parts.iter().any(|part| !part.errors.is_empty())),
        provenance: Provenance::default(),
    };
    Snapshot {
        missed: 0,
        paused: false,
        result,
        workflows: all.into_iter().map(|(_, live, _)| live).collect(),
        generator: Generator {
            cores: 2,
            busiest_core: Some(0.43),
            run_queue: Some(0.003),
            lag_p99_us: Some(212.0),
            late: 0,
            dropped: 0,
            memory_bytes: Some(34_800_000),
            saturated: false,
        },
    }
}

pub(crate) fn threshold(rule: &str, value: Option<f64>, passed: bool) -> ThresholdResult {
    ThresholdResult { rule: rule.into(), value, passed, reason: None, note: None }
}

/// Every event of the first so many seconds.
pub(crate) fn events(parts: &[&Part], seconds: u64) -> Vec<Event> {
    let snapshots = (1..=seconds).map(|second| Event::Snapshot(Box::new(snapshot(parts, second))));
    std::iter::once(started(parts)).chain(snapshots).collect()
}

fn workflow(part: &Part, seconds: u64) -> (WorkflowResult, WorkflowLive, Totals) {
    let layout = Arc::new(Layout {
        steps: part
            .steps
            .iter()
            .map(|step| StepLayout {
                name: name(step),
                kind: StepKind::Test,
                protocol: Some("http"),
                setup: false,
            })
            .collect(),
        checks: vec![CheckLayout { step: 0, name: name("has_items") }],
        metrics: Vec::new(),
    });
    let mut totals = Totals::new(&layout);
    if part.status != Status::Pending {
        totals.add(&window(part, &layout, seconds));
    }
    let facts = WorkflowFacts {
        name: name(part.name),
        status: part.status,
        reason: None,
        elapsed: Duration::from_secs(seconds),
        vus: 50,
        cores: 1,
    };
    let begun = part.status != Status::Pending;
    let live = WorkflowLive {
        name: name(part.name),
        progress: begun.then_some(seconds as f64 / 60.0),
        vus: if begun { 50 } else { 0 },
        target: part.target,
        starts_per_s: matches!(part.target, Some(Target::Rate(_))).then_some(198.0),
        series: if begun { points(seconds, 0.5, !part.errors.is_empty()) } else { Vec::new() },
        shape: Shape::of(totals.steps().iter().map(|step| &step.latency)),
        steps: layout
            .steps
            .iter()
            .zip(totals.steps())
            .map(|(layout, step)| StepLive {
                name: layout.name.clone(),
                latency: BoundCounts::of(&step.latency),
                failed_latency: BoundCounts::of(&step.failed_latency),
            })
            .collect(),
    };
    (workflow_result(facts, &totals), live, totals)
}

fn window(part: &Part, layout: &Arc<Layout>, seconds: u64) -> Window {
    let mut window = Window::new(layout);
    window.vus = 50;
    let call = |ns: u64, error: Option<ErrorKind>| CallSample {
        latency_ns: ns,
        service_ns: ns,
        requests: 1,
        error,
        status: if error.is_none() { 200 } else { 0 },
        ..CallSample::default()
    };
    for (at, _) in part.steps.iter().enumerate() {
        for number in 0..seconds * 100 {
            // Most calls are quick, some are slow: a shape with a tail.
            let spread = (number * 7_919) % 1_000;
            let us = 900 + 350 * at as u64 + spread * spread / 700 + if spread > 985 { 9_000 } else { 0 };
            window.call(at, &call(us * US, None));
        }
    }
    for (kind, message, count) in part.errors {
        for _ in 0..*count {
            window.call(0, &call(2_000_000 * US, Some(*kind)));
            window.error_message(0, *kind, message);
        }
    }
    (0..seconds * 100).for_each(|_| {
        window.started();
        window.completed();
    });
    (0..seconds * 50).for_each(|_| window.check(0, true));
    (0..part.failed_checks).for_each(|_| window.check(0, false));
    window
}

fn points(seconds: u64, share: f64, failing: bool) -> Vec<SeriesPoint> {
    let point = |second: u64| {
        // A ramp, then waves: the same in every run of the tests.
        let ramp = (second as f64 / 8.0).min(1.0);
        let wave = 1.0 + 0.08 * (second as f64 / 3.0).sin();
        SeriesPoint {
            t_s: second as f64,
            rate: (4_000.0 * share * ramp * wave).round(),
            failed: if failing && second > 10 { 20 + second % 7 } else { 0 },
            vus: 50,
            p50_us: 1_100.0 * wave,
            p95_us: 2_300.0 * wave,
            p99_us: 9_800.0 * (1.0 + 0.3 * (second as f64 / 5.0).cos()),
        }
    };
    (seconds.saturating_sub(10)..seconds).map(point).collect()
}
