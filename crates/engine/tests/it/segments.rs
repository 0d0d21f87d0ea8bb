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
        assert!(self.until(|report| *report == Report::Prepared).is_none(), "it is prepared before it ends");
        let directive = Directive { go: Some(self.epoch.elapsed()), ..Directive::default() };
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
    let change = RateChange { rate: Rate::per_second(400.0), from: Duration::from_secs(1) };
    running.segment.direct(Directive { rate: Some(change), ..directive });
    let (_, totals, _) = running.finish();
    // 10 in the first second, 400 in the other; the change may cost the start that was drawn already.
    let scheduled = totals.iterations.scheduled;
    assert!((405..=411).contains(&scheduled), "{scheduled}");
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
