//! What happens once per second: thresholds, signs of life, a snapshot for whoever follows.

use std::time::Duration;

use hyperscale_plan::model::{Load, Threshold};
use hyperscale_stats::event::{BoundCounts, Event, Generator, Shape, Snapshot, StepLive, WorkflowLive};
use hyperscale_stats::{StepLayout, StepStats};
use hyperscale_types::Name;

use crate::command;
use crate::decide;
use crate::entry::StopCause;
use crate::machine::JobCore;
use crate::reason::Reason;
use crate::result;
use crate::segment::{SegmentKind, StopPhase};
use crate::state::WorkflowState;

/// A second is over.
pub(crate) fn second(core: &mut JobCore, memory_bytes: Option<u64>) {
    for live in core.live.iter_mut().flat_map(|live| live.attempts.values_mut()) {
        live.silent_s = live.silent_s.saturating_add(1);
    }
    if core.record.stop().is_none()
        && let Some(rule) = failed_abort(core)
    {
        let cause = StopCause::Threshold { rule };
        decide::stop_job(core, StopPhase::Cancelling, Reason::Threshold, Some(cause));
    }
    let snapshot = snapshot(core, memory_bytes);
    core.emit(Event::Snapshot(Box::new(snapshot)));
}

/// The first threshold with `abort` that fails on what was seen so far. Its `after` is counted by the load clock of the
/// workflow it is about, which may begin long after the job; or from the first load of any workflow.
fn failed_abort(core: &JobCore) -> Option<String> {
    let fails = |threshold: &&Threshold| {
        let of = |name: &Name| core.plan.workflows.iter().position(|workflow| workflow.name == *name);
        let load_time = match threshold.rule.workflow.as_ref().and_then(of) {
            Some(at) => core.record.workflows()[at].load_time(core.now),
            None => result::loaded_for(core),
        };
        if !threshold.abort || load_time < threshold.after.to_duration() {
            return false;
        }
        // What has seen no sample yet may still see one.
        let seen = result::evaluate_now(core, &threshold.rule, true);
        seen.value.is_some() && !seen.passed
    };
    core.plan.thresholds.iter().find(fails).map(|threshold| threshold.rule.text.clone())
}

fn snapshot(core: &mut JobCore, memory_bytes: Option<u64>) -> Snapshot {
    let generator = generator(core, memory_bytes);
    Snapshot {
        missed: 0,
        paused: core.record.is_paused(),
        workflows: (0..core.plan.workflows.len()).map(|at| live(core, at)).collect(),
        result: result::so_far(core),
        generator,
    }
}

fn generator(core: &mut JobCore, memory_bytes: Option<u64>) -> Generator {
    let mut all = Generator { memory_bytes, ..Generator::default() };
    for (live, record) in core.live.iter_mut().zip(core.record.workflows()) {
        let (busy, waited) = live.pulse.take_core_shares(&live.totals).unzip();
        let lag = live.pulse.take_lag_p99_us();
        all.busiest_core = larger(all.busiest_core, busy);
        all.run_queue = larger(all.run_queue, waited);
        all.lag_p99_us = larger(all.lag_p99_us, lag);
        let completed: u32 = live.attempts.values().map(|attempt| attempt.cores_completed).sum();
        if record.state().is_active() && record.state() != WorkflowState::Setup {
            all.cores += record.cores().saturating_sub(completed);
        }
        all.late += live.totals.iterations.late;
        all.dropped += live.totals.iterations.dropped;
        all.saturated |= live.totals.generator_saturated();
    }
    all
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn live(core: &JobCore, at: usize) -> WorkflowLive {
    let (plan, live) = (core.workflow(at), &core.live[at]);
    let load = || {
        let steps = live.totals.layout().steps.iter().zip(live.totals.steps());
        steps.filter(|(layout, _)| layout.is_load())
    };
    let step = |(layout, step): (&StepLayout, &StepStats)| StepLive {
        name: layout.name.clone(),
        latency: BoundCounts::of(&step.latency),
        failed_latency: BoundCounts::of(&step.failed_latency),
    };
    let is_running = core.record.workflows()[at].state() == WorkflowState::Running;
    WorkflowLive {
        name: plan.name.clone(),
        progress: progress(core, at),
        vus: live.totals.vus(),
        target: is_running.then(|| command::target(core, at)),
        starts_per_s: live.pulse.starts_per_s(core.now).filter(|_| matches!(plan.load, Load::Open { .. })),
        series: live.pulse.newest(core.now),
        shape: Shape::of(load().map(|(_, step)| &step.latency)),
        steps: load().map(step).collect(),
    }
}

fn progress(core: &JobCore, at: usize) -> Option<f64> {
    let record = &core.record.workflows()[at];
    record.load_clock()?;
    let planned = core.workflow(at).planned()?.to_duration().as_secs_f64();
    // A segment that runs again is the last to end.
    let open = record.attempts_of(SegmentKind::Load).filter(|(_, attempt)| attempt.end.is_none());
    let own = open.filter_map(|(_, attempt)| Some(attempt.own_load?.clock.load_time(core.now)));
    let load_time = own.fold(record.load_time(core.now), Duration::min);
    let share = load_time.as_secs_f64() / planned;
    Some(if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 })
}
