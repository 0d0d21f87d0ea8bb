//! Segments through their public face, against the built-in target: what a worker of a cluster will do with them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_engine::{CoreMessage, Identity, Segment, SegmentEvent, SegmentSpec, data};
use hyperscale_job::entry::Assignment;
use hyperscale_job::layout::layout;
use hyperscale_job::segment::RateChange;
use hyperscale_job::{
    AttemptId, Directive, FailureKind, Report, SegmentId, SegmentKind, SegmentOrder, SegmentResult, StopPhase,
};
use hyperscale_plan::load::SegmentShare;
use hyperscale_plan::model::Plan;
use hyperscale_stats::Totals;
use hyperscale_target::{Options, Running, Target};
use hyperscale_types::{ErrorKind, Rate};
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::plan;

fn target() -> Running {
    let options = Options::new(([127, 0, 0, 1], 0).into());
    Target::bind(options).expect("a free port").spawn().expect("a thread")
}

/// The workflow `W` with these lines, calling a target.
fn plan_for(target: &Running, lines: &str) -> Arc<Plan> {
    Arc::new(plan(&lines.replace("BASE", &format!("http://{}", target.handle().listen()))))
}

/// A segment of a plan's workflow: some of its cores.
fn spec(plan: &Arc<Plan>, kind: SegmentKind, first_core: u32, cores: u32, cores_total: u32) -> SegmentSpec {
    let vus = plan.workflows[0].vus_max();
    let segment = SegmentId { workflow: 0, kind, index: first_core };
    let share = SegmentShare { first_core, cores, cores_total, vus };
    SegmentSpec {
        plan: Arc::clone(plan),
        data: data::open(plan).expect("the plan has no data"),
        order: SegmentOrder {
            assignment: Assignment {
                attempt: AttemptId { segment, number: 1 },
                worker: "w".into(),
                group: 0,
                offset: 0,
                share,
                joins_at: Duration::ZERO,
                iterations_done: 0,
            },
            context: Arc::default(),
            setup: Arc::default(),
            offset: Duration::ZERO,
            iterations_done: 0,
        },
        identity: Arc::new(Identity { job: "j".into(), worker: "w".into(), seed: 7, epoch: Instant::now() }),
        cpus: Vec::new(),
        lease: LeaseDeadline::none(),
    }
}

/// A segment that runs, and what has become known of it.
struct Attempt {
    segment: Segment,
    messages: mpsc::Receiver<CoreMessage>,
    epoch: Instant,
    totals: Totals,
    cores_completed: Vec<u32>,
}

impl Attempt {
    fn start(spec: &SegmentSpec) -> Self {
        let (sender, messages) = mpsc::channel(64);
        let (layout, _) = layout(&spec.plan.workflows[0]);
        Attempt {
            segment: Segment::start(spec, &sender).expect("threads"),
            messages,
            epoch: spec.identity.epoch,
            totals: Totals::new(&Arc::new(layout)),
            cores_completed: Vec::new(),
        }
    }

    /// Reads on until a report is the wanted one, or the segment ends.
    fn until(&mut self, wanted: impl Fn(&Report) -> bool) -> Option<SegmentResult> {
        loop {
            let message = self.messages.blocking_recv().expect("a segment says its end");
            for event in self.segment.take(message) {
                match event {
                    SegmentEvent::Window(window) => {
                        self.totals.add(&window);
                        self.segment.recycle(window);
                    }
                    SegmentEvent::Report(Report::Ended(result)) => return Some(*result),
                    SegmentEvent::Report(Report::CoreCompleted { core }) => self.cores_completed.push(core),
                    SegmentEvent::Report(report) if wanted(&report) => return None,
                    SegmentEvent::Report(_) => {}
                }
            }
        }
    }

    /// Lets the load begin now.
    fn go(&mut self) -> Directive {
        self.go_with(Directive::default())
    }

    /// Lets the load begin now, told all this.
    fn go_with(&mut self, directive: Directive) -> Directive {
        assert!(self.until(|report| *report == Report::Prepared).is_none(), "it is prepared before it ends");
        let directive = Directive { go: Some(self.epoch.elapsed()), ..directive };
        self.segment.direct(directive);
        directive
    }

    fn finish(mut self) -> (SegmentResult, Totals, Vec<u32>) {
        let result = self.until(|_| false).expect("it ends");
        self.segment.join();
        self.totals.balance().expect("the books balance");
        (result, self.totals, self.cores_completed)
    }
}

fn run(spec: &SegmentSpec) -> (SegmentResult, Totals, Vec<u32>) {
    let mut running = Attempt::start(spec);
    running.go();
    running.finish()
}

const COUNTED: &str = "vus: 5\niterations: 101\nramp: 0s\nsteps:\n  a: { http: 'BASE/a/{{ vu.id }}' }";

#[test]
fn segments_of_a_workflow_add_up_to_the_whole_with_the_same_virtual_users() {
    let target = target();
    let plan = plan_for(&target, COUNTED);
    let (_, whole, _) = run(&spec(&plan, SegmentKind::Load, 0, 3, 3));
    let paths = |target: &Running| target.handle().stats().by_path.clone();
    let alone = paths(&target);
    target.handle().reset();
    let (_, one, completed) = run(&spec(&plan, SegmentKind::Load, 0, 2, 3));
    let (_, other, _) = run(&spec(&plan, SegmentKind::Load, 2, 1, 3));
    assert_eq!(whole.iterations.completed, 101);
    assert_eq!(one.iterations.completed + other.iterations.completed, 101);
    assert_eq!(alone.keys().collect::<Vec<_>>(), paths(&target).keys().collect::<Vec<_>>());
    let mut completed = completed;
    completed.sort_unstable();
    assert_eq!(completed, [0, 1], "each core says that it is free");
}

#[test]
fn an_attempt_that_takes_over_runs_what_is_left() {
    let target = target();
    let plan = plan_for(&target, COUNTED);
    let mut counted = spec(&plan, SegmentKind::Load, 0, 2, 2);
    counted.order.iterations_done = 61;
    assert_eq!(run(&counted).1.iterations.completed, 40);
    let plan = plan_for(&target, "rate: 100/s\nduration: 2s\nsteps:\n  a: { http: 'BASE/' }");
    let mut open = spec(&plan, SegmentKind::Load, 0, 2, 2);
    open.order.offset = Duration::from_millis(1_500);
    let (_, totals, _) = run(&open);
    assert_eq!(totals.iterations.scheduled, 50, "the starts of the last half second");
}

#[test]
fn a_change_of_rate_holds_from_the_moment_it_names() {
    let target = target();
    let plan = plan_for(&target, "rate: 10/s\nduration: 2s\nsteps:\n  a: { http: 'BASE/' }");
    let mut running = Attempt::start(&spec(&plan, SegmentKind::Load, 0, 1, 1));
    let directive = running.go();
    let change = RateChange { rate: Rate::per_second(400.0), from: Duration::from_secs(1), before: 10.0 };
    running.segment.direct(Directive { rate: Some(change), ..directive });
    let (_, totals, _) = running.finish();
    assert_eq!(totals.iterations.scheduled, 410, "10 in the first second, 400 in the other");
}

#[test]
fn starts_are_the_integral_over_any_number_of_changes() {
    let target = target();
    let plan = plan_for(&target, "rate: 100/s\nduration: 2s\nsteps:\n  a: { http: 'BASE/' }");
    let mut running = Attempt::start(&spec(&plan, SegmentKind::Load, 0, 2, 2));
    let directive = running.go();
    let began = directive.go.expect("just said");
    let mut change = RateChange { rate: Rate::per_second(100.0), from: Duration::ZERO, before: 0.0 };
    for number in 0..30 {
        std::thread::sleep(Duration::from_millis(40));
        // Each change has held for a moment when the cores hear of it.
        let heard = running.epoch.elapsed().saturating_sub(began);
        let rate = Rate::per_second(f64::from(number % 5) * 150.0);
        change = change.then(rate, heard.saturating_sub(Duration::from_millis(3)));
        running.segment.direct(Directive { rate: Some(change), ..directive });
    }
    let integral = change.then(Rate::ZERO, Duration::from_secs(2)).before;
    let (_, totals, _) = running.finish();
    let scheduled = totals.iterations.scheduled;
    assert!((scheduled as f64 - integral).abs() <= 1.0, "{scheduled} for {integral}");
}

#[test]
fn an_attempt_that_takes_over_goes_on_with_the_changed_rate() {
    let target = target();
    let plan = plan_for(&target, "rate: 100/s\nduration: 2s\nsteps:\n  a: { http: 'BASE/' }");
    let mut spec = spec(&plan, SegmentKind::Load, 0, 1, 1);
    spec.order.offset = Duration::from_millis(1_500);
    let mut running = Attempt::start(&spec);
    let change = RateChange { rate: Rate::per_second(300.0), from: Duration::from_secs(1), before: 100.0 };
    running.go_with(Directive { rate: Some(change), ..Directive::default() });
    let (_, totals, _) = running.finish();
    assert_eq!(totals.iterations.scheduled, 150, "half a second of 300/s, and nothing of what was before");
}

#[test]
fn a_call_that_is_cut_off_counts_its_latency_from_the_intended_start() {
    let target = target();
    // The start is due at 50 ms, its virtual user ready 300 ms later, and the end cuts the call off.
    let lines = "rate: 10/s\nduration: 100ms\nmax_vus: 1\ngraceful_stop: 400ms\nvu_setup: [{ name: warm, sleep: 300ms }]\nsteps:\n  a: { http: 'BASE/delay/9000' }";
    let (_, totals, _) = run(&spec(&plan_for(&target, lines), SegmentKind::Load, 0, 1, 1));
    let a = totals.step(&"a".parse().expect("a name")).expect("the step exists");
    assert_eq!((a.count, a.errors[ErrorKind::Cancelled.index()]), (1, 1), "{:?}", a.errors);
    let latency = a.failed_latency.max_ns();
    assert!(latency > Some(300_000_000), "{latency:?}: the wait for the virtual user is missing");
}

#[test]
fn a_pause_is_no_delay_of_starts_that_wait() {
    let target = target();
    let lines = "rate: 100/s\nduration: 500ms\nmax_vus: 1\nsteps:\n  a: { http: 'BASE/delay/20' }";
    let plan = plan_for(&target, lines);
    let mut running = Attempt::start(&spec(&plan, SegmentKind::Load, 0, 1, 1));
    let directive = running.go();
    while target.handle().stats().requests < 5 {
        std::thread::yield_now();
    }
    running.segment.direct(Directive { paused: true, ..directive });
    std::thread::sleep(Duration::from_secs(3));
    running.segment.direct(directive);
    let (_, totals, _) = running.finish();
    assert_eq!((totals.iterations.scheduled, totals.iterations.completed), (50, 50));
    // Without the pause the last start waits for about half a second.
    let (lag, latency) = (totals.lag.max_ns(), totals.steps()[0].latency.max_ns());
    let pause = Some(Duration::from_secs(3).as_nanos() as u64);
    assert!(lag < pause && latency < pause, "lag {lag:?}, latency {latency:?}");
}

#[test]
fn a_cancelled_segment_ends_and_counts_what_it_did() {
    let target = target();
    let plan = plan_for(&target, "vus: 2\nduration: 1h\nramp: 0s\nsteps:\n  a: { http: 'BASE/' }");
    let mut running = Attempt::start(&spec(&plan, SegmentKind::Load, 0, 1, 1));
    let directive = running.go();
    while target.handle().stats().requests < 10 {
        std::thread::yield_now();
    }
    running.segment.direct(Directive { phase: StopPhase::Cancelling, ..directive });
    let (result, totals, _) = running.finish();
    assert_eq!(result.failure, None);
    assert_eq!(totals.steps()[0].requests, target.handle().stats().requests);
}

#[test]
fn a_segment_whose_lease_is_over_sends_nothing_and_ends() {
    let target = target();
    let plan = plan_for(&target, "vus: 2\nduration: 1h\nramp: 0s\nsteps:\n  a: { http: 'BASE/' }");
    let mut spec = spec(&plan, SegmentKind::Load, 0, 1, 1);
    spec.lease = LeaseDeadline::lasting(Duration::ZERO);
    let (_, totals, _) = run(&spec);
    assert_eq!(target.handle().stats().requests, 0);
    assert_eq!(totals.steps()[0].requests, 0);
    assert_eq!(totals.steps()[0].count, totals.steps()[0].errors[ErrorKind::Cancelled.index()]);
}

#[test]
fn a_set_up_leaves_plain_values_of_what_is_there() {
    let target = target();
    let text = "vus: 1\niterations: 1\nsetup:\n  s: { http: 'BASE/json', extract: { n: { json: '$' } } }\n\
                steps:\n  a: { http: 'BASE/{{ s.status }}/{{ s.json }}' }";
    let plan = plan_for(&target, text);
    let (result, ..) = Attempt::start(&spec(&plan, SegmentKind::Setup, 0, 1, 1)).finish();
    assert_eq!(result.failure, None);
    assert_eq!(result.values[0]["status"], json!(200));
    assert!(result.values[0]["json"].is_object(), "{:?}", result.values);
    assert_eq!(result.values[0]["n"], result.values[0]["json"]);
}

#[test]
fn a_core_that_cannot_prepare_ends_the_whole_segment() {
    // A token is fetched while preparing, and nobody listens on this port.
    let auth = "{ oauth2: { token_url: 'http://127.0.0.1:1/', client_id: a, client_secret: b } }";
    let http = format!("{{ url: 'http://127.0.0.1:1/', auth: {auth} }}");
    let plan = Arc::new(plan(&format!("vus: 4\nduration: 1h\nsteps:\n  a: {{ http: {http} }}")));
    let (result, ..) = Attempt::start(&spec(&plan, SegmentKind::Load, 0, 2, 2)).finish();
    assert_eq!(result.failure.expect("it says why").kind, FailureKind::Unreachable);
}
