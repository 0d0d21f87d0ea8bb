//! Runs to be shown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_stats::result::{
    Change, Changed, ChangedBy, Loss, PlanText, Provenance, RunIdentity, RunResult, Status, ThresholdResult,
    Unreported, VERSION, Validity, WorkflowFacts, errors, load_result, workflow_result,
};
use hyperscale_stats::{
    CallSample, CheckLayout, Layout, MetricKind, MetricLayout, Series, StepKind, StepLayout, StreamEvent,
    Totals, Window,
};
use hyperscale_types::{ErrorKind, Name};

const MS: u64 = 1_000_000;
const ELAPSED: Duration = Duration::from_secs(10);

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn step(text: &str, kind: StepKind, setup: bool) -> StepLayout {
    StepLayout { name: name(text), kind, protocol: (kind == StepKind::Test).then_some("http"), setup }
}

fn ok(latency_ns: u64, service_ns: u64) -> CallSample {
    CallSample {
        latency_ns,
        service_ns,
        status: 200,
        requests: 1,
        bytes_sent: 120,
        bytes_received: 2_048,
        ..CallSample::default()
    }
}

fn failed(kind: ErrorKind, status: u16) -> CallSample {
    CallSample { error: Some(kind), status, ..ok(30 * MS, 30 * MS) }
}

fn result_of(workflow: &str, window: &Window, layout: &Arc<Layout>) -> RunResult {
    let mut totals = Totals::new(layout);
    totals.add(window);
    let mut series = Series::new();
    series.add(window);
    let facts = WorkflowFacts {
        name: name(workflow),
        status: Status::Completed,
        reason: None,
        elapsed: ELAPSED,
        vus: 64,
        cores: 2,
    };
    RunResult {
        identity: RunIdentity { version: VERSION, job: "local-1".into(), name: "checkout".into() },
        status: Status::Completed,
        reason: None,
        is_final: true,
        started_at: "2025-01-01T00:00:00Z".into(),
        elapsed_s: 10.0,
        workflows: vec![workflow_result(facts, &totals)],
        thresholds: Vec::new(),
        thresholds_passed: true,
        totals: load_result(&totals.load(), ELAPSED),
        errors: errors(&name(workflow), &totals),
        validity: Validity::default(),
        series: series.points(ELAPSED),
        provenance: Provenance::default(),
    }
}

/// One step, closed model, nothing went wrong.
pub(crate) fn simple() -> RunResult {
    let layout =
        Arc::new(Layout { steps: vec![step("request", StepKind::Test, false)], ..Layout::default() });
    let mut window = Window::new(&layout);
    (window.to_ns, window.vus) = (1_000 * MS, 64);
    for n in 0..12_345 {
        window.call(0, &ok(MS + n * 500, MS + n * 500));
        window.started();
        window.completed();
    }
    result_of("request", &window, &layout)
}

/// Everything a result can have: open model, set-up, failures, tags, checks, metrics, thresholds, loss.
pub(crate) fn eventful() -> RunResult {
    let metric = |text, kind| MetricLayout { step: 3, name: name(text), kind };
    let layout = Arc::new(Layout {
        steps: vec![
            step("login", StepKind::Test, true),
            step("users", StepKind::Test, false),
            step("order", StepKind::Test, false),
            step("basket", StepKind::Metric, false),
        ],
        checks: ["status", "total", "never"].map(|text| CheckLayout { step: 2, name: name(text) }).to_vec(),
        metrics: vec![
            metric("items", MetricKind::Count),
            metric("cached", MetricKind::Rate),
            metric("stock", MetricKind::Sample),
            metric("price", MetricKind::Distribution),
            metric("render", MetricKind::Timing),
            metric("unused", MetricKind::Count),
        ],
    });
    let mut window = Window::new(&layout);
    record(&mut window);
    let mut result = result_of("Browse", &window, &layout);
    result.status = Status::Partial;
    result.thresholds = thresholds();
    result.thresholds_passed = false;
    result.validity.generator_saturated = true;
    result.provenance.changes = changes();
    result.provenance.changes_left_out = 2;
    result.validity.loss = Loss {
        windows_lost: 3,
        unreported: vec![Unreported {
            segment: "Browse/1".into(),
            attempt: 1,
            from_s: 2.0,
            to_s: 4.5,
            vus: 32,
        }],
        ..Loss::default()
    };
    result
}

/// A minute of two steps, with a slow spell and some failures in the middle; `slower` times as slow as usual.
pub(crate) fn minute(slower: f64) -> RunResult {
    let steps = ["catalog", "order"].map(|text| step(text, StepKind::Test, false)).to_vec();
    let checks = vec![CheckLayout { step: 1, name: name("status") }];
    let layout = Arc::new(Layout { steps, checks, ..Layout::default() });
    let (mut totals, mut series) = (Totals::new(&layout), Series::new());
    let mut random = 1u64;
    let mut draw = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as f64 / f64::from(1u32 << 31)
    };
    for second in 0..60 {
        let mut window = Window::new(&layout);
        (window.from_ns, window.to_ns) = (second * 1_000 * MS, (second + 1) * 1_000 * MS);
        window.vus = 64.min(second as u32 * 16 + 8);
        let spell = if (30..36).contains(&second) { 4.0 } else { 1.0 };
        for _ in 0..(90.0 + 20.0 * draw()) as u32 {
            window.started();
            for at in 0..2 {
                let latency = (3.0 + 2.0 * at as f64 - 2.0 * draw().max(1e-4).ln()) * spell * slower;
                let ns = (latency * MS as f64) as u64;
                let bad = at == 1 && spell > 1.0 && draw() < 0.2;
                window.call(at, &if bad { failed(ErrorKind::Status, 503) } else { ok(ns, ns * 9 / 10) });
                if at == 1 {
                    window.check(0, !bad);
                    if bad {
                        window.error_message(1, ErrorKind::Status, "503 is not 200–399");
                    }
                }
            }
            window.completed();
        }
        totals.add(&window);
        series.add(&window);
    }
    let elapsed = Duration::from_mins(1);
    let facts = WorkflowFacts {
        name: name("Shop"),
        status: Status::Completed,
        reason: None,
        elapsed,
        vus: 64,
        cores: 2,
    };
    let facts_of = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let load = load_result(&totals.load(), elapsed);
    RunResult {
        elapsed_s: 60.0,
        workflows: vec![workflow_result(facts, &totals)],
        thresholds: vec![ThresholdResult {
            rule: "Shop.latency.p95 < 20ms".into(),
            value: Some(load.latency_us.p95 / 1e6),
            passed: load.latency_us.p95 < 20_000.0,
            reason: None,
            note: None,
        }],
        thresholds_passed: load.latency_us.p95 < 20_000.0,
        totals: load,
        errors: errors(&name("Shop"), &totals),
        validity: Validity::default(),
        series: series.points(elapsed),
        provenance: Provenance {
            environment: facts_of(&[("os", "Debian"), ("cpus", "2"), ("version", "0.1.0")]),
            options: facts_of(&[("plan", "shop.yaml"), ("seed", "7")]),
            plan: Some(PlanText { name: "shop.yaml".into(), text: "name: shop\nworkflows: {}\n".into() }),
            ..Provenance::default()
        },
        ..simple()
    }
}

/// Texts that try to leave their place in every format.
pub(crate) fn hostile() -> RunResult {
    const NASTY: &str =
        "</script><script>alert('x')</script> \"quoted\" & <b>|**bold**| @everyone \u{1b}[2J 🚀 Füße";
    let mut result = eventful();
    result.identity.name = NASTY.into();
    result.reason = Some(NASTY.into());
    result.thresholds[0].rule = NASTY.into();
    result.thresholds[1].rule = NASTY.into();
    result.errors[0].message = NASTY.into();
    result.provenance.options = BTreeMap::from([("plan".into(), NASTY.into()), (NASTY.into(), "x".into())]);
    result.provenance.environment = BTreeMap::from([("os".into(), NASTY.into())]);
    result.provenance.plan =
        Some(PlanText { name: NASTY.into(), text: format!("name: {NASTY}\nworkflows: {{}}\n") });
    result
}

fn record(window: &mut Window) {
    window.call(0, &ok(80 * MS, 80 * MS));
    for n in 1..=1_000 {
        window.scheduled(1);
        window.started();
        window.lag(n * 50);
        let call = ok(n * MS, MS + n * 1_000);
        window.call(1, &call);
        window.tagged(1, if n % 4 == 0 { "region=us" } else { "region=eu" }, &call);
        window.stream_event(1, StreamEvent::First(2 * MS));
        window.stream_event(1, StreamEvent::Next(MS / 2));
        order(window, n);
        for (metric, value) in
            [(0, 2.0), (1, (n % 2) as f64), (2, n as f64), (3, n as f64 / 3.0), (4, n as f64 / 1e3)]
        {
            window.metric(metric, value);
        }
    }
    window.scheduled(7);
    window.dropped(7);
    window.late(41);
}

fn order(window: &mut Window, n: u64) {
    match n {
        990.. => {
            window.call(2, &failed(ErrorKind::Timeout, 0));
            window.error_message(
                2,
                ErrorKind::Timeout,
                "no answer within 10s\nfrom https://api.example.com/orders/with/a/rather/long/path?and=query",
            );
            window.failed();
        }
        980..990 => {
            window.call(2, &failed(ErrorKind::Status, 503));
            window.error_message(2, ErrorKind::Status, "503 is not 200–399");
            window.failed();
        }
        970..980 => {
            window.skipped(2, 1);
            window.failed();
        }
        _ => {
            window.call(2, &ok(3 * MS, 3 * MS));
            window.check(0, true);
            window.check(1, !n.is_multiple_of(97));
            window.completed();
        }
    }
}

fn thresholds() -> Vec<ThresholdResult> {
    let rule = |rule: &str, value, passed, reason: Option<&str>| ThresholdResult {
        rule: rule.into(),
        value,
        passed,
        reason: reason.map(str::to_owned),
        note: None,
    };
    vec![
        rule("Browse.order.latency.p99 < 300ms", Some(0.003), true, None),
        rule("Browse.failed.rate < 1%", Some(0.0101), false, None),
        rule("Browse.rate > 500/s", Some(199.0), false, None),
        rule("Browse.dropped == 0", Some(7.0), false, None),
        rule("Browse.order.latency.tls.p99 < 1s", None, false, Some("no_samples")),
    ]
}

fn changes() -> Vec<Change> {
    let change =
        |t_s, by, workflow: Option<&str>, what| Change { t_s, by, workflow: workflow.map(name), what };
    vec![
        change(1.5, ChangedBy::Screen, None, Changed::Paused),
        change(2.25, ChangedBy::Control, None, Changed::Resumed),
        change(3.0, ChangedBy::Control, Some("Browse"), Changed::Rate { from: 200.0, to: 500.0 }),
        change(4.0, ChangedBy::Screen, Some("Browse"), Changed::Vus { from: 50, to: 55 }),
    ]
}
