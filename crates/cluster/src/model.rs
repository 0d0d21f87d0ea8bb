//! A model of the engine, for the simulator and for tests: attempts that run for the planned time and count what they "send".
//!
//! Compiled only with the feature `model`. It stands for what a worker's host does with [`crate::worker::Output::Start`] and what
//! follows; time is handed in, a window at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_job::layout::layout;
use hyperscale_job::{Directive, LoadClock, SegmentKind, SegmentResult, StopPhase};
use hyperscale_plan::model::Plan;
use hyperscale_stats::wire::Codec;
use hyperscale_stats::{CallSample, Totals, Window};
use hyperscale_types::Now;

use crate::bundle::Bundle;
use crate::message::JobAttempt;
use crate::record::{AttemptLeft, RecordError};
use crate::worker::Start;

/// Calls of every core in every window.
pub const CALLS: u64 = 5;
/// Length of a window.
pub const WINDOW: Duration = Duration::from_millis(100);

/// An attempt that runs.
#[derive(Debug)]
pub struct Attempt {
    start: Start,
    plan: Arc<Plan>,
    codec: Codec,
    totals: Totals,
    seqs: BTreeMap<u32, u64>,
    began: Now,
    directive: Directive,
    /// How far its load curve has come, once it was told to go.
    clock: Option<LoadClock>,
    is_cut_off: bool,
}

/// What an attempt did in a moment.
#[derive(Debug)]
pub enum Step {
    /// It waits to be told to go.
    Waits,
    /// It closed windows, with this many requests in them.
    Ran(Vec<Bytes>, u64),
    /// It is over.
    Ended(AttemptLeft),
}

impl Attempt {
    /// An attempt with the plan of its blob.
    pub fn new(now: Now, start: Start, bundle: &Bytes) -> Result<Self, RecordError> {
        let loaded = Bundle::decode(bundle)?.load().map_err(|_| RecordError::Malformed)?;
        let plan = Arc::new(loaded.plan);
        let workflow = plan.workflows.get(start.attempt.attempt.segment.workflow);
        let workflow = workflow.ok_or(RecordError::Missing("workflow"))?;
        let layout = Arc::new(layout(workflow).0);
        let codec = Codec::new(&start.plan.hash, &workflow.name, &layout);
        let totals = Totals::new(&layout);
        Ok(Self {
            began: now,
            start,
            codec,
            totals,
            seqs: BTreeMap::new(),
            directive: Directive::default(),
            clock: None,
            is_cut_off: false,
            plan,
        })
    }

    /// Which attempt it is.
    pub fn id(&self) -> JobAttempt {
        self.start.attempt
    }

    /// Whether it must stop before the lease ends.
    pub fn is_bound_to_lease(&self) -> bool {
        self.start.is_bound_to_lease
    }

    /// The name of its workflow.
    pub fn workflow(&self) -> &str {
        self.plan.workflows[self.start.attempt.attempt.segment.workflow].name.as_str()
    }

    /// How long the load of its workflow lasts, if that is planned.
    pub fn planned(&self) -> Option<Duration> {
        let workflow = &self.plan.workflows[self.start.attempt.attempt.segment.workflow];
        workflow.planned().map(hyperscale_types::Span::to_duration)
    }

    /// What the job clock shows, as its worker knows it.
    pub fn job_time(&self, now: Now) -> Duration {
        self.start.job_time + now.since(self.began)
    }

    /// What it is to do from now on.
    pub fn direct(&mut self, directive: Directive) {
        self.directive = directive;
    }

    /// Whether it was stopped at once.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// It is stopped at once.
    pub fn cut_off(&mut self) {
        self.is_cut_off = true;
    }

    /// The time of a window passes.
    pub fn step(&mut self, now: Now) -> Step {
        let kind = self.start.attempt.attempt.segment.kind;
        if self.is_cut_off || self.directive.phase > StopPhase::Running {
            return Step::Ended(self.left(0));
        }
        if kind != SegmentKind::Load {
            let workflow = &self.plan.workflows[self.start.attempt.attempt.segment.workflow];
            let values = if kind == SegmentKind::Setup { workflow.setup.steps.len() } else { 0 };
            return Step::Ended(self.left(values));
        }
        let job_time = self.job_time(now);
        let Some(go) = self.directive.go.filter(|go| job_time >= *go) else { return Step::Waits };
        let planned = self.plan.workflows[self.start.attempt.attempt.segment.workflow].planned();
        let clock = self.clock.get_or_insert(LoadClock::new(go, self.start.order.offset));
        clock.pause(job_time, self.directive.paused);
        let load_time = clock.load_time(job_time);
        if planned.is_some_and(|planned| load_time >= planned.to_duration()) {
            return Step::Ended(self.left(0));
        }
        if self.directive.paused {
            return Step::Waits;
        }
        let share = self.start.order.assignment.share;
        let cores = share.first_core..share.first_core + share.cores;
        let windows: Vec<Bytes> = cores.map(|core| self.window(core, job_time)).collect();
        Step::Ran(windows, CALLS * u64::from(share.cores))
    }

    fn window(&mut self, core: u32, to: Duration) -> Bytes {
        let mut window = Window::new(self.totals.layout());
        let seq = self.seqs.entry(core).or_default();
        (window.core, window.seq) = (core, *seq);
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        (window.from_ns, window.to_ns) = (ns(to.saturating_sub(WINDOW)), ns(to));
        *seq += 1;
        for call in 0..CALLS {
            window.started();
            let latency_ns = 1_000_000 * (1 + call + u64::from(core));
            let sample = CallSample {
                latency_ns,
                service_ns: latency_ns,
                answered: true,
                status: 200,
                requests: 1,
                ..CallSample::default()
            };
            window.call(0, &sample);
            window.completed();
        }
        self.totals.add(&window);
        self.codec.encode_window(&window).into()
    }

    fn left(&self, values: usize) -> AttemptLeft {
        let name = &self.plan.workflows[self.start.attempt.attempt.segment.workflow].name;
        // Nearly as large as a decision in the log may be.
        let length = if name.as_str().starts_with("Big") { 60 << 10 } else { 10 };
        let values = vec![serde_json::json!("x".repeat(length)); values];
        let result = SegmentResult { values, ..SegmentResult::default() };
        AttemptLeft { result, totals: self.codec.encode_totals(&self.totals).into() }
    }
}
