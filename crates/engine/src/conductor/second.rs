//! What happens every second: thresholds that may end the job, and a snapshot for the faces.

use std::time::Duration;

use hyperscale_plan::load::closed::vus_at;
use hyperscale_plan::model::{Load, Threshold, Workflow};
use hyperscale_stats::evaluate;
use hyperscale_stats::event::{BoundCounts, Generator, Shape, Snapshot, StepLive, Target, WorkflowLive};

use super::job::Job;
use super::result;
use super::workflow::{State, WorkflowRun};
use crate::control::StopPhase;
use crate::event::Event;
use crate::machine;

impl Job {
    /// A second is over: thresholds, then a snapshot.
    pub(crate) fn second(&mut self) {
        let elapsed = self.facts.epoch.elapsed();
        if self.stopped.is_none()
            && let Some(rule) = self.failed_abort()
        {
            self.emit(Event::Abort { rule });
            self.stop(StopPhase::Cancelling, "threshold");
        }
        let snapshot = self.snapshot(elapsed);
        if self.events.try_send(Event::Snapshot(Box::new(snapshot))).is_ok() {
            self.missed = 0;
        } else {
            self.missed += 1;
        }
    }

    /// The first threshold with `abort` that fails on what was seen so far. Its `after` is counted by the load clock of
    /// the workflow it is about, which may begin long after the job.
    fn failed_abort(&self) -> Option<String> {
        let fails = |threshold: &&Threshold| {
            let at = self.plan.workflows.iter().position(|workflow| workflow.name == threshold.rule.workflow);
            let run = at.map(|at| &self.runs[at]);
            threshold.abort
                && run.is_some_and(|run| {
                    if run.load_clock() < threshold.after.to_duration() {
                        return false;
                    }
                    // What has seen no sample yet may still see one.
                    let seen = evaluate(&threshold.rule, &run.totals, run.elapsed(), true);
                    seen.value.is_some() && !seen.passed
                })
        };
        self.plan.thresholds.iter().find(fails).map(|threshold| threshold.rule.text.clone())
    }

    fn snapshot(&mut self, elapsed: Duration) -> Snapshot {
        let generator = self.generator();
        let runs = self.runs.iter().zip(&self.plan.workflows);
        Snapshot {
            missed: self.missed,
            paused: self.paused,
            workflows: runs.map(|(run, plan)| live(run, plan, elapsed)).collect(),
            result: result::so_far(self, elapsed),
            generator,
        }
    }

    fn generator(&mut self) -> Generator {
        let mut all = Generator { memory_bytes: machine::memory_bytes(), ..Generator::default() };
        for run in &mut self.runs {
            let busy = run.pulse.take_busiest_core(&run.totals);
            let lag = run.pulse.take_lag_p99_us();
            all.busiest_core = larger(all.busiest_core, busy);
            all.lag_p99_us = larger(all.lag_p99_us, lag);
            all.cores += run.alive;
            all.late += run.totals.iterations.late;
            all.dropped += run.totals.iterations.dropped;
            all.saturated |= run.totals.generator_saturated();
        }
        all
    }
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn live(run: &WorkflowRun, plan: &Workflow, elapsed: Duration) -> WorkflowLive {
    let load = || {
        let steps = run.totals.layout().steps.iter().zip(run.totals.steps());
        steps.filter(|(layout, _)| layout.is_load())
    };
    let step = |(layout, step): (&hyperscale_stats::StepLayout, &hyperscale_stats::StepStats)| StepLive {
        name: layout.name.clone(),
        latency: BoundCounts::of(&step.latency),
        failed_latency: BoundCounts::of(&step.failed_latency),
    };
    WorkflowLive {
        name: plan.name.clone(),
        progress: progress(run, plan),
        vus: run.totals.vus(),
        target: matches!(run.state, State::Running).then(|| target(run, plan)),
        starts_per_s: run.pulse.starts_per_s(elapsed).filter(|_| matches!(plan.load, Load::Open { .. })),
        series: run.pulse.newest(elapsed),
        shape: Shape::of(load().map(|(_, step)| &step.latency)),
        steps: load().map(step).collect(),
    }
}

fn progress(run: &WorkflowRun, plan: &Workflow) -> Option<f64> {
    run.load_began?;
    let planned = plan.planned()?.to_duration().as_secs_f64();
    let share = run.load_clock().as_secs_f64() / planned;
    Some(if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 })
}

/// What the plan, or somebody who changed it, wants now.
pub(super) fn target(run: &WorkflowRun, plan: &Workflow) -> Target {
    let directive = *run.directive.borrow();
    let now_ns = u64::try_from(run.load_clock().as_nanos()).unwrap_or(u64::MAX);
    match &plan.load {
        Load::Open { rate, .. } => {
            let changed = directive.rate.map(hyperscale_types::Rate::as_per_second);
            Target::Rate(changed.unwrap_or_else(|| rate.value_at(now_ns)))
        }
        Load::Closed { vus } => Target::Vus(directive.vus.unwrap_or_else(|| vus_at(vus, now_ns))),
        Load::Iterations { vus, .. } | Load::Paced { vus, .. } => Target::Vus(directive.vus.unwrap_or(*vus)),
    }
}
